"""`jrr file heavy-hitters` and `quantiles`: frequent strings, and a number in detail."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from jrr._base import checks
from jrr._base.wording import show_epsilon
from jrr.cli.file.shared import announced_option, engine_options, force_option, seed_option
from jrr.cli.options import all_of, level_option, seeded
from jrr.cli.output import json_option, make_table, show
from jrr.cli.values import COUNT, FILE, OLD_FILE, RangeType
from jrr.errors import ArgumentError
from jrr.telemetry.heavy_hitters import HeavyHitters
from jrr.telemetry.ranges import RangeTree
from jrr.telemetry.report_lines import ENDINGS, read_reports, write_reports
from jrr.telemetry.words import Words

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


ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@click.group("heavy-hitters")
def heavy_hitters() -> None:
    """Find frequent strings, such as URLs or crashes, without a list of all strings."""


@heavy_hitters.command("perturb")
@click.argument("strings", type=OLD_FILE)
@report_options
@click.option("--alphabet", default=ALPHABET, help="Characters that occur.")
@click.option("--length", type=COUNT, required=True, help="Characters of the longest string.")
@click.option("--fixed", is_flag=True, help="All strings have that length.")
@click.option("--cut", is_flag=True, help="Longer strings count as their beginning.")
@click.option("--keep", type=COUNT, default=40, help="Prefixes kept at each level.")
@written_options
def perturb_strings(
    strings: Path,
    out: Path,
    epsilon: float,
    alphabet: str,
    length: int,
    fixed: bool,
    cut: bool,
    keep: int,
    seed: int | None,
    force: bool,
) -> None:
    """Perturb strings, one on each line of a file, into a file of reports.

    \b
    jrr file heavy-hitters perturb pages.txt --length 8 -e 2 -o reports.jsonl
    """  # noqa: D301 - click reads the \b
    refuse_overwriting(out, force)
    question = HeavyHitters(Words(alphabet, length, fixed, cut), epsilon, keep)
    reports = question.respond(lines_of(strings), seeded(seed))
    epsilon = question.mechanism.epsilon()
    write_and_show(out, question, reports, force, epsilon, levels=list(question.levels))


@heavy_hitters.command("find")
@click.argument("reports", nargs=-1, required=True)
@click.option("--top", type=COUNT, help="How many strings.  [default: 20, or --keep]")
@level_option
@engine_options
@json_option
def find_strings(reports: tuple[str, ...], top: int | None, level: float, **where: Any) -> None:
    """Find the most frequent strings in files of reports (JSON lines, Parquet, Arrow, CSV).

    With --engine the rows are read where they lie, as by `jrr file estimate`.
    """
    if all_lines(reports, where):
        question, told = read_reports_of(HeavyHitters, reports)
        found = question.find(told, top)
    else:
        from jrr import tables

        found = tables.find(*reports, top=top, **where)
    low, high = found.interval(level)
    absent = found.may_be_absent(level)
    rows = [
        (
            string or "(empty)",
            f"{100 * share:.2f}%",
            f"±{100 * error:.2f}",
            f"{100 * a:.2f}% to {100 * b:.2f}%",
            "perhaps not" if perhaps else "yes",
        )
        for string, share, error, a, b, perhaps in zip(
            found.strings, found.frequencies, found.stderr, low, high, absent, strict=True
        )
    ]
    interval = f"{100 * level:g}% interval"
    show(
        found.to_dict(level) | {"n": found.people},
        make_table(("string", "share", "standard error", interval, "occurs"), rows),
        f"{found.people:,} reports. Intervals hold for all {found.asked:,} strings that were asked "
        f"about at once, so also for those that lead the list. Of {sum(absent):,} of the "
        f"{len(found):,} strings shown the interval includes 0: perhaps nobody sent them.",
    )


@click.group("quantiles")
def quantiles() -> None:
    """Estimate quantiles and the distribution of a number, such as seconds or bytes."""


@quantiles.command("perturb")
@click.argument("numbers", type=OLD_FILE)
@report_options
@click.option("--range", "ends", type=RangeType(), required=True, help="Ends of the number.")
@click.option("--bins", type=COUNT, default=1024, help="Bins, at least.")
@click.option("--clip", is_flag=True, help="Numbers beyond an end count as the end.")
@written_options
def perturb_numbers(
    numbers: Path,
    out: Path,
    epsilon: float,
    ends: tuple[float, float],
    bins: int,
    clip: bool,
    seed: int | None,
    force: bool,
) -> None:
    """Perturb numbers, one on each line of a file, into a file of reports.

    \b
    jrr file quantiles perturb seconds.txt --range 0:60 --clip -e 1 -o reports.jsonl
    """  # noqa: D301 - click reads the \b
    refuse_overwriting(out, force)
    tree = RangeTree.for_epsilon(*ends, bins=bins, epsilon=epsilon, clip=clip)
    reports = tree.respond([number_in(line) for line in lines_of(numbers)], seeded(seed))
    write_and_show(out, tree, reports, force, tree.epsilon(), bins=tree.bins)


@quantiles.command("estimate")
@click.argument("reports", nargs=-1, required=True)
@click.option("--at", default="0.25,0.5,0.75", help="Quantiles, by commas.")
@level_option
@announced_option
@engine_options
@json_option
def estimate_quantiles(
    reports: tuple[str, ...], at: str, level: float, announced: Any, **where: Any
) -> None:
    """Estimate quantiles of the number from files of reports (JSON lines, Parquet, Arrow, CSV).

    With --engine the rows are read where they lie, as by `jrr file estimate`.
    """
    wanted = [number_in(part, "at") for part in at.split(",")]
    if all_lines(reports, where):
        tree, told = read_reports_of(RangeTree, reports)
        found = tree.estimate(told, announced)
    else:
        from jrr import tables

        found = tables.distribution(*reports, announced=announced, **where)
    result = found.to_dict(level, wanted)
    rows = [
        (f"{row['q']:g}", f"{row['quantile']:.5g}", "{:.5g} to {:.5g}".format(*row["interval"]))
        for row in result["quantiles"]
    ]
    show(
        result,
        make_table(("quantile", "number", f"{100 * level:g}% interval"), rows, left=0),
        f"{found.n:,} reports, {found.tree.bins:,} bins. Intervals end at ends of bins.",
    )
