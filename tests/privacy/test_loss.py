"""Privacy losses: known answers, order of the views, and rounding that only goes outward."""

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import jrr
from jrr.privacy import loss
from tests.golden import make_respond
from tests.mechanisms.test_mechanisms import all_inputs, named, words_per_report

Mechanism = jrr.RR | jrr.JRR | jrr.DRR

SCALE = 2**63
VIEWS = ("report", "truths", "cards", "dealer")
fuzz = settings(derandomize=True, deadline=None, max_examples=200, database=None)


# Losses written a second time, exactly --------------------------------------------------------


def ln(ratio: Fraction) -> Decimal:
    """50 digits and more of a logarithm."""
    with localcontext() as context:
        context.prec = 100
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def lie_words(truth: Fraction, k: int) -> int:
    """Lies are rounded up to equal parts (there may be more than all of the words)."""
    return math.ceil((1 - truth) * SCALE / (k - 1)) * (k - 1)


def worst(ratios: list[tuple[Fraction, Fraction]]) -> Fraction | None:
    """The largest of some ratios; None where a denominator is 0."""
    if any(below <= 0 < above for above, below in ratios):
        return None
    return max(above / below for above, below in ratios if below > 0)


def joint_ratio(k: int, lies: list[Fraction]) -> Fraction | None:
    """Worst ratio of two reports' chances, where the target lies with one of these chances."""
    ratios = []
    for lie in lies:
        truth = (SCALE - lie) * (k - 1)
        ratios += [(truth, lie), (lie, truth)]
    return worst(ratios)


def joint_exact(m: jrr.JRR, view: str, colluders: int) -> Fraction | None:
    p, s = Fraction(m.p), Fraction(m.s)
    plus, minus, blank = (lie_words(truth, m.k) for truth in (p + s, p - s, p))
    cards = m.n - m.n % 2
    known = min(colluders, cards - 1)
    if view == "report":
        leans = [Fraction(0)]
    elif view == "dealer":
        leans = [Fraction(1), Fraction(-1)]
    elif view == "cards":
        lean = min(Fraction(1), Fraction(known, cards - known))
        leans = [lean, -lean]
    else:
        leans = [2 * chance - 1 for chance in beliefs(cards, known, plus, minus)]
    lies = [(plus * (1 + lean) + minus * (1 - lean)) / 2 for lean in leans]
    return joint_ratio(m.k, lies + ([Fraction(blank)] if m.n % 2 else []))


def beliefs(cards: int, known: int, plus: int, minus: int) -> list[Fraction]:
    """Pr[target holds a plus card | the colluders' truths], for every number of liars.

    Sums over how many truthful and how many lying colluders hold a plus card.
    """
    half, unseen = cards // 2, cards - known
    result = []
    for liars in range(known + 1):
        total = favourable = 0
        for a in range(known - liars + 1):
            for b in range(liars + 1):
                left = half - a - b
                if not 0 <= left <= unseen:
                    continue
                weight = comb(known - liars, a) * comb(liars, b) * comb(unseen, left)
                weight *= (SCALE - plus) ** a * (SCALE - minus) ** (known - liars - a)
                weight *= plus**b * minus ** (liars - b)
                total += weight
                favourable += weight * left
        if total:
            result.append(Fraction(favourable, total * unseen))
    return result


