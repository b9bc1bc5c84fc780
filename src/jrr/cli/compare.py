"""`jrr plan --compare`: other ways to ask the same question, in tables and words."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.progress import bar
from jrr.mechanisms.request import Request
from jrr.planning.alternatives import FREQUENCIES, MOST_COMPARED, Alternative, alternatives


def compare(request: Request, delta: float, quiet: bool) -> list[Alternative]:
    """The alternatives of a planned survey; all compositions where there are not too many."""
    with bar("comparing", quiet) as progress:
        return alternatives(
            request.n,
            request.epsilon,
            delta=delta,
            colluders=request.colluders,
            dealer_epsilon=request.dealer_epsilon,
            k=request.k,
            compositions="all" if request.n <= MOST_COMPARED else "listed",
            progress=progress,
        )


def as_documents(rows: list[Alternative], n: int) -> list[dict[str, Any]]:
    """The alternatives as plain values."""
    return [row.to_dict(n) for row in rows]


def print_alternatives(screen: Console, rows: list[Alternative], n: int, delta: float) -> None:
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
