"""From tallies to what the operator is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jrr.estimation.groups import estimate_groups, fewest_to_show, without_remainder
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.numbers import Numbers
from jrr.servers.collector.store import CollectorCampaign
from jrr.servers.common.problems import Problem
from jrr.survey.problems import RESULTS_WAIT
from jrr.survey.states import CLOSED


def results_of(
    mechanism: Mechanism,
    whole: Tally,
    tallies: Mapping[str, Tally],
    *,
    decks: int,
    level: float,
    simultaneous: bool = False,
    population: str = "respondents",
    population_size: float | None = None,
    grouped: bool,
    min_cell: int,
    min_batch: int = 1,
    final: bool,
    number: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """The estimate of everybody and, where asked for, of each group and their differences.

    Args:
        mechanism: By which the reports were made.
        whole: All counted reports; masks that dealers told of are off.
        tallies: Group -> its counted reports; one group where nobody asked for groups.
        decks: From how many decks was dealt, at least.
        level: Of the confidence intervals.
        simultaneous: Whether those of all answers hold at once with that chance.
        population: Whom they speak of, "respondents" or "sample".
        population_size: People whom the respondents were drawn from, with "sample".
        grouped: Whether groups were asked for.
        min_cell: Reports of the smallest group that is shown; smaller ones are only counted.
        min_batch: Reports of the smallest result and of the smallest group; also of all groups
            together that are not shown, for they follow from the rest.
        final: Whether the campaign is closed; before, too few reports are not shown at all.
        number: The ends of the number that was asked for; None: of labels.

    Returns:
        The part of the collector's reply that is computed.
    """
    fewest = fewest_to_show(min_cell, min_batch, final=final)
    if whole.n < fewest:
        when = "" if final else " before the end"
        raise Problem(409, "too-few", f"fewer than {fewest} reports are not shown{when}")
    used = max(mechanism.fewest_decks(whole.n_carded + whole.known.undealt), decks)
    everybody = mechanism.estimate(
        whole, used, population=population, population_size=population_size
    )
    results: dict[str, Any] = {
        "carded": whole.n_carded,
        "cardless": whole.n_cardless,
        "decks": used,
        "estimate": everybody.to_dict(level, simultaneous=simultaneous),
    }
    question = None if number is None else Numbers(*number, mechanism)
    if question is not None:
        results["mean"] = question.estimate_from(everybody).to_dict(level)
    if not grouped:
        return results
    fewest = max(min_cell, min_batch)
    shown = tallies if min_batch == 1 else without_remainder(tallies, fewest)
    groups = estimate_groups(
        mechanism,
        shown,
        min_cell=fewest,
        decks=used,
        population=population,
        population_size=population_size,
    )
    groups = replace(groups, hidden=groups.hidden + len(tallies) - len(shown))
    document = groups.to_dict(level, simultaneous=simultaneous)
    if question is not None:
        for group, facts in zip(groups, document["groups"], strict=True):
            facts["mean"] = question.estimate_from(group.estimate).to_dict(level)
    return results | document


def check_batch(held: CollectorCampaign, reports: int) -> None:
    """Refuse to give reports away one by one where results must be of many.

    Two exports while reports come in would differ by single reports, so there is one, at the end.
    """
    fewest = held.campaign.min_batch
    if fewest > 1 and held.state != CLOSED:
        raise Problem(409, RESULTS_WAIT, "reports are exported when the campaign is closed")
    if 0 < reports < fewest:
        raise Problem(409, "too-few", f"fewer than {fewest} reports are not shown")
