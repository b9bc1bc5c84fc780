"""How estimates that a collector tells are printed."""

from typing import TYPE_CHECKING, Any

from jrr._base.wording import counted
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.intervals import sentence

if TYPE_CHECKING:
    from rich.console import Console


def print_estimate(screen: "Console", document: dict[str, Any], level: float) -> None:
    """An estimate as a collector tells it, in words."""
    final = "final" if document["final"] else "so far"
    outside = False
    everybody = {"name": "everybody"} | document["estimate"]
    if "mean" in document:
        everybody["mean"] = document["mean"]
    for group in (everybody, *document.get("groups", [])):
        if "mean" in group:
            mean, (low, high) = group["mean"]["mean"], group["mean"]["interval"]
            screen.print(
                f"{group['name']}, mean: {mean:.6g} ({low:.6g} to {high:.6g}, {100 * level:g}%, "
                f"{final})"
            )
            continue
        for label, share, (low, high) in zip(
            document["labels"], group["frequencies"], group["interval"], strict=True
        ):
            screen.print(
                f"{group['name']}, {label}: {100 * share:.2f}% ({100 * low:.2f}% to "
                f"{100 * high:.2f}%, {100 * level:g}%, {final})"
            )
        outside |= any(not 0 <= share <= 1 for share in group["frequencies"])
    # A collector of an earlier version does not say what its intervals mean.
    if "population" in everybody:
        fields = ("level", "simultaneous", "population", "population_size")
        screen.print(sentence(**{name: everybody[name] for name in fields}))
    if outside:
        screen.print(OUTSIDE)
    small = document.get("groups_too_small", 0)
    if small:
        screen.print(f"{counted(small, 'group is', 'groups are')} too small to be shown.")