def dealt_exact(m: jrr.DRR, view: str, colluders: int) -> Fraction | None:
    k, n = m.k, m.n
    own = min(math.ceil(Fraction(m.own) * SCALE / k) * k, SCALE // k * k)
    truth = min(math.floor(Fraction(m.truth) * SCALE), SCALE - own)
    dealt = SCALE - own - truth
    ratios = []
    for cards in m.deck:
        if view == "report":
            chance = Fraction(cards, n)
        elif view == "dealer":
            chance = Fraction(0)
        elif view == "cards":
            chance = Fraction(max(0, cards - colluders), n - colluders)
        else:
            seen = decoys_seen(n, cards, colluders, dealt * k + own, own)
            chance = (cards - seen) / (n - colluders)
        decoy = dealt * chance + Fraction(own, k)
        ratios.append((truth + decoy, decoy))
    return worst(ratios)


def decoys_seen(n: int, cards: int, m: int, with_card: int, without: int) -> Fraction:
    """Expected cards of value v among colluders who all reported v without holding it."""
    law = {
        a: comb(cards, a) * comb(n - cards, m - a) * with_card**a * without ** (m - a)
        for a in range(max(0, m - n + cards), min(m, cards) + 1)
    }
    if not sum(law.values()):  # without a coin of one's own nobody else can have said so
        return Fraction(max(law))
    return Fraction(sum(a * weight for a, weight in law.items()), sum(law.values()))


def exact(m: Mechanism, view: str, colluders: int) -> Fraction | None:
    if isinstance(m, jrr.RR):
        return joint_ratio(m.k, [Fraction(lie_words(Fraction(m.p), m.k))])
    if isinstance(m, jrr.JRR):
        return joint_exact(m, view, colluders)
    return dealt_exact(m, view, colluders)


# Random mechanisms ----------------------------------------------------------------------------

shares = st.floats(0, 1)


@st.composite
def joints(draw: st.DrawFn, k: int | None = None) -> jrr.JRR:
    size = draw(st.integers(2, 6)) if k is None else k
    p = 1 / size + draw(st.floats(1e-6, 1)) * (1 - 1 / size)
    s = draw(shares | st.sampled_from([0.0, 1.0])) * min(min(p, 1.0), 1 - min(p, 1.0))
    return jrr.JRR(n=draw(st.integers(2, 40)), p=min(p, 1.0), s=s, k=size)


@st.composite
def dealts(draw: st.DrawFn) -> jrr.DRR:
    k, n = draw(st.integers(2, 6)), draw(st.integers(2, 40))
    truth = draw(st.floats(1e-6, 1))
    own = draw(shares | st.sampled_from([0.0, 1.0])) * (1 - truth)
    deck = None
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, n), min_size=k - 1, max_size=k - 1)))
        ends = [0, *cuts, n]
        deck = [high - low for low, high in itertools.pairwise(ends)]
    return jrr.DRR(n=n, truth=truth, own=own, k=k, deck=deck)


mechanisms = st.one_of(joints(), dealts())


# Known answers --------------------------------------------------------------------------------


