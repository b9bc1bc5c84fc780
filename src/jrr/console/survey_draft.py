"""The draft of a survey that exists, to ask the same again or something like it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from jrr.console.drafts import NO_SETTINGS, StoredDraft, add_draft, choices_of
from jrr.console.pages import PageRequest, read
from jrr.console.plan_tables import TRUST
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.protocol.states import Role
from jrr.survey.draft import Draft
from jrr.survey.promises import COST, answers_by_question

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

CHOICE_NAMES = (  # what was planned with, and no document says, or that of a test says otherwise
    *("response", "lost", "trust", "min_cell", "results_every", "min_batch"),
)
_VIEW = "cards"  # in which a draft's ε is planned unless something else is said
# The editor shows weights with six digits, and a wave must not lose more than the one before it:
# where weights split the budget, a little less than all of it is planned.
_LESS = 1 - 1e-4


def draft_of(survey: "Survey") -> Draft:
    """What a survey asks, with the ε that it promises and that part of it for each question.

    A survey does not say which margins were wished for; the parts of the budget are its weights.
    """
    losses = {
        name: _rounded(survey.loss(_VIEW, answers))
        for name, answers in answers_by_question(survey).items()
    }
    is_even = len(set(losses.values())) == 1 or bool(survey.together)
    return Draft(
        title=survey.title,
        languages=survey.languages,
        questions=tuple(
            question
            if is_even or not question.sensitive
            else replace(question, weight=losses[question.name])
            for question in survey.questions
        ),
        epsilon=_rounded(survey.guarantee(_VIEW) * (1.0 if is_even else _LESS)),
        split="together" if survey.together else "even" if is_even else "weight",
        ask=survey.together[0].ask if survey.together else "auto",
        waves=survey.waves,
        cells=survey.cells,
        analyses=survey.analyses,
        by=survey.by,
        contact=survey.contact,
    )


def copied(
    request: PageRequest, survey: "Survey", *, after: str = "", corrects: str = ""
) -> StoredDraft:
    """A new draft of the same questions, words and choices, and for a correction the same times.

    Raises:
        ArgumentError: The same survey with other words, or its next wave, cannot be made here.
    """
    urls, verified = survey.dealing.addresses, survey.dealing.is_verified
    usual = Dealers(urls, verified=verified) if urls else Nobody()
    if survey.dealing != usual or (survey.deals and not survey.announces):
        if after or corrects:
            raise ArgumentError(
                "the survey must be one that these pages can make, with cards that are dealt on "
                "arrival and whose sum is announced; use jrr survey create"
            )
        request.session.note(
            "How cards are dealt is not copied. These pages make surveys whose cards are dealt on "
            "arrival and whose sum is announced; jrr survey create can do more.",
            "warn",
        )
    own = {language: words.removesuffix(COST) for language, words in survey.consent.items()}
    consent = {language: words.strip() for language, words in own.items() if words.strip()}
    above = survey.guarantee("dealer") - survey.guarantee("cards")
    dealers = survey.dealing.addresses if survey.dealing.word == Role.DEALER else ()
    chosen = {
        "people": str(survey.capacity),
        "dealers": "\n".join(dealers),
        "trust": min(TRUST, key=lambda trust: abs(float(trust) - above)),
        "min_cell": str(MIN_CELL if survey.pilot else survey.min_cell),
        "results_every": str(survey.results_every),
        "min_batch": str(survey.min_batch),
        "collector": survey.collector,
        "keep_days": str(survey.keep_days or ""),
        "public": "" if survey.invitations else "yes",
        "after": after or (survey.earlier[-1].survey if corrects and survey.earlier else ""),
        "corrects": corrects,
        "unverified": "yes" if survey.announces and not verified else "",
    }
    kept = read(request.console, choices_of, survey.hash)
    chosen |= {name: kept[name] for name in CHOICE_NAMES if name in kept}
    settings = NO_SETTINGS | {"consent": consent, "form": chosen, "logo": survey.logo or ""}
    if corrects:  # the same survey with other words: its times are right
        settings |= {"opens": (survey.opens or "")[:16], "closes": (survey.closes or "")[:16]}
    draft = StoredDraft(draft_of(survey).to_dict(), settings=settings)
    add_draft(request.console.engine, draft)
    return draft


def _rounded(loss: float) -> float:
    """Without what computing has added in the last digits."""
    return float(f"{loss:.6g}")
