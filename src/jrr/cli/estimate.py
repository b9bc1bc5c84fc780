"""`jrr estimate`: shares with error bars from files of reports."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from jrr._base import checks
from jrr.cli.options import console, json_option, print_json
from jrr.cli.progress import bar
from jrr.estimation import postprocess
from jrr.estimation.estimates import Estimate
from jrr.mechanisms.rr import RR
from jrr.planning.plans import DELTA
from jrr.privacy.shuffled import MOST_SCANNED, amplified_epsilon, shuffled_epsilon
from jrr.reporting.explain import OUTSIDE, show_epsilon

if TYPE_CHECKING:
    from jrr.tables import Header, Result

FILE = click.Path(dir_okay=False, path_type=Path)
PAIRS = 45  # differences shown on a screen: those of ten groups
STEPS = {
    "clip": postprocess.clip,
    "normalise": postprocess.normalise,
    "simplex": postprocess.project_simplex,
    "norm-cut": postprocess.norm_cut,
}


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("--by", help="A public column: one estimate per group, and their differences.")
@click.option("--weight", help="A column of survey weights.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--min-cell", type=int, default=20, show_default=True, help="Smallest group that is shown."
)
@click.option("--decks", type=int, help="Decks dealt, where whole decks dropped out.")
@click.option("--key", type=FILE, help="The private key, for sealed reports.")
@click.option(
    "--postprocess", type=click.Choice(tuple(STEPS)), help="Also: shares made possible (biased)."
)
@click.option("--top", type=int, default=20, show_default=True, help="Answers shown.")
@click.option("--plot", type=FILE, help="Draw the estimates.")
@json_option
def estimate(
    reports: tuple[Path, ...],
    by: str | None,
    weight: str | None,
    level: float,
    min_cell: int,
    decks: int | None,
    key: Path | None,
    postprocess: str | None,
    top: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Estimate how many hold each answer, from files of reports.

    The mechanism and the labels are in the files. Shares are of the people who reported, and
    intervals count the noise of perturbation, not that of choosing whom to ask.

    \b
    jrr estimate reports.parquet
    jrr estimate north.parquet south.csv --by region --plot shares.png
    """  # noqa: D301 - click reads the \b
    level = checks.level(level)
    top = checks.integer("top", top, 1)
    from jrr import tables

    with bar("counting", as_json) as progress:
        result = tables.estimate(
            *reports,
            by=by,
            weight=weight,
            min_cell=min_cell,
            key=key,
            decks=decks,
            progress=progress,
        )
    if plot is not None:
        from jrr.reporting.plots import draw_estimate

        everybody = {"everybody": result.estimate}
        groups = {group.name: group.estimate for group in result.groups}
        asked = result.header.question or ""
        draw_estimate(result.header.names, everybody | groups, plot, level, top, asked)
    document = as_document(result, level, postprocess)
    m, shuffled = result.header.mechanism, result.header.shuffled
    if shuffled and len(reports) == 1 and isinstance(m, RR):
        # Of several files each hides its own reports only.
        behind = _behind_shuffler(m, result.estimate.n)
        document["behind_shuffler"] = {"epsilon": behind, "delta": DELTA}
    if as_json:
        print_json(document)
        return
    screen = console()
    _print(screen, result, document, level, top)
    if plot is not None:
        screen.print(f"Picture: {plot}")


def as_document(result: "Result", level: float, step: str | None) -> dict[str, Any]:
    """The result as plain values."""
    header, names = result.header, result.header.names
    m = header.mechanism
    document: dict[str, Any] = {
        "question": header.question,
        "labels": list(names),
        "mechanism": m.to_dict(),
        "shuffled": header.shuffled,
        "guarantees": {
            view: m.epsilon(view, header.colluders if m.moments.deck else 0)
            for view in ("report", "truths", "cards", "dealer")
        },
        "colluders": header.colluders,
        "reports": result.estimate.n,
        "carded": result.n_carded,
        "estimate": result.estimate.to_dict(level),
    }
    if header.declined is not None:
        document["answered"] = among_answered(result.estimate, header, level)
    if step is not None:
        document["postprocessed"] = {step: STEPS[step](result.estimate.frequencies).tolist()}
    if result.groups or result.hidden:
        document["groups"] = [
            {"name": group.name} | group.estimate.to_dict(level) for group in result.groups
        ]
        document["groups_too_small"] = result.hidden
        document["differences"] = [
            {"first": first, "second": second} | found.to_dict(level)
            for first, second, found in (result.differences() if len(result.groups) <= 50 else [])
        ]
    return document


def _behind_shuffler(mechanism: RR, n: int) -> float:
    """By the law of the counts, or for very many reports by the closed form, which is larger."""
    if n <= MOST_SCANNED:
        return shuffled_epsilon(mechanism, DELTA, n)
    return amplified_epsilon(mechanism.epsilon(), n, DELTA)


