"""Who took part, by the results of questions with cards and of others without."""

from typing import Any, cast

from jrr.client.report import _participation
from jrr.reporting.report_facts import Participation, ReportedQuestion
from tests.survey import asked, survey_of

# So few people that only the first question pays for cards.
SURVEY = survey_of(
    asked(
        {"name": "bribed", "kind": "yes-no", "text": "?"},
        {"name": "hours", "kind": "scale", "low": 1, "high": 3, "text": "?"},
        epsilon=4.0,
        split="even",
    ),
    8,
)
COUNTS = {"collector": {"reports": 20, "invited": 22}, "dealer": {"seats": 21}}


def who(*questions: tuple[str, int | None, int]) -> Participation:
    """By name, people and how many of them had a card."""
    reported = [
        ReportedQuestion(
            name=name,
            text="?",
            kind="yes-no",
            perturbation=cast(Any, None),
            n=n,
            carded=carded,
            cardless=(n or 0) - carded,
        )
        for name, n, carded in questions
    ]
    return _participation(SURVEY, COUNTS, reported)


def test_a_question_without_cards_says_nothing_of_who_had_one() -> None:
    assert [one.name for one in SURVEY.dealt] == ["bribed"]
    for listed in ((("bribed", 20, 19), ("hours", 20, 0)), (("hours", 20, 0), ("bribed", 20, 19))):
        found = who(*listed)
        assert (found.carded, found.cardless, found.lost) == (19, 1, 2)
    # Before sums are told the one without cards has a result, and it is of everybody.
    before = who(("bribed", None, 0), ("hours", 20, 0))
    assert (before.carded, before.cardless, before.lost) == (None, None, None)
