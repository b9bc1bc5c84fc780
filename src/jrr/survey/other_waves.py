"""Who answered the other waves of a panel, as an open question that nobody is asked.

The collector knows the same people in every wave. So cells can be crossed by it: wave 2 closes on
who answered wave 1 too, and wave 1 announces once more, of those who answered wave 2 as well. The
two sums are of the same people, whose answers can then be compared as pairs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

BEFORE = "answered_wave_before"  # whether somebody answered the wave before this one
AFTER = "answered_wave_after"  # the wave after; known when that is closed
NO, YES = "no", "yes"
NO_SECOND_SUM = (
    "pairs need a second sum of the cards of those who answered both waves, and the survey's "
    "document counts one (announcements): plan two, or ask without pairing"
)


def wave_answers(wave: int) -> dict[str, tuple[str, ...]]:
    """The same as an open question with its answers, in a wave of this number."""
    return {BEFORE: (NO, YES)} if wave > 1 else {}


def wave_columns(survey: "Survey") -> tuple[str, ...]:
    """What an export says of other waves; who answered the next one is known when it is closed."""
    return tuple(wave_answers(survey.wave)) + ((AFTER,) if survey.wave < survey.waves else ())


def with_wave(covariates: Mapping[str, Any], before: bool) -> dict[str, Any]:
    """Somebody's answers, with whether they answered the wave before."""
    return {**covariates, BEFORE: YES if before else NO}


def of_next_wave(survey: "Survey", announcement: int = 2) -> bool:
    """Whether an announcement after the end is of those who answer the next wave, too."""
    return announcement == 2 and survey.wave < survey.waves


def needs_sums(mechanism: Any) -> bool:
    """Whether only sums of cards tell of its reports; steps without cards are masked by a coin."""
    return bool(mechanism.masked and mechanism.deals)


def why_no_pairs(
    survey: "Survey", question: str, announced: int | None = None, later: "Survey | None" = None
) -> str | None:
    """Why a masked question cannot be compared among those who answer this wave and the next.

    Args:
        survey: The earlier wave.
        question: Which of its perturbed answers.
        announced: How many announcements were made; None: it is asked before the survey.
        later: The next wave; None: it is not made yet, and will ask the same people the same.
    """
    closed = no_pairs_of_closed_decks(survey, question)
    if closed is not None:
        return closed
    waves = [survey] if later is None else [survey, later]
    whom = {_asked_of(one, question) for one in waves}
    if len(whom) > 1 or any(one.by_name[question].asked.only_if for one in waves):
        return asked_of_others(question)
    if survey.announcements < 2:
        return NO_SECOND_SUM
    if announced is not None and announced < 2:
        return (
            "pairs need the second sums of the wave before, of those who answered both: "
            "jrr survey close WAVE --again, once the next wave is closed"
        )
    return None


def asked_of_others(question: str) -> str:
    """Why a question with `only_if` cannot be compared among those who answer two waves."""
    return (
        f"not everybody is asked {question} in every wave: sums of those who answered both "
        "waves are not of those who were asked in both; ask without pairing"
    )


def _asked_of(survey: "Survey", question: str) -> object:
    """Of whom a question is asked: where that is drawn, in all waves by the same draw."""
    shared = survey.together_with(question)
    if shared is None or survey.share_asked(question) == 1:
        return None
    return shared.questions, shared.ask


def no_pairs_of_closed_decks(survey: "Survey", question: str) -> str | None:
    """Why masks that cancel among everybody tell nothing of pairs; None: they are announced."""
    if survey.by_name[question].mechanism.announced:
        return None
    return "cards of a closed deck cancel among all who were dealt one, not among pairs"
