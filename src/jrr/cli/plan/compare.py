"""`jrr plan compare`: other ways to ask the same question, in tables and words."""

import math

import click
from rich.console import Console
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.options import (
    console,
    delta_option,
    guarantee_options,
    json_option,
    print_json,
)
from jrr.cli.progress import bar
from jrr.planning.alternatives import FREQUENCIES, MOST_COMPARED, Alternative, alternatives
from jrr.planning.defaults import colluders_or_default


@click.command()
@guarantee_options
@click.option(
    "--dealer-epsilon",
    type=float,
    help="ε against dealer and collector together, where it is capped.  [default: epsilon + 2]",
)
@delta_option
@json_option
def compare(
    n: int,
    epsilon: float,
    colluders: int | None,
    dealer_epsilon: float | None,
    delta: float,
    as_json: bool,
) -> None:
    """Set cards beside shuffling and secure aggregation, for yes or no.

    Reports with cards, reports that travel through a shuffler, and answers that are added up in
    secret: how accurate each is, whom it protects against, and who is trusted.

    \b
    jrr plan compare -n 10000 -e 0.1
    """  # noqa: D301 - click reads the \b
    with bar("comparing", as_json) as progress:
        rows = alternatives(
            n,
            epsilon,
            delta=delta,
            colluders=colluders_or_default(colluders, n),
            dealer_epsilon=dealer_epsilon,
            compositions="all" if n <= MOST_COMPARED else "listed",
            progress=progress,
        )
    if as_json:
        documents = [row.to_dict(n) for row in rows]
        print_json({"n": n, "epsilon": epsilon, "delta": delta, "alternatives": documents})
        return
    _print_alternatives(console(), rows, n, delta)


def _print_alternatives(screen: Console, rows: list[Alternative], n: int, delta: float) -> None:
    """Figures in two tables, then who is protected against whom and who is trusted, in words."""
    error = _table("Standard error, in percentage points, at a true share of")
    privacy = _table("ε by what the collector sees (rounded up)")
    for frequency in FREQUENCIES:
        error.add_column(f"{100 * frequency:g}%", justify="right")
    for heading in ("promised", "at δ", "shuffled", "collusion"):
        privacy.add_column(heading, justify="right")
    for row in rows:
        error.add_row(row.name, *(_points(row.variance[f], n) for f in FREQUENCIES))
        privacy.add_row(
            row.name,
            show_epsilon(row.epsilon),
            f"{row.delta:g}",
            "" if row.shuffled_epsilon is None else show_epsilon(row.shuffled_epsilon),
            show_epsilon(row.if_they_collude),
        )
    screen.print(f"\nOther ways to ask the same {n:,} people yes or no\n")
    screen.print(error)
    screen.print(privacy)
    screen.print(
        f"shuffled: ε at δ = {delta:g} against a collector that sees only how many reports say "
        "yes, and knows everybody else's answer; no contributor colludes.\n"
        "collusion: ε if the helper (dealer, shuffler, those who add up) and the collector collude."
    )
    _print_remarks(screen, rows, n)
    screen.print("\nAgainst whom the promised ε holds, and who is trusted")
    for (guarantee, trust), names in _by_promise(rows).items():
        screen.print(f"• {'; '.join(names)}: against {guarantee}. Trusted: {trust}.")


def _print_remarks(screen: Console, rows: list[Alternative], n: int) -> None:
    for row in rows:
        if row.shuffled_rr_variance is not None:
            points = _points(row.shuffled_rr_variance, n)
            screen.print(f"{row.name}: plain RR has {points} points at the same shuffled ε.")
    for words in sorted({row.compositions for row in rows} - {"", "all"}):
        screen.print(
            f"NOT ALL ANSWERS THE OTHERS MAY GIVE WERE TRIED for the shuffled ε: {words}.",
            style="bold",
        )


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="")
    table.add_column("")
    return table


def _points(variance: float, n: int) -> str:
    return f"{100 * math.sqrt(variance) / n:.3g}"


def _by_promise(rows: list[Alternative]) -> dict[tuple[str, str], list[str]]:
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        names.setdefault((row.guarantee, row.trust), []).append(row.name)
    return names
