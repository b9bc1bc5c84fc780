"""`jrr heavy-hitters` and `jrr quantiles`: strings nobody listed, numbers in detail."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from jrr._base.randomness import SeededRandom
from jrr._base.wording import show_epsilon
from jrr.cli.counts import COUNT
from jrr.cli.options import RangeType, console, json_option, print_json
from jrr.errors import ArgumentError
from jrr.telemetry.heavy_hitters import HeavyHitters
from jrr.telemetry.ranges import RangeTree
from jrr.telemetry.report_lines import read_lines, write_lines
from jrr.telemetry.words import Words

FILE = click.Path(dir_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"

out_option = click.option(
    "-o", "--out", type=FILE, required=True, help="File of reports (JSON lines)."
)
force_option = click.option("--force", is_flag=True, help="Overwrite an existing output.")
seed_option = click.option(
    "--seed", type=int, help="For tests: reproducible, and so not private. Default: secure."
)
epsilon_option = click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    show_default=True,
    help="ε of a person's one report, in every view.",
)
level_option = click.option(
    "--level", type=float, default=0.95, show_default=True, help="Of intervals."
)


@click.group("heavy-hitters")
def heavy_hitters() -> None:
    """Find frequent strings, such as URLs or crashes, without a list of all strings."""


@heavy_hitters.command("perturb")
@click.argument("strings", type=OLD_FILE)
@out_option
@epsilon_option
@click.option("--alphabet", default=ALPHABET, show_default=True, help="Characters that occur.")
@click.option("--length", type=COUNT, required=True, help="Characters of the longest string.")
@click.option("--fixed", is_flag=True, help="All strings have that length.")
@click.option("--cut", is_flag=True, help="Longer strings count as their beginning.")
@click.option(
    "--keep", type=COUNT, default=40, show_default=True, help="Prefixes kept at each level."
)
@seed_option
@force_option
@json_option
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
    as_json: bool,
) -> None:
    """Perturb strings, one on each line of a file, into a file of reports.

    \b
    jrr heavy-hitters perturb pages.txt --length 8 -e 2 -o reports.jsonl
    """  # noqa: D301 - click reads the \b
    _refuse_overwriting(out, force)
    question = HeavyHitters(Words(alphabet, length, fixed, cut), epsilon, keep)
    reports = question.respond(_lines(strings), _rng(seed)).tolist()
    told = (question.report_to_json(report) for report in reports)
    written = write_lines(out, "heavy-hitters", question.to_dict(), told)
    _say_written(written, out, question.mechanism.epsilon(), as_json, levels=list(question.levels))


@heavy_hitters.command("find")
@click.argument("reports", type=OLD_FILE, nargs=-1, required=True)
@click.option("--top", type=COUNT, default=20, show_default=True, help="How many strings.")
@level_option
@json_option
def find_strings(reports: tuple[Path, ...], top: int, level: float, as_json: bool) -> None:
    """Find the most frequent strings in files of reports."""
    document, lines = read_lines(reports, "heavy-hitters")
    question = HeavyHitters.from_dict(document)
    found = question.find([question.report_from_json(line) for line in lines], top)
    if as_json:
        print_json(found.to_dict(level) | {"n": len(lines)})
        return
    low, high = found.interval(level)
    table = Table()
    for heading in ("string", "share", "standard error", f"{100 * level:g}% interval", "occurs"):
        table.add_column(heading, justify="left" if heading == "string" else "right")
    absent = found.may_be_absent(level)
    for row in zip(found.strings, found.frequencies, found.stderr, low, high, absent, strict=True):
        string, share, error, a, b, perhaps = row
        ends = f"{100 * a:.2f}% to {100 * b:.2f}%"
        shown = (f"{100 * share:.2f}%", f"±{100 * error:.2f}", ends)
        table.add_row(string or "(empty)", *shown, "perhaps not" if perhaps else "yes")
    screen = console()
    screen.print(table)
    screen.print(
        f"{len(lines):,} reports. Intervals hold for all {found.asked:,} strings that were asked "
        f"about at once, so also for those that lead the list. Of {sum(absent):,} of the "
        f"{len(found):,} strings shown the interval includes 0: perhaps nobody sent them."
    )


@click.group("quantiles")
def quantiles() -> None:
    """Estimate quantiles and the distribution of a number, such as seconds or bytes."""


@quantiles.command("perturb")
@click.argument("numbers", type=OLD_FILE)
@out_option
@epsilon_option
@click.option("--range", "ends", type=RangeType(), required=True, help="Ends of the number.")
@click.option("--bins", type=COUNT, default=1024, show_default=True, help="Bins, at least.")
@click.option("--clip", is_flag=True, help="Numbers beyond an end count as the end.")
@seed_option
@force_option
@json_option
def perturb_numbers(
    numbers: Path,
    out: Path,
    epsilon: float,
    ends: tuple[float, float],
    bins: int,
    clip: bool,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Perturb numbers, one on each line of a file, into a file of reports.

    \b
    jrr quantiles perturb seconds.txt --range 0:60 --clip -e 1 -o reports.jsonl
    """  # noqa: D301 - click reads the \b
    _refuse_overwriting(out, force)
    tree = RangeTree.for_epsilon(*ends, bins=bins, epsilon=epsilon, clip=clip)
    rng = _rng(seed)
    told = (tree.report_to_json(tree.respond_one(x, rng)) for x in map(_number, _lines(numbers)))
    written = write_lines(out, "quantiles", tree.to_dict(), told)
    _say_written(written, out, tree.epsilon(), as_json, bins=tree.bins)


@quantiles.command("estimate")
@click.argument("reports", type=OLD_FILE, nargs=-1, required=True)
@click.option("--at", default="0.25,0.5,0.75", show_default=True, help="Quantiles, by commas.")
@level_option
@json_option
def estimate_quantiles(reports: tuple[Path, ...], at: str, level: float, as_json: bool) -> None:
    """Estimate quantiles of the number from files of reports."""
    wanted = [_number(part, "at") for part in at.split(",")]
    document, lines = read_lines(reports, "quantiles")
    tree = RangeTree.from_dict(document)
    found = tree.estimate([tree.report_from_json(line) for line in lines])
    result = found.to_dict(level, wanted)
    if as_json:
        print_json(result)
        return
    table = Table()
    for heading in ("quantile", "number", f"{100 * level:g}% interval"):
        table.add_column(heading, justify="right")
    for row in result["quantiles"]:
        low, high = row["interval"]
        table.add_row(f"{row['q']:g}", f"{row['quantile']:.5g}", f"{low:.5g} to {high:.5g}")
    screen = console()
    screen.print(table)
    screen.print(f"{found.n:,} reports, {tree.bins:,} bins. Intervals end at ends of bins.")


def _lines(path: Path) -> list[str]:
    found = path.read_text(encoding="utf-8").splitlines()
    if not found:
        raise ArgumentError(f"the file must have a line for each person, got none in {str(path)!r}")
    return found


def _number(text: str, argument: str = "numbers") -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{argument} must be numbers, got {text!r}") from None


def _rng(seed: int | None) -> SeededRandom | None:
    return None if seed is None else SeededRandom(seed)


def _refuse_overwriting(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise ArgumentError(f"out must not exist (--force overwrites it), got {str(out)!r}")


def _say_written(written: int, out: Path, epsilon: float, as_json: bool, **more: Any) -> None:
    if as_json:
        print_json({"reports": written, "out": str(out), "epsilon": epsilon} | more)
        return
    console().print(
        f"{written:,} reports in {out}. A person's one report loses at most ε = "
        f"{show_epsilon(epsilon)}, whoever sees it: there are no cards."
    )
