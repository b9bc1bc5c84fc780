"""`jrr file heavy-hitters`: frequent strings that nobody listed."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.file.report_lines import (
    all_lines,
    lines_of,
    read_reports_of,
    refuse_overwriting,
    report_options,
    write_and_show,
    written_options,
)
from jrr.cli.file.shared import engine_options
from jrr.cli.options import level_option, seeded
from jrr.cli.output import json_option, make_table, show
from jrr.cli.values import COUNT, OLD_FILE
from jrr.telemetry.heavy_hitters import HeavyHitters
from jrr.telemetry.words import Words

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
