"""Seldom used settings of a survey: the table [survey] of a draft, or words on a command line.

Each is a field of `SurveyRequest` (jrr.survey.creation) of the same name, but `consent_file` and
`logo_file`, which name files.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.logo import read_logo
from jrr.survey.question_reading import checked_fields

UNBOUNDED = "unbounded"  # as a dealer's ε: trusted without bound


def _whole(name: str, value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    return checks.integer(name, value, 0)


def _real(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise checks.refusal(name, value, "a number")
    return number


def _real_or_unbounded(name: str, value: Any) -> float:
    return math.inf if value == UNBOUNDED else _real(name, value)


def _frequency(name: str, value: Any) -> Any:
    ends = value.split(":") if isinstance(value, str) else value
    if isinstance(ends, list | tuple):
        numbers = tuple(_real(name, end) for end in ends)
        return numbers if len(numbers) != 1 else numbers[0]
    return _real(name, value)


def _flag(name: str, value: Any) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise checks.refusal(name, value, "true or false")
    return found


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise checks.refusal(name, value, "a text")
    return value


def _list(name: str, value: Any) -> tuple[str, ...]:
    parts = value.split(";") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise checks.refusal(name, value, "texts, with ; between")
    return tuple(_word(name, part).strip() for part in parts)


def _texts(name: str, value: Any) -> dict[str, str]:
    """A text for each language; one text alone is for all of them, under the empty name."""
    texts = {"": value} if isinstance(value, str) else value
    if not isinstance(texts, Mapping):
        raise checks.refusal(name, value, "a text, or a table of texts by language")
    return {str(language): _word(f"{name} in {language}", text) for language, text in texts.items()}


def _time(name: str, value: Any) -> str:
    if isinstance(value, datetime):  # TOML has times
        utc = value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
        return utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    return _word(name, value)


_READ: dict[str, Callable[[str, Any], Any]] = {
    "analyses": _list,
    "colluders": _whole,
    "view": _word,
    "delta": _real,
    "dealer_epsilon": _real_or_unbounded,
    "lost": _real,
    "frequency": _frequency,
    "closed_deck": _flag,
    "deck": _whole,
    "verified": _flag,
    "capacity": _whole,
    "opens": _time,
    "closes": _time,
    "min_cell": _whole,
    "results_every": _whole,
    "min_batch": _whole,
    "pilot": _flag,
    "keep_days": _whole,
    "consent": _texts,
    "consent_file": _word,
    "consent_version": _word,
    "logo": _word,
    "logo_file": _word,
}
SETTINGS = tuple(_READ)
FILES = ("consent_file", "logo_file")  # settings that name a file


def read_settings(given: object) -> dict[str, Any]:
    """Checked settings.

    Args:
        given: As in a TOML file, or texts of a command line.

    Raises:
        ArgumentError: There is no such setting (the nearest is named), or its value is another.

    Example:
        >>> read_settings({"min_cell": "5", "dealer_epsilon": "unbounded"})
        {'min_cell': 5, 'dealer_epsilon': inf}
    """
    fields = checked_fields("survey", given, SETTINGS, needed=())
    return {name: _READ[name](name, value) for name, value in fields.items()}


def split_settings(texts: Iterable[str]) -> dict[str, str]:
    """Settings as they are typed, each NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise checks.refusal("set", text, "as min_cell=5")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def request_fields(settings: Mapping[str, Any], languages: Iterable[str]) -> dict[str, Any]:
    """Settings as fields of a `SurveyRequest`; reads the files of the consent text and the logo."""
    found = {name: value for name, value in settings.items() if name not in FILES}
    if "logo_file" in settings:
        if "logo" in settings:
            raise checks.refusal(
                "logo_file", settings["logo_file"], "left out where there is a logo"
            )
        found["logo"] = read_logo(Path(settings["logo_file"]))
    file, texts = settings.get("consent_file"), settings.get("consent", {})
    if file is not None:
        if texts:
            raise checks.refusal("consent_file", file, "left out where there is a consent")
        texts = {"": _text(Path(file))}
    if texts:
        found["consent"] = dict.fromkeys(languages, texts[""]) if "" in texts else texts
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"consent_file must be a text in UTF-8, got {file}") from None
    except OSError as error:
        raise checks.refusal("consent_file", str(file), f"readable ({error.strerror})") from None
