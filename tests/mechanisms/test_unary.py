"""Unary encodings with every coupling: privacy, variance, bits and bytes, refusals."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import jrr
from jrr._base.randomness import Words
from tests.oracle_encodings import Bit, UnarySurvey, shared_card_report_loss
from tests.statistics_rules import SAMPLES, accepts_only, chi_square, skewed

Unary = jrr.SUE | jrr.OUE
Floats = NDArray[np.float64]

KINDS: tuple[type[jrr.SUE] | type[jrr.OUE], ...] = (jrr.SUE, jrr.OUE)
VIEWS = ("report", "truths", "cards", "dealer")
SCALE = 2**63
PARAMETERS = [  # kind, q, s: a middling lean, the most lean, and one that turns the bits around
    (jrr.SUE, Fraction(1, 4), Fraction(1, 8)),
    (jrr.SUE, Fraction(1, 4), Fraction(1, 4)),
    (jrr.SUE, Fraction(7, 16), Fraction(3, 8)),
    (jrr.OUE, Fraction(5, 16), Fraction(1, 8)),
    (jrr.OUE, Fraction(5, 16), Fraction(5, 16)),
    (jrr.OUE, Fraction(7, 16), Fraction(3, 8)),
]
every_setting = pytest.mark.parametrize(
    ("kind", "q", "s"), PARAMETERS, ids=lambda x: getattr(x, "name", str(x))
)
every_coupling = pytest.mark.parametrize("coupling", ["joint", "dealt"])


def chance_of_one(kind: type[Unary], q: Fraction) -> Fraction:
    return 1 - q if kind is jrr.SUE else Fraction(1, 2)


def both(
    kind: type[Unary], q: Fraction, s: Fraction, coupling: str, n: int, k: int
) -> tuple[Unary, UnarySurvey]:
    """The library's mechanism and the oracle's, with the same exact parameters."""
    mechanism = kind(k, q=float(q), s=float(s), coupling=coupling, n=n)
    return mechanism, UnarySurvey(n, k, Bit(chance_of_one(kind, q), q, s, coupling))


def same(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-12


# Privacy --------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_variants(
    "*-1/4-1/4",
    "*-7/16-3/8",
    "4-3-3-dealt-OUE",
    "6-2-5-*-SUE",
    "4-3-3-joint-SUE",
    "6-2-5-joint-OUE",
)
@every_setting
@every_coupling
@pytest.mark.parametrize(
    ("n", "k", "most"), [(2, 2, 1), (3, 2, 2), (5, 2, 4), (6, 2, 5), (2, 3, 1), (4, 3, 3)]
)
def test_loss_of_every_view_is_what_enumeration_finds(
    kind: type[Unary], q: Fraction, s: Fraction, coupling: str, n: int, k: int, most: int
) -> None:
    mechanism, survey = both(kind, q, s, coupling, n, k)
    for colluders, view in itertools.product(range(most + 1), VIEWS):
        stated, found = mechanism.epsilon(view, colluders), survey.loss(view, colluders)
        if view == "truths" and k == 2 and kind is jrr.OUE and coupling == "joint":
            # Nobody can show the strongest evidence, a 0 told as 1, in both of two bits.
            assert stated >= found - 1e-12
            assert stated <= mechanism.epsilon("cards", colluders)
        else:
            assert same(stated, found), (view, colluders, stated, found)


@pytest.mark.heavy
@every_setting
@every_coupling
@pytest.mark.slow_variants("4-2-1-", "*-1/4-1/4", "*-7/16-3/8", "3-2-2-report", "3-2-2-dealer")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("n", "k", "colluders"), [(3, 2, 2), (4, 2, 1), (2, 3, 1)])
def test_bits_may_be_looked_at_one_by_one(
    kind: type[Unary],
    q: Fraction,
    s: Fraction,
    coupling: str,
    view: str,
    n: int,
    k: int,
    colluders: int,
) -> None:
    """The oracle against itself: all decks and all reports at once."""
    _, survey = both(kind, q, s, coupling, n, k)
    assert same(survey.loss(view, colluders), survey.whole_loss(view, colluders))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_at_three_values_the_truths_view_of_joint_oue_is_exact(n: int) -> None:
    mechanism, survey = both(jrr.OUE, Fraction(5, 16), Fraction(1, 8), "joint", n, 3)
    colluders = min(n - 1, 2)
    assert same(mechanism.epsilon("truths", colluders), survey.loss("truths", colluders))


def test_the_example_of_the_theory() -> None:
    mechanism, survey = both(jrr.OUE, Fraction(5, 16), Fraction(1, 8), "joint", 4, 3)
    for view, loss in zip(VIEWS, (0.788, 0.934, 1.157, 1.977), strict=True):
        assert mechanism.epsilon(view, 1) == pytest.approx(loss, abs=6e-4)
        assert same(mechanism.epsilon(view, 1), survey.loss(view, 1))
    _, two = both(jrr.OUE, Fraction(5, 16), Fraction(1, 8), "joint", 4, 2)
    assert two.loss("truths", 1) == pytest.approx(0.912, abs=6e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 64])
def test_without_a_coupling_every_view_is_the_report(kind: type[Unary], k: int) -> None:
    q = Fraction(5, 16)
    p = chance_of_one(kind, q)
    mechanism = kind(k, q=float(q))
    for view in VIEWS:
        expected = math.log(p / q) + math.log((1 - q) / (1 - p))
        assert mechanism.epsilon(view, 3) == pytest.approx(expected, abs=1e-12)
    assert mechanism.deal() is None


@st.composite
def coupled(draw: st.DrawFn) -> Unary:
    kind = draw(st.sampled_from(KINDS))
    q = draw(st.floats(1e-6, 0.4999))
    share = draw(st.floats(0, 1))
    n = draw(st.integers(2, 300))
    return kind(
        draw(st.integers(2, 70)),
        q=q,
        s=share * min(q, 1 - float(chance_of_one(kind, Fraction(q)))),
        coupling=draw(st.sampled_from(["joint", "dealt"])),
        n=n,
    )


@given(coupled(), st.data())
@settings(max_examples=150, deadline=None)
def test_views_are_ordered_and_colluders_never_help_the_target(
    mechanism: Unary, data: st.DataObject
) -> None:
    assert mechanism.n is not None
    colluders = data.draw(st.integers(0, mechanism.n - 1))
    losses = [mechanism.epsilon(view, colluders) for view in VIEWS]
    for lower, higher in itertools.pairwise(losses):
        assert lower <= higher * (1 + 1e-12)
    fewer = colluders // 2
    for view in ("truths", "cards"):
        assert mechanism.epsilon(view, fewer) <= mechanism.epsilon(view, colluders) * (1 + 1e-12)


@given(
    st.sampled_from(KINDS),
    st.sampled_from(["none", "joint", "dealt"]),
    st.floats(0.01, 5),
    st.integers(2, 5_000),
    st.floats(0, 1),
    st.one_of(st.none(), st.floats(0.01, 4)),
)
@settings(max_examples=60, deadline=None)
def test_epsilon_asked_for_is_met_and_the_cap_respected(
    kind: type[Unary],
    coupling: str,
    epsilon: float,
    n: int,
    share: float,
    above: float | None,
) -> None:
    colluders = 0 if coupling == "none" else int(share * min(n - 1, n / 4))
    cap = None if above is None else epsilon + above
    mechanism = kind(
        12,
        epsilon=epsilon,
        coupling=coupling,
        n=None if coupling == "none" else n,
        colluders=colluders,
        dealer_epsilon=cap,
    )
    assert epsilon - 1e-9 <= mechanism.epsilon("cards", colluders) <= epsilon
    assert cap is None or mechanism.epsilon("dealer") <= cap


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coupling", ["none", "joint", "dealt"])
def test_a_cap_below_epsilon_binds_every_report(kind: type[Unary], coupling: str) -> None:
    n = None if coupling == "none" else 100
    mechanism = kind(4, epsilon=2.0, coupling=coupling, n=n, dealer_epsilon=0.5)
    assert 0.5 - 1e-9 <= mechanism.epsilon("dealer") <= 0.5
    assert mechanism.s == 0


# One card for all bits would leak ----------------------------------------------------------------


@pytest.mark.slow_variants("6-1-")
@every_coupling
@pytest.mark.parametrize(
    ("kind", "q"),
    [(jrr.SUE, Fraction(7, 18)), (jrr.OUE, Fraction(1, 4)), (jrr.OUE, Fraction(7, 16))],
)
@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize(("n", "colluders"), [(4, 1), (6, 1), (6, 2), (12, 2)])
def test_a_shared_card_leaks(
    kind: type[Unary], q: Fraction, coupling: str, k: int, n: int, colluders: int
) -> None:
    """One report, with any lean; with colluders' cards, at the most lean (as plans choose)."""
    for s, view in ((q / 2, "report"), (q, "report"), (q, "cards")):
        mechanism, survey = both(kind, q, s, coupling, n, k)
        apart = survey.loss(view, colluders)
        assert same(apart, mechanism.epsilon(view, colluders))
        assert survey.shared_card_loss(view, colluders) > apart + 0.05
        assert same(survey.shared_card_loss("report"), shared_card_report_loss(survey.bit, k))


