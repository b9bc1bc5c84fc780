"""Every cheat that a dealer's server can try with committed decks, over HTTP, and who catches it.

A liar stands before an honest dealer's process and changes what that one says; nobody can tell it
from a dealer that lies by itself.
"""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, MRR
from jrr.client.contributor import Contributor
from jrr.client.deck_audits import audit_campaign
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.errors import IntegrityError, JrrError, ProtocolError
from jrr.mechanisms.base import Mechanism
from jrr.survey.campaign import Campaign
from jrr.survey.cut_and_choose.leaves import chosen_deck
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.dealer_kinds import DealerServer
from tests.e2e import Pair, ask, http_reply, link_of, path_of, pretender

DECKS = 4
MASKS = MRR(8, own=3.0, card_rate=0.8, total_rate=0.3)
FACES = DRR(8, truth=0.5, own=0.1)
Lie = Callable[[str, Any], Any]  # (last part of the path, what the honest dealer says) -> the lie
pytestmark = pytest.mark.filterwarnings("error")


class Survey:
    """A campaign whose dealer lies."""

    def __init__(self, pair: Pair, url: str, mechanism: Mechanism, folder: Path) -> None:
        self.campaign: Campaign = pair.campaign(
            mechanism, dealer=DealerServer(url), committed_decks=DECKS
        )
        self.pair, self.folder = pair, folder
        self.operator = Operator(self.campaign, Admin(url, pair.dealer.token), pair.collector.admin)
        self.operator.install()
        self.invitations = new_invitations(6)
        self.operator.invite(self.invitations)

    def person(self, number: int) -> Contributor:
        return Contributor(
            link_of(self.campaign),
            self.invitations[number],
            limit=700.0,
            patience=2.0,
            state=self.folder,
        )

    def notes(self) -> Any:
        return ask(self.pair.collector.url, "GET", path_of(self.campaign, "notes")).json

    def reports(self) -> int:
        return int(self.operator.show()["collector"]["reports"])


