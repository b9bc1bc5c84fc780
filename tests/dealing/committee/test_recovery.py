"""Parties as servers that are killed, or hang, before each message: dealing again recovers."""

import re
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from jrr.dealing.committee.dealing import Kind
from jrr.errors import JrrError
from tests.dealing.committee.mortal import Fate, MortalParty
from tests.dealing.committee.stage import CARDS, PEOPLE, Stage

MESSAGES = 32  # of a party in one deal; the last two say that it serves
LAST = range(MESSAGES - 6, MESSAGES)  # from the record on


@pytest.mark.slow
def test_a_party_sends_as_many_messages_as_are_tried_here(stage: Stage) -> None:
    survey, _ = stage.enrolled()
    assert stage.deal(survey) == str(PEOPLE)
    for party in stage.parties:
        kinds = party.sent()
        assert len(kinds) in (MESSAGES - 1, MESSAGES)
        assert kinds[-4:] == [Kind.STORED] * 2 + [Kind.SERVED] * 2


def kill_and_deal_again(stage: Stage, number: int, message: int, *, serve: bool) -> None:
    """serve: whoever has cards already gives somebody a share before the party comes back."""
    survey, people = stage.enrolled()
    mortal = stage.parties[number]
    mortal.restart(Fate(message))
    stage.deal(survey)
    died = mortal.end()
    mortal.start()
    if serve:
        replies = stage.committee.fetch(survey, people[0])
        assert {reply.status for reply in replies} <= {200, 425}
    assert stage.deal(survey) == str(PEOPLE), (number, message)
    assert Counter(stage.committee.hand(survey, secret) for secret in people) == CARDS
    assert stage.deal(survey) == str(PEOPLE)  # and nothing is dealt once more
    assert Counter(stage.committee.hand(survey, secret) for secret in people) == CARDS
    stage.committee.operator(survey).close()
    if died is not None:
        assert died == -signal.SIGKILL


@pytest.mark.slow_variants("0]", "26]", "27]", "28]", "29]", "30]")
@pytest.mark.parametrize("message", [0, 9, *LAST])
def test_after_a_party_was_killed_dealing_again_recovers(stage: Stage, message: int) -> None:
    kill_and_deal_again(stage, 1, message, serve=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("message", range(MESSAGES))
def test_killed_before_every_message(stage: Stage, number: int, message: int) -> None:
    kill_and_deal_again(stage, number, message, serve=message % 2 == 0)


# Who is blamed ----------------------------------------------------------------------------------


@pytest.mark.slow_variants("1", "2", "9")
@pytest.mark.parametrize("message", [0, 1, 9, 14, 27])
def test_a_party_that_hangs_is_named_and_no_other(stage: Stage, message: int) -> None:
    """Its connections stay open: the others wait for it, and for each other."""
    survey, people = stage.enrolled()
    mortal = stage.parties[1]
    mortal.restart(Fate(message, signal.SIGSTOP))
    others = [stage.parties[0], stage.parties[2]]
    said = []

    def deal(party: MortalParty) -> None:
        try:
            party.admin.post(
                f"/v1/admin/surveys/{survey.hash}/deal",
                {"patience": 1.5, "join": 3.0, "again": False},
                30.0,
            )
        except JrrError as error:
            said.append(str(error))

    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(deal, party) for party in others]
        hung = pool.submit(deal, mortal)
        for one in waiting:
            one.result()
        mortal.restart()
        hung.result()
    accused = [re.sub(r"party [02] gave up: ", "", text) for text in said]
    assert len(accused) >= 2
    named = r"no cards were dealt: (party 1 |parties \[1\] |the connection to party 1)"
    for text in [text for text in accused if "no cards were dealt" in text]:
        assert re.search(named, text)
    assert stage.deal(survey) == str(PEOPLE)
    assert Counter(stage.committee.hand(survey, secret) for secret in people) == CARDS
