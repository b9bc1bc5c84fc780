"""`jrr plan compare`: other ways to ask the same question, in tables and words."""

import math
from collections.abc import Iterator

import click
from rich.text import Text

from jrr._base.wording import show_epsilon
from jrr.cli.options import delta_option, guarantee_options
from jrr.cli.output import Line, json_option, make_table, show
from jrr.cli.progress import bar
from jrr.mechanisms.request import colluders_or_default
from jrr.planning.alternatives import FREQUENCIES, MOST_COMPARED, Alternative, alternatives


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
) -> None:
    """Set cards beside shuffling and secure aggregation, for yes or no.

    Reports with cards, reports that travel through a shuffler, and answers that are added up in
    secret: how accurate each is, whom it protects against, and who is trusted.

    \b
    jrr plan compare -n 10000 -e 0.1
    """  # noqa: D301 - click reads the \b
    with bar("comparing") as progress:
        rows = alternatives(
            n,
            epsilon,
            delta=delta,
            colluders=colluders_or_default(colluders, n),
            dealer_epsilon=dealer_epsilon,
            compositions="all" if n <= MOST_COMPARED else "listed",
            progress=progress,
        )
    documents = [row.to_dict(n) for row in rows]
    show(
        {"n": n, "epsilon": epsilon, "delta": delta, "alternatives": documents},
        _lines(rows, n, delta),
    )


def _lines(rows: list[Alternative], n: int, delta: float) -> Iterator[Line]:
    """Figures in two tables, then who is protected against whom and who is trusted, in words."""
    yield f"\nOther ways to ask the same {n:,} people yes or no\n"
    yield make_table(
        ("", *(f"{100 * frequency:g}%" for frequency in FREQUENCIES)),
        ((row.name, *(_points(row.variance[f], n) for f in FREQUENCIES)) for row in rows),
        title="Standard error, in percentage points, at a true share of",
    )
    yield make_table(
        ("", "promised", "at δ", "shuffled", "collusion"),
        (
            (
                row.name,
                show_epsilon(row.epsilon),
                f"{row.delta:g}",
                "" if row.shuffled_epsilon is None else show_epsilon(row.shuffled_epsilon),
                show_epsilon(row.if_they_collude),
            )
            for row in rows
        ),
        title="ε by what the collector sees (rounded up)",
    )
    yield (
        f"shuffled: ε at δ = {delta:g} against a collector that sees only how many reports say "
        "yes, and knows everybody else's answer; no contributor colludes.\n"
        "collusion: ε if the helper (dealer, shuffler, those who add up) and the collector collude."
    )
    for row in rows:
        if row.shuffled_rr_variance is not None:
            points = _points(row.shuffled_rr_variance, n)
            yield f"{row.name}: plain RR has {points} points at the same shuffled ε."
    for words in sorted({row.compositions for row in rows} - {"", "all"}):
        tried = f"NOT ALL ANSWERS THE OTHERS MAY GIVE WERE TRIED for the shuffled ε: {words}."
        yield Text(tried, style="bold")
    yield "\nAgainst whom the promised ε holds, and who is trusted"
    for (guarantee, trust), names in _by_promise(rows).items():
        yield f"• {'; '.join(names)}: against {guarantee}. Trusted: {trust}."


def _points(variance: float, n: int) -> str:
    return f"{100 * math.sqrt(variance) / n:.3g}"


def _by_promise(rows: list[Alternative]) -> dict[tuple[str, str], list[str]]:
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        names.setdefault((row.guarantee, row.trust), []).append(row.name)
    return names
