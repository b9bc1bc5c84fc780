"""What people are told before they answer: three sentences, one number, and details below."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jrr._base.wording import show_guarantee
from jrr.reporting.catalogue import text
from jrr.reporting.explain import PRIOR, shown_belief, shown_percent


@dataclass(frozen=True, kw_only=True)
class SurveyFacts:
    """What a consent text speaks of."""

    epsilon: float  # of all answers together
    delta: float
    view: str  # against whom: "report", "everything" or "dealer"
    dealer_epsilon: float | None  # against dealers and collector together; None: nobody deals
    items: Mapping[str, tuple[float, float]]  # perturbed item -> its ε, and the δ of that
    open_items: Sequence[str]  # their texts
    wave: int = 1
    waves: int = 1


def rounded_sum(epsilon: float, times: int) -> float:
    """So many losses together, never too small."""
    return math.nextafter(epsilon * times, math.inf) if times > 1 else epsilon


def introduction(facts: SurveyFacts, language: str) -> str:
    """Three short sentences and one number, which every consent text begins with."""
    some = "_open" if facts.open_items else ""  # only some of the answers are changed
    keys = (f"changed{some}", f"nobody{some}", "totals")
    sentences = [text(language, f"consent.{key}") for key in keys]
    # A loss that holds at a δ is no bound of a belief; what dealers could learn is one outright.
    certain = facts.epsilon if not facts.delta else facts.dealer_epsilon
    assert certain is not None  # without cards losses hold outright
    # What holds outright against who knows the cards needs no such condition.
    hidden = facts.dealer_epsilon is not None and not facts.delta
    number = text(
        language,
        "consent.number_card" if hidden else "consent.number",
        before=shown_percent(PRIOR),
        after=shown_belief(rounded_sum(certain, facts.waves), PRIOR),
    )
    return f"{' '.join(sentences)}\n\n{number}"


def with_details(begin: str, details: str, language: str) -> str:
    """A consent text: the introduction, and details under a heading."""
    return f"{begin}\n\n{text(language, 'consent.details')}:\n{details}"


def consent_text(facts: SurveyFacts, language: str) -> str:
    """The text in one language; what it says of costs is the same in all of them.

    Args:
        facts: What the survey costs.
        language: A code, such as "en"; one that the catalogue lacks is told in English.
    """
    before = shown_percent(PRIOR)

    def say(key: str, **values: str) -> str:
        return text(language, f"consent.{key}", **values)

    details = [say(f"cost.{facts.view}", cost=show_guarantee(facts.epsilon, facts.delta))]
    if facts.dealer_epsilon is not None:
        details.append(
            f"{say('cards')} "
            + say(
                "dealer",
                cost=show_guarantee(facts.dealer_epsilon, 0.0),
                before=before,
                after=shown_belief(facts.dealer_epsilon, PRIOR),
            )
        )
    if len(facts.items) > 1:
        costs = ", ".join(f"{name} {show_guarantee(*loss)}" for name, loss in facts.items.items())
        details.append(say("each", costs=costs))
    if facts.open_items:
        details.append(say("open", items="; ".join(facts.open_items)))
    if facts.waves > 1:
        every = show_guarantee(rounded_sum(facts.epsilon, facts.waves), facts.delta * facts.waves)
        told = say("linked", wave=str(facts.wave), waves=str(facts.waves), cost=every)
        details.append(told)
    details.append(say("adds"))
    return with_details(introduction(facts, language), "\n".join(details), language)