def test_few_bits_and_a_weak_lean_may_hide_a_shared_card() -> None:
    """It takes other bits to read the card off: two values have none, three may have too few."""
    _, two = both(jrr.OUE, Fraction(1, 4), Fraction(1, 8), "joint", 4, 2)
    assert two.shared_card_loss("report") < two.loss("report")
    _, three = both(jrr.SUE, Fraction(1, 4), Fraction(1, 8), "joint", 4, 3)
    assert three.shared_card_loss("cards", 1) < three.loss("cards", 1)
    mechanism, many = both(jrr.SUE, Fraction(1, 4), Fraction(1, 8), "joint", 4, 16)
    assert shared_card_report_loss(many.bit, 16) > 1.5 * mechanism.epsilon("report")


@pytest.mark.parametrize(
    ("kind", "coupling", "losses"),
    [
        (jrr.OUE, "joint", {3: 1.454, 4: 2.194, 16: 11.44, 64: 48.54}),
        (jrr.OUE, "dealt", {3: 1.929, 4: 2.448, 16: 11.43, 64: 48.50}),
        (jrr.SUE, "joint", {3: 2.256, 4: 3.381, 16: 20.28, 64: 87.88}),
        (jrr.SUE, "dealt", {3: math.inf, 4: math.inf}),
    ],
)
def test_how_much_a_shared_card_leaks(
    kind: type[Unary], coupling: str, losses: dict[int, float]
) -> None:
    """One report, where independent cards have at most 1 (10,000 contributors, 5 collude)."""
    for k, loss in losses.items():
        made = kind(k, epsilon=1.0, coupling=coupling, n=10_000, colluders=5)
        q, s = Fraction(made.q), Fraction(made.s)
        bit = Bit(chance_of_one(kind, q), q, s, coupling)
        assert made.epsilon() <= 1
        assert shared_card_report_loss(bit, k) == pytest.approx(loss, rel=1e-3)


