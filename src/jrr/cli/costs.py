"""The table of what answers can tell, on the screen."""

from rich.table import Table

from jrr.cli.output import make_table
from jrr.privacy.cost_table import CostTable
from jrr.reporting.catalogue import FALLBACK
from jrr.reporting.cost_words import shown_costs


def costs_table(costs: CostTable) -> Table:
    """One answer, this wave and the whole study; by the collector, and with the dealer's help."""
    shown = shown_costs(costs, FALLBACK)
    return make_table(("", *shown.against), shown.rows, title=shown.title, left=3)
