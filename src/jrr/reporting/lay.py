"""What people are told before they answer: a few sentences, one number, and details below."""

from collections.abc import Sequence
from dataclasses import dataclass

from jrr.reporting.catalogue import text
from jrr.reporting.cost_table import PRIOR, CostTable
from jrr.reporting.cost_words import cost_lines
from jrr.reporting.numerals import Numerals


@dataclass(frozen=True, kw_only=True)
class SurveyFacts:
    """What a consent text speaks of."""

    costs: CostTable  # of one answer, this wave and the whole study
    deals: bool  # whether answers of this wave have cards
    items: Sequence[tuple[str, float, float]]  # text of a perturbed item, its ε, the δ of that
    open_items: Sequence[str]  # their texts
    by: str | None = None  # who asks
    contact: str | None = None  # whom to ask


def introduction(facts: SurveyFacts, language: str) -> str:
    """What every consent text begins with: which answers are changed, and one number."""
    changed = text(language, "consent.changed_open" if facts.open_items else "consent.changed")
    learned = text(language, "consent.totals")
    return f"{changed} {learned}\n\n{_found_out(facts.costs, language)}"


def _found_out(costs: CostTable, language: str) -> str:
    """What can be found out about one person, as a number of people among 100."""
    after, together = costs.study.collector.people, costs.study.together.people
    found = text(
        language,
        "consent.number" if after < 100 else "consent.number_all",
        before=f"{100 * PRIOR:.0f}",
        after=str(after),
        others=str(100 - after),
        times=f" {text(language, 'consent.times')}" if costs.waves > 1 else "",
    )
    if together <= after:
        return found
    return f"{found} {text(language, 'consent.together', after=str(together))}"


def asker_lines(facts: SurveyFacts, language: str) -> list[str]:
    """Who asks and whom to ask, as far as that was said."""
    named = {"by": facts.by, "contact": facts.contact}
    return [
        text(language, f"consent.{key}", **{key: ", ".join(filter(None, value.splitlines()))})
        for key, value in named.items()
        if value is not None
    ]


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

    details = [say("cards")] if facts.deals else []
    details += cost_lines(facts.costs, language)
    if len(facts.items) > 1:
        costs = "; ".join(f"{quoted(words)} {numerals.loss(*loss)}" for words, *loss in facts.items)
        details.append(say("each", costs=costs))
    if facts.open_items:
        details.append(say("open", items=", ".join(map(quoted, facts.open_items))))
    if facts.costs.waves > 1:
        waves = {"wave": str(facts.costs.wave_number), "waves": str(facts.costs.waves)}
        details.append(say("linked", **waves))
    details.append(say("adds"))
    details += asker_lines(facts, language)
    return with_details(introduction(facts, language), "\n".join(details), language)