# Variance -------------------------------------------------------------------------------------


@every_setting
@every_coupling
@pytest.mark.parametrize(
    ("counts", "n"),
    [
        ((1, 1, 0), 2),
        ((2, 1, 0), 3),
        ((1, 1, 1), 3),
        ((3, 1, 0), 4),
        ((4, 1, 0), 5),
        ((3, 2, 1), 6),
        ((1, 1, 0), 4),  # from here on some dropped out
        ((2, 1, 0), 5),
        ((2, 1, 1), 6),
        ((1, 0, 0), 3),
    ],
    ids=str,
)
def test_mean_and_variance_are_what_enumeration_finds(
    kind: type[Unary], q: Fraction, s: Fraction, coupling: str, counts: tuple[int, ...], n: int
) -> None:
    mechanism, survey = both(kind, q, s, coupling, n, 3)
    stated = mechanism.variance(counts)
    for holders, variance in zip(counts, stated, strict=True):
        mean, exact = survey.moments(holders, sum(counts))
        assert mean == holders
        assert variance == pytest.approx(float(exact), rel=1e-12)


@every_coupling
@pytest.mark.parametrize(("n", "counts"), [(2, (3, 1)), (2, (2, 1)), (3, (4, 2)), (3, (3, 1))])
def test_variance_with_two_decks(coupling: str, n: int, counts: tuple[int, int]) -> None:
    mechanism, survey = both(jrr.OUE, Fraction(5, 16), Fraction(1, 8), coupling, n, 2)
    stated = mechanism.variance(counts, decks=2)
    for holders, variance in zip(counts, stated, strict=True):
        mean, exact = survey.moments(holders, sum(counts), decks=2)
        assert mean == holders
        assert variance == pytest.approx(float(exact), rel=1e-12)


def test_an_odd_deck_is_one_larger_with_a_card_left_over() -> None:
    """Two contributors' cards have correlation -1/n, as in a deck of n + 1."""
    odd = jrr.OUE(4, q=0.25, s=0.125, coupling="dealt", n=5)
    even = jrr.OUE(4, q=0.25, s=0.125, coupling="dealt", n=6)
    counts = (2, 2, 1, 0)
    assert odd.moments.pair_weight(1) == even.moments.pair_weight(1) == 1 / 5
    assert np.array_equal(odd.variance(counts), even.variance(counts))
    for view, colluders in itertools.product(VIEWS, range(5)):
        assert odd.epsilon(view, colluders) == even.epsilon(view, colluders)


@pytest.mark.parametrize(
    ("kind", "coupling", "share"),
    [
        (jrr.SUE, "none", 1.0),
        (jrr.SUE, "joint", 0.5248),
        (jrr.SUE, "dealt", 0.3936),
        (jrr.OUE, "joint", 0.7169),
        (jrr.OUE, "dealt", 0.6384),
    ],
)
def test_what_couplings_gain_at_epsilon_one(kind: type[Unary], coupling: str, share: float) -> None:
    """Zipf population, k = 16, n = 20,000, five colluders; against the encoding uncoupled."""
    weights = 1 / np.arange(1, 17)
    counts = np.floor(20_000 * weights / weights.sum())
    n = None if coupling == "none" else 20_000
    made = kind(16, epsilon=1.0, coupling=coupling, n=n, colluders=5 if n else 0)
    plain = kind(16, epsilon=1.0)
    gained = made.variance(counts).mean() / plain.variance(counts).mean()
    assert gained == pytest.approx(share, abs=6e-4)


# The best lean is none or the most ---------------------------------------------------------------


