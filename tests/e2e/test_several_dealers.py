"""Several dealers: everybody adds a card from each, and one honest dealer is enough."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jrr import MRR
from jrr.client.contributor import Contributor
from jrr.client.ending import Ending
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.dealing.messages import card_request
from jrr.errors import ArgumentError, ProtocolError
from jrr.estimation.masks import Known
from jrr.protocol.identity import dealer_role, invitation_secret, pseudonym
from jrr.research.processes import Running, running
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    Recorder,
    answer_all,
    ask,
    ask_many,
    path_of,
    proxy,
    read_rows,
    tally_of,
    upload_body,
)

ANNOUNCED = MRR.for_epsilon(1.0, n=50, announced=True)
REACH = 60  # noise beyond it has a chance below e^-60


@pytest.fixture(scope="module")
def dealers(
    sqlite_pair: Pair, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, ...]]:
    with (
        running("dealer", tmp_path_factory.mktemp("second")) as second,
        running("dealer", tmp_path_factory.mktemp("third")) as third,
    ):
        yield sqlite_pair.dealer, second, third


def begun(
    pair: Pair, dealers: tuple[Running, ...], urls: tuple[str, ...] = (), **more: Any
) -> tuple[Survey, Operator, list[str]]:
    kind = Dealers(urls or tuple(one.url for one in dealers), leave_out=more.pop("leave", False))
    survey = pair.survey(ANNOUNCED, dealing=kind, **more)
    tokens = Tokens(
        dealers={at: one.token for at, one in enumerate(dealers)}, collector=pair.collector.token
    )
    operator = Operator.by_tokens(survey, tokens)
    operator.install()
    invitations = new_invitations(30)
    operator.invite(invitations)
    operator.open()
    return survey, operator, invitations


def hands_at(number: int, url: str, survey: Survey, people: list[bytes]) -> list[Any]:
    names = [pseudonym(secret, survey.hash, dealer_role(number)) for secret in people]
    replies = ask_many(url, path_of(survey, "cards"), [card_request(name) for name in names])
    return [reply.json["cards"]["answer"] for reply in replies]


def told_sums(pair: Pair, survey: Survey) -> list[Any]:
    query = f"SELECT sums FROM surveys WHERE survey = '{survey.hash}'"
    ((text,),) = pair.rows("collector", query)
    questions = [one["questions"]["answer"] for one in json.loads(text)["announced"][0]]
    return [groups.get("", {"sum": None})["sum"] for groups in questions]


def test_three_dealers_each_announce_their_own_sum(
    sqlite_pair: Pair, dealers: tuple[Running, ...]
) -> None:
    pair = sqlite_pair
    survey, operator, invitations = begun(pair, dealers)
    people = [invitation_secret(text) for text in invitations]
    sent: list[dict[str, Any]] = []
    assert all(r.carded for r in answer_all(survey, people[:25], [1] * 25, kept=sent))
    hands = [hands_at(at, one.url, survey, people[:25]) for at, one in enumerate(dealers)]
    assert {tuple(entry["serials"]) for entry in sent} == {
        tuple(hand["serial"] for hand in mine) for mine in zip(*hands, strict=True)
    }
    # What a dealer has is one card of three: taking it off leaves what is not an answer.
    closed = operator.close()
    assert {f"dealer {at}" for at in range(3)} < set(closed)
    assert operator.close() == closed
    sums = told_sums(pair, survey)
    for mine, total in zip(hands, sums, strict=True):
        cards = sum(hand["card"] for hand in mine)
        assert abs(total - cards) <= REACH / ANNOUNCED.announced_rate
    reports = sum(entry["report"] for entry in sent)
    all_cards = sum(hand["card"] for mine in hands for hand in mine)
    assert 0 <= reports - all_cards <= 25  # the marks of 25 coins
    tally = ANNOUNCED.settle(tally_of(ANNOUNCED, sent), announced=sums)
    assert tally.known == Known(0, 3, 25)  # variances add up
    found = operator.estimate("answer")
    assert found["estimate"] == ANNOUNCED.estimate(tally).to_dict()
    masks, coin = ANNOUNCED.masks, ANNOUNCED.moments
    noise = [masks.variance_of(25, 1, Known(0, count)) for count in (1, 3)]
    assert noise[1] == pytest.approx(3 * noise[0])
    lie = float(coin.q[0])
    expected = np.sqrt(25 * lie * (1 - lie) + noise[1]) / float(coin.gain[0]) / 25
    assert found["estimate"]["stderr"][1] == pytest.approx(expected)
    for one in dealers:
        assert not list((one.folder / "keys").glob(f"{survey.hash}*.key"))


@pytest.mark.parametrize("leave", [False, True])
def test_a_dealer_that_cannot_be_reached(
    sqlite_pair: Pair, dealers: tuple[Running, ...], leave: bool, tmp_path: Path
) -> None:
    pair, seen = sqlite_pair, Recorder()
    with proxy(dealers[1].url, seen) as address:
        urls = (dealers[0].url, address, dealers[2].url)
        survey, operator, invitations = begun(pair, dealers, urls, leave=leave)
        people = [invitation_secret(text) for text in invitations]
        sent: list[dict[str, Any]] = []
        answer_all(survey, people[:10], kept=sent)
        seen.refuse = True
        limits = Limits(700.0, patience=0.1)
        receipts = answer_all(survey, people[10:20], limits=limits, kept=sent)
        # Without it: no card at all, unless the survey says that it may be left out.
        assert {receipt.carded for receipt in receipts} == {leave}
        missing = [[serial is None for serial in entry.get("serials", ())] for entry in sent[10:]]
        assert missing == [[False, True, False] if leave else []] * 10
        person = Contributor(survey.link, invitations[20], limit=5.0, patience=0.1, state=tmp_path)
        assert person.fetch_cards() == leave
        assert person.answer(1).carded == leave
        seen.refuse = False
        operator.close()
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"]) == ((21, 0) if leave else (10, 11))
    assert None not in told_sums(pair, survey)


def test_a_dealer_of_whom_nobody_has_a_card_is_not_needed_at_the_end(
    sqlite_pair: Pair, dealers: tuple[Running, ...]
) -> None:
    pair, seen = sqlite_pair, Recorder()
    with proxy(dealers[2].url, seen) as address:
        urls = (dealers[0].url, dealers[1].url, address)
        survey, operator, invitations = begun(pair, dealers, urls, leave=True)
        seen.refuse = True
        people = [invitation_secret(text) for text in invitations]
        limits = Limits(700.0, patience=0.0)
        answer_all(survey, people[:10], limits=limits)
        only_two = Tokens(
            dealers={at: dealers[at].token for at in (0, 1)}, collector=pair.collector.token
        )
        Operator.by_tokens(survey, only_two).close()
        seen.refuse = False
        operator.close()  # when it is back, its key is burned too
    assert not list((dealers[2].folder / "keys").glob(f"{survey.hash}*.key"))
    assert operator.estimate("answer")["carded"] == 10
    first, second, third = told_sums(pair, survey)
    assert third is None
    assert None not in (first, second)


def test_nothing_is_announced_where_one_dealer_does_not_know_a_serial(
    sqlite_pair: Pair, dealers: tuple[Running, ...]
) -> None:
    pair = sqlite_pair
    survey, operator, invitations = begun(pair, dealers)
    people = [invitation_secret(text) for text in invitations]
    answer_all(survey, people[:10])
    hand = hands_at(0, dealers[0].url, survey, people[10:11])[0]
    made_up = [hand["serial"], "ab" * 16, "cd" * 16]
    body = upload_body(survey, people[10], 1, carded=True, serials=made_up)
    assert ask(pair.collector.url, "POST", path_of(survey, "reports"), body).status == 201
    with pytest.raises(ProtocolError, match="dealer 1 gave 1 of the serials to nobody: nothing"):
        operator.close()
    assert operator.show()["dealer 0"]["state"] == "open"
    operator.close(Ending(discard_unknown=True))
    assert operator.estimate("answer")["carded"] == 10


def test_tokens_of_several_dealers_have_numbers(
    sqlite_pair: Pair, dealers: tuple[Running, ...]
) -> None:
    urls = tuple(one.url for one in dealers)
    survey = sqlite_pair.survey(ANNOUNCED, dealing=Dealers(urls))
    with pytest.raises(ArgumentError, match="NUMBER:TOKEN"):
        Operator.by_tokens(survey, Tokens(dealer="token"))
    for wrong in (Tokens(dealers={3: "token"}), Tokens(parties={0: "token"})):
        with pytest.raises(ArgumentError, match="of this survey"):
            Operator.by_tokens(survey, wrong)


def test_each_dealer_is_shown_another_device(
    sqlite_pair: Pair, dealers: tuple[Running, ...], tmp_path: Path
) -> None:
    """Dealers that compare what they store cannot match people by their devices."""
    survey, operator, invitations = begun(sqlite_pair, dealers)

    def person(at: int) -> Contributor:
        state = tmp_path / str(at)
        return Contributor(survey.link, invitations[at], limit=5.0, state=state)

    for at in range(6):
        assert person(at).fetch_cards()
        assert person(at).fetch_cards()  # who asks again from the same device is known at each
        person(at).answer(1)
    query = f"SELECT pseudonym, device FROM seats WHERE survey = '{survey.hash}'"
    stored = [read_rows(f"sqlite:///{one.folder}/dealer.db", query) for one in dealers]
    shown = [value for rows in stored for row in rows for value in row]
    assert [len(rows) for rows in stored] == [6, 6, 6]
    assert None not in shown
    assert len(set(shown)) == 36
    with pytest.raises(ProtocolError, match="answers to this survey were sent"):
        person(0).fetch_cards()
    operator.close()
    assert operator.estimate("answer")["carded"] == 6
