"""Serial numbers, and what dealers tell of their cards at the end."""

import hashlib
import hmac
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from jrr import DRR, MRR, SeededRandom
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.masks import laplace_variance
from jrr.estimation.told_sums import CardSum
from jrr.survey.announcing import announce, place_numbers, undealt_sum, unknown_serials
from jrr.survey.campaign import Campaign
from jrr.survey.creation import CampaignRequest
from jrr.survey.dealer import Dealer
from jrr.survey.dealer_kinds import Committee, DealerServer, DealerServers, Party, read_dealer
from jrr.survey.deck import deck_of
from jrr.survey.messages import read_report, report_request
from jrr.survey.naming import Announcement, Naming
from jrr.survey.serials import Serials
from jrr.survey.told import ToldSums
from tests.statistics_rules import P_VALUE

KEY = bytes(range(32))
GOLDEN_SERIAL = "64057182a8fed9530102428079ba9fd4"  # of place (0, 0) under that key
ANNOUNCED = MRR.for_epsilon(1.0, n=20, announced=True)


def campaign_by(mechanism: Any = ANNOUNCED, **more: Any) -> Campaign:
    settings: dict[str, Any] = {
        "question": "Do you?",
        "labels": tuple(map(str, range(mechanism.k))),
        "mechanism": mechanism,
        "dealer": DealerServer("https://dealer.example"),
        "collector": "https://collector.example",
        "nonce": "n",
    } | more
    if isinstance(settings["dealer"], DealerServers) and mechanism.announced:
        settings["mechanism"] = mechanism.for_dealers(len(settings["dealer"].urls))
    return Campaign(**settings)


def named(campaign: Campaign, dealer: Dealer, places: list[tuple[int, int]]) -> Naming:
    """The cards at these places."""
    serials = tuple(dealer.serials.of(*place) for place in places)
    return Naming(campaign=campaign.hash, by=None, serials={"": serials})


def test_serials_are_a_permutation_that_only_the_key_opens() -> None:
    serials = Serials(KEY)
    places = [(b, s) for b in (0, 1, 2**32 - 1) for s in (0, 9, 2**31)]
    made = [serials.of(*place) for place in places]
    assert len(set(made)) == len(places)
    found = serials.places(made)
    assert [(int(p["block"]), int(p["seat"])) for p in found] == places
    assert not found["zero"].any()
    assert Serials(bytes(32)).of(0, 0) != serials.of(0, 0)
    assert serials.of(0, 0).hex() == GOLDEN_SERIAL


