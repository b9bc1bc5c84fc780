"""The table of what answers can tell, on the screen."""

from rich.console import Console
from rich.table import Table

from jrr.privacy.cost_table import CostTable
from jrr.reporting.catalogue import FALLBACK
from jrr.reporting.cost_words import shown_costs


def print_costs(screen: Console, costs: CostTable) -> None:
    """One answer, this wave and the whole study; by the collector, and with the dealer's help."""
    shown = shown_costs(costs, FALLBACK)
    table = Table(title=shown.title, title_justify="left", title_style="")
    table.add_column("")
    for whom in shown.against:
        table.add_column(whom)
    for row in shown.rows:
        table.add_row(row.what, row.collector, *([] if row.together is None else [row.together]))
    screen.print(table)
