"""From the tallies of a round to what the operator is told."""

from collections.abc import Mapping
from typing import Any

from jrr.estimation.estimates import difference
from jrr.estimation.tally import Tally
from jrr.mechanisms import Mechanism

EVERYBODY = ""  # the only group, where reports are not told apart


def results_of(
    mechanism: Mechanism,
    tallies: Mapping[str, Tally],
    *,
    decks: int,
    level: float,
    grouped: bool,
    min_cell: int,
) -> dict[str, Any]:
    """The estimate of everybody and, where asked for, of each group and their differences.

    Args:
        mechanism: By which the reports were made.
        tallies: Group -> counted reports, at least one; one group where nobody asked for groups.
        decks: From how many decks was dealt, at least.
        level: Of the confidence intervals.
        grouped: Whether groups were asked for.
        min_cell: Reports of the smallest group that is shown; smaller ones are only counted.

    Returns:
        The part of the collector's reply that is computed.
    """
    whole = sum(tallies.values())
    assert isinstance(whole, Tally)  # of at least one
    used = max(mechanism.fewest_decks(whole.n_carded), decks)
    results: dict[str, Any] = {
        "carded": whole.n_carded,
        "cardless": whole.n_cardless,
        "decks": used,
        "estimate": mechanism.estimate(whole, used).to_dict(level),
    }
    if not grouped:
        return results
    shown = {
        group: mechanism.estimate(tally, used)
        for group, tally in sorted(tallies.items())
        if tally.n >= min_cell
    }
    names = list(shown)
    results["groups"] = [{"name": g} | e.to_dict(level) for g, e in shown.items()]
    results["groups_too_small"] = len(tallies) - len(shown)
    results["differences"] = [
        {"first": a, "second": b} | difference(shown[a], shown[b], same_deck=True).to_dict(level)
        for at, a in enumerate(names)
        for b in names[at + 1 :]
    ]
    return results