def test_what_was_made_up_or_not_dealt_is_unknown() -> None:
    campaign = campaign_by()
    dealer = Dealer(ANNOUNCED, KEY)
    dealt = [(block, seat) for block in range(3) for seat in range(15)]
    numbers = place_numbers(dealer, dealt)
    assert unknown_serials(dealer, named(campaign, dealer, dealt), numbers) == []
    wrong = [
        dealer.serials.of(0, 15),  # a card that nobody fetched
        dealer.serials.of(3, 0),  # of a block that was not begun
        dealer.serials.of(0, 20),  # of a seat that there is not, though (1, 0) is dealt
        dealer.serials.of(2**40, 0),
        Serials(bytes(32)).of(0, 0),  # of another key
        bytes(16),
        *(bytes([at]) * 16 for at in range(1, 100)),
    ]
    naming = Naming(
        campaign=campaign.hash, by=None, serials={"": (*wrong, dealer.serials.of(0, 0))}
    )
    assert unknown_serials(dealer, naming, numbers) == wrong
    with pytest.raises(ArgumentError, match=f"got {len(wrong)} that nobody was given"):
        announce(dealer, naming, numbers, 1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.statistical
def test_the_announced_sum_is_that_of_the_named_cards_and_exact_noise(k: int) -> None:
    """Over several blocks; and noise that is 30% off is noticed."""
    mechanism = MRR.for_epsilon(1.0, n=20, announced=True, k=k)
    campaign = campaign_by(mechanism)
    dealer = Dealer(mechanism, KEY)
    dealt = [(block, seat) for block in range(3) for seat in range(20)]
    naming = named(campaign, dealer, dealt[::2])
    true = sum(np.array(dealer.card(*place)) for place in dealt[::2])
    rng, noise = SeededRandom(1), []
    for _ in range(800):
        told = announce(dealer, naming, place_numbers(dealer, dealt), 5, rng)
        assert told.sums[""].cards == 30
        noise += np.atleast_1d(told.sums[""].sum - true).tolist()
    rate = mechanism.announced_rate

    def accepted(assumed: float) -> bool:
        edges = np.arange(-4, 5)
        chances = np.exp(-assumed * np.abs(edges)) * np.tanh(assumed / 2)
        seen = Counter(int(np.clip(value, -5, 5)) for value in noise)
        rest = (1 - chances.sum()) / 2
        expected = np.array([rest, *chances, rest]) * len(noise)
        observed = np.array([seen[at] for at in range(-5, 6)])
        return bool(stats.chisquare(observed, expected).pvalue > P_VALUE)

    assert accepted(rate)
    assert not accepted(0.7 * rate)
    assert np.var(noise) == pytest.approx(laplace_variance(rate), rel=0.3)


def test_undealt_cards_and_the_others_are_the_whole_deck() -> None:
    mechanism = MRR.for_epsilon(1.0, n=20, announced=False)
    dealer = Dealer(mechanism, KEY)
    for blocks, given in ((2, 27), (1, 20), (1, 0), (0, 0)):
        places = [divmod(number, 20) for number in range(given)]
        told = undealt_sum(dealer, blocks, place_numbers(dealer, places))
        assert told.cards == 20 * blocks - given
        decks = [dealer.deck_cards(block, range(20)) for block in range(blocks)]
        fetched = sum(int(decks[block][seat]) for block, seat in places)
        left = sum(int(deck.sum()) for deck in decks) - fetched
        assert told.sum == (left if told.cards else None)


def test_documents_are_read_back_and_nothing_else_is() -> None:
    campaign = campaign_by(covariates={"of": ("a", "b")})
    dealer = Dealer(ANNOUNCED, KEY)
    dealt = [(0, seat) for seat in range(20)]
    naming = named(campaign, dealer, dealt)
    document = json.loads(json.dumps(naming.to_document()))
    again = Naming.from_document(campaign, document)
    assert again.digest == naming.digest
    assert named(campaign, dealer, dealt[::-1]).digest == naming.digest
    assert named(campaign, dealer, dealt[:6]).digest != naming.digest
    told = announce(dealer, naming, place_numbers(dealer, dealt), 5)
    sums = ToldSums(announced=(told,))
    assert ToldSums.from_document(campaign, json.loads(json.dumps(sums.to_document()))) == sums
    wrong: list[Any] = [
        None,
        {},
        {**told.to_document(), "more": 1},
        {**told.to_document(), "campaign": "0" * 64},
        {**told.to_document(), "sums": {"": {"cards": 5, "sum": None}}},
        {**told.to_document(), "sums": {"": {"cards": 0, "sum": 1}}},
        {**told.to_document(), "sums": {"": {"cards": 5, "sum": [1]}}},
        {**told.to_document(), "sums": {"": {"cards": 5}}},
        {**told.to_document(), "sums": {"a": {"cards": 5, "sum": 1}}},
        {**told.to_document(), "sums": [1, 2]},
    ]
    for document in wrong:
        with pytest.raises(DamagedError):
            Announcement.from_document(campaign, document)
    closed = campaign_by(MRR.for_epsilon(1.0, n=20, announced=False))
    undealt = CardSum(3, -4)
    left = ToldSums(undealt=undealt)
    assert ToldSums.from_document(closed, left.to_document()) == left
    with pytest.raises(DamagedError, match="undealt must be null"):
        ToldSums.from_document(campaign, {**sums.to_document(), "undealt": undealt.to_document()})
    with pytest.raises(DamagedError, match="list of 0"):
        ToldSums.from_document(closed, sums.to_document())


def test_the_bytes_of_a_report_with_serials() -> None:
    campaign = campaign_by()
    body = report_request(
        pseudonym=bytes(32),
        carded=True,
        mechanism=ANNOUNCED,
        report=-3,
        covariates={},
        serials=["ab" * 16],
    )
    assert body == (
        b'{"carded":true,"covariates":{},"pseudonym":"' + b"00" * 32 + b'","report":-3,'
        b'"serials":["' + b"ab" * 16 + b'"]}'
    )
    stored = read_report(campaign, ANNOUNCED, body)
    assert (stored.serials, stored.report) == ((b"\xab" * 16,), b"\xfd\xff")


def test_who_may_deal_which_cards() -> None:
    parties = tuple(
        Party(url=f"https://p{at}.example", link=f"p{at}.example:7", certificate=f"c{at}")
        for at in range(3)
    )
    committee = Committee(parties=parties, threshold=1)
    with pytest.raises(ArgumentError, match="sorted decks where a committee deals"):
        campaign_by(dealer=committee, dealing="enrol")
    several = DealerServers(("https://a.example", "https://b.example"))
    assert campaign_by(dealer=several).dealers == several.urls
    assert several.roles == ("dealer:0", "dealer:1")
    assert read_dealer(json.loads(json.dumps(several.to_document()))) == several
    with pytest.raises(ArgumentError, match=r"for as many dealers as are named \(for_dealers"):
        replace(campaign_by(dealer=several), mechanism=ANNOUNCED)
    with pytest.raises(ArgumentError, match=r"for as many dealers as are named \(for_dealers"):
        campaign_by(ANNOUNCED.for_dealers(2))
    for mechanism in (DRR(20, truth=0.5, own=0.1), MRR.for_epsilon(1.0, n=20, announced=False)):
        with pytest.raises(ArgumentError, match="card sums are announced where several"):
            campaign_by(mechanism, dealer=several)
    with pytest.raises(ArgumentError, match="'arrival' where several"):
        campaign_by(dealer=several, dealing="enrol")
    with pytest.raises(ArgumentError, match="another host or port than dealer 0's"):
        campaign_by(dealer=DealerServers(("https://a.example", "https://a.example:443")))
    with pytest.raises(ArgumentError, match="another host or port than the collector's"):
        campaign_by(dealer=DealerServers(("https://a.example", "https://collector.example")))
    with pytest.raises(ArgumentError, match="2 to 16"):
        DealerServers(("https://a.example",))


@pytest.mark.parametrize("k", [2, 3])
def test_cards_follow_from_the_key_as_the_protocol_says(k: int) -> None:
    mechanism, number = MRR.for_epsilon(1.0, n=7, announced=True, k=k), 5
    purpose = b"jrr keyed words 1:masks:" + number.to_bytes(8, "little")
    key = hmac.new(KEY, purpose, hashlib.sha256).digest()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    width = 1 if k == 2 else k
    words = np.frombuffer(stream.update(bytes(8 * 2 * 7 * width)), "<u8").reshape(width, 2, 7)
    drawn = np.floor(-np.log((words + 0.5) * 2.0**-64) / mechanism.card_rate)
    expected = (drawn[:, 0] - drawn[:, 1]).T.astype(np.int64).reshape((7,) if k == 2 else (7, k))
    assert np.array_equal(deck_of(mechanism, KEY, number).cards(range(7)), expected)


def requested(**more: Any) -> CampaignRequest:
    settings: dict[str, Any] = {
        "question": "Do you?",
        "n": 1_000,
        "epsilon": 1.0,
        "collector": "https://collector.example",
    }
    return CampaignRequest(**(settings | more))


def test_campaigns_announce_sums_unless_told_otherwise() -> None:
    dealer = "https://dealer.example"
    made = requested(dealer=dealer).campaign()
    assert made.announces
    assert (made.mechanism.name, made.cost_line.partition(" against")[0]) == ("MRR", "ε = 1")
    assert Campaign.from_bytes(made.to_bytes()) == made
    closed = requested(dealer=dealer, closed_deck=True).campaign()
    assert (closed.mechanism.name, closed.announces) == ("MRR", False)
    # Without loss a closed deck is for fewer lost cards than with much of it.
    patient = requested(dealer=dealer, closed_deck=True, lost=0.3).campaign()
    assert patient.mechanism != closed.mechanism
    several = requested(dealers=(f"{dealer}/", "https://other.example"), may_leave_out=True)
    asked = several.campaign()
    assert asked.dealer == DealerServers((dealer, "https://other.example"), True)
    assert asked.mechanism == made.mechanism.for_dealers(2)  # one of them is enough
    with pytest.raises(ArgumentError, match="must not be given together"):
        requested(dealer=dealer, dealers=(dealer, "https://other.example"))
    with pytest.raises(ArgumentError, match="with several dealers only"):
        requested(dealer=dealer, may_leave_out=True)
    with pytest.raises(ArgumentError, match="left out where several dealers deal"):
        requested(dealers=(dealer, "https://other.example"), closed_deck=True)


def test_who_shuffles_known_cards_is_not_asked_to_draw_masks() -> None:
    parties = tuple(
        Party(url=f"https://p{at}.example", link=f"p{at}.example:7", certificate=f"c{at}")
        for at in range(3)
    )
    assert not requested(parties=parties).campaign().mechanism.masked
    with pytest.raises(ArgumentError, match="sorted decks where a committee deals"):
        requested(parties=parties, mechanism="mrr").campaign()
