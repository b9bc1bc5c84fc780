"""A survey's answers as files for other programs: the table, its codebook, an R script."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jrr import __version__
from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr.client.codebook import codebook_csv, codebook_json
from jrr.estimation.masks import Known
from jrr.estimation.own_noise import WindowNoise
from jrr.estimation.told_sums import CardSums
from jrr.mechanisms.report_formats import BitsFormat, MaskedFormat, NumberFormat
from jrr.survey.question import PREFER_NOT

if TYPE_CHECKING:
    from jrr.client.operator import Operator
    from jrr.estimation.masks import Masks
    from jrr.estimation.moments import Moments
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

ENDINGS = (".parquet", ".csv")
_BESIDE = {"codebook": ".codebook.csv", "codebook_json": ".codebook.json", "r": ".R"}


def check_export_files(out: Path, force: bool = False) -> None:
    """Refuse a file of another format, and files that exist unless `force`."""
    if out.suffix not in ENDINGS:
        raise checks.refusal("out", str(out), "a name that ends in .parquet or .csv")
    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    for suffix in _BESIDE.values():
        beside = Path(f"{out}{suffix}")
        if beside.exists() and not force:
            allowed = f"one without {beside.name} beside it (or give --force)"
            raise checks.refusal("out", str(out), allowed)


def export_survey(
    operator: "Operator", out: Path, *, language: str | None = None, force: bool = False
) -> dict[str, str]:
    """Write all answers, a row per person, and what one needs to read them.

    Args:
        operator: Of the collector.
        out: A .parquet or .csv file; `jrr file estimate` reads the former.
        language: Of the texts in the codebook; None: the first one of the survey.
        force: Overwrite existing files.

    Returns:
        What was written: answers, codebook, codebook_json and r, each with its path.

    Raises:
        ArgumentError: A file or the language is refused.
        ProtocolError: The collector refuses.
        UnreachableError: The collector does not answer.
    """
    check_export_files(out, force)
    survey = operator.survey
    if language is not None:
        checks.one_of("language", language, survey.languages)
    data = operator.export(out.suffix.removeprefix("."))
    results = operator.estimates()
    texts = {
        "codebook": codebook_csv(survey, language),
        "codebook_json": codebook_json(survey, results, language),
        "r": r_script(survey, results, out.name),
    }
    write_whole_bytes(out, data)
    written = {"answers": str(out)}
    for name, text in texts.items():
        path = Path(f"{out}{_BESIDE[name]}")
        write_whole(path, text)
        written[name] = str(path)
    return written


_READ_CSV = """\
data <- read.csv(file, colClasses = "character", na.strings = "", check.names = FALSE,
                 encoding = "UTF-8")
