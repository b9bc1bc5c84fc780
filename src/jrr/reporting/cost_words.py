"""The table of costs in words, the same wherever people read it."""

from dataclasses import dataclass

from jrr.privacy.cost_table import PRIOR, CostCell, CostTable
from jrr.reporting.catalogue import text
from jrr.reporting.numerals import Numerals


@dataclass(frozen=True)
class ShownTable:
    """The table as it is read."""

    title: str
    against: tuple[str, ...]  # headings of the columns
    rows: tuple[tuple[str, ...], ...]  # which answers, then a cell below each of the headings


def shown_costs(table: CostTable, language: str) -> ShownTable:
    """The table in a language; every figure rounded up.

    Args:
        table: What is told.
        language: A code, such as "en"; one that the catalogue lacks is told in English.
    """

    def say(key: str, **values: str) -> str:
        return text(language, f"costs.{key}", **values)

    columns = [f"against.{table.study.collector.view}", "against.together"]
    rows = []
    for name, row in table.rows.items():
        cells = [shown_cost(cell, language) for cell in (row.collector, row.together)]
        rows.append((say(f"row.{name}", waves=str(table.waves)), *cells[: 1 + table.deals]))
    return ShownTable(
        title=say("title", before=shown_share(PRIOR, language)),
        against=tuple(say(key) for key in columns[: 1 + table.deals]),
        rows=tuple(rows),
    )


def cost_lines(table: CostTable, language: str) -> list[str]:
    """The same as lines of plain text: a heading, the adversaries, and under each its rows."""
    shown = shown_costs(table, language)
    lines = [f"{shown.title}:"]
    for at, whom in enumerate(shown.against, 1):
        told = "; ".join(f"{row[0]}, {row[at]}" for row in shown.rows)
        lines.append(f"– {whom}: {told}.")
    return lines


def shown_cost(cost: CostCell, language: str) -> str:
    """One cell: ε, its δ if it has one, and the belief."""
    return text(
        language,
        "costs.cell",
        cost=Numerals(language).loss(cost.epsilon, cost.delta),
        before=shown_share(PRIOR, language),
        after=shown_share(cost.belief, language),
    )


def shown_share(share: float, language: str) -> str:
    """A share in percent, with plain blanks, as documents take it."""
    return Numerals(language).level(share).replace("\N{NO-BREAK SPACE}", " ")