class TestKnownAnswers:
    @pytest.mark.parametrize(
        ("mechanism", "expected"),
        [
            (jrr.RR(p=0.75), math.log(3)),
            (jrr.RR(k=3, p=0.5), math.log(2)),
            (jrr.RR(k=5, p=0.5), math.log(4)),
            (jrr.RR(p=1.0), math.inf),
            (jrr.RR(k=7, p=1.0), math.inf),
            (jrr.JRR(n=10, p=0.75, s=0.1), math.log(3)),
            (jrr.DRR(n=10, truth=0.5), math.log(3)),
            (jrr.DRR(n=10, truth=0.25, own=0.5), math.log(1 + 0.25 / 0.375)),
            (jrr.DRR(n=10, truth=1.0), math.inf),
        ],
        ids=named,
    )
    def test_report(self, mechanism: Mechanism, expected: float) -> None:
        assert mechanism.epsilon() == pytest.approx(expected, rel=1e-14)
        assert mechanism.epsilon("report") == mechanism.epsilon()

    def test_extremes(self) -> None:
        assert loss.independent(2, SCALE // 2) == 0
        assert loss.independent(4, SCALE * 3 // 4) == 0
        assert loss.independent(2, 0) == math.inf
        assert loss.independent(2, SCALE) == math.inf
        assert 0 < jrr.RR(p=math.nextafter(0.5, 1)).epsilon() < 1e-15

    def test_always_leaning_hides_nothing_from_the_dealer(self) -> None:
        assert jrr.JRR(n=10, p=0.6, s=0.4).epsilon("dealer") == math.inf
        assert jrr.JRR(n=10, p=0.3, s=0.3, k=5).epsilon("dealer") == math.inf
        assert jrr.JRR(n=10, p=0.6, s=0.4).epsilon("cards", 5) == math.inf
        assert jrr.JRR(n=10, p=0.6, s=0.4).epsilon("cards", 4) < math.inf
        assert jrr.DRR(n=10, truth=0.2).epsilon("dealer") == math.inf
        assert jrr.DRR(n=10, truth=0.2).epsilon("cards", 5) == math.inf
        assert jrr.DRR(n=10, truth=0.2).epsilon("cards", 4) < math.inf
        assert jrr.DRR(n=10, truth=0.2, deck=[10, 0]).epsilon() == math.inf

    def test_dealer(self) -> None:
        joint = jrr.JRR(n=10, p=0.6, s=0.15)
        assert joint.epsilon("dealer") == pytest.approx(math.log(3))
        assert jrr.JRR(n=10, p=0.5, s=0.4, k=3).epsilon("dealer") == pytest.approx(math.log(18))
        lying = jrr.JRR(n=10, p=0.35, s=0.3, k=3)  # the minus card tells more
        assert lying.epsilon("dealer") == pytest.approx(math.log(0.475 / 0.05))
        dealt = jrr.DRR(n=10, truth=0.2, own=0.1, k=4)
        assert dealt.epsilon("dealer") == pytest.approx(math.log(1 + 4 * 0.2 / 0.1))

    @pytest.mark.parametrize(
        ("view", "colluders", "expected"),
        [
            ("paper", 2, 0.717),
            ("paper", 3, 0.886),
            ("truths", 2, 0.750),
            ("truths", 3, 0.973),
            ("cards", 2, 1.016),
            ("cards", 3, 1.886),
        ],
    )
    def test_where_the_paper_understates(self, view: str, colluders: int, expected: float) -> None:
        m = jrr.JRR(n=6, p=0.6, rho=-0.3)
        assert m.epsilon(view, colluders) == pytest.approx(expected, abs=5e-4)

    def test_dealt_cards_view_at_its_closed_form(self) -> None:
        """The largest truth that ε = 0.1 allows with five colluders."""
        n, colluders, grown = 10_000, 5, math.expm1(0.1)
        left = (n / 2 - colluders) / (n - colluders)
        m = jrr.DRR(n=n, truth=grown * left / (1 + grown * left))
        assert m.epsilon("cards", colluders) == pytest.approx(0.1, rel=1e-12)

    def test_rr_has_one_loss_in_every_view(self) -> None:
        for view in VIEWS:
            for colluders in (0, 5, 10**9):
                assert jrr.RR(p=0.75).epsilon(view, colluders) == jrr.RR(p=0.75).epsilon()

    def test_no_lean_no_loss(self) -> None:
        m = jrr.JRR(n=11, p=0.75, s=0.0)
        assert {m.epsilon(view, 7) for view in VIEWS} == {m.epsilon()}
        alone = jrr.DRR(n=10, truth=0.5, own=0.5)
        losses = {alone.epsilon(view, 7) for view in VIEWS}
        assert max(losses) == pytest.approx(min(losses), rel=1e-15)

    def test_no_view_of_the_paper(self) -> None:
        for m in (jrr.RR(p=0.75), jrr.DRR(n=10, truth=0.3), jrr.JRR(n=10, p=0.6, s=0.1, k=3)):
            with pytest.raises(jrr.JrrError, match=f"view='paper' .* got {m.name}.* 'cards'"):
                m.epsilon("paper")

    def test_the_default_is_the_report(self) -> None:
        m = jrr.JRR(n=10, p=0.6, s=0.3)
        assert m.epsilon(colluders=9) == m.epsilon("report")

    @pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
    @pytest.mark.parametrize("view", VIEWS)
    def test_colluders_of_any_whole_number_type(
        self, kind: Callable[[int], Any], view: str
    ) -> None:
        for m in (jrr.JRR(n=30, p=0.6, s=0.2), jrr.DRR(n=30, truth=0.3, own=0.1, deck=[13, 17])):
            for colluders in range(12):
                assert m.epsilon(view, kind(colluders)) == m.epsilon(view, colluders)


# Order and rounding ---------------------------------------------------------------------------


@fuzz
@given(mechanisms, st.data())
def test_who_knows_more_learns_more(m: jrr.JRR | jrr.DRR, data: st.DataObject) -> None:
    colluders = data.draw(st.integers(0, m.n - 1))
    losses = [m.epsilon(view, colluders) for view in VIEWS]
    assert losses == sorted(losses)


@fuzz
@given(mechanisms, st.data())
def test_more_colluders_learn_more(m: jrr.JRR | jrr.DRR, data: st.DataObject) -> None:
    fewer = data.draw(st.integers(0, m.n - 2))
    more = data.draw(st.integers(fewer + 1, m.n - 1))
    for view in VIEWS:
        assert m.epsilon(view, fewer) <= m.epsilon(view, more)


@fuzz
@given(joints(k=2), st.data())
def test_more_colluders_learn_more_by_the_paper(m: jrr.JRR, data: st.DataObject) -> None:
    fewer = data.draw(st.integers(0, m.n - 2))
    assert m.epsilon("paper", fewer) <= m.epsilon("paper", fewer + 1)
    assert m.epsilon("paper", 0) == pytest.approx(m.epsilon(), rel=1e-9, abs=1e-15)


@fuzz
@given(
    st.one_of(mechanisms, st.builds(jrr.RR, st.integers(2, 64), p=st.floats(0.51, 1))), st.data()
)
def test_rounded_outward(m: Mechanism, data: st.DataObject) -> None:
    """Never below the exact loss of the words, and within 1e-12 of it."""
    most = 5 if isinstance(m, jrr.RR) else min(m.n - 1, 12)
    colluders = data.draw(st.integers(0, most))
    for view in VIEWS:
        # With an odd n a colluder may hold the blank card: enumerated elsewhere.
        if view == "truths" and isinstance(m, jrr.JRR) and m.n % 2:
            continue
        ratio = exact(m, view, colluders)
        loss = m.epsilon(view, colluders)
        if ratio is None:
            assert loss == math.inf
            continue
        assert math.isfinite(loss)
        assert Decimal(loss) >= ln(ratio)
        assert Decimal(loss) <= ln(ratio) * (1 + Decimal("1e-12")) + Decimal("1e-300")


@fuzz
@given(st.floats(1e-6, 20), st.integers(2, 64))
def test_randomized_response_keeps_its_promise(epsilon: float, k: int) -> None:
    """Never above ε, and as near as a double p can be: p = 1 - 1e-9 has seven digits of 1 - p."""
    m = jrr.RR(k=k, epsilon=epsilon)
    spacing = math.ulp(m.p) / m.p + math.ulp(m.p) / (1 - m.p)
    assert epsilon - 1e-9 * epsilon - 4 * spacing <= m.epsilon() <= epsilon


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0])
def test_usual_promises_are_met_to_nine_digits(epsilon: float) -> None:
    for k in (2, 3, 10):
        assert jrr.RR(k=k, epsilon=epsilon).epsilon() == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [30.0, 100.0, 800.0, 1e300])
