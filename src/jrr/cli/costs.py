"""What answers can tell, and what somebody can do who lies, on the screen."""

from rich.table import Table

from jrr.cli.output import make_table
from jrr.privacy.cost_table import CostTable
from jrr.reporting.catalogue import FALLBACK
from jrr.reporting.cost_words import shown_costs


def costs_table(costs: CostTable) -> Table:
    """One answer, this wave and the whole study; by the collector, and with the dealer's help."""
    shown = shown_costs(costs, FALLBACK)
    return make_table(("", *shown.against), shown.rows, title=shown.title, left=3)


def people_moved(number: float) -> str:
    """A number of people, with one decimal where there are few."""
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def liar_words(moved: float) -> str:
    """By how many people somebody moves a result who lies."""
    return (
        "One contributor who sends what it likes can move the number of people who are estimated "
        f"to hold an answer by {people_moved(moved)}"
    )
