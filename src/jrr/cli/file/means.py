"""Means of numbers on the screen."""

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from jrr.estimation.groups import HIDDEN_GROUP_REMARK
from jrr.reporting.intervals import intervals_in_words, weights_in_words

if TYPE_CHECKING:
    from jrr.tables import Result

PAIRS = 45  # differences shown on a screen: those of ten groups


def show_means(screen: Console, result: "Result", level: float) -> None:
    """Print the means of everybody and of groups, with differences."""
    means, groups = result.means(), result.groups
    table = Table()
    for heading in ("", "mean", "standard error", f"{100 * level:g}% interval", "sum", "reports"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for name, mean in means.items():
        low, high = mean.interval(level)
        total = "" if math.isnan(mean.sum) else _with_error(mean.sum, mean.sum_stderr)
        table.add_row(
            name or "everybody",
            f"{mean.mean:.5g}",
            f"±{mean.stderr:.3g}",
            f"{low:.5g} to {high:.5g}",
            total,
            f"{mean.n:,}",
        )
    screen.print(table)
    everybody = means[""]
    screen.print(intervals_in_words(everybody.share, level, simultaneous=False))
    screen.print(
        f"The number lies in {everybody.low:g}..{everybody.high:g}; what rounding and differences "
        "between people can add at most is counted, so that errors may be smaller than shown."
    )
    if everybody.share.effective_n < (1 - 1e-9) * everybody.n:
        screen.print(weights_in_words(everybody.share))
    if groups.hidden:
        words = "1 group has" if groups.hidden == 1 else f"{groups.hidden} groups have"
        screen.print(
            f"{words} fewer than {groups.min_cell} reports: not shown (--min-cell). "
            f"{HIDDEN_GROUP_REMARK}"
        )
    _show_differences(screen, result, level)


def _with_error(number: float, error: float) -> str:
    """Both to the digits that the error leaves."""
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{number:,.{digits}f} ±{error:,.{digits}f}"


def _show_differences(screen: Console, result: "Result", level: float) -> None:
    groups = result.groups
    if len(groups) < 2:
        return
    if len(groups) * (len(groups) - 1) // 2 > PAIRS:
        screen.print("Differences between groups: too many for a screen, see --json.")
        return
    table = Table(title="Differences between groups", title_justify="left")
    for heading in ("groups", "difference", f"{100 * level:g}% interval"):
        table.add_column(heading, justify="left" if heading == "groups" else "right")
    for first, second, gap in result.mean_differences():
        low, high = gap.interval(level)
        table.add_row(f"{first} - {second}", f"{gap.difference:+.4g}", f"{low:+.4g} to {high:+.4g}")
    screen.print(table)