def among_answered(estimate: Estimate, header: "Header", level: float) -> dict[str, Any]:
    """Shares among those who did not decline: a ratio of two estimates.

    Its interval holds wherever those of both shares hold, so each gets half of the error.
    """
    assert header.declined is not None  # the caller asks only then
    at = header.names.index(header.declined)
    low, high = estimate.interval((1 + level) / 2)
    declined = estimate.frequencies[at]
    if not high[at] < 1:
        return {}
    most, least = 1 - low[at], 1 - high[at]  # who answered
    return {
        name: {
            "share": float(estimate.frequencies[v] / (1 - declined)),
            "interval": [
                float(low[v] / (most if low[v] > 0 else least)),
                float(high[v] / (least if high[v] > 0 else most)),
            ],
        }
        for v, name in enumerate(header.names)
        if v != at
    }


def _print(
    screen: Console, result: "Result", document: dict[str, Any], level: float, top: int
) -> None:
    header = result.header
    n, carded = result.estimate.n, result.n_carded
    about = f"{header.question}: " if header.question else ""
    kept = f" ({carded:,} with a card, {n - carded:,} without)" if carded else ""
    screen.print(f"{about}{n:,} reports{kept}, {header.mechanism.brief()}\n")
    screen.print(_shares(result.estimate, header.names, level, top))
    if "answered" in document:
        for name, share in document["answered"].items():
            low, high = share["interval"]
            screen.print(
                f"Among those who answered, {name}: {100 * share['share']:.2f}% "
                f"({100 * low:.2f}% to {100 * high:.2f}%, at least {100 * level:g}%)"
            )
    estimates = (result.estimate, *(group.estimate for group in result.groups))
    if any(((one.frequencies < 0) | (one.frequencies > 1)).any() for one in estimates):
        screen.print(OUTSIDE)
    for step, shares in document.get("postprocessed", {}).items():
        for name, share in list(zip(header.names, shares, strict=True))[:top]:
            screen.print(f"After {step}, {name}: {100 * share:.2f}%")
    for group in result.groups:
        screen.print(f"\n{group.name}: {group.estimate.n:,} reports")
        screen.print(_shares(group.estimate, header.names, level, top))
    if result.hidden:
        screen.print(
            f"{result.hidden} {'group' if result.hidden == 1 else 'groups'} with "
            f"{result.hidden_reports:,} reports in all, too small to be shown alone (--min-cell)."
        )
    _print_differences(screen, result, level)
    epsilon = document["guarantees"]
    if carded:
        screen.print(
            f"Each contributor's loss: ε {show_epsilon(epsilon['report'])} to whoever sees one "
            f"report, {show_epsilon(epsilon['cards'])} to the collector and {header.colluders} "
            f"colluders with their cards, {show_epsilon(epsilon['dealer'])} to dealer and "
            "collector together."
        )
    else:
        screen.print(
            f"Each contributor's loss: ε {show_epsilon(epsilon['report'])} to whoever sees the "
            "report."
        )
    if "behind_shuffler" in document:
        behind = document["behind_shuffler"]
        screen.print(
            f"To whoever sees nothing but all of these reports, shuffled by somebody honest: ε "
            f"{show_epsilon(behind['epsilon'])} at δ = {behind['delta']:g}."
        )


def _shares(estimate: Estimate, names: tuple[str, ...], level: float, top: int) -> Table:
    table = Table()
    for heading in ("answer", "share", "standard error", f"{100 * level:g}% interval", "count"):
        table.add_column(heading, justify="left" if heading == "answer" else "right")
    low, high = estimate.interval(level)
    shares, errors = estimate.frequencies, estimate.stderr
    order = range(len(names))
    if len(names) > top:
        order = sorted(order, key=lambda v: -shares[v])[:top]  # type: ignore[assignment]
    for v in order:
        table.add_row(
            names[v],
            f"{100 * shares[v]:.2f}%",
            f"±{100 * errors[v]:.2f}",
            f"{100 * low[v]:.2f}% to {100 * high[v]:.2f}%",
            f"{estimate.counts[v]:,.0f}",
        )
    if len(names) > top:
        table.caption = f"the {top} largest of {len(names)} answers"
    return table


def _print_differences(screen: Console, result: "Result", level: float) -> None:
    if len(result.groups) < 2:
        return
    names, pairs = result.header.names, len(result.groups) * (len(result.groups) - 1) // 2
    answers = [len(names) - 1] if len(names) == 2 else range(len(names))
    if pairs * len(answers) > PAIRS:
        screen.print("Differences between groups: too many for a screen, see --json.")
        return
    table = Table(title="Differences between groups, in percentage points", title_justify="left")
    for heading in ("groups", "answer", "difference", f"{100 * level:g}% interval"):
        table.add_column(heading, justify="left" if heading in ("groups", "answer") else "right")
    for first, second, found in result.differences():
        low, high = found.interval(level)
        for v in answers:
            table.add_row(
                f"{first} - {second}",
                names[v],
                f"{100 * found.frequencies[v]:+.2f}",
                f"{100 * low[v]:+.2f} to {100 * high[v]:+.2f}",
            )
    screen.print(table)
