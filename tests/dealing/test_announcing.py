"""Serial numbers, and what dealers tell of their cards at the end."""

import hashlib
import hmac
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from jrr import MRR, SeededRandom
from jrr.dealing.announced import announce, place_numbers, undealt_sum, unknown_serials
from jrr.dealing.deck import deck_of
from jrr.dealing.decks import QuestionDecks, SurveyDecks
from jrr.dealing.serials import Serials
from jrr.errors import ArgumentError
from jrr.estimation.masks import laplace_variance
from tests.statistics_rules import P_VALUE

KEY = bytes(range(32))
GOLDEN_SERIAL = "64057182a8fed9530102428079ba9fd4"  # of place (0, 0) under that key
ANNOUNCED = MRR.for_epsilon(1.0, n=20, announced=True)


def key() -> bytes:
    """A copy, which may be overwritten."""
    return bytes(bytearray(KEY))


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
    decks = QuestionDecks(ANNOUNCED, KEY)
    dealt = [(block, seat) for block in range(3) for seat in range(15)]
    numbers = place_numbers(20, dealt)
    assert unknown_serials(decks, [decks.serials.of(*place) for place in dealt], numbers) == []
    assert unknown_serials(decks, [], numbers) == []
    wrong = [
        decks.serials.of(0, 15),  # a card that nobody fetched
        decks.serials.of(3, 0),  # of a block that was not begun
        decks.serials.of(0, 20),  # of a seat that there is not, though (1, 0) is dealt
        decks.serials.of(2**40, 0),
        Serials(bytes(32)).of(0, 0),  # of another key
        bytes(16),
        *(bytes([at]) * 16 for at in range(1, 100)),
    ]
    named = [*wrong, decks.serials.of(0, 0)]
    assert unknown_serials(decks, named, numbers) == wrong
    with pytest.raises(ArgumentError, match=f"got {len(wrong)} that nobody was given"):
        announce(decks, {"": named}, numbers, 1)


def test_no_sum_of_few_cards() -> None:
    decks = QuestionDecks(ANNOUNCED, KEY)
    dealt = [(0, seat) for seat in range(20)]
    numbers, named = place_numbers(20, dealt), [decks.serials.of(*place) for place in dealt]
    with pytest.raises(ArgumentError, match=r"at least 5 .* in the group 'a', or none, got 4"):
        announce(decks, {"a": named[:4], "b": named[4:]}, numbers, 5)
    told = announce(decks, {"a": [], "b": named}, numbers, 5)
    assert (told["a"].cards, told["a"].sum, told["b"].cards) == (0, None, 20)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.statistical
def test_the_announced_sum_is_that_of_the_named_cards_and_exact_noise(k: int) -> None:
    """Over several blocks and both groups; and noise that is 30% off is noticed."""
    mechanism = MRR.for_epsilon(1.0, n=20, announced=True, k=k)
    decks = QuestionDecks(mechanism, KEY)
    dealt = [(block, seat) for block in range(3) for seat in range(20)]
    places = {"a": dealt[::2], "b": dealt[1:51:2]}
    groups = {group: [decks.serials.of(*place) for place in some] for group, some in places.items()}
    true = {
        group: sum(np.array(decks.card(*place)["card"]) for place in some)
        for group, some in places.items()
    }
    rng, noise = SeededRandom(1), []
    for _ in range(400):
        told = announce(decks, groups, place_numbers(20, dealt), 5, rng)
        assert {group: one.cards for group, one in told.items()} == {"a": 30, "b": 25}
        for group, one in told.items():
            noise += np.atleast_1d(one.sum - true[group]).tolist()
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
    decks = QuestionDecks(mechanism, KEY)
    for blocks, given in ((2, 27), (1, 20), (1, 0), (0, 0)):
        places = [divmod(number, 20) for number in range(given)]
        told = undealt_sum(decks, blocks, place_numbers(20, places))
        assert told.cards == 20 * blocks - given
        cards = [decks.cards(block, range(20)) for block in range(blocks)]
        fetched = sum(int(cards[block][seat]) for block, seat in places)
        left = sum(int(deck.sum()) for deck in cards) - fetched
        assert told.sum == (left if told.cards else None)


def test_one_seat_for_all_questions_and_a_key_for_each() -> None:
    salts = {"00" * 32: "a", "11" * 32: "b"}
    decks = SurveyDecks(dict.fromkeys(salts, ANNOUNCED), salts, key())
    places = [decks.place(arrival) for arrival in range(40)]
    assert sorted(places) == [(block, seat) for block in (0, 1) for seat in range(20)]
    assert places != sorted(places)  # a seat does not tell who came when
    given = [decks.cards(*place) for place in places]
    assert all(list(one) == ["a", "b"] for one in given)
    assert len({one[name]["serial"] for one in given for name in one}) == 80
    assert [one["a"]["card"] for one in given] != [one["b"]["card"] for one in given]
    again = SurveyDecks(dict.fromkeys(salts, ANNOUNCED), salts, key())
    assert [again.cards(*again.place(arrival)) for arrival in range(40)] == given
    alone = SurveyDecks({"11" * 32: ANNOUNCED}, salts, key())
    assert alone.cards(1, 3) == {"b": again.cards(1, 3)["b"]}  # whatever else is asked


def test_what_is_forgotten_cannot_be_dealt_again() -> None:
    salts = {"00" * 32: "a"}
    mine = key()
    decks = SurveyDecks({"00" * 32: ANNOUNCED}, salts, mine)
    before = decks.cards(0, 0)
    decks.forget()
    assert mine == bytes(32)
    assert decks.cards(0, 0) != before


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
