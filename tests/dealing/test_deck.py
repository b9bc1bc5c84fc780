"""Decks from a key: every card is there, in an order that nobody can tell from a shuffle.

`python -m tests.dealing.test_deck` writes the golden vectors anew, by the literal reading of the
documentation below and not by the code that is tested.
"""

import bisect
import hashlib
import hmac
import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import jrr
from jrr.dealing.deck import Deck, card_from_json, card_to_json
from jrr.dealing.permutation import ALWAYS_SHUFFLED, SHUFFLED, Permutation, grid
from jrr.mechanisms.unary import Unary
from tests.statistics_rules import SAMPLES, accepts_only, chi_square

GOLDEN = Path(__file__).parents[1] / "golden" / "deck.json"
KEY = bytes(range(32))
OTHER_KEY = hashlib.sha256(b"another campaign").digest()

statistical = pytest.mark.statistical


def network(size: int, rounds: int = 12, key: bytes = KEY, tweak: bytes = b"") -> Permutation:
    """The Feistel network even where so few cards would be shuffled."""
    return Permutation(key, size, tweak, shuffled=0, rounds=rounds)


# -- docs/protocol.md, read literally ----------------------------------------------------------


class Literal:
    """A permutation in plain integers, one block at a time."""

    def __init__(self, key: bytes, size: int, tweak: bytes, columns: int = 1) -> None:
        info = b"jrr deck permutation 1" + size.to_bytes(8, "little") + tweak
        extracted = hmac.digest(bytes(32), key, "sha256")
        derived = hmac.digest(extracted, info + b"\x01", "sha256")
        self.aes = Cipher(algorithms.AES(derived), modes.ECB())
        self.size = size
        self.shuffles = size <= 2**14 or size * columns <= 2**20

    @cache  # noqa: B019 - a sort of a million places
    def order(self, column: int) -> list[int]:
        words = [self.word(x, column, 0) for x in range(self.size)]
        assert len(set(words)) == self.size
        return sorted(range(self.size), key=lambda x: words[x])

    def word(self, x: int, column: int, turn: int) -> int:
        block = x.to_bytes(8, "little") + column.to_bytes(4, "little") + turn.to_bytes(4, "little")
        return int.from_bytes(self.aes.encryptor().update(block)[:8], "little")

    def at(self, position: int, column: int = 0) -> int:
        if self.shuffles:
            return self.order(column)[position]
        root = math.isqrt(self.size)
        root += root * root < self.size
        candidates = [root + i for i in range(1024) if 8 * i <= root]
        cells = {a: a * math.ceil(self.size / a) for a in candidates}
        a = min(a for a in candidates if cells[a] == min(cells.values()))
        b = cells[a] // a
        while True:
            row, at = position // b, position % b
            for turn in range(12):
                if turn % 2 == 0:
                    row = (row + self.word(at, column, turn) * a // 2**64) % a
                else:
                    at = (at + self.word(row, column, turn) * b // 2**64) % b
            position = row * b + at
            if position < self.size:
                return position


def literal_cards(
    mechanism: dict[str, Any], key: bytes, number: int, positions: list[int]
) -> list[int | str]:
    """Cards as JSON writes them."""
    tweak = number.to_bytes(8, "little")
    n, k = int(mechanism["n"]), int(mechanism["k"])
    if mechanism["mechanism"] in ("SUE", "OUE"):
        unary = Literal(key, n + n % 2, tweak, k)
        rows = [[unary.at(i, v) < (n + 1) // 2 for v in range(k)] for i in positions]
        packed = [sum(bit << v for v, bit in enumerate(bits)) for bits in rows]
        return [card.to_bytes(-(-k // 8), "little").hex() for card in packed]
    literal = Literal(key, n, tweak)
    places = [literal.at(i) for i in positions]
    if mechanism["mechanism"] == "DRR":
        ends = list(itertools.accumulate(mechanism["deck"]))
        return [bisect.bisect_right(ends, place) for place in places]
    return [1 if place < n // 2 else -1 if place < n // 2 * 2 else 0 for place in places]


GOLDEN_MECHANISMS: list[jrr.Mechanism] = [
    jrr.JRR(8, 0.6, s=0.2),
    jrr.JRR(7, 0.6, s=0.2),
    jrr.JRR(16_384, 0.6, s=0.2),
    jrr.JRR(16_385, 0.6, s=0.2),
    jrr.JRR(10**9, 0.6, s=0.2),
    jrr.JRR(10**9 + 7, 0.6, s=0.2),
    jrr.JRR(10**15, 0.6, s=0.2),
    jrr.DRR(10, 0.5, k=4, deck=(5, 0, 1, 4)),
    jrr.DRR(1_000_003, 0.5, k=300),
    jrr.SUE(10, q=0.3, s=0.1, coupling="joint", n=5),
    jrr.OUE(11, q=0.3, s=0.1, coupling="dealt", n=99_999),
    jrr.OUE(64, q=0.3, s=0.1, coupling="joint", n=10**6),
    jrr.OLH(1_000, g=5, p=0.6, s=0.1, coupling="joint", n=101),
]


def golden_text() -> str:
    cases = []
    campaigns = itertools.cycle([(KEY, 0), (OTHER_KEY, 1), (KEY, 2**64 - 1)])
    for mechanism, (key, number) in zip(GOLDEN_MECHANISMS, campaigns, strict=False):
        document = mechanism.to_dict()
        n = document["n"]
        positions = sorted({*range(min(n, 12)), n // 3, n // 2, n - 1})
        if n in (16_384, 99_999):
            positions = positions[::4]
        cards = literal_cards(document, key, number, positions)
        case = {"mechanism": document, "key": key.hex(), "number": number}
        cases.append({**case, "positions": positions, "cards": cards})
    lines = ",\n".join(json.dumps(case) for case in cases)
    return f"[\n{lines}\n]\n"


class TestGoldenVectors:
    cases: list[dict[str, Any]] = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else []

    @pytest.mark.slow
    @pytest.mark.heavy
    def test_they_are_up_to_date(self) -> None:
        assert GOLDEN.read_text() == golden_text()

    def test_the_code_agrees(self) -> None:
        assert [case["mechanism"] for case in self.cases] == [
            m.to_dict() for m in GOLDEN_MECHANISMS
        ]
        for case in self.cases:
            mechanism = jrr.from_dict(case["mechanism"])
            deck = Deck(mechanism, bytes.fromhex(case["key"]), case["number"])
            cards = [deck.card(position) for position in case["positions"]]
            assert [card_to_json(mechanism, card) for card in cards] == case["cards"], case
            assert [card_from_json(mechanism, card) for card in case["cards"]] == cards, case

    def test_the_reference_walks_and_sorts_as_the_code_does(self) -> None:
        """Sizes with a large excess and those on either side of the shuffle."""
        for size in (1, 2, 3, 100, 16_411, 2**20 + 7, 2**31 - 1, 10**15 + 1):
            literal, real = Literal(KEY, size, b"t"), Permutation(KEY, size, b"t")
            for position in {0, size // 2, size - 1}:
                assert literal.at(position, 7) == real.at(position, 7)


# -- permutations ------------------------------------------------------------------------------


class TestBijection:
    def test_small_networks(self) -> None:
        for size in range(1, 201):
            found = network(size).many(np.arange(size))
            assert sorted(found.tolist()) == list(range(size)), size

    @pytest.mark.parametrize("size", [1, 2, 3, 10, 1_000, SHUFFLED])
    def test_shuffles(self, size: int) -> None:
        found = Permutation(KEY, size, b"").many(np.arange(size))
        assert sorted(found.tolist()) == list(range(size))

    @pytest.mark.parametrize("size", [16_385, 65_537, 999_983, SHUFFLED + 1])
    def test_whole_networks(self, size: int) -> None:
        found = network(size).many(np.arange(size))
        assert np.array_equal(np.sort(found), np.arange(size))

    @pytest.mark.heavy
    @pytest.mark.slow_variants("1000000000")
    @pytest.mark.parametrize("size", [10**9, 10**9 + 7, 10**15])
    def test_a_million_positions_of_a_large_one(self, size: int) -> None:
        found = Permutation(KEY, size, b"").many(np.arange(10**6))
        assert len(np.unique(found)) == 10**6
        assert found.min() >= 0
        assert found.max() < size

    def test_the_grid_hardly_exceeds_the_size(self) -> None:
        assert grid(10**9) == (32_000, 31_250)
        for size in [*range(1, 2_000), 16_411, 10**9 + 7, 10**15, 2**50]:
            rows, columns = grid(size)
            assert 0 <= rows * columns - size < rows
            assert columns <= rows
            assert rows < 1.3 * columns or size <= ALWAYS_SHUFFLED


class TestOneAndMany:
    @pytest.mark.parametrize("size", [5, 1_000, SHUFFLED + 1, 10**9 + 7, 10**15])
    def test_they_agree(self, size: int) -> None:
        permutation = Permutation(KEY, size, b"t")
        positions = [int(word) % size for word in jrr.SeededRandom(size).words(100)]
        for column in (0, 1, 2**32 - 1):
            one_by_one = [permutation.at(position, column) for position in positions]
            assert permutation.many(positions, column).tolist() == one_by_one
            unsigned = np.array(positions, np.uint64)
            assert permutation.many(unsigned, column).tolist() == one_by_one

    @pytest.mark.parametrize("size", [7, 10, 113])
    def test_they_walk_alike(self, size: int) -> None:
        permutation = network(size)
        assert permutation.many(range(size)).tolist() == [permutation.at(i) for i in range(size)]

    @pytest.mark.parametrize("size", [5, SHUFFLED + 1])
    def test_columns(self, size: int) -> None:
        permutation = Permutation(KEY, size, b"t")
        assert permutation.across(3, 20).tolist() == [permutation.at(3, v) for v in range(20)]

    def test_blocks(self) -> None:
        """More positions than are found at a time."""
        permutation = Permutation(KEY, 10**9 + 7, b"")
        found = permutation.many(np.arange(40_000))
        assert np.array_equal(found[-100:], permutation.many(np.arange(39_900, 40_000)))

    def test_none(self) -> None:
        assert Permutation(KEY, 10**9, b"").many([]).tolist() == []
        assert Permutation(KEY, 10, b"").many([]).tolist() == []

    def test_threads(self) -> None:
        permutation = Permutation(KEY, 10**9, b"")
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(permutation.at, range(2_000)))
        assert found == permutation.many(range(2_000)).tolist()

    @pytest.mark.parametrize("size", [1_000, 2 * 10**6])
    def test_key_tweak_size_and_column_all_matter(self, size: int) -> None:
        positions = np.arange(900)
        orders = [
            Permutation(KEY, size, b"").many(positions),
            Permutation(OTHER_KEY, size, b"").many(positions),
            Permutation(KEY, size, b"\0").many(positions),
            Permutation(KEY, size + 1, b"").many(positions),
            Permutation(KEY, size, b"").many(positions, 1),
        ]
        for one, other in itertools.combinations(orders, 2):
            assert np.count_nonzero(one == other) < 20  # about one is expected


def pair_test(images: Any) -> float:
    """p-value of the images of all pairs of positions, one row of images per permutation."""
    size: int = images.shape[1]
    pairs = list(itertools.combinations(range(size), 2))
    chances = (1 - np.eye(size)).reshape(-1) / (size * (size - 1))
    smallest = min(
        chi_square(np.bincount(images[:, i] * size + images[:, j], minlength=size**2), chances)
        for i, j in pairs
    )
    return min(1.0, len(pairs) * smallest)


def position_test(images: Any) -> float:
    """p-value of the image of each position."""
    size: int = images.shape[1]
    counts = [np.bincount(column, minlength=size) for column in images.T]
    return min(1.0, size * min(chi_square(count, np.full(size, 1 / size)) for count in counts))


def order_test(images: Any) -> float:
    """p-value of whole permutations of four."""
    codes = images @ np.array([64, 16, 4, 1])
    possible = [64 * p[0] + 16 * p[1] + 4 * p[2] + p[3] for p in itertools.permutations(range(4))]
    chances = np.zeros(256)
    chances[possible] = 1 / 24
    return chi_square(np.bincount(codes, minlength=256), chances)


def sampled(permutation: Permutation, samples: int = SAMPLES) -> Any:
    """Whole permutations of many columns, one a row."""
    return np.stack([permutation.across(i, samples) for i in range(permutation.size)], axis=1)


def ideal_law(a: int, b: int, rounds: int) -> dict[tuple[int, ...], float]:
    """The exact chance of every permutation under uniformly random round functions."""
    cells = [divmod(x, b) for x in range(a * b)]
    law = {tuple(range(a * b)): 1.0}
    for turn in range(rounds):
        if turn % 2 == 0:
            shifts = itertools.product(range(a), repeat=b)
            steps = [[(row + f[at]) % a * b + at for row, at in cells] for f in shifts]
        else:
            shifts = itertools.product(range(b), repeat=a)
            steps = [[row * b + (at + f[row]) % b for row, at in cells] for f in shifts]
        after: dict[tuple[int, ...], float] = {}
        for order, chance in law.items():
            for step in steps:
                image = tuple(step[x] for x in order)
                after[image] = after.get(image, 0.0) + chance / len(steps)
        law = after
    return law


@pytest.mark.heavy
@statistical
class TestUniformity:
    """The negative controls are networks of two rounds, and folding instead of walking.

    Twelve rounds do not mix grids as small as these: pairs of six stay 1.6% from uniform, and
    so small decks are shuffled. The network is tested for what it must be: the exact law of
    twelve rounds with ideal round functions, and uniform after more of them.
    """

    def test_all_permutations_of_four(self) -> None:
        accepts_only(order_test, sampled(network(4)), sampled(network(4, rounds=2)))

    @pytest.mark.parametrize(("a", "b"), [(2, 2), (3, 2)])
    def test_the_law_of_twelve_rounds(self, a: int, b: int) -> None:
        size = a * b
        assert grid(size) == (a, b)
        place = size ** np.arange(size)
        every = sorted(sum(place * order) for order in itertools.permutations(range(size)))

        def p_value(law: dict[tuple[int, ...], float]) -> float:
            codes = sampled(network(size)) @ place
            chances = {int(sum(place * order)): chance for order, chance in law.items()}
            assert set(codes.tolist()) <= set(every)
            counts = np.bincount(np.searchsorted(every, codes), minlength=len(every))
            return chi_square(counts, [chances.get(int(code), 0.0) for code in every])

        accepts_only(p_value, ideal_law(a, b, 12), ideal_law(a, b, 4))

    @pytest.mark.parametrize("size", [6, 7, 10])
    def test_pairs(self, size: int) -> None:
        fewer = SAMPLES // 4
        right, wrong = (sampled(network(size, rounds=rounds), fewer) for rounds in (24, 2))
        accepts_only(pair_test, right, wrong)

    @pytest.mark.slow
    def test_pairs_of_a_somewhat_larger_grid(self) -> None:
        accepts_only(pair_test, sampled(network(25)), sampled(network(25, rounds=2)))

    @pytest.mark.parametrize("size", [6, 7, 10])
    def test_positions(self, size: int) -> None:
        folded = sampled(network(size + 2))[:, :size] % size
        accepts_only(position_test, sampled(network(size)), folded)

    def test_shuffles(self) -> None:
        shuffles = [Permutation(KEY, 4, b"").many(range(4), v) for v in range(24_000)]
        accepts_only(order_test, np.array(shuffles), sampled(network(4, rounds=2), 24_000))

    @pytest.mark.parametrize("shuffled", [0, SHUFFLED], ids=["network", "shuffle"])
    def test_tweaks(self, shuffled: int) -> None:
        """As the columns, so the decks of a campaign."""
        tweaks = [i.to_bytes(8, "little") for i in range(6_000)]
        orders = [Permutation(KEY, 4, t, shuffled=shuffled).many(range(4)) for t in tweaks]
        same = [network(4, rounds=2, tweak=t).many(range(4)) for t in tweaks]
        accepts_only(order_test, np.array(orders), np.array(same))

    @pytest.mark.parametrize("size", [SHUFFLED + 7, 10**9 + 7, 10**15])
    def test_images_of_neighbours(self, size: int) -> None:
        """Where positions go, and how far apart those land that are neighbours in the grid."""

        def p_value(images: Any) -> float:
            steps = np.diff(images) % size
            counts = [np.bincount(x * 64 // size, minlength=64) for x in (images, steps)]
            return 2 * min(chi_square(count, np.full(64, 1 / 64)) for count in counts)

        positions = np.arange(min(size // 2, SAMPLES)) * grid(size)[1] % size
        right = Permutation(KEY, size, b"").many(positions)
        accepts_only(p_value, right, network(size, rounds=2).many(positions))

    def test_columns_do_not_depend_on_each_other(self) -> None:
        """Which half of its deck neighbouring columns take their card from."""
        halves = sampled(network(6)) < 3

        def p_value(columns: Any) -> float:
            return chi_square(
                np.bincount(2 * columns[0] + columns[1], minlength=4), np.full(4, 0.25)
            )

        first = halves[:, 0].astype(int)
        neighbours = first[::2], first[1::2]
        leaning = np.where(np.arange(len(first) // 2) % 10 < 3, first[::2], first[1::2])
        accepts_only(p_value, neighbours, (first[::2], leaning))


# -- decks -------------------------------------------------------------------------------------

SMALL = [
    jrr.JRR(10, 0.6, s=0.2),
    jrr.JRR(11, 0.6, s=0.2),
    jrr.JRR(SHUFFLED, 0.6, s=0.2, k=3),
    jrr.DRR(10, 0.5, k=3),
    jrr.DRR(1_000, 0.5, k=400, deck=(601, *[1] * 399)),
    jrr.DRR(9, 0.5, k=4, deck=(0, 8, 0, 1)),
    jrr.SUE(10, q=0.3, s=0.1, coupling="joint", n=20),
    jrr.SUE(3, q=0.3, s=0.1, coupling="dealt", n=21),
    jrr.OUE(8, q=0.3, s=0.1, coupling="dealt", n=ALWAYS_SHUFFLED - 1),
    jrr.OLH(100, g=4, p=0.6, s=0.1, coupling="joint", n=31),
    jrr.JRR(100_001, 0.6, s=0.2),
]
LARGE = [
    jrr.JRR(SHUFFLED + 1, 0.6, s=0.2),
    jrr.DRR(SHUFFLED + 3, 0.5, k=300),
    jrr.SUE(10, q=0.3, s=0.1, coupling="joint", n=SHUFFLED // 10 + 1),
    jrr.OUE(17, q=0.3, s=0.1, coupling="dealt", n=70_000),
    jrr.OLH(100, g=4, p=0.6, s=0.1, coupling="joint", n=SHUFFLED + 5),
]
NO_CARDS = [jrr.RR(2, epsilon=1.0), jrr.SUE(4, q=0.3), jrr.OUE(4, q=0.3), jrr.OLH(9, epsilon=1.0)]


def named(mechanism: jrr.Mechanism) -> str:
    return f"{mechanism.name}-{mechanism.to_dict()['n']}"


every_deck = pytest.mark.parametrize("mechanism", [*SMALL, *LARGE], ids=named)


def plus_cards(mechanism: Unary, cards: Any) -> list[int]:
    bits = np.unpackbits(cards, axis=1, count=mechanism.k, bitorder="little")
    return [int(count) for count in bits.sum(axis=0)]


class TestDeck:
    @pytest.mark.slow_variants("OLH-1048581", "JRR-1048577", "SUE-104858")
    @every_deck
    def test_it_holds_exactly_the_cards_of_the_mechanism(self, mechanism: jrr.Mechanism) -> None:
        dealt = mechanism.deal(jrr.SeededRandom(1))
        assert dealt is not None
        for number in (0, 1):
            deck = Deck(mechanism, KEY, number)
            cards = deck.cards(np.arange(deck.size))
            assert (cards.shape, cards.dtype) == (dealt.shape, dealt.dtype)
            if not isinstance(mechanism, Unary):
                assert np.array_equal(np.sort(cards), np.sort(dealt))
                continue
            half, left_over = deck.size // 2, deck.size % 2
            for plus in plus_cards(mechanism, cards):
                assert half <= plus <= half + left_over

    @pytest.mark.parametrize("mechanism", SMALL, ids=named)
    def test_small_decks_are_shuffled(self, mechanism: jrr.Mechanism) -> None:
        assert Deck(mechanism, KEY, 0)._permutation.shuffles

    @pytest.mark.parametrize("mechanism", LARGE, ids=named)
    def test_large_decks_are_not(self, mechanism: jrr.Mechanism) -> None:
        assert not Deck(mechanism, KEY, 0)._permutation.shuffles

    @every_deck
    def test_one_card_is_one_of_many(self, mechanism: jrr.Mechanism) -> None:
        deck = Deck(mechanism, KEY, 3)
        for positions in (range(10)[: deck.size], range(deck.size - 5, deck.size)):
            many = deck.cards(positions)
            rows = [row.tobytes() if many.ndim == 2 else int(row) for row in many]
            assert [deck.card(position) for position in positions] == rows
            assert {type(deck.card(position)) for position in positions} <= {int, bytes}

    @every_deck
    def test_contributors_can_use_the_cards(self, mechanism: jrr.Mechanism) -> None:
        deck = Deck(mechanism, KEY, 0)
        positions = np.arange(min(deck.size, 100))
        values = positions % mechanism.k
        reports = mechanism.respond(values, deck.cards(positions), jrr.SeededRandom(2))
        assert len(reports) == len(values)
        mechanism.respond_one(0, deck.card(0))

    @pytest.mark.slow_variants("OUE-70000", "SUE-104858", "OLH-1048581", "JRR-1048577")
    @pytest.mark.parametrize("mechanism", [m for m in SMALL + LARGE if m.k != 4], ids=named)
    def test_keys_and_numbers_make_other_decks(self, mechanism: jrr.Mechanism) -> None:
        decks = [Deck(mechanism, KEY, 0), Deck(mechanism, KEY, 1), Deck(mechanism, OTHER_KEY, 0)]
        again = Deck(mechanism, KEY, 0)
        every = np.arange(again.size)
        cards = [deck.cards(every) for deck in decks]
        assert np.array_equal(cards[0], again.cards(every))
        for one, other in itertools.combinations(cards, 2):
            assert not np.array_equal(one, other)

    def test_the_left_over_card_of_an_odd_deck_is_either(self) -> None:
        mechanism = jrr.SUE(64, q=0.3, s=0.1, coupling="joint", n=5)
        assert set(plus_cards(mechanism, Deck(mechanism, KEY, 0).cards(range(5)))) == {2, 3}

    @statistical
    @pytest.mark.parametrize("n", [2_000, 40_000], ids=["shuffle", "network"])
    def test_bits_have_decks_of_their_own(self, n: int) -> None:
        """Neighbouring bits of a card agree half of the time."""
        mechanism = jrr.SUE(64, q=0.3, s=0.1, coupling="joint", n=n)
        packed = Deck(mechanism, KEY, 0).cards(range(2_000))
        bits = np.unpackbits(packed, axis=1, bitorder="little")

        def p_value(rows: Any) -> float:
            agree = (rows[:, 1:] == rows[:, :-1]).reshape(-1)
            return chi_square(np.bincount(agree, minlength=2), [0.5, 0.5])

        one_for_all = np.repeat(bits[:, :1], 64, axis=1)
        accepts_only(p_value, bits, one_for_all)

    @statistical
    @pytest.mark.parametrize("n", [101, 2**20 + 1], ids=["shuffle", "network"])
    def test_each_deck_begins_with_another_card(self, n: int) -> None:
        mechanism = jrr.DRR(n, 0.5, k=3, deck=(n // 2, n // 2 - 10, 11))
        cards = [Deck(mechanism, KEY, number).card(0) for number in range(4_000)]
        shares = np.array(mechanism.deck) / n
        wrong = np.roll(shares, 1)
        accepts_only(lambda law: chi_square(np.bincount(cards, minlength=3), law), shares, wrong)

    def test_the_blank_card_may_be_anywhere(self) -> None:
        mechanism = jrr.JRR(5, 0.6, s=0.2)
        decks = [Deck(mechanism, KEY, number).cards(range(5)).tolist() for number in range(200)]
        assert {deck.index(0) for deck in decks} == set(range(5))

    def test_a_huge_deck_costs_nothing(self) -> None:
        deck = Deck(jrr.JRR(10**15 - 1, 0.6, s=0.2), KEY, 0)
        assert deck.size == 10**15 - 1
        assert deck.card(deck.size - 1) in (-1, 1)
        assert abs(int(deck.cards(range(10_000)).sum())) < 600  # six standard deviations

    def test_nothing_shows_the_key(self) -> None:
        deck = Deck(jrr.JRR(10, 0.6, s=0.2), b"k" * 32, 4)
        assert "kkk" not in repr(deck) + repr(deck._permutation)
        with pytest.raises(jrr.JrrError) as refused:
            Permutation(b"k" * 31, 10, b"")
        assert "kkk" not in str(refused.value)


class TestRefusals:
    @pytest.mark.parametrize("key", [b"", KEY[:31], KEY + b"\0", "k" * 32, None, bytearray(32)])
    def test_keys(self, key: Any) -> None:
        with pytest.raises(jrr.JrrError, match="key must be 32 bytes"):
            Deck(jrr.JRR(10, 0.6, s=0.2), key, 0)

    @pytest.mark.parametrize("number", [-1, 2**64, 1.0, True, "1", None])
    def test_numbers(self, number: Any) -> None:
        with pytest.raises(jrr.JrrError, match="number must be"):
            Deck(jrr.JRR(10, 0.6, s=0.2), KEY, number)

    @pytest.mark.parametrize("mechanism", NO_CARDS, ids=lambda m: m.name)
    def test_mechanisms_without_cards(self, mechanism: jrr.Mechanism) -> None:
        with pytest.raises(jrr.JrrError, match="mechanism must be one that deals cards"):
            Deck(mechanism, KEY, 0)
        with pytest.raises(jrr.JrrError, match="mechanism must be one that deals cards"):
            card_to_json(mechanism, 1)
        with pytest.raises(jrr.JrrError, match="mechanism must be one that deals cards"):
            card_from_json(mechanism, 1)

    @every_deck
    def test_positions(self, mechanism: jrr.Mechanism) -> None:
        """An odd unary deck has a card more than contributors: it is out of range too."""
        deck = Deck(mechanism, KEY, 0)
        wrong: list[Any] = [-1, deck.size, 1.0, True, None]
        for position in wrong:
            with pytest.raises(jrr.JrrError, match="position must be"):
                deck.card(position)
        for positions in ([0, -1], [deck.size], [0.5], [[0]]):
            with pytest.raises(jrr.JrrError, match="positions must be"):
                deck.cards(positions)

    @pytest.mark.parametrize("size", [10, 10**6])
    def test_permutations(self, size: int) -> None:
        permutation = Permutation(KEY, size, b"")
        for position in (-1, size):
            with pytest.raises(jrr.JrrError, match="position must be"):
                permutation.at(position)
            with pytest.raises(jrr.JrrError, match="positions must be"):
                permutation.many([position])
            with pytest.raises(jrr.JrrError, match="position must be"):
                permutation.across(position, 2)
        for column in (-1, 2**32):
            with pytest.raises(jrr.JrrError, match="column must be"):
                permutation.at(0, column)
            with pytest.raises(jrr.JrrError, match="column must be"):
                permutation.many([0], column)
        with pytest.raises(jrr.JrrError, match="columns must be"):
            permutation.across(0, 0)

    @pytest.mark.parametrize("size", [0, -1, 2**50 + 1, 2.0])
    def test_sizes(self, size: Any) -> None:
        with pytest.raises(jrr.JrrError, match="size must be"):
            Permutation(KEY, size, b"")


class TestJson:
    @every_deck
    def test_there_and_back(self, mechanism: jrr.Mechanism) -> None:
        deck = Deck(mechanism, KEY, 0)
        for position in range(min(20, deck.size)):
            card = deck.card(position)
            document = json.loads(json.dumps(card_to_json(mechanism, card)))
            assert card_from_json(mechanism, document) == card

    @pytest.mark.parametrize(
        ("mechanism", "document"),
        [
            *itertools.product([SMALL[0]], [0, 2, -2, 1.0, True, "1", None, [1], b"\1"]),
            *itertools.product([SMALL[1]], [2, -2, 0.0, False]),
            *itertools.product([SMALL[3]], [-1, 3, 1.0, True, "1", None]),
            *itertools.product([SMALL[5]], [0, 2]),
            *itertools.product(
                [SMALL[6]],
                [
                    "",
                    "ff",
                    "ff04",
                    "FF03",
                    "ff0",
                    "ff030",
                    "ff 3",
                    "ff03\n",
                    "gg00",
                    3,
                    None,
                    b"ff",
                ],
            ),
            *itertools.product([SMALL[9]], [2, "1", None]),
        ],
        ids=str,
    )
    def test_strangers_are_refused(self, mechanism: jrr.Mechanism, document: object) -> None:
        with pytest.raises(jrr.JrrError, match="card must be"):
            card_from_json(mechanism, document)

    @pytest.mark.parametrize("card", ["ff03", b"", b"\xff", b"\xff\x04", b"\0\0\0", 3, None])
    def test_strange_unary_cards_are_not_written(self, card: Any) -> None:
        with pytest.raises(jrr.JrrError, match="card must be"):
            card_to_json(SMALL[6], card)

    def test_the_form(self) -> None:
        assert card_to_json(SMALL[6], b"\x0f\x02") == "0f02"
        assert card_from_json(SMALL[6], "0f02") == b"\x0f\x02"
        assert card_from_json(SMALL[1], 0) == 0  # an odd deck has a blank


if __name__ == "__main__":
    GOLDEN.write_text(golden_text())
