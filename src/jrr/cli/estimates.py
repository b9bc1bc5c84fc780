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
    if "dealer" in document:
        screen.print(_about_the_dealer(document["dealer"]))
        if "commitments" in document["dealer"]:
            screen.print(_about_commitments(document["dealer"]["commitments"]))


def _about_the_dealer(facts: dict[str, Any]) -> str:
    """What a lying dealer could have done, in a sentence."""
    if "reason" in facts:
        return f"Cards were not audited: {facts['reason']}."
    each = f"A dealer that swaps cards moves a count by up to {facts['people_per_card']:.3g} people"
    if not facts["audited"]:
        return f"{each} for each, unseen: no cards were audited (jrr audit-cards)."
    shown = ", ".join(
        f"{size['cards']:,} of a deck {100 * size['caught']:.0f}%" for size in facts["sizes"]
    )
    audited = counted(facts["audited"], "card was", "cards were")
    return f"{each} for each; {audited} audited, which notices swaps of {shown}."


def _about_commitments(facts: dict[str, Any]) -> str:
    """What the dealer's committed decks show, in a sentence."""
    decks = facts["decks"]
    if facts["faults"]:
        return f"Deck commitments: the dealer cheated: {'; '.join(facts['faults'])}."
    if not facts["passed"]:
        return "Deck commitments: the dealer's decks were not audited."
    over = "and at the end" if facts["ended"] else "so far; marks come at the end"
    return (
        f"Deck commitments: {decks - 1} of {decks} decks were drawn again and passed ({over}). A "
        f"dealer that cheated in one deck passes with chance 1/{decks} ({100 * facts['chance']:.3g}"
        f"%).{_about_lost_cards(facts)}"
    )


def _about_lost_cards(facts: dict[str, Any]) -> str:
    """What commitments do not show: which cards were kept back."""
    if not facts["without_report"]:
        return ""
    return (
        f" Of {facts['dealt']:,} cards that left the deck {facts['without_report']:,} came with no "
        "report; cards that a dealer kept back would be among them."
    )