def test_huge_promises_stay_finite(epsilon: float) -> None:
    assert 20 < jrr.RR(epsilon=epsilon).epsilon() <= epsilon


@pytest.mark.parametrize(
    "m",
    [
        *make_respond.MECHANISMS,
        jrr.DRR(n=10**6, truth=0.5, deck=[1, 10**6 - 1]),
        jrr.DRR(n=10**6 + 1, truth=0.5, k=3, deck=[5, 1, 10**6 - 5]),
        jrr.JRR(n=10, p=0.3, s=0.3, k=7),
    ],
    ids=named,
)
def test_what_runs_keeps_the_loss(m: Mechanism) -> None:
    """Ratios of word counts: without a card by `report`, with a known card by `dealer`."""
    for card in make_respond.cards(m):
        laws = [words_per_report(m, value, card) for value, c in all_inputs(m) if c == card]
        loss = m.epsilon("report" if card is None else "dealer")
        for counts in zip(*laws, strict=True):
            ratio = worst([(Fraction(max(counts)), Fraction(min(counts)))]) if max(counts) else 1
            assert loss == math.inf if ratio is None else Decimal(loss) >= ln(Fraction(ratio))


# Many contributors ----------------------------------------------------------------------------


class TestLarge:
    @pytest.mark.parametrize("n", [10**5, 10**5 + 1, 10**6])
    @pytest.mark.parametrize("share", [0.0, 5e-5, 0.01, 0.3, 0.5, 0.7, 0.99])
    def test_truths_stay_between_report_and_cards(self, n: int, share: float) -> None:
        colluders = int(share * n)
        for m in (
            jrr.JRR(n=n, p=0.52, s=0.3),
            jrr.JRR(n=n, p=0.3, s=0.2, k=5),
            jrr.DRR(n=n, truth=0.05, own=0.02),
            jrr.DRR(n=n, truth=0.05, own=0.02, k=5),
        ):
            report, truths, cards, _ = (m.epsilon(view, colluders) for view in VIEWS)
            assert math.isfinite(truths)
            assert report <= truths <= cards

    @pytest.mark.parametrize("honest", [1, 2, 10])
    def test_almost_everybody_colludes(self, honest: int) -> None:
        n = 10_000
        for m in (jrr.JRR(n=n, p=0.52, s=0.3), jrr.DRR(n=n, truth=0.05, own=0.02)):
            report, truths, cards, _ = (m.epsilon(view, n - honest) for view in VIEWS)
            assert report < truths <= cards < math.inf

    @pytest.mark.parametrize("extreme", [jrr.JRR(n=10**5, p=0.55, s=0.45), jrr.DRR(10**5, 0.1)])
    def test_extremes(self, extreme: jrr.JRR | jrr.DRR) -> None:
        report, truths, cards, _ = (extreme.epsilon(view, 1000) for view in VIEWS)
        assert report < truths <= cards < math.inf

    @pytest.mark.parametrize("colluders", [40, 100, 500, 1950])
    def test_sums_in_floating_point_bound_exact_ones(self, colluders: int) -> None:
        """n = 2,000 in whole numbers, where the library no longer does so."""
        n, k = 2000, 2
        m = jrr.DRR(n=n, truth=0.05, own=0.1)
        ratio = dealt_exact(m, "truths", colluders)
        assert ratio is not None
        loss = m.epsilon("truths", colluders)
        assert ln(ratio) <= Decimal(loss) <= ln(ratio) * (1 + Decimal("1e-9"))
        joint = jrr.JRR(n=n, p=0.55, s=0.2)
        plus, minus = (lie_words(Fraction(0.55) + lean * Fraction(0.2), k) for lean in (1, -1))
        lies = []
        for a, b in ((plus, minus), (SCALE - plus, SCALE - minus)):  # all lied, all told the truth
            seen = decoys_seen(n, n // 2, colluders, a, b)
            chance = (n // 2 - seen) / (n - colluders)
            lies.append(plus * chance + minus * (1 - chance))
        expected = joint_ratio(k, lies)
        assert expected is not None
        loss = joint.epsilon("truths", colluders)
        assert ln(expected) <= Decimal(loss) <= ln(expected) * (1 + Decimal("1e-9"))

    @pytest.mark.parametrize("n", [10**4, 10**5])
    @pytest.mark.parametrize("colluders", [100, 1000, 5000])
    def test_against_fishers_law_of_scipy(self, n: int, colluders: int) -> None:
        truth, own, k = 0.05, 0.1, 2
        dealt = 1 - truth - own
        seen = stats.nchypergeom_fisher.mean(n, n // k, colluders, (dealt + own / k) / (own / k))
        chance = (n // k - seen) / (n - colluders)
        expected = math.log1p(truth / (dealt * chance + own / k))
        m = jrr.DRR(n=n, truth=truth, own=own)
        assert m.epsilon("truths", colluders) == pytest.approx(expected, rel=1e-6)

        p, s = 0.55, 0.3
        lied = stats.nchypergeom_fisher.mean(n, n // 2, colluders, (1 - p - s) / (1 - p + s))
        told = stats.nchypergeom_fisher.mean(n, n // 2, colluders, (p + s) / (p - s))
        losses = []
        for plus_seen in (lied, told):
            lean = 2 * (n / 2 - plus_seen) / (n - colluders) - 1
            losses.append(abs(math.log((p + s * lean) / (1 - p - s * lean))))
        joint = jrr.JRR(n=n, p=p, s=s)
        assert joint.epsilon("truths", colluders) == pytest.approx(max(losses), rel=1e-6)


@fuzz
@given(joints())
def test_one_colluders_card_is_more_than_nothing(m: jrr.JRR) -> None:
    assume(m.s > 1e-3 and m.n > 3)
    assert m.epsilon("cards", 1) > m.epsilon("report")
