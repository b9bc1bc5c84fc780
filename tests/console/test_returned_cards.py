"""How many cards a dealer says are lost: those of questions that somebody was not asked are not."""

from typing import Any

import pytest

from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from tests.console import Servers, Visitor, answer_at_once

REGION = {
    "name": "region",
    "kind": "choice",
    "text": "Where?",
    "labels": ["north", "south"],
    "sensitive": False,
}
NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize("verified", [False, True])
@pytest.mark.parametrize(
    ("ask", "has_branches"), [(2, False), ("all", True)], ids=["some", "branches"]
)
def test_no_card_is_lost_of_a_question_that_was_not_asked(
    servers: Servers, ask: int | str, has_branches: bool, verified: bool
) -> None:
    yes_no = {"kind": "yes-no", "text": "Did you?"}
    asked: list[dict[str, Any]] = [yes_no | {"name": name} for name in NAMES]
    if has_branches:
        for question, region in zip(asked, ["north", "south"] * 2, strict=True):
            question["only_if"] = {"region": [region]}
    document = {
        **{"title": "Lost cards", "epsilon": 4.0, "ask": ask},
        **{"split": "even" if has_branches else "together", "questions": [REGION, *asked]},
    }
    survey = servers.survey(document, min_cell=1, verified=None if verified else False)
    assert survey.dealing.is_verified == verified
    assert not any(one.is_for_everybody for one in survey.sensitive)
    invitations = servers.begin(survey, 12)
    answers = {}
    for at, one in enumerate(invitations[:10]):
        where = {"region": ("north", "south")[at % 2]}
        name = pseudonym(invitation_secret(one), survey.collector_salt, COLLECTOR)
        answers[one] = where | {item.name: "no" for item in survey.asked(where, name)}
    answer_at_once(survey, answers)
    servers.operator(survey).close()
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    assert "0 lost, by this dealer's count" in dealer.get(f"/surveys/{survey.hash}").words
