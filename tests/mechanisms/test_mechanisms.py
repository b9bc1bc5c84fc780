"""Mechanisms as values and as random maps: what a word does, exactly and in distribution."""

import itertools
import json
import pickle
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr._base.randomness import BLOCK, Words
from tests.golden import make_respond
from tests.statistics_rules import SAMPLES, accepts_only, chi_square, skewed

Mechanism = jrr.RR | jrr.JRR | jrr.DRR

SCALE = 2**63
MECHANISMS = make_respond.MECHANISMS
GOLDEN: list[dict[str, Any]] = json.loads(make_respond.PATH.read_text())


def named(mechanism: object) -> str:
    return str(mechanism).replace(" ", "")


every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=named)
every_liar = pytest.mark.parametrize(
    "mechanism", [m for m in MECHANISMS if not isinstance(m, jrr.DRR)], ids=named
)
every_dealt = pytest.mark.parametrize(
    "mechanism", [m for m in MECHANISMS if isinstance(m, jrr.DRR)], ids=named
)


class Replay:
    """A source of given words."""

    def __init__(self, words: Sequence[int]) -> None:
        self.left = list(words)

    def words(self, count: int) -> Words:
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return np.array(taken, np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


# Laws, written a second time ------------------------------------------------------------------


def words_up(probability: Fraction, multiple: int) -> int:
    words = 0 if probability == 0 else (probability * SCALE / multiple).__ceil__() * multiple
    assert words >= probability * SCALE
    return words


def nominal_law(mechanism: Mechanism, value: int, card: int | None) -> list[Fraction]:
    """Chances of the reports by the mechanism's parameters."""
    k = mechanism.k
    if isinstance(mechanism, jrr.DRR):
        truth, own = Fraction(mechanism.truth), Fraction(mechanism.own)
        dealt = max(Fraction(0), 1 - truth - own)
        deck = [Fraction(cards, mechanism.n) for cards in mechanism.deck]
        decoy = deck if card is None else [Fraction(v == card) for v in range(k)]
        return [truth * (v == value) + dealt * decoy[v] + own / k for v in range(k)]
    truth = Fraction(mechanism.p)
    if isinstance(mechanism, jrr.JRR) and card:
        others = mechanism.minus if card > 0 else mechanism.plus
        truth += card * 2 * Fraction(mechanism.s) * Fraction(others, mechanism.signed)
        truth = min(Fraction(1), max(Fraction(0), truth))
    return [truth if v == value else (1 - truth) / (k - 1) for v in range(k)]


def words_per_report(mechanism: Mechanism, value: int, card: int | None) -> list[int]:
    """How many of the 2^63 numbers make each report.

    The report is constant between neighbouring thresholds; both ends and some words between
    are looked at.
    """
    ends = sorted(u for u in make_respond.thresholds(mechanism) if u <= SCALE)
    counts = [0] * mechanism.k
    inside = jrr.SeededRandom(len(ends))
    for low, high in itertools.pairwise(ends):
        looks = {low, high - 1, *(low + inside.word() % (high - low) for _ in range(3))}
        reports = {mechanism.report_from_word(value, card, 2 * u) for u in looks}
        assert len(reports) == 1
        counts[reports.pop()] += high - low
    assert sum(counts) == SCALE
    return counts


def all_inputs(mechanism: Mechanism) -> list[tuple[int, int | None]]:
    values = {0, 1, mechanism.k - 1}
    return list(itertools.product(sorted(values), make_respond.cards(mechanism)))


# What a word does -----------------------------------------------------------------------------


class TestGoldenVectors:
    def test_they_are_up_to_date(self) -> None:
        assert make_respond.PATH.read_text() == make_respond.text()

    @pytest.mark.parametrize("case", GOLDEN, ids=lambda case: named(case["mechanism"]))
    def test_one_word(self, case: dict[str, Any]) -> None:
        mechanism: Any = jrr.from_dict(case["mechanism"])
        for v in case["vectors"]:
            word = int(v["word"])
            assert mechanism.report_from_word(v["value"], v["card"], word) == v["report"], v
            assert mechanism.respond_one(v["value"], v["card"], rng=Replay([word])) == v["report"]

    @pytest.mark.parametrize("case", GOLDEN, ids=lambda case: named(case["mechanism"]))
    def test_whole_arrays(self, case: dict[str, Any]) -> None:
        mechanism = jrr.from_dict(case["mechanism"])
        for carded in (False, True):
            vectors = [v for v in case["vectors"] if (v["card"] is not None) == carded]
            if not vectors:
                continue
            reports = mechanism.respond(
                [v["value"] for v in vectors],
                [v["card"] for v in vectors] if carded else None,
                rng=Replay([int(v["word"]) for v in vectors]),
            )
            assert reports.tolist() == [v["report"] for v in vectors]

    def test_every_kind_of_card_is_there(self) -> None:
        joint = {
            v["card"] for c in GOLDEN if c["mechanism"]["mechanism"] == "JRR" for v in c["vectors"]
        }
        dealt = {
            v["card"] for c in GOLDEN if c["mechanism"]["mechanism"] == "DRR" for v in c["vectors"]
        }
        assert joint == {None, 1, -1, 0}
        assert dealt == {None, 0, 1, 2, 3}
        words = {v["word"] for c in GOLDEN for v in c["vectors"]}
        assert {"0", str(2**64 - 1)} <= words


class TestJavaScript:
    """The independent implementation in respond.mjs."""

    @staticmethod
    def run(path: Path) -> "subprocess.CompletedProcess[str]":
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed: the JavaScript mapping is not checked")
        script = make_respond.PATH.with_name("respond.mjs")
        return subprocess.run(
            [node, str(script), str(path)], capture_output=True, text=True, check=False
        )

    def test_it_agrees(self) -> None:
        done = self.run(make_respond.PATH)
        assert done.returncode == 0, done.stderr
        assert f"{sum(len(case['vectors']) for case in GOLDEN)} vectors, 0 wrong" in done.stdout

    def test_it_notices_a_wrong_report(self, tmp_path: Path) -> None:
        case = json.loads(json.dumps(GOLDEN[0]))
        case["vectors"][0]["report"] ^= 1
        wrong = tmp_path / "wrong.json"
        wrong.write_text(json.dumps([case]))
        assert self.run(wrong).returncode == 1

    def test_it_notices_an_empty_file(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty.json"
        empty.write_text("[]")
        assert self.run(empty).returncode == 1


class TestExactness:
    @every_mechanism
    def test_nominal_probabilities_are_met_within_k_words(self, mechanism: Mechanism) -> None:
        for value, card in all_inputs(mechanism):
            nominal = nominal_law(mechanism, value, card)
            # 1 - truth - own rounds as a float, so a card's share may miss by half an ulp
            slack = Fraction(2) ** -53 if isinstance(mechanism, jrr.DRR) else 0
            for words, chance in zip(
                words_per_report(mechanism, value, card), nominal, strict=True
            ):
                assert abs(Fraction(words, SCALE) - chance) <= Fraction(mechanism.k, SCALE) + slack

    @every_liar
    def test_lies_are_equally_likely(self, mechanism: jrr.RR | jrr.JRR) -> None:
        k = mechanism.k
        for value, card in all_inputs(mechanism):
            truth = nominal_law(mechanism, value, card)[value]
            lie = words_up(1 - truth, k - 1)
            counts = words_per_report(mechanism, value, card)
            others = counts[:value] + counts[value + 1 :]
            if lie <= SCALE:
                assert counts[value] == SCALE - lie
                assert others == [lie // (k - 1)] * (k - 1)
            else:  # "always lie", rounded up, is more than there are: the last part gives way
                assert counts[value] == 0
                assert max(others) - min(others) < k

    @every_dealt
    def test_decoys_follow_the_deck(self, mechanism: jrr.DRR) -> None:
        k, n = mechanism.k, mechanism.n
        own = min(words_up(Fraction(mechanism.own), k), SCALE // k * k)
        truth = min(int(Fraction(mechanism.truth) * SCALE), SCALE - own)
        dealt = SCALE - own - truth
        ends = [dealt * sum(mechanism.deck[:v]) // n for v in range(k + 1)]
        shares = [high - low for low, high in itertools.pairwise(ends)]
        for value, card in all_inputs(mechanism):
            expected = [own // k] * k
            expected[value] += truth
            for v in range(k):
                expected[v] += shares[v] if card is None else dealt * (v == card)
            assert words_per_report(mechanism, value, card) == expected

    @pytest.mark.parametrize("k", [2, 3, 5, 64, 257])
    def test_a_report_needs_only_the_upper_63_bits(self, k: int) -> None:
        mechanism = jrr.RR(k=k, epsilon=1.0)
        for word in jrr.SeededRandom(k).words(200).tolist():
            even = mechanism.report_from_word(0, None, word & ~1)
            assert even == mechanism.report_from_word(0, None, word | 1)


# Mechanisms as values -------------------------------------------------------------------------


class TestValues:
    @every_mechanism
    def test_round_trip(self, mechanism: Mechanism) -> None:
        assert jrr.from_dict(mechanism.to_dict()) == mechanism
        assert jrr.from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism
        assert eval(repr(mechanism), vars(jrr)) == mechanism

    def test_equality_and_hash(self) -> None:
        for build in (
            lambda: jrr.RR(k=3, p=0.5),
            lambda: jrr.JRR(n=10, p=0.6, s=0.2),
            lambda: jrr.DRR(n=10, truth=0.3),
        ):
            assert build() == build()
            assert len({build(), build()}) == 1
            used = build()
            used.epsilon()
            assert used == build()
        assert len(set(MECHANISMS)) == len(MECHANISMS)
        assert jrr.JRR(n=10, p=0.6, s=0.2) != jrr.JRR(n=12, p=0.6, s=0.2)
        assert jrr.DRR(n=10, truth=0.3) == jrr.DRR(n=10, truth=0.3, deck=[5, 5])
        assert len({jrr.RR(p=0.75), "RR"}) == 2

    @pytest.mark.parametrize("name", ["p", "k", "truth", "n", "deck", "s", "anything"])
    def test_immutable(self, name: str) -> None:
        for mechanism in MECHANISMS:
            with pytest.raises(FrozenInstanceError):
                setattr(mechanism, name, 1)
            with pytest.raises(FrozenInstanceError):
                delattr(mechanism, name)

    def test_a_deck_that_was_given_is_copied(self) -> None:
        deck = [3, 7]
        mechanism = jrr.DRR(n=10, truth=0.3, deck=deck)
        deck[0] = 9
        mechanism.to_dict()["deck"][0] = 9
        assert mechanism.deck == (3, 7)

    def test_parameters(self) -> None:
        rr = jrr.RR(k=4, p=0.7)
        assert (rr.k, rr.p) == (4, 0.7)
        assert rr.q == pytest.approx(0.1)
        joint = jrr.JRR(10, 0.6, rho=-0.5)
        assert (joint.n, joint.k, joint.p) == (10, 2, 0.6)
        assert joint.q == pytest.approx(0.4)
        assert joint.rho == pytest.approx(-0.5)
        assert joint.s == pytest.approx((0.5 * 0.6 * 0.4) ** 0.5)
        dealt = jrr.DRR(10, 0.3, 0.2, k=3)
        assert dealt.dealt == pytest.approx(0.5)
        assert dealt.deck == (4, 3, 3)

    @pytest.mark.parametrize(("k", "p"), [(2, 0.6), (2, 0.51), (5, 0.7), (5, 0.3), (16, 0.1)])
    def test_s_and_rho_say_the_same(self, k: int, p: float) -> None:
        for part in (0.0, 0.1, 0.9, 1.0):
            s = part * min(p, 1 - p)
            joint = jrr.JRR(n=10, p=p, s=s, k=k)
            assert joint.rho == pytest.approx(-s * s / (p * joint.q))
            assert jrr.JRR(n=10, p=p, rho=joint.rho, k=k).s == pytest.approx(s, rel=1e-9)

    @pytest.mark.parametrize(("k", "p"), [(2, 0.6), (2, 0.51), (5, 0.7), (5, 0.3), (16, 0.1)])
    def test_the_least_rho_is_the_largest_s(self, k: int, p: float) -> None:
        limit = min(p, 1 - p)
        least = -limit * limit * (k - 1) / (p * (1 - p))
        assert jrr.JRR(n=10, p=p, rho=least, k=k).s == limit

    def test_truthful_at_the_limit(self) -> None:
        joint = jrr.JRR(n=4, p=1.0, s=0.0)
        assert joint.rho == 0
        assert joint.respond([0, 1, 1, 0], [1, 1, -1, -1]).tolist() == [0, 1, 1, 0]
        assert jrr.DRR(n=4, truth=1.0).respond([0, 1], [1, 0]).tolist() == [0, 1]

    @pytest.mark.parametrize(
        "change",
        [
            {"mechanism": "XRR"},
            {"mechanism": None},
            {"epsilon": 1.0},
            {"version": 1},
            {"p": None},
            {"k": "2"},
        ],
        ids=str,
    )
    def test_unknown_fields_are_refused(self, change: dict[str, Any]) -> None:
        for mechanism in (jrr.RR(p=0.75), jrr.JRR(n=10, p=0.6, s=0.2)):
            with pytest.raises(jrr.JrrError, match=next(iter(change))):
                jrr.from_dict(mechanism.to_dict() | change)

    @every_mechanism
    def test_missing_fields_are_refused(self, mechanism: Mechanism) -> None:
        for name in set(mechanism.to_dict()) - set(mechanism.omitted_parameters):
            document = mechanism.to_dict()
            del document[name]
            with pytest.raises(jrr.JrrError, match="mechanism"):
                jrr.from_dict(document)

    @pytest.mark.parametrize("document", [None, [], "RR", {}, {"k": 2}])
    def test_no_document(self, document: Any) -> None:
        with pytest.raises(jrr.JrrError, match="document"):
            jrr.from_dict(document)


# Dealing --------------------------------------------------------------------------------------


class TestDeal:
    @pytest.mark.parametrize("n", [2, 3, 4, 9, 10, 1001, 10_000])
    def test_joint_deck(self, n: int) -> None:
        cards = jrr.JRR(n=n, p=0.6, s=0.2).deal()
        assert cards.dtype == np.int8
        assert Counter(cards.tolist()) == +Counter({1: n // 2, -1: n // 2, 0: n % 2})

    @pytest.mark.parametrize(
        ("n", "k", "deck"),
        [
            (2, 2, (1, 1)),
            (7, 2, (4, 3)),
            (10, 4, (3, 3, 2, 2)),
            (3, 5, (1, 1, 1, 0, 0)),
            (1000, 300, (4,) * 100 + (3,) * 200),
        ],
    )
    def test_even_dealt_deck(self, n: int, k: int, deck: tuple[int, ...]) -> None:
        mechanism = jrr.DRR(n=n, truth=0.3, k=k)
        assert mechanism.deck == deck
        cards = mechanism.deal()
        assert cards.dtype == (np.uint8 if k <= 256 else np.uint16)
        assert np.bincount(cards, minlength=k).tolist() == list(deck)

    def test_uneven_dealt_deck(self) -> None:
        cards = jrr.DRR(n=10, truth=0.3, k=3, deck=[0, 9, 1]).deal()
        assert sorted(cards.tolist()) == [1] * 9 + [2]

    def test_rr_deals_nothing(self) -> None:
        assert jrr.RR(p=0.75).deal() is None

    def test_a_seed_repeats_the_deal_and_the_default_does_not(self) -> None:
        mechanism = jrr.DRR(n=1000, truth=0.3)
        seeded = [mechanism.deal(jrr.SeededRandom(1)).tolist() for _ in range(2)]
        assert seeded[0] == seeded[1]
        assert mechanism.deal().tolist() != mechanism.deal().tolist()
        assert len(mechanism.deal(np.random.default_rng(1))) == 1000

    @pytest.mark.statistical
    @pytest.mark.parametrize(
        "mechanism",
        [
            jrr.JRR(n=4, p=0.6, s=0.2),
            jrr.JRR(n=5, p=0.6, s=0.2),
            jrr.DRR(n=5, truth=0.3),
            jrr.DRR(n=5, truth=0.3, k=3, deck=[3, 0, 2]),
        ],
        ids=named,
    )
    def test_every_order_is_equally_likely(self, mechanism: jrr.JRR | jrr.DRR) -> None:
        rng = jrr.SeededRandom(2)
        deals = Counter(tuple(mechanism.deal(rng).tolist()) for _ in range(SAMPLES // 10))
        orders = sorted(set(itertools.permutations(mechanism.deal(rng).tolist())))
        even = [1 / len(orders)] * len(orders)
        tilted = [chance * (0.7 if at % 2 else 1.3) for at, chance in enumerate(even)]
        assert set(deals) == set(orders)

        def p_value(chances: Sequence[float]) -> float:
            return chi_square([deals[order] for order in orders], chances)

        accepts_only(p_value, even, [chance / sum(tilted) for chance in tilted])


# Responding -----------------------------------------------------------------------------------


class TestRespond:
    @pytest.mark.parametrize(
        ("k", "kind"), [(2, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)]
    )
    def test_reports_take_the_smallest_type(self, k: int, kind: type) -> None:
        values = np.array([0, 1, k - 1])
        for mechanism in (jrr.RR(k=k, epsilon=8.0), jrr.JRR(10, 0.9, k=k, s=0.05)):
            assert mechanism.respond(values).dtype == kind
        assert jrr.DRR(n=10, truth=0.5, own=0.1, k=k).respond(values).dtype == kind

    @pytest.mark.parametrize(
        "kind", [bool, np.int8, np.uint8, ">i2", np.int32, np.uint32, np.int64, ">u8"]
    )
    def test_values_of_any_whole_number_type(self, kind: Any) -> None:
        values = [0, 1, 1, 0, 1] * 100
        for mechanism in (jrr.RR(p=0.6), jrr.JRR(500, 0.6, s=0.3), jrr.DRR(500, 0.3, 0.1)):
            dealt = mechanism.deal(jrr.SeededRandom(3))
            cards = None if dealt is None else np.asarray(dealt)  # used again
            expected = mechanism.respond(values, cards, rng=jrr.SeededRandom(4))
            reports = mechanism.respond(np.array(values, kind), cards, rng=jrr.SeededRandom(4))
            assert np.array_equal(reports, expected)

    @pytest.mark.parametrize("kind", [np.int8, np.int64, ">i4"])
    def test_cards_of_any_whole_number_type_and_lists(self, kind: Any) -> None:
        for mechanism in (jrr.JRR(9, 0.6, s=0.3), jrr.DRR(9, 0.3, 0.1), jrr.DRR(9, 0.3, k=3)):
            values = [0, 1, 1, 0, 1, 0, 0, 1, 1]
            cards = np.asarray(mechanism.deal(jrr.SeededRandom(5)))  # used again
            expected = mechanism.respond(values, cards, rng=jrr.SeededRandom(6))
            for given in (cards.astype(kind), cards.tolist()):
                reports = mechanism.respond(values, given, rng=jrr.SeededRandom(6))
                assert np.array_equal(reports, expected)

    @every_mechanism
    def test_values_and_cards_are_not_modified(self, mechanism: Mechanism) -> None:
        values = np.arange(300) % mechanism.k
        given = make_respond.cards(mechanism)[1:]
        cards = np.resize(np.array(given, np.int8), 300) if given else None
        values.flags.writeable = False
        if cards is not None:
            cards.flags.writeable = False
        reports = mechanism.respond(values, cards)
        assert not np.shares_memory(reports, values)
        assert cards is None or not np.shares_memory(reports, cards)

    @every_mechanism
    def test_nobody(self, mechanism: Mechanism) -> None:
        nothing: list[Any] = [[], np.array([], np.int64), np.array([], bool)]
        for values in nothing:
            assert mechanism.respond(values).shape == (0,)
        if not isinstance(mechanism, jrr.RR):
            assert mechanism.respond([], []).shape == (0,)

    @every_mechanism
    def test_long_arrays_are_their_parts(self, mechanism: Mechanism) -> None:
        """One word per contributor, whatever the size of the blocks."""
        length = BLOCK + 100
        values = np.arange(length) % mechanism.k
        given = make_respond.cards(mechanism)[1:]
        cards = np.resize(np.array(given, np.int8), length) if given else None
        reports = mechanism.respond(values, cards, rng=jrr.SeededRandom(7))
        words = jrr.SeededRandom(7).words(length).tolist()
        for at in (*range(50), *range(length - 150, length)):
            card = None if cards is None else int(cards[at])
            expected = mechanism.report_from_word(int(values[at]), card, words[at])
            assert reports[at] == expected

    def test_slices_and_columns(self) -> None:
        table = np.arange(60).reshape(20, 3) % 2
        mechanism = jrr.JRR(20, 0.6, s=0.3)
        cards = np.repeat(mechanism.deal(jrr.SeededRandom(8)), 2)[::2]
        expected = mechanism.respond(table[:, 1].copy(), cards.copy(), rng=jrr.SeededRandom(9))
        reports = mechanism.respond(table[:, 1], cards, rng=jrr.SeededRandom(9))
        assert np.array_equal(reports, expected)

    def test_every_kind_of_rng(self) -> None:
        mechanism = jrr.RR(p=0.6)
        for rng in (None, jrr.SecureRandom(), jrr.SeededRandom(1), np.random.default_rng(1)):
            assert set(mechanism.respond([0, 1] * 200, rng=rng).tolist()) == {0, 1}
            assert mechanism.respond_one(1, rng=rng) in (0, 1)

    def test_a_blank_card_is_no_card(self) -> None:
        mechanism = jrr.JRR(11, 0.5, s=0.3, k=4)
        values = np.arange(1000) % 4
        blank = mechanism.respond(values, np.zeros(1000, int), rng=jrr.SeededRandom(10))
        assert np.array_equal(blank, mechanism.respond(values, rng=jrr.SeededRandom(10)))

    @pytest.mark.statistical
    @pytest.mark.parametrize(
        "mechanism",
        [
            jrr.RR(k=2, epsilon=1.0),
            jrr.RR(k=3, p=0.4),
            jrr.RR(k=64, epsilon=3.0),
            jrr.JRR(n=10, p=0.6, s=0.25),
            jrr.JRR(n=10, p=0.55, s=0.45),
            jrr.JRR(n=10, p=0.5, s=0.2, k=5),
            jrr.JRR(n=10, p=0.7, s=1 - 0.7, k=5),
            jrr.JRR(n=10, p=0.3, s=0.3, k=5),
            jrr.DRR(n=10, truth=0.3),
            jrr.DRR(n=10, truth=0.25, own=0.1, deck=[7, 3]),
            jrr.DRR(n=10, truth=0.2, own=0.3, k=4),
            jrr.DRR(n=10, truth=1 / 3, k=4, deck=[5, 0, 3, 2]),
        ],
        ids=named,
    )
    def test_reports_follow_the_law(self, mechanism: Mechanism) -> None:
        for value, card in all_inputs(mechanism):
            cards = None if card is None else np.full(SAMPLES, card)
            reports = mechanism.respond(np.full(SAMPLES, value), cards, rng=jrr.SeededRandom(11))
            counts = np.bincount(reports, minlength=mechanism.k)

            def p_value(law: Sequence[float], counts: Any = counts) -> float:
                return chi_square(counts, law)

            law = [float(chance) for chance in nominal_law(mechanism, value, card)]
            accepts_only(p_value, law, skewed(law))

    @pytest.mark.statistical
    def test_a_dealt_deck_makes_the_marginal(self) -> None:
        """Over a whole deck, cards and no cards give reports of the same law."""
        mechanism = jrr.JRR(n=SAMPLES, p=0.6, s=0.4)
        rng = jrr.SeededRandom(12)
        reports = mechanism.respond(np.zeros(SAMPLES, int), mechanism.deal(rng), rng=rng)
        lone = mechanism.respond(np.zeros(SAMPLES, int), rng=rng)
        for made in (reports, lone):
            counts = np.bincount(made, minlength=2)

            def p_value(law: Sequence[float], counts: Any = counts) -> float:
                return chi_square(counts, law)

            accepts_only(p_value, [0.6, 0.4], skewed([0.6, 0.4]))


# Refusals -------------------------------------------------------------------------------------

RR3 = jrr.RR(k=3, p=0.5)
JOINT = jrr.JRR(n=10, p=0.6, s=0.2)
DEALT = jrr.DRR(n=10, truth=0.3, own=0.1)
INF, NAN = float("inf"), float("nan")

Refusal = tuple[Callable[[], object], str, str]


def refusals() -> dict[str, Refusal]:
    """Name -> (call, argument named in the message, value named in the message)."""
    cases: dict[str, Refusal] = {}
    with_cards: list[Mechanism] = [JOINT, DEALT]
    every: list[Mechanism] = [RR3, *with_cards]

    def add(argument: str, value: Any, call: Callable[..., object], shown: str = "") -> None:
        name = f"{argument}={value!r}"
        while name in cases:
            name += "'"
        cases[name] = (lambda: call(value), argument, shown or repr(value))

    for epsilon in (0, 0.0, -1.0, NAN, INF, -INF, "1", True, 1j):
        add("epsilon", epsilon, lambda e: jrr.RR(k=3, epsilon=e))
    for p in (1 / 3, 0.2, 0.0, -0.5, 1.0000001, 2, NAN, INF, "0.5", True):
        add("p", p, lambda p: jrr.RR(k=3, p=p))
        add("p", p, lambda p: jrr.JRR(n=10, p=p, s=0.0, k=3))
    for p in (0.5, 0.4):
        add("p", p, lambda p: jrr.JRR(n=10, p=p, s=0.0))
    for s in (-0.1, -1e-9, 0.4001, 1.0, NAN, INF, "0.1"):
        add("s", s, lambda s: jrr.JRR(n=10, p=0.6, s=s))
    for s in (0.3001, 0.7):
        add("s", s, lambda s: jrr.JRR(n=10, p=0.3, s=s, k=5))
    for rho in (1e-9, 0.5, -0.6667, -1.0, NAN, -INF, "0"):
        add("rho", rho, lambda rho: jrr.JRR(n=10, p=0.6, rho=rho))
    for n in (1, 0, -2, 10.0, NAN, "10", True):
        add("n", n, lambda n: jrr.JRR(n=n, p=0.6, s=0.2))
        add("n", n, lambda n: jrr.DRR(n=n, truth=0.3))
    for k in (1, 0, 2.0, "2", True):
        add("k", k, lambda k: jrr.RR(k=k, p=0.9))
        add("k", k, lambda k: jrr.JRR(n=10, p=0.9, s=0.0, k=k))
        add("k", k, lambda k: jrr.DRR(n=10, truth=0.3, k=k))
    for truth in (0.0, -0.1, 1.1, NAN, "1"):
        add("truth", truth, lambda truth: jrr.DRR(n=10, truth=truth))
    for own in (-0.1, 0.71, NAN, INF):
        add("own", own, lambda own: jrr.DRR(n=10, truth=0.3, own=own))
    decks: list[tuple[Any, str]] = [
        ([5, 4], "9"),
        ([5, 6], "11"),
        ([10], "got 1"),
        ([5, 5, 0], "got 3"),
        ([11, -1], "-1"),
        ([5.0, 5.0], "5.0"),
        (["5", "5"], "'5'"),
        (5, "5"),
    ]
    for deck, shown in decks:
        add("deck", deck, lambda deck: jrr.DRR(n=10, truth=0.3, deck=deck), shown)

    for m in with_cards:
        for colluders in (10, 11, -1, 1.0, NAN, "1"):
            add("colluders", colluders, lambda c, m=m: m.epsilon("cards", c))
    for colluders in (-1, 0.5):
        add("colluders", colluders, lambda c: RR3.epsilon("cards", c))

    for m in every:
        k = m.k
        for values, shown in (
            ([0, k], str(k)),
            ([0, -1], "-1"),
            (np.array([0, 200], np.uint8), "200"),
            (np.array([0, -128], np.int8), "-128"),
            ([0.0, 1.0], "float64"),
            ([0, NAN], "float64"),
            (["0", "1"], "U1"),
            ([b"0"], "S1"),
            (np.array([0, 1], object), "object"),
            ([0, None], "object"),
            ([2**70], "object"),
            ([1j], "complex"),
            (np.array(["2026-01-01"], "M8[D]"), "datetime64"),
            ([[0, 1]], "(1, 2)"),
            (0, "()"),
            ([[0], [0, 1]], "[[0], [0, 1]]"),
        ):
            add("values", values, lambda v, m=m: m.respond(v), shown)
            add("reports", values, lambda v, m=m: m.tally(v), shown)
        for value in (k, -1, 1.0, "1", None):
            add("value", value, lambda v, m=m: m.respond_one(v))

    for m in with_cards:
        for cards, shown in (
            ([0], "(1,)"),
            ([0, 0, 0], "(3,)"),
            ([], "(0,)"),
            ([[0, 0]], "(1, 2)"),
            (0, "()"),
            ([0, 2], "2"),
            ([0, -2], "-2"),
            (np.array([0, -128], np.int8), "-128"),
            (np.array([0, 255], np.uint8), "255"),
            (np.array([-(2**63), 0]), str(-(2**63))),
            ([0.0, 1.0], "float64"),
            (["0", "1"], "U1"),
            ([0, None], "object"),
        ):
            add("cards", cards, lambda c, m=m: m.respond([0, 1], c), shown)
        for card in (2, -2, 0.0, "1", True):
            add("card", card, lambda c, m=m: m.respond_one(0, c))
    add("cards", [-1, 0], lambda c: DEALT.respond([0, 1], c), "-1")
    add("cards", [0, 1], lambda c: RR3.respond([0, 1], c))
    add("card", 1, lambda c: RR3.respond_one(0, c))

    for m in every:
        add("reports", [], lambda r, m=m: m.tally(r), "none")
        add("reports", [], lambda r, m=m: m.estimate(r), "none")
    stranger = jrr.JRR(n=10, p=0.61, s=0.2).tally([0, 1], True)
    add("reports", stranger, lambda t: JOINT.estimate(t), "0.61")
    add("reports", stranger, lambda t: RR3.estimate(t), "'JRR'")
    for count in (0, -1, 1.0):
        add("decks", count, lambda d: JOINT.estimate([0, 1], decks=d, carded=True))
        add("decks", count, lambda d: JOINT.variance([5, 5], decks=d))
    add("decks", 1, lambda d: JOINT.estimate([0] * 11, decks=d, carded=True))
    for counts in ([5], [5, 5, 0], [5, -1], [5, NAN], [5, INF], "55", None, [[5, 5]]):
        add("counts", counts, lambda c: JOINT.variance(c))
    add("counts", [5, 6], lambda c: JOINT.variance(c), "11")
    add("counts", [10, 11], lambda c: DEALT.variance(c, decks=2), "21")
    for view in ("", "Cards", "everyone", None, 1, ["cards"]):
        for m in every:
            add("view", view, lambda v, m=m: m.epsilon(v))
    for level in (0, 1, -0.5, 95, NAN, "0.95"):
        add("level", level, lambda level: JOINT.estimate([0, 1], carded=True).interval(level))
    for frequencies in ([], [[0.5, 0.5]], [0.5, NAN], [INF, 0.0], ["a", "b"]):
        add("frequencies", frequencies, lambda f: jrr.postprocess.clip(f))
        add("frequencies", frequencies, lambda f: jrr.postprocess.project_simplex(f))
    return cases


REFUSALS = refusals()


@pytest.mark.parametrize("argument", sorted({argument for _, argument, _ in REFUSALS.values()}))
def test_refusals(argument: str) -> None:
    """Every refusal is a JrrError that names the argument and its value."""
    for name, (call, refused_argument, shown) in REFUSALS.items():
        if refused_argument != argument:
            continue
        refused: Exception | None = None
        try:
            call()
        except jrr.JrrError as error:
            refused = error
        assert isinstance(refused, ValueError), name
        message = str(refused)
        assert message.startswith(argument) or f"{argument}=" in message, name
        assert shown in message or shown[:77] in message, name
        assert " must " in message, name


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: jrr.RR(), "epsilon=None, p=None"),
        (lambda: jrr.RR(epsilon=1.0, p=0.7), "epsilon=1.0, p=0.7"),
        (lambda: jrr.JRR(n=10, p=0.6), "rho=None, s=None"),
        (lambda: jrr.JRR(n=10, p=0.6, rho=-0.1, s=0.1), "rho=-0.1, s=0.1"),
    ],
)
def test_exactly_one_of_two(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(jrr.JrrError, match=f"exactly one .* got {argument}"):
        call()


def test_the_first_stranger_is_named() -> None:
    with pytest.raises(jrr.JrrError, match=r"in 0\.\.1, got values with 7"):
        JOINT.respond([0, 1, 7, 9])


def test_long_values_are_cut_short() -> None:
    with pytest.raises(jrr.JrrError) as refused:
        jrr.RR(k=3, p="x" * 10_000)  # type: ignore[arg-type]
    assert len(str(refused.value)) < 200
