"""What people read before they agree: the survey's own words, and what the library says of costs.

The words in the document have one gap, `{cost}`. Whoever shows them fills it from the table of
costs of that very survey, and adds details: so no figure can be another than what holds.
"""

from typing import TYPE_CHECKING

from jrr.privacy.cost_table import PRIOR, CostTable
from jrr.reporting.catalogue import text
from jrr.reporting.cost_words import cost_lines
from jrr.reporting.numerals import Numerals
from jrr.survey.promises import COST, EVERYTHING, answers_by_entry

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


def consent_text(survey: "Survey", language: str) -> str:
    """The text in one of the survey's languages; what it says of costs is the same in all of them.

    Args:
        survey: What is asked and promised.
        language: One of its codes; of one that the catalogue lacks, costs are told in English.
    """
    words = survey.consent[language].replace(
        COST, protection(survey.costs, bool(survey.open), language)
    )
    details = "\n".join(_details(survey, language))
    pilot = f"{text(language, 'consent.pilot')}\n\n" if survey.pilot else ""
    return f"{pilot}{words}\n\n{text(language, 'consent.details')}:\n{details}"


def protection(costs: CostTable, some_open: bool, language: str) -> str:
    """What stands in the gap: which answers are changed, and one number.

    Args:
        costs: What answers can tell.
        some_open: Whether some answers are sent as they are.
        language: A code; one that the catalogue lacks is told in English.
    """
    changed = text(language, "consent.changed_open" if some_open else "consent.changed")
    learned = text(language, "consent.totals")
    return f"{changed} {learned}\n\n{_found_out(costs, language)}"


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


def _details(survey: "Survey", language: str) -> list[str]:
    """Who knows the cards, all costs, and who asks; a line each."""

    def say(key: str, **values: str) -> str:
        return text(language, f"consent.{key}", **values)

    texts = {one.name: say("quoted", words=one.text[language]) for one in survey.questions}
    lines = [say(f"cards_of_{survey.dealing.word}")] if survey.deals else []
    lines += [say("verified")] if survey.dealing.is_verified else []
    lines += cost_lines(survey.costs, language)
    entries = answers_by_entry(survey)
    if len(entries) > 1:
        at_delta = survey.cost_view == EVERYTHING
        losses = {
            names: (survey.loss(survey.cost_view, some), survey.delta_of(some) if at_delta else 0.0)
            for names, some in entries.items()
        }
        loss = Numerals(language).loss

        def quoted(names: tuple[str, ...]) -> str:
            asked = ", ".join(texts[name] for name in names)
            return asked if len(names) == 1 else say("sharing", questions=asked)

        costs = "; ".join(f"{quoted(names)} {loss(*lost)}" for names, lost in losses.items())
        lines.append(say("each", costs=costs))
    for one in survey.together:
        if one.ask < len(one.questions):
            asked = ", ".join(texts[name] for name in one.questions)
            lines.append(say("drawn", ask=str(one.ask), questions=asked))
    if survey.open:
        lines.append(say("open", questions=", ".join(texts[one.name] for one in survey.open)))
    if survey.waves > 1:
        lines.append(say("linked", wave=str(survey.wave), waves=str(survey.waves)))
    if survey.keep_days is not None:
        lines.append(say("kept", days=str(survey.keep_days)))
    lines.append(say("adds"))
    for key, asker in (("by", survey.by), ("contact", survey.contact)):
        if asker is not None:
            said = ", ".join(filter(None, asker[language].splitlines()))
            lines.append(say(key, **{key: said}))
    return lines
