"""What commands on files of one report a line have in common."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from jrr._base import checks
from jrr._base.wording import show_epsilon
from jrr.cli.file.shared import force_option, seed_option
from jrr.cli.options import all_of
from jrr.cli.output import json_option, show
from jrr.cli.values import FILE
from jrr.errors import ArgumentError
from jrr.telemetry.report_lines import ENDINGS, read_reports, write_reports

T = TypeVar("T")

report_options = all_of(
    click.option(
        "-o",
        "--out",
        type=FILE,
        required=True,
        help="File of reports: JSON lines (.jsonl), .parquet, .arrow or .csv.",
    ),
    click.option(
        "-e",
        "--epsilon",
        type=float,
        default=1.0,
        help="ε of a person's one report, in every view.",
    ),
)
written_options = all_of(seed_option, force_option, json_option)


def lines_of(path: Path) -> list[str]:
    """What people hold: one line for each."""
    found = path.read_text(encoding="utf-8").splitlines()
    if not found:
        raise ArgumentError(f"the file must have a line for each person, got none in {str(path)!r}")
    return found


def all_lines(reports: Sequence[str], where: Mapping[str, Any]) -> bool:
    """Whether all are JSON lines and nothing else is to read them, so that no extra is needed."""
    return not any(where.values()) and all(Path(path).suffix in ENDINGS for path in reports)


def read_reports_of(kind: type[T], paths: Sequence[str]) -> tuple[T, Any]:
    """What was asked, of this kind, and the reports of all files."""
    asked, reports = read_reports(*paths)
    if not isinstance(asked, kind):
        made = type(asked).__name__
        raise checks.refusal("reports", made, f"files of reports by {kind.__name__}")
    return asked, reports


def number_in(text: str, argument: str = "numbers") -> float:
    """A number from text."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{argument} must be numbers, got {text!r}") from None


def refuse_overwriting(out: Path, force: bool) -> None:
    """Refuse an output that exists, before anything is perturbed."""
    if out.exists() and not force:
        raise ArgumentError(f"out must not exist (--force overwrites it), got {str(out)!r}")


def write_and_show(
    out: Path, asked: Any, reports: Any, force: bool, epsilon: float, **more: Any
) -> None:
    """Write reports; say how many are in the file, and what each of them can tell."""
    if out.suffix in ENDINGS:
        written = write_reports(out, asked, reports, force=force)
    else:
        from jrr.tables.levels import write_level_reports

        written = write_level_reports(out, asked, reports, force=force)
    show(
        {"reports": written, "out": str(out), "epsilon": epsilon} | more,
        f"{written:,} reports in {out}. A person's one report loses at most ε = "
        f"{show_epsilon(epsilon)}, whoever sees it: there are no cards.",
    )
