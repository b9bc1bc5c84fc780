"""Texts for people who take part, by language: one JSON file each, all with the same keys.

A new language is a new file beside en.json; `tests/reporting/test_catalogue.py` compares the keys.
"""

import json
from functools import lru_cache
from importlib.resources import files

from jrr._base import checks

FALLBACK = "en"


@lru_cache
def known_languages() -> tuple[str, ...]:
    """Codes of the languages that there are texts in, English first."""
    names = [entry.name for entry in files(__name__).iterdir()]
    codes = sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))
    return (FALLBACK, *(code for code in codes if code != FALLBACK))


@lru_cache
def texts(language: str) -> dict[str, str]:
    """All texts in a language."""
    code = checks.one_of("language", language, known_languages())
    found: dict[str, str] = json.loads((files(__name__) / f"{code}.json").read_text("utf-8"))
    return found


def text(language: str, key: str, **values: str) -> str:
    """One text; in English where the language is not in the catalogue.

    Example:
        >>> text("de", "yes"), text("xx", "yes")
        ('ja', 'yes')
    """
    code = language.split("-")[0]
    return texts(code if code in known_languages() else FALLBACK)[key].format(**values)
