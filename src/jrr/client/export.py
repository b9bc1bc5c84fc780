"""A survey's answers as files for other programs: the table, its codebook, an R script."""

from pathlib import Path
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr.client.codebook import codebook_csv, codebook_json
from jrr.client.r_script import r_script

if TYPE_CHECKING:
    from jrr.client.operator import Operator

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
