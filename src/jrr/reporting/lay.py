"""What people are told before they answer: three sentences, one number, and details below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jrr.reporting.catalogue import text
from jrr.reporting.explain import PRIOR, belief
from jrr.reporting.numerals import Numerals


@dataclass(frozen=True, kw_only=True)
class SurveyFacts:
    """What a consent text speaks of."""

    epsilon: float  # of all answers together
    delta: float
    view: str  # against whom: "report", "everything" or "dealer"
    dealer_epsilon: float | None  # against dealers and collector together; None: nobody deals
    items: Sequence[tuple[str, float, float]]  # text of a perturbed item, its ε, the δ of that
    open_items: Sequence[str]  # their texts
    wave: int = 1
    waves: int = 1
    by: str | None = None  # who asks
    contact: str | None = None  # whom to ask
    provable: bool = False  # whether cards come with a proof, of a deck that was committed to


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
        before=_percent(PRIOR, language),
        after=_belief(rounded_sum(certain, facts.waves), language),
    )
    return f"{' '.join(sentences)}\n\n{number}"


def asker_lines(facts: SurveyFacts, language: str) -> list[str]:
    """Who asks and whom to ask, as far as that was said."""
    named = {"by": facts.by, "contact": facts.contact}
    return [
        text(language, f"consent.{key}", **{key: ", ".join(filter(None, value.splitlines()))})
        for key, value in named.items()
        if value is not None
    ]


def proof_lines(facts: SurveyFacts, language: str) -> list[str]:
    """That a card comes with a proof, where it does."""
    return [text(language, "consent.provable")] if facts.provable else []


def _belief(epsilon: float, language: str) -> str:
    """The strongest belief, in percent with one decimal, never too small."""
    return _percent(math.ceil(1000 * belief(epsilon, PRIOR)) / 1000, language)


def _percent(share: float, language: str) -> str:
    """As documents take it: with blanks that are plain ones."""
    return Numerals(language).level(share).replace("\N{NO-BREAK SPACE}", " ")


def with_details(begin: str, details: str, language: str) -> str:
    """A consent text: the introduction, and details under a heading."""
    return f"{begin}\n\n{text(language, 'consent.details')}:\n{details}"


def consent_text(facts: SurveyFacts, language: str) -> str:
    """The text in one language; what it says of costs is the same in all of them.

    Args:
        facts: What the survey costs.
        language: A code, such as "en"; one that the catalogue lacks is told in English.
    """
    numerals = Numerals(language)

    def quoted(words: str) -> str:
        return say("quoted", words=words)

    def say(key: str, **values: str) -> str:
        return text(language, f"consent.{key}", **values)

    details = [say(f"cost.{facts.view}", cost=numerals.loss(facts.epsilon, facts.delta))]
    if facts.dealer_epsilon is not None:
        details.append(
            f"{say('cards')} "
            + say(
                "dealer",
                cost=numerals.loss(facts.dealer_epsilon),
                before=_percent(PRIOR, language),
                after=_belief(facts.dealer_epsilon, language),
            )
        )
    if len(facts.items) > 1:
        costs = "; ".join(f"{quoted(words)} {numerals.loss(*loss)}" for words, *loss in facts.items)
        details.append(say("each", costs=costs))
    if facts.open_items:
        details.append(say("open", items=", ".join(map(quoted, facts.open_items))))
    if facts.waves > 1:
        every = numerals.loss(rounded_sum(facts.epsilon, facts.waves), facts.delta * facts.waves)
        told = say("linked", wave=str(facts.wave), waves=str(facts.waves), cost=every)
        details.append(told)
    details.append(say("adds"))
    details += [*proof_lines(facts, language), *asker_lines(facts, language)]
    return with_details(introduction(facts, language), "\n".join(details), language)