"""
_READ_PARQUET = """\
data <- as.data.frame(arrow::read_parquet(file)) # install.packages("arrow")
"""
_TYPES = """\
for (name in {numbers}) data[[name]] <- as.numeric(data[[name]]) # open answers that are numbers
"""


def r_script(survey: "Survey", results: Mapping[str, Any], file: str) -> str:
    """The script.

    Args:
        survey: Which was asked.
        results: Question -> the collector's estimate, or why there is none, as
            `Operator.estimates` returns it.
        file: The name of the export beside which the script lies; .csv or .parquet.

    Returns:
        The script, in ASCII. Questions without a result are named in a comment, and so are those
        whose reports R cannot read.
    """
    questions, left_out = [], []
    for one in survey.sensitive:
        reason = _unfit(one, results.get(one.name, {}))
        if reason is None:
            questions.append(_entry(one, results[one.name]))
        else:
            left_out.append(f"# {_ascii(one.name)} is left out: {_ascii(reason)}.\n")
    head = _part("head.R").format(
        file=_ascii(file),
        quoted=_text(file),
        version=__version__,
        survey=survey.hash,
        wave=survey.wave,
    )
    head += "# This is a test of the survey, not its result.\n" if survey.pilot else ""
    is_csv = not file.endswith(".parquet")
    read = _READ_CSV if is_csv else _READ_PARQUET
    listed = "questions <- list(\n" + ",\n".join(questions) + "\n)\n"
    if not questions:
        return "\n".join([head + read, *left_out])
    functions = _part("estimating.R")
    numbers = [_text(one.name) for one in survey.open if one.kind in ("scale", "number")]
    types = _TYPES.format(numbers=_vector(numbers)) if is_csv and numbers else ""
    return "\n".join([head + read, listed + "".join(left_out), functions + types])


def _part(name: str) -> str:
    return (files("jrr.client") / name).read_text("utf-8")


def _unfit(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str | None:
    """Why a question cannot be estimated in R; None: it can."""
    mechanism = question.mechanism
    known = isinstance(mechanism.report_format, NumberFormat | MaskedFormat | BitsFormat)
    if not known:
        return f"this script cannot read reports of {mechanism.name}; jrr can"
    if "estimate" not in result:
        return "there is no result yet, export again when the survey is closed"
    return None


def _entry(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str:
    form = question.mechanism.report_format
    kind = "number" if isinstance(form, NumberFormat) else "masked"
    asked, marks = question.asked, question.mechanism.marks
    scale = asked.answers if asked.kind == "scale" else ()
    parts = [f"{_text(name)} = {count}" for name, count in asked.crossed or ()]
    # Of a question with only_if they are not of those who were asked in both waves.
    more = [] if asked.only_if else _read_sums(question, result.get("later_sums", ()))
    later = [_list(_cells(question, result, told)) for told in more]
    fields = {
        "column": _text(question.name),
        "text": _text(question.text),
        "form": _text("bits" if isinstance(form, BitsFormat) else kind),
        "largest": _number(form.low + form.high if isinstance(form, MaskedFormat) else 1),
        "steps": _number(question.mechanism.steps),
        "labels": _vector(map(_text, question.labels)),
        "ends": "NULL" if question.number is None else _vector(map(_number, question.number)),
        "numbers": _vector("NA" if one == PREFER_NOT else one for one in scale or ["NULL"]),
        "marks": "NULL" if marks is None else str(marks),
        "parts": f"list({', '.join(parts)})",
        "min_cell": _number(question.survey.min_cell),
        "asked": _number(question.survey.share_asked(question.name)),
        "with_card": _with_card(question, result),
        **_cells(question, result, _told(question, result)),
        "later": f"list({', '.join(later)})",
        "without_card": _moments(question.mechanism.moments.without_cards()),
    }
    return "  " + _list(fields)


def _cells(
    question: "SensitiveQuestion", result: Mapping[str, Any], told: CardSums
) -> dict[str, str]:
    """In which cells dealers told sums, and what these say of masks."""
    merged = [
        f"list(group = {_text(name)}, values = {_vector(map(_text, values))})"
        for name, values in told.merged.items()
    ]
    return {
        "by": f"c({', '.join(map(_text, told.by))})" if told.by else "NULL",
        "merged": f"list({', '.join(merged)})",
        "masks": _masks(question, result, told),
    }


def _with_card(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str:
    """The moments of those with a card, and what is known of their masks."""
    mechanism = question.mechanism
    if not mechanism.deals:
        return "NULL"
    moments, decks = mechanism.moments, int(result["decks"])
    mask_tie = 0.0 if moments.masks is None else moments.masks.tie(decks)
    return _moments(moments, moments.pair_weight(decks), mask_tie)


def _masks(question: "SensitiveQuestion", result: Mapping[str, Any], told: CardSums) -> str:
    """What is known of the masks of those with a card: in all reports, and group by group."""
    mechanism, carded = question.mechanism, int(result["carded"])
    law, decks = _own_and_masks(mechanism.moments)[1], int(result["decks"])
    if law is None or not carded:
        return "NULL"
    off, known = masks_told(question, result, told)
    everybody = _known_masks(carded, carded, off, law.variance_of(carded, decks, known))
    groups = []
    for group, every in told.announced.items():
        sums = [one for one in every if one.sum is not None]
        if sums:
            off = _support_of_masks(mechanism, [one.sum for one in sums])
            left = law.variance_of(carded, decks, Known(announcements=len(sums), covered=carded))
            cards = [one.cards for one in sums]  # a report may have those of several dealers
            numbers = _known_masks(max(cards), sum(cards), off, left)
            groups.append(f"list(group = {_text(group)}, {numbers.removeprefix('list(')}")
    fields = {
        "all": everybody,
        "closed": "FALSE" if mechanism.announced else "TRUE",
        "single": _number(law.single),
        "groups": "list(" + ",\n         ".join(groups) + ")",
    }
    return _list(fields)


def _list(fields: Mapping[str, str]) -> str:
    return "list(" + ",\n         ".join(f"{name} = {code}" for name, code in fields.items()) + ")"


def _known_masks(least: int, most: int, mask_sum: Sequence[int], mask_variance: float) -> str:
    """How many reports with a card there may be, and what is known of the masks in them."""
    return (
        f"list(least = {least}, most = {most}, mask_sum = {_vector(map(_number, mask_sum))}, "
        f"mask_variance = {_number(mask_variance)})"
    )


def _told(question: "SensitiveQuestion", result: Mapping[str, Any]) -> CardSums:
    sums = result.get("sums")
    return CardSums() if sums is None else _read_sums(question, [sums])[0]


def _read_sums(question: "SensitiveQuestion", documents: Sequence[object]) -> list[CardSums]:
    width = 1 if question.mechanism.k == 2 else question.mechanism.k
    return [CardSums.from_document(one, width) for one in documents]


def masks_told(
    question: "SensitiveQuestion", result: Mapping[str, Any], told: CardSums | None = None
) -> tuple[list[int], Known]:
    """What comes off the support of every answer, and of what noise is left after it."""
    mechanism, told = question.mechanism, told or _told(question, result)
    known, off = Known(), [0] * mechanism.k
    sums = [one.sum for dealers in told.announced.values() for one in dealers if one.cards]
    if sums:
        off = _support_of_masks(mechanism, sums)
        known = known._replace(announcements=len(sums), covered=int(result["carded"]))
    if told.undealt is not None and told.undealt.cards:
        off = [-mask for mask in _support_of_masks(mechanism, [told.undealt.sum])]
        known = known._replace(undealt=told.undealt.cards)
    return off, known


def _support_of_masks(mechanism: "Mechanism", sums: Sequence[Any]) -> list[int]:
    """What masks with these sums add to the support of every answer."""
    masks = np.array(sums, np.int64).reshape(len(sums), -1).sum(axis=0)
    of_two = (-int(masks[0]), int(masks[0]))
    return list(of_two) if mechanism.k == 2 else [int(mask) for mask in masks]


def _moments(moments: "Moments", tied: float = 0.0, mask_tie: float = 0.0) -> str:
    fields = {
        name: _vector(map(_number, getattr(moments, name).tolist()))
        for name in ("p", "q", "gain", "lean_holder", "lean_other")
    }
    more = {"base": moments.base, "own": _own_and_masks(moments)[0]}
    more |= {"tied": tied, "mask_tie": mask_tie}
    fields |= {name: _number(number) for name, number in more.items()}
    listed = [f"{name} = {code}" for name, code in fields.items()]
    return "list(" + ",\n         ".join(listed) + ")"


def _own_and_masks(moments: "Moments") -> tuple[float, "Masks | None"]:
    """The variance that each report of a number in steps has by itself, and the law of masks."""
    noise = moments.masks
    if isinstance(noise, WindowNoise):
        return noise.with_rounding().own, noise.masks
    return 0.0, noise


def _vector(codes: Any) -> str:
    listed = list(codes)
    return listed[0] if len(listed) == 1 else f"c({', '.join(listed)})"


def _number(value: float) -> str:
    return repr(value)  # as many digits as tell it from every other number


def _text(words: str) -> str:
    """A string of R: whatever is no plain letter is written by its number."""
    return '"' + "".join(map(_letter, words)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if " " <= letter <= "~" else f"\\U{{{ord(letter):06x}}}"


def _ascii(words: str) -> str:
    """Words in a comment: in one line, without letters that some systems cannot read."""
    return " ".join(words.split()).encode("ascii", "replace").decode()
