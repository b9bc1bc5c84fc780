"""The table of costs in words, the same wherever people read it."""

from dataclasses import dataclass

from jrr.privacy.cost_table import PRIOR, CostCell, CostTable
from jrr.reporting.catalogue import text
from jrr.reporting.numerals import Numerals


@dataclass(frozen=True)
class ShownRow:
    """A row as it is read."""

    what: str  # which answers
    collector: str
    together: str | None  # None: nobody deals cards, and there is one adversary only


@dataclass(frozen=True)
class ShownTable:
    """The table as it is read."""

    title: str
    against: tuple[str, ...]  # headings of the columns
    rows: tuple[ShownRow, ...]


def shown_costs(table: CostTable, language: str) -> ShownTable:
    """The table in a language; every figure rounded up.

    Args:
        table: What is told.
        language: A code, such as "en"; one that the catalogue lacks is told in English.
    """

    def say(key: str, **values: str) -> str:
        return text(language, f"costs.{key}", **values)

    columns = (f"against.{table.study.collector.view}", "against.together")
    return ShownTable(
        title=say("title", before=shown_share(PRIOR, language)),
        against=tuple(say(key) for key in columns[: 2 if table.deals else 1]),
        rows=tuple(
            ShownRow(
                what=say(f"row.{name}", waves=str(table.waves)),
                collector=shown_cost(row.collector, language),
                together=shown_cost(row.together, language) if table.deals else None,
            )
            for name, row in table.rows.items()
        ),
    )


def cost_lines(table: CostTable, language: str) -> list[str]:
    """The same as lines of plain text: a heading, the adversaries, and under each its rows."""
    shown = shown_costs(table, language)
    lines = [f"{shown.title}:"]
    for at, whom in enumerate(shown.against):
        cells = [(row.what, row.together if at else row.collector) for row in shown.rows]
        told = "; ".join(f"{what}, {cell}" for what, cell in cells)
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