@pytest.fixture
def lying(sqlite_pair: Pair, tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def begin(lie: Lie, mechanism: Mechanism = FACES) -> Iterator[Survey]:
        token = {"Authorization": f"Bearer {sqlite_pair.dealer.token}"}

        def reply(method: str, path: str, body: bytes) -> bytes:
            headers = token if "/admin/" in path else {}
            said = ask(sqlite_pair.dealer.url, method, path, body or None, headers)
            words = said.body
            if said.status == 200 and path.endswith(("/decks", "/cards", "/close")):
                told = lie(path.rpartition("/")[2], said.json)
                if told is None:
                    return http_reply(404, b"{}", "Content-Type: application/problem+json")
                words = json.dumps(told).encode()
            return http_reply(said.status, words, "Content-Type: application/json")

        with pretender(reply) as url:
            yield Survey(sqlite_pair, url, mechanism, tmp_path)
        # A collector says in its log that a dealer cheated; other tests want an empty one.
        (sqlite_pair.collector.folder / "collector.log").write_text("")

    return begin


def test_a_deck_that_is_not_drawn_as_it_should_be_passes_only_if_the_coin_picks_it(
    lying: Callable[..., Any],
) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["roots"] is not None:
            said["roots"][0] = "ab" * 32
        return said

    with lying(lie) as survey:
        try:
            survey.operator.open()
            caught = ""
        except IntegrityError as error:
            caught = str(error)
        notes = survey.notes()
        coin, promise = (bytes.fromhex(notes[name]) for name in ("coin", "promise"))
        if chosen_deck(coin, promise, DECKS) == 0:
            assert caught == ""
            with pytest.raises(IntegrityError, match="not the one that it committed to"):
                survey.person(0).answer(1)
            return
        assert "deck 0 is not the one that follows from its seed and the beacon" in caught
        assert notes["faults"]
        with pytest.raises(JrrError, match="must have passed"):
            survey.operator.collector.post(f"{survey.operator.path}/open", {"n": None})
        with pytest.raises(ProtocolError, match="no deck of the dealer that passed"):
            survey.person(0).answer(1)


def test_who_cheats_in_two_decks_is_always_found_out(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["roots"] is not None:
            said["roots"][0], said["roots"][1] = said["roots"][1], said["roots"][0]
        return said

    with lying(lie) as survey:
        with pytest.raises(IntegrityError, match=r"deck [01] is not the one that follows"):
            survey.operator.open()
        with pytest.raises(IntegrityError, match=r"deck [01] is not the one that follows"):
            survey.operator.open()  # again: the same coin, the same finding


def test_seeds_that_were_tried_after_the_beacon_are_another_promise(
    lying: Callable[..., Any],
) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["beacon"] is not None:
            said["seeds"] = [hashlib.sha256(text.encode()).hexdigest() for text in said["seeds"]]
        return said

    with lying(lie) as survey:
        for _ in range(2):
            with pytest.raises(IntegrityError, match="another promise was written down"):
                survey.operator.open()
        assert survey.notes()["coin"] is None


def test_who_stops_after_an_unpleasant_coin_has_no_second_try(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks":
            said |= {"coin": None, "opened": None}
        return said

    with lying(lie) as survey:
        with pytest.raises(ProtocolError, match="did not"):
            survey.operator.open()
        before = survey.notes()
        assert before["coin"] is not None
        with pytest.raises(ProtocolError, match="did not"):
            survey.operator.open()
        assert survey.notes() == before
        with pytest.raises(ProtocolError, match="no deck of the dealer that passed"):
            survey.person(0).answer(1)


def test_a_seed_that_is_not_opened_counts_as_cheating(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["opened"]:
            said["opened"].popitem()
        return said

    with (
        lying(lie) as survey,
        pytest.raises(IntegrityError, match="was not opened: stopping counts as cheating"),
    ):
        survey.operator.open()


def test_a_coin_or_beacon_of_the_dealers_own_is_none(lying: Callable[..., Any]) -> None:
    def own_coin(what: str, said: Any) -> Any:
        if what == "decks" and said["roots"] is not None:
            said["coin"] = hashlib.sha256("".join(said["roots"]).encode()).hexdigest()
        return said

    def own_beacon(what: str, said: Any) -> Any:
        if what == "decks":
            said["beacon"] = hashlib.sha256("".join(said["seeds"]).encode()).hexdigest()
        return said

    for lie, name in ((own_coin, "coin"), (own_beacon, "beacon")):
        with (
            lying(lie) as survey,
            pytest.raises(IntegrityError, match=f"{name} is not the one that was drawn here"),
        ):
            survey.operator.open()


def test_roots_that_are_exchanged_after_the_coin_are_noticed(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["coin"] is not None:
            said["roots"] = said["roots"][::-1]
        return said

    with (
        lying(lie) as survey,
        pytest.raises(IntegrityError, match="not those that were written down before the coin"),
    ):
        survey.operator.open()


def test_fewer_decks_than_promised_in_the_document_are_noticed(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks":
            said["seeds"] = said["seeds"][:2]
        return said

    with lying(lie) as survey, pytest.raises(IntegrityError, match="commit to 4 decks"):
        survey.operator.open()


@pytest.mark.parametrize("change", ["card", "salt", "short salt", "path", "no proof"])
def test_another_card_than_the_committed_one_is_not_used(
    lying: Callable[..., Any], change: str
) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "cards":
            proof = said["proofs"][0]
            if change == "card":
                said["cards"] = [1 - said["cards"][0]]
            elif change == "no proof":
                del said["proofs"]
            elif change == "path":
                proof["path"] = proof["path"][::-1]
            else:
                proof["salt"] = "00" * (32 if change == "salt" else 4)
        return said

    with lying(lie) as survey:
        survey.operator.open()
        with pytest.raises(IntegrityError, match="nothing was sent"):
            survey.person(0).answer(1)
        assert survey.reports() == 0


def test_one_card_dealt_to_everybody_is_seen_by_whoever_looks_for_their_mark(
    lying: Callable[..., Any],
) -> None:
    first: dict[str, Any] = {}

    def lie(what: str, said: Any) -> Any:
        return first.setdefault("it", said) if what == "cards" else said

    with lying(lie) as survey:
        survey.operator.open()
        for number in range(3):
            assert survey.person(number).answer(1).carded
        assert survey.person(1).check_place().faults == ()  # marks come at the end
        assert survey.operator.close()["collector"]["commitments"] == "passed"
        assert survey.person(0).check_place().faults == ()
        for number in (1, 2):
            (fault,) = survey.person(number).check_place().faults
            assert "place 0 was dealt to somebody else too" in fault


def ended(survey: Survey, people: int = 3) -> str:
    """What the collector finds at the end."""
    survey.operator.open()
    for number in range(people):
        assert survey.person(number).answer(1).carded
    return str(survey.operator.close()["collector"]["commitments"])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("sum", "the undealt sum is not that of the opened cards"),
        ("card", "opened cards are not those committed to"),
        ("fewer", "opened cards are not those at the places 3 to 7"),
        ("none", "the cards that nobody fetched were not opened"),
        ("hidden place", "opened cards are not those at the places 2 to 7"),
        ("twice", "a mark stands at two places"),
        ("made up", "places were dealt, but 6 people invited"),
    ],
)
def test_what_is_false_at_the_end_is_found_by_the_collector(
    lying: Callable[..., Any], change: str, fault: str
) -> None:
    def lie(what: str, said: Any) -> Any:
        if what != "decks" or said["marks"] is None:
            return said
        undealt = said["undealt"]
        if change == "sum":
            undealt["sum"] += 5
        elif change == "card":
            undealt["cards"][0]["card"] += 5
            undealt["sum"] += 5
        elif change == "fewer":
            undealt["sum"] -= undealt["cards"].pop()["card"]
        elif change == "none":
            said["undealt"] = None
        elif change == "hidden place":
            said["marks"].pop()
        elif change == "twice":
            said["marks"][1] = said["marks"][0]
        else:
            more = [hashlib.sha256(bytes([at])).hexdigest() for at in range(4)]
            said["marks"] += more
            gone, undealt["cards"] = undealt["cards"][:4], undealt["cards"][4:]
            undealt["sum"] -= sum(entry["card"] for entry in gone)
        return said

    with lying(lie, MASKS) as survey:
        found = ended(survey)
        assert fault in found
        facts = survey.operator.collector.get(survey.operator.path)
        assert facts["state"] == "closed"
        assert fault in " ".join(survey.notes()["faults"])


def test_cards_that_nobody_may_see_are_not_opened_unnoticed(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["marks"] is not None:
            said["undealt"] = {"sum": 0, "cards": []}
        return said

    with lying(lie, FACES) as survey:
        assert "count as colluders' cards" in ended(survey)


def test_the_deck_that_is_dealt_must_not_be_opened(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["opened"]:
            number = Published.from_dict(said)
            coin, promise = number.coin or b"", number.promise
            said["opened"][str(chosen_deck(coin, promise, DECKS))] = "00" * 32
        return said

    with lying(lie) as survey, pytest.raises(IntegrityError, match="its cards are public"):
        survey.operator.open()


def test_a_sum_told_to_the_collector_must_be_that_of_the_cards(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "close":
            said["undealt"]["sums"][0] += 7
        return said

    with lying(lie, MASKS) as survey:
        with pytest.raises(JrrError, match="undealt sum is not that of the cards"):
            ended(survey)
        assert survey.operator.collector.get(survey.operator.path)["state"] == "open"


def test_other_marks_after_the_end_are_noticed(lying: Callable[..., Any]) -> None:
    state = {"lie": False}

    def lie(what: str, said: Any) -> Any:
        if state["lie"] and what == "decks":
            said = copy.deepcopy(said)
            said["marks"] = said["marks"][::-1]
        return said

    with lying(lie) as survey:
        assert ended(survey) == "passed"
        assert audit_campaign(survey.campaign).faults == ()
        state["lie"] = True
        found = audit_campaign(survey.campaign)
        assert found.faults == (
            "marks and undealt cards are not those that the collector was given",
        )
        with pytest.raises(IntegrityError, match="other marks"):
            survey.operator.close()


def test_a_collector_that_wrote_nothing_down_shows_nothing(sqlite_pair: Pair) -> None:
    said = dict.fromkeys(
        ("promise", "beacon", "commitment", "coin", "root", "closing", "faults", "dealt", "undealt")
    )
    known: dict[str, Campaign] = {}

    def reply(method: str, path: str, body: bytes) -> bytes:
        if path.endswith("/notes"):
            return http_reply(200, json.dumps(said).encode())
        return http_reply(200, known["it"].to_bytes())

    with pretender(reply) as url:
        campaign = known["it"] = sqlite_pair.campaign(FACES, collector=url, committed_decks=DECKS)
        dealer = Operator(campaign, sqlite_pair.dealer.admin)
        dealer.install()
        with pytest.raises(ProtocolError, match="turn of the collector's operator"):
            dealer.open()
        (fault,) = audit_campaign(campaign).faults
        assert "the collector has not written down promise and roots in time" in fault


def test_a_sum_that_is_told_before_the_cards_are_shown_is_not_believed(
    lying: Callable[..., Any],
) -> None:
    shows = {"marks": False}

    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["marks"] is not None and not shows["marks"]:
            said["marks"] = said["undealt"] = None
        if what == "close":
            said["undealt"]["sums"][0] += 7
        return said

    with lying(lie, MASKS) as survey:
        survey.operator.open()
        for number in range(3):
            assert survey.person(number).answer(1).carded
        assert "commitments" not in survey.operator.close()["collector"]
        result = survey.operator.collector.get(f"{survey.operator.path}/estimate")
        assert "sums" not in result
        assert result["dealer"]["commitments"]["ended"] is False
        shows["marks"] = True  # everything that is published is true, and passes
        assert survey.operator.close()["collector"]["commitments"] == "passed"
        result = survey.operator.collector.get(f"{survey.operator.path}/estimate")
        assert result["sums"]["undealt"] == survey.notes()["undealt"]


def test_anybody_hears_what_only_the_collector_can_find(lying: Callable[..., Any]) -> None:
    def lie(what: str, said: Any) -> Any:
        if what == "decks" and said["marks"] is not None:
            said["marks"] += [hashlib.sha256(bytes([at])).hexdigest() for at in range(4)]
        return said

    with lying(lie) as survey:
        assert "7 places were dealt, but 6 people invited" in ended(survey)
        (fault,) = audit_campaign(survey.campaign).faults
        assert fault == "the collector found: 7 places were dealt, but 6 people invited"


def test_a_card_that_is_kept_back_is_seen_by_whoever_looks_for_their_mark(
    lying: Callable[..., Any],
) -> None:
    def lie(what: str, said: Any) -> Any:
        return None if what == "cards" and said["cards"] == [0] else said

    with lying(lie) as survey:
        survey.operator.open()
        carded = [survey.person(number).answer(1).carded for number in range(6)]
        assert not all(carded)
        assert survey.operator.close()["collector"]["commitments"] == "passed"
        for number, came in enumerate(carded):
            faults = survey.person(number).check_place().faults
            assert came == (faults == ())
            assert came or "but never came here" in faults[0]