def losses(kind: type[Unary], coupling: str, q: Floats, s: Floats, e: float) -> Floats:
    """The loss where a card is believed to be e on average, by the formulas of the theory."""
    p = 1 - q if kind is jrr.SUE else np.full_like(q, 0.5)
    worst = np.zeros_like(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        if coupling == "joint":
            parts = (p + s * e, q - s * e), (1 - q + s * e, 1 - p - s * e)
        else:
            parts = (p - s * e, q - s * e), (1 - q - s * e, 1 - p - s * e)
        for above, below in parts:
            worst = worst + np.where(below > 1e-300, np.log(above / below), np.inf)
    return worst


def mean_variance(kind: type[Unary], coupling: str, q: Floats, s: Floats, n: int) -> Floats:
    """Variance of a count per person, on average over all frequencies."""
    p = 1 - q if kind is jrr.SUE else np.full_like(q, 0.5)
    d1, d0 = s, s if coupling == "dealt" else -s
    tied = 1 / (n - 1 + n % 2)
    pairs = n * (d1**2 + d1 * d0 + d0**2) / 3 - (d1**2 + d0**2) / 2
    result: Floats = ((p * (1 - p) + q * (1 - q)) / 2 - tied * pairs) / (p - q) ** 2
    return result


LEANS = np.concatenate((np.linspace(0, 0.499, 201), np.geomspace(1e-6, 1e-3, 40)))


def least_found(
    kind: type[Unary],
    coupling: str,
    epsilon: float,
    n: int,
    colluders: int,
    cap: float | None,
    leans: Floats,
) -> float:
    """The least mean variance over many leans, each with the least noise it allows."""
    deck = n + n % 2
    e = min(1.0, colluders / (deck - colluders))
    low = np.maximum(leans, 1e-12)  # a lean needs q >= s
    high = np.full_like(low, 0.5)

    def private(q: Floats) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = losses(kind, coupling, q, leans, e) <= epsilon
        if cap is not None:
            kept &= losses(kind, coupling, q, leans, 1.0) <= cap
        return kept

    feasible = private(high * (1 - 1e-9))
    for _ in range(45):
        middle = (low + high) / 2
        ok = private(middle)
        low, high = np.where(ok, low, middle), np.where(ok, middle, high)
    return float(mean_variance(kind, coupling, high[feasible], leans[feasible], n).min())


SETTINGS = list(
    itertools.product(
        KINDS,
        ("joint", "dealt"),
        (0.05, 0.3, 1.0, 3.0),
        ((10, 0), (10, 1), (101, 5), (1_000, 5), (1_000, 300), (100_000, 50)),
        (None, 0.3, 1.0, 3.0),
    )
)


@pytest.mark.heavy
@pytest.mark.slow_variants("SUE-", "OUE-joint]")
@pytest.mark.parametrize("coupling", ["joint", "dealt"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_lean_beats_the_chosen_one(kind: type[Unary], coupling: str) -> None:
    chosen = Counter[str]()
    for _, _, epsilon, (n, colluders), above in (
        setting for setting in SETTINGS if setting[:2] == (kind, coupling)
    ):
        cap = None if above is None else epsilon + above
        own = kind(
            8, epsilon=epsilon, coupling=coupling, n=n, colluders=colluders, dealer_epsilon=cap
        )
        leans = np.append(LEANS, own.s * (1 - 1e-9))
        best = least_found(kind, coupling, epsilon, n, colluders, cap, leans)
        worth = own.moments.mean_variance()
        assert worth <= best * (1 + 1e-6), (epsilon, n, colluders, cap, own.s, worth / best)
        assert worth >= best * (1 - 1e-6)  # the search measures the same
        chosen["leans" if own.s else "does not"] += 1
    assert min(chosen.values()) >= 5  # both kinds of answer were put to the test
    assert len(chosen) == 2


def test_a_lean_that_was_asked_for_is_kept() -> None:
    made = jrr.OUE(8, epsilon=1.0, coupling="dealt", n=1_000, colluders=5, s=0.1)
    assert made.s == 0.1
    assert 1 - 1e-9 <= made.epsilon("cards", 5) <= 1
    assert (
        made.moments.mean_variance()
        > jrr.OUE(8, epsilon=1.0, coupling="dealt", n=1_000, colluders=5).moments.mean_variance()
    )


# Cards ----------------------------------------------------------------------------------------


def unpacked(packed: NDArray[np.uint8], k: int) -> NDArray[np.uint8]:
    """Bit v is bit v mod 8, least significant first, of byte v div 8."""
    rows = [[int(row[v // 8]) >> v % 8 & 1 for v in range(k)] for row in packed]
    return np.array(rows, np.uint8).reshape(len(packed), k)


def packed_rows(bits: NDArray[Any]) -> NDArray[np.uint8]:
    out = np.zeros((bits.shape[0], -(-bits.shape[1] // 8)), np.uint8)
    for v in range(bits.shape[1]):
        out[:, v // 8] |= (bits[:, v].astype(np.uint8) << v % 8).astype(np.uint8)
    return out


@pytest.mark.parametrize("k", [2, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("n", [2, 3, 10, 11])
def test_every_bit_has_a_balanced_deck(n: int, k: int) -> None:
    mechanism = jrr.OUE(k, epsilon=1.0, coupling="dealt", n=n)
    seen: set[int] = set()
    for seed in range(12):
        cards = mechanism.deal(jrr.SeededRandom(seed))
        assert cards is not None
        assert cards.shape == (n, -(-k // 8))
        assert cards.dtype == np.uint8
        sums = unpacked(cards, k).sum(axis=0)
        seen.update(int(total) for total in sums)
        assert not (k % 8 and (cards[:, -1] >> k % 8).any())
    assert seen == {n // 2, (n + 1) // 2}


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "k", "decks"), [(4, 2, 6), (3, 2, 8), (2, 3, 2)])
def test_decks_are_uniform_and_independent(n: int, k: int, decks: int) -> None:
    """n = 3: eight hands of three from a deck of four, where +++ and --- cannot be."""
    mechanism = jrr.SUE(k, epsilon=1.0, coupling="joint", n=n)
    source = jrr.SeededRandom(n)
    hands = Counter[bytes]()
    for _ in range(5_000):
        cards = mechanism.deal(source)
        assert cards is not None
        hands[cards.tobytes()] += 1
    patterns = [
        bits for bits in itertools.product((0, 1), repeat=n) if n // 2 <= sum(bits) <= (n + 1) // 2
    ]
    assert len(patterns) == (decks if n % 2 == 0 else 6)
    expected = []
    for columns in itertools.product(patterns, repeat=k):
        expected.append(packed_rows(np.array(columns).T).tobytes())
    observed = [hands[hand] for hand in expected]
    assert sum(observed) == 5_000
    uniform = [1 / len(expected)] * len(expected)
    doubled = [1.3 / len(expected)] * (len(expected) // 2)
    lowered = [0.7 / len(expected)] * (len(expected) - len(doubled))
    accepts_only(lambda law: chi_square(observed, law), uniform, doubled + lowered)


# From bytes to reports ------------------------------------------------------------------------


class Tape:
    """A source that first gives the words it was given, then the same word for ever."""

    def __init__(self, first: Sequence[int], after: int) -> None:
        self.first = list(first)
        self.after = after
        self.drawn_after = 0

    def words(self, count: int) -> Words:
        return np.array([self.word() for _ in range(count)], np.uint64)

    def word(self) -> int:
        if self.first:
            return self.first.pop(0)
        self.drawn_after += 1
        return self.after


def thresholds(mechanism: Unary, card: int | None) -> tuple[int, int]:
    """Words that report a held and an unheld bit as 1: held rounded down, unheld up."""
    p, q, s = Fraction(mechanism.p), Fraction(mechanism.q), Fraction(mechanism.s)
    sign = 0 if card is None else (1 if card else -1)
    other = q + s * sign * (1 if mechanism.coupling == "dealt" else -1)
    return math.floor((p + s * sign) * SCALE), math.ceil(other * SCALE)


TIE_MECHANISMS: list[Unary] = [
    jrr.SUE(11, epsilon=1.0),
    jrr.OUE(11, epsilon=0.3),
    jrr.OUE(11, q=0.3, s=0.1, coupling="joint", n=10),
    jrr.OUE(11, q=0.3, s=0.3, coupling="joint", n=10),
    jrr.SUE(11, q=0.3, s=0.3, coupling="dealt", n=10),
    jrr.OUE(11, q=0.3, s=0.1, coupling="dealt", n=10),
]


@pytest.mark.parametrize("mechanism", TIE_MECHANISMS, ids=str)
@pytest.mark.parametrize("card", [None, 0, 1])
def test_a_byte_and_a_tie_word_realise_the_threshold_exactly(
    mechanism: Unary, card: int | None
) -> None:
    """The byte is the top of 63 bits and the tie word's top 55 the rest: u < threshold."""
    if card is not None and mechanism.n is None:
        return
    held, unheld = thresholds(mechanism, card)
    assert (mechanism.law.holder.none, mechanism.law.other.none) == thresholds(mechanism, None)
    dealt = None if card is None else packed_rows(np.full((1, 11), card))
    numbers = {
        u
        for edge in (held, unheld, held & -(1 << 55), unheld & -(1 << 55))
        for u in (edge - 1, edge, edge + 1)
        if 0 <= u < SCALE
    }
    for u, rest in itertools.product({*numbers, 0, SCALE - 1}, (0, 511)):
        coarse = int.from_bytes(bytes([u >> 55]) * 8, "little")
        tie = (u & ((1 << 55) - 1)) << 9 | rest
        report = mechanism.respond([4], dealt, Tape([coarse, coarse], tie))
        expected = [u < (held if v == 4 else unheld) for v in range(11)]
        assert unpacked(report, 11)[0].tolist() == expected
        one = mechanism.respond_one(
            4, None if dealt is None else dealt[0].tobytes(), Tape([coarse, coarse], tie)
        )
        assert one == report.tobytes()


@pytest.mark.parametrize("mechanism", TIE_MECHANISMS, ids=str)
def test_one_report_is_the_same_as_many(mechanism: Unary) -> None:
    """On the same bytes and tie words; bytes are mostly at, or next to, a threshold."""
    rng = np.random.default_rng(5)
    rows, k = 200, mechanism.k
    tops = [
        min(255, max(0, (t >> 55) + step))
        for card in (None, 0, 1)
        for t in thresholds(mechanism, card)
        for step in (-1, 0, 1)
    ]
    coarse = rng.choice(np.array(tops, np.uint8), (rows, 16))
    words = coarse.view("<u8")
    values = rng.integers(0, k, rows)
    cards = None
    if mechanism.n is not None:
        cards = packed_rows(rng.integers(0, 2, (rows, k)))
    for tie in (0, 1 << 63, (1 << 64) - 1, int(rng.integers(0, 1 << 63))):
        tape = Tape(words.ravel().tolist(), tie)
        many = mechanism.respond(values, cards, tape)
        assert tape.drawn_after > rows / 2  # ties were many
        for i in range(rows):
            for card in (None,) if cards is None else (cards[i].tobytes(), cards[i]):
                one = mechanism.respond_one(int(values[i]), card, Tape(words[i].tolist(), tie))
                assert one == many[i].tobytes()


def test_a_tie_word_is_drawn_for_a_tie_only() -> None:
    mechanism = jrr.OUE(8, epsilon=1.0)
    held, unheld = (t >> 55 for t in thresholds(mechanism, None))
    away = int.from_bytes(bytes([held + 1]) * 8, "little")
    tape = Tape([away], 0)
    mechanism.respond_one(0, None, tape)
    assert tape.drawn_after == 0
    tied = Tape([int.from_bytes(bytes([unheld]) * 8, "little")], 0)
    mechanism.respond_one(0, None, tied)
    assert tied.drawn_after == 7


def test_certain_bits_are_certain() -> None:
    """SUE, dealt, at the most lean: a plus card on a held bit is always told as 1."""
    mechanism = jrr.SUE(3, q=0.25, s=0.25, coupling="dealt", n=4)
    assert thresholds(mechanism, 1)[0] == SCALE
    assert thresholds(mechanism, 0)[1] == 0
    plus, minus = (packed_rows(np.full((5_000, 3), card)) for card in (1, 0))
    values = np.zeros(5_000, np.int64)
    assert unpacked(mechanism.respond(values, plus, jrr.SeededRandom(1)), 3)[:, 0].all()
    assert not unpacked(mechanism.respond(values, minus, jrr.SeededRandom(1)), 3)[:, 1:].any()


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coupling", ["none", "joint", "dealt"])
def test_law_of_the_reported_bits(kind: type[Unary], coupling: str) -> None:
    """Per value held or not, bit and card; a law off by 30% is refused."""
    n = None if coupling == "none" else 1_000
    s = None if coupling == "none" else 0.15
    mechanism = kind(11, q=0.2, s=s, coupling=coupling, n=n)
    rng = np.random.default_rng(7)
    rows = SAMPLES // 4
    values = rng.choice([3, 10], rows)
    dealt = rng.integers(0, 2, (rows, 11)).astype(np.uint8)
    cards = None if n is None else packed_rows(dealt)
    reports = mechanism.respond(values, cards, jrr.SeededRandom(8))
    bits = np.unpackbits(reports, axis=1, count=11, bitorder="little")
    for value, v, card in itertools.product((3, 10), (0, 3, 8, 10), (0, 1)):
        p = mechanism.p if v == value else mechanism.q
        lean = {"none": 0.0, "joint": 0.15 if v == value else -0.15, "dealt": 0.15}[coupling]
        chance = p + (lean if card else -lean)
        chosen = bits[(values == value) & (dealt[:, v] == card), v]
        ones = int(chosen.sum())
        law = [1 - chance, chance]
        observed = [len(chosen) - ones, ones]
        accepts_only(lambda law: chi_square(observed, law), law, skewed(law))  # noqa: B023


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
def test_people_without_a_card_answer_by_the_marginals(kind: type[Unary]) -> None:
    mechanism = kind(9, q=0.2, s=0.2, coupling="dealt", n=1_000)
    reports = mechanism.respond(np.full(SAMPLES // 4, 8), None, jrr.SeededRandom(3))
    counts = mechanism.tally(reports, carded=False).cardless
    for v, chance in ((0, mechanism.q), (8, mechanism.p)):
        law = [1 - chance, chance]
        observed = [SAMPLES // 4 - counts[v], counts[v]]
        accepts_only(lambda law: chi_square(observed, law), law, skewed(law))  # noqa: B023


@pytest.mark.statistical
def test_bits_of_one_report_are_independent() -> None:
    mechanism = jrr.OUE(3, q=0.25)
    reports = mechanism.respond(np.zeros(SAMPLES, np.int64), None, jrr.SeededRandom(4))
    observed = np.bincount(reports[:, 0], minlength=8)
    law = [0.5 * (0.25 if y & 2 else 0.75) * (0.25 if y & 4 else 0.75) for y in range(8)]
    accepts_only(lambda law: chi_square(observed, law), law, skewed(law))


def test_reports_do_not_depend_on_how_many_are_made_at_once() -> None:
    """More rows than one block; equal seeds, equal reports; padding stays 0."""
    mechanism = jrr.OUE(13, q=0.25, s=0.25, coupling="dealt", n=10_001)
    values = np.arange(10_001) % 13
    cards = np.asarray(mechanism.deal(jrr.SeededRandom(1)))  # used again
    first = mechanism.respond(values, cards, jrr.SeededRandom(2))
    again = mechanism.respond(values.astype(np.uint8), cards, jrr.SeededRandom(2))
    assert first.shape == (10_001, 2)
    assert np.array_equal(first, again)
    assert not (first[:, 1] >> 5).any()


# Counting -------------------------------------------------------------------------------------


@given(st.integers(2, 40), st.integers(1, 60), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_support_is_the_sum_of_unpacked_bits(k: int, rows: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (rows, k))
    mechanism = jrr.SUE(k, epsilon=1.0)
    tally = mechanism.tally(packed_rows(bits))
    assert tally.cardless == tuple(bits.sum(axis=0).tolist())
    assert (tally.n_cardless, tally.n_carded) == (rows, 0)


def test_bit_order() -> None:
    """Value 0 is the least significant bit of the first byte, value 9 bit 1 of the second."""
    mechanism = jrr.OUE(10, epsilon=1.0)
    tally = mechanism.tally(np.array([[1, 0], [0, 2], [128, 2]], np.uint8))
    assert tally.cardless == (1, 0, 0, 0, 0, 0, 0, 1, 0, 2)


def test_tallies_merge_and_keep_the_carded_apart() -> None:
    mechanism = jrr.OUE(9, epsilon=1.0, coupling="dealt", n=100, colluders=2)
    values = np.arange(100) % 9
    carded = mechanism.respond(values, mechanism.deal(jrr.SeededRandom(1)), jrr.SeededRandom(2))
    late = mechanism.respond(values[:30], None, jrr.SeededRandom(3))
    parts = mechanism.tally(carded[:60]) + mechanism.tally(carded[60:])
    assert parts == mechanism.tally(carded)
    total = parts + mechanism.tally(late, carded=False)
    flags = np.arange(130) < 100
    assert total == mechanism.tally(np.vstack((carded, late)), flags)
    assert (total.n_carded, total.n_cardless) == (100, 30)
    expected = sum(
        (np.array(support) - n * mechanism.q) / (mechanism.p - mechanism.q)
        for support, n in ((total.carded, 100), (total.cardless, 30))
    )
    np.testing.assert_allclose(mechanism.estimate(total).counts, expected, rtol=1e-9)
    assert jrr.Tally.from_json(total.to_json()) == total


@pytest.mark.parametrize("mechanism", TIE_MECHANISMS, ids=str)
def test_json_round_trip(mechanism: Unary) -> None:
    again = jrr.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert type(again) is type(mechanism)
    assert hash(again) == hash(mechanism)


def test_estimate_has_an_error_bar_from_the_variance() -> None:
    mechanism = jrr.OUE(4, epsilon=1.0, coupling="dealt", n=1_000, colluders=5)
    values = np.repeat(np.arange(4), (700, 200, 90, 10))
    reports = mechanism.respond(values, mechanism.deal(jrr.SeededRandom(1)), jrr.SeededRandom(2))
    estimate = mechanism.estimate(reports)
    spread = np.sqrt(mechanism.variance((700, 200, 90, 10)))
    assert (np.abs(estimate.counts - (700, 200, 90, 10)) < 5 * spread).all()
    np.testing.assert_allclose(estimate.count_stderr, spread, rtol=0.05)


# Refusals -------------------------------------------------------------------------------------

DEALT = jrr.OUE(10, epsilon=1.0, coupling="dealt", n=4)
PLAIN = jrr.OUE(10, epsilon=1.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: jrr.OUE(1, epsilon=1.0), r"k must be a whole number .*, got k=1$"),
        (lambda: jrr.SUE(2.5, epsilon=1.0), "k must be a whole number .*, got k=2.5"),  # type: ignore[arg-type]
        (lambda: jrr.OUE(4), "exactly one of epsilon and q .* epsilon=None, q=None"),
        (lambda: jrr.OUE(4, epsilon=1.0, q=0.2), "exactly one of epsilon and q .* q=0.2"),
        (lambda: jrr.OUE(4, epsilon=0.0), "epsilon must be .*, got epsilon=0.0"),
        (lambda: jrr.OUE(4, epsilon=math.nan), "epsilon must be .*, got epsilon=nan"),
        (lambda: jrr.OUE(4, epsilon=1.0, dealer_epsilon=-1.0), "dealer_epsilon must .*=-1.0"),
        (lambda: jrr.OUE(4, q=0.5), r"q must be in \(0, 1/2\), got q=0.5"),
        (lambda: jrr.SUE(4, q=0.0), r"q must be in \(0, 1/2\), got q=0.0"),
        (lambda: jrr.OUE(4, epsilon=1.0, coupling="paired"), "coupling must be .* got .*'paired'"),
        (
            lambda: jrr.OUE(4, epsilon=1.0, coupling="joint"),
            "n must be the size of a deck with coupling='joint', got n=None",
        ),
        (lambda: jrr.OUE(4, epsilon=1.0, n=10), "n must be None without a coupling.*, got n=10"),
        (lambda: jrr.OUE(4, q=0.2, coupling="dealt", n=1), "n must be .* >= 2, got n=1"),
        (
            lambda: jrr.OUE(4, epsilon=1.0, coupling="dealt", n=10, colluders=10),
            r"colluders must be a whole number in 0\.\.9, got colluders=10",
        ),
        (lambda: jrr.OUE(4, epsilon=1.0, s=0.1), "s must be 0 or None without a coupling.*s=0.1"),
        (
            lambda: jrr.SUE(4, q=0.2, s=0.3, coupling="dealt", n=10),
            r"s must be in 0\.\.0\.1999\d*, got s=0.3",
        ),
        (
            lambda: jrr.OUE(4, epsilon=3.0, s=0.4, coupling="joint", n=100),
            "s must be at most .* at this epsilon, got s=0.4",
        ),
        (
            lambda: jrr.OUE(4, epsilon=1.0, s=0.26, coupling="dealt", n=100, dealer_epsilon=1.1),
            "s must be small enough for dealer_epsilon=1.1, got s=0.26",
        ),
        (lambda: DEALT.epsilon("paper"), "view='paper'.*OUE"),
        (lambda: DEALT.epsilon("all"), "view must be one of .* got view='all'"),
        (lambda: DEALT.epsilon("cards", 4), r"colluders must be .*0\.\.3, got colluders=4"),
        (lambda: PLAIN.epsilon("cards", -1), "colluders must be .* got colluders=-1"),
        (lambda: PLAIN.respond([10]), r"values must be .*0\.\.9, got values with 10"),
        (lambda: PLAIN.respond([-1]), "values must be .*, got values with -1"),
        (lambda: PLAIN.respond([0.5]), "values must be .*, got dtype float64"),
        (lambda: PLAIN.respond([1], DEALT.deal()), "cards must be None for OUE"),
        (lambda: PLAIN.respond_one(10), r"value must be .*0\.\.9, got value=10"),
        (lambda: PLAIN.respond_one(1, b"\0\0"), "card must be None for OUE"),
        (lambda: DEALT.respond_one(1, b"\0"), "card must be 2 bytes, got card="),
        (lambda: DEALT.respond([1, 2], DEALT.deal()), r"cards must be 2 rows .* shape \(4, 2\)"),
        (
            lambda: DEALT.respond([1], np.array([[0, 4]], np.uint8)),
            "cards must leave the 6 bits after bit 9 at 0",
        ),
        (
            lambda: PLAIN.tally(np.zeros((3, 1), np.uint8)),
            r"reports must be rows of 2 bytes \(uint8\), got dtype uint8, shape \(3, 1\)",
        ),
        (lambda: PLAIN.tally(np.zeros((3, 3), np.uint8)), r"reports must be .* shape \(3, 3\)"),
        (lambda: PLAIN.tally(np.zeros(6, np.uint8)), r"reports must be .* shape \(6,\)"),
        (lambda: PLAIN.tally(np.zeros((3, 2), np.int64)), "reports must be .* got dtype int64"),
        (
            lambda: PLAIN.tally(np.array([[0, 0], [0, 4]], np.uint8)),
            "reports must leave the 6 bits after bit 9 at 0, got some that are set",
        ),
        (lambda: PLAIN.tally(np.zeros((0, 2), np.uint8)), "reports must hold at least one report"),
        (lambda: PLAIN.tally(np.zeros((1, 2), np.uint8), True), "carded must be False for OUE"),
        (lambda: DEALT.variance([5] + [0] * 9), r"counts must add up to at most n\*decks = 4"),
        (lambda: DEALT.variance([1, 1]), "counts must be 10 non-negative numbers"),
        (
            lambda: PLAIN.estimate(jrr.OUE(10, epsilon=2.0).tally(np.zeros((1, 2), np.uint8))),
            "reports must be a tally of .*OUE",
        ),
        (lambda: jrr.from_dict({"mechanism": "OUE", "k": 4, "q": 0.2}), "mechanism fields must be"),
    ],
)
def test_refusals_name_argument_and_value(act: Callable[[], object], message: str) -> None:
    with pytest.raises(jrr.JrrError, match=message):
        act()


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (b"\xff\xff", "must leave the 6 bits after bit 9 at 0"),
        (b"\x01", "card must be 2 bytes"),
        ("ab", "card must be 2 bytes, got card='ab'"),
        (3, "card must be 2 bytes, got card=3"),
    ],
)
def test_a_single_card_is_checked_too(card: object, words: str) -> None:
    mechanism = jrr.OUE(10, epsilon=1.0, coupling="dealt", n=4)
    with pytest.raises(jrr.JrrError, match=words):
        mechanism.respond_one(1, card)  # type: ignore[arg-type]


def test_a_cap_is_for_choosing_parameters_only() -> None:
    with pytest.raises(jrr.JrrError, match="dealer_epsilon must be None where q is given"):
        jrr.OUE(10, q=0.25, s=0.1, coupling="dealt", n=5, dealer_epsilon=0.01)
    with pytest.raises(jrr.JrrError, match="dealer_epsilon must be None where p is given"):
        jrr.OLH(10, p=0.5, g=3, s=0.1, coupling="joint", n=5, dealer_epsilon=0.01)
