"""Masks over any coin: every coin's losses against enumeration, and a coin that MRR never met."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr._base.exact import SCALE, private_side, words_down
from jrr._base.randomness import RandomSource
from jrr.mechanisms.coins import named
from jrr.mechanisms.coins.interface import Coin, Ints
from tests.golden import make_coins
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

Law = dict[tuple[int, ...], float]  # what a coin says -> its chance


@dataclass(frozen=True)
class Pair(Coin):
    """Subset selection with two of k values: a coin in one class."""

    k: int = 5
    name: ClassVar[str] = "pair"

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        return [cls(k)] if k > 3 else []

    @property
    def words(self) -> int:
        return 1 + self.k

    def truth_for(self, epsilon: float) -> float:
        best = 1 / (1 + (self.k - 2) / 2 * math.exp(-epsilon))
        return private_side(best, 2 / self.k, lambda p: self.loss(self.lie_words(p)) <= epsilon)

    def check_truth(self, argument: str, p: object) -> float:
        assert isinstance(p, float)
        return p

    def lie_words(self, p: float) -> int:
        return SCALE - words_down(Fraction(p))

    def chances(self, lies: int) -> tuple[Fraction, Fraction]:
        p = 1 - Fraction(lies, SCALE)
        return p, (2 - p) / (self.k - 1)

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        p = 1 / (1 + (self.k - 2) / 2 * math.exp(-epsilon))
        return p, (2 - p) / (self.k - 1)

    def loss(self, lies: int) -> float:
        return math.log((SCALE - lies) * (self.k - 2) / (lies * 2)) * (1 + 1e-14)

    def masked_loss(self, lies: int, step: Fraction) -> float:
        return enumerated(law_of(self, lies), float(step)) * (1 + 1e-12)

    def step_for(self, epsilon: float, own: float) -> float:
        lies, low, high = self.lie_words(self.truth_for(own)), 0.0, 60.0
        for _ in range(60):
            middle = (low + high) / 2
            below = self.masked_loss(lies, Fraction(middle)) <= epsilon
            low, high = (middle, high) if below else (low, middle)
        return low

    def toss(self, value: int, words: list[int], lies: int) -> list[int]:
        truthful = words[0] >> 1 >= lies
        others = sorted((word, v) for v, word in enumerate(words[1:]) if v != value)
        told = {v for _, v in others[: 2 - truthful]} | ({value} if truthful else set())
        return [int(v in told) for v in range(self.k)]

    def toss_all(
        self, values: NDArray[Any], lies: int, source: RandomSource, out: NDArray[Any]
    ) -> None:
        for row, value in enumerate(values):
            out[row] = self.toss(int(value), source.words(self.words).tolist(), lies)

    def instructions(self, p: float) -> str:
        return "The device marks two answers"

    def can_say(self, numbers: NDArray[Any]) -> bool:
        return bool(np.isin(numbers, (0, 1)).all()) and int(numbers.sum()) == 2

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        sets = np.array([list(told) for told in law_of(self, 1 << 62)[0]])
        support = np.zeros((runs, self.k), np.int64)
        lies = round((1 - chances[0]) * SCALE)
        for holders, law in zip(counts, law_of(self, lies), strict=True):
            support += rng.multinomial(holders, list(law.values()), runs) @ sets
        return support


def law_of(coin: Coin, lies: int) -> list[Law]:
    """What a coin says of each value, from its definition and not from its code."""
    k, lie = coin.k, lies / SCALE
    if coin.name == "rr":
        units: list[tuple[int, ...]] = [tuple(int(v == u) for v in range(k)) for u in range(k)]
        shown = [(u,) for u in range(2)] if k == 2 else units
        return [
            {shown[u]: 1 - lie if u == value else lie / (k - 1) for u in range(k)}
            for value in range(k)
        ]
    if isinstance(coin, jrr.Block):
        combinations = list(itertools.product(*map(range, coin.sizes)))
        shown = [marks_of(one, coin.sizes) for one in combinations]
        return [
            {row: 1 - lie if at == value else lie / (k - 1) for at, row in enumerate(shown)}
            for value in range(k)
        ]
    rows = list(itertools.product((0, 1), repeat=k))
    if coin.name == "oue":
        return [
            {
                row: math.prod(
                    0.5 if v == value else (lie if row[v] else 1 - lie) for v in range(k)
                )
                for row in rows
            }
            for value in range(k)
        ]
    size = coin.size if isinstance(coin, jrr.Subset) else 2
    held, other = (1 - lie) / math.comb(k - 1, size - 1), lie / math.comb(k - 1, size)
    return [
        {row: held if row[value] else other for row in rows if sum(row) == size}
        for value in range(k)
    ]


def marks_of(answers: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A bit for an item with two answers, otherwise a 1 at the place of the answer."""
    marks: list[int] = []
    for answer, size in zip(answers, sizes, strict=True):
        marks += [answer] if size == 2 else [int(v == answer) for v in range(size)]
    return tuple(marks)


def enumerated(laws: list[Law], c: float) -> float:
    """ε behind masks: the most over all pairs of values and all slopes of the weights.

    A ratio of sums is monotone in the weight of each number, so slopes of -c and c are enough.
    """
    says = np.array(list(laws[0]))
    chances = np.array([list(law.values()) for law in laws])
    slopes = np.array(list(itertools.product((-c, c), repeat=says.shape[1])))
    seen = np.log(np.exp(slopes @ says.T) @ chances.T)  # row: slope, column: value
    return float((seen.max(axis=1) - seen.min(axis=1)).max())


COINS = [jrr.Choice(2), jrr.Choice(3), jrr.Choice(4), jrr.Bits(3), jrr.Bits(5), Pair(5)]
COINS += [jrr.Subset(k, size) for k in range(3, 8) for size in range(1, k)]
BLOCKS = [(2, 2), (2, 2, 2), (2, 2, 2, 2), (2, 3), (3, 3), (2, 2, 4)]
COINS += [jrr.Block(sizes) for sizes in BLOCKS]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one name in the list."""
    monkeypatch.setattr(named, "COINS", [*named.COINS, Pair])


@pytest.mark.parametrize("coin", COINS, ids=str)
@pytest.mark.parametrize("own", [0.3, 1.0, 3.0])
def test_losses_are_those_of_enumeration(coin: Coin, own: float) -> None:
    lies = coin.lie_words(coin.truth_for(own))
    bare = math.log(
        max(
            one[said] / other[said]
            for one, other in itertools.permutations(law_of(coin, lies), 2)
            for said in one
        )
    )
    assert coin.loss(lies) == pytest.approx(bare, rel=1e-9)
    assert coin.loss(lies) <= own
    for c in (0.1, 0.7, 2.0, 9.0):
        loss = coin.masked_loss(lies, Fraction(c))
        assert loss == pytest.approx(enumerated(law_of(coin, lies), c), rel=1e-9)
        if loss < 0.999 * own:  # near the coin's own loss c hardly matters
            assert coin.step_for(loss, own) == pytest.approx(c, rel=1e-6)
        # Rates that are too large by 5% would be found.
        assert loss < coin.masked_loss(lies, Fraction(1.05 * c)) or c > 2
    assert coin.masked_loss(lies, Fraction(60)) == pytest.approx(bare, rel=1e-9)


@pytest.mark.slow_variants("Subset(k=7", "Subset(k=6")
@pytest.mark.parametrize("coin", COINS, ids=str)
def test_one_toss_and_many_have_the_law(coin: Coin) -> None:
    lies, rng = coin.lie_words(coin.truth_for(1.0)), jrr.SeededRandom(3)
    shape = (3_000,) if coin.numbers == 1 else (3_000, coin.numbers)
    for value, law in list(enumerate(law_of(coin, lies)))[:3]:
        many = np.empty(shape, np.int16)
        coin.toss_all(np.full(3_000, value), lies, rng, many)
        one = [
            coin.toss(value, [rng.word() for _ in range(coin.words)], lies) for _ in range(3_000)
        ]
        for told in (many.reshape(3_000, -1), np.array(one)):
            assert all(coin.can_say(row) for row in told[:50])
            marks = np.array(list(law)).T @ np.array(list(law.values()))
            spread = np.sqrt(marks * (1 - marks) / 3_000)
            assert (np.abs(told.mean(axis=0) - marks) < 5 * spread).all()


@pytest.mark.usefixtures("known")
def test_a_new_coin_is_planned_named_and_read_back() -> None:
    m = jrr.MRR(50, own=3.0, card_rate=0.3, announced_rate=0.8, coin=Pair(5))
    assert m.k == m.numbers == 5
    assert m.to_dict()["coin"] == "pair"
    assert jrr.from_dict(m.to_dict()) == m
    assert m.for_dealers(2).coin == Pair(5)
    assert m.epsilon("dealer") == pytest.approx(3.0)
    assert m.epsilon("everything", 49) == pytest.approx(
        enumerated(law_of(m.coin, m.lie_words), 1.1)
    )


def test_a_plan_tries_every_coin_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    before = jrr.MRR.for_epsilon(1.0, n=1_000, k=5)
    for coins in ([*named.COINS, Pair], [Pair]):
        monkeypatch.setattr(named, "COINS", coins)
        made = jrr.MRR.for_epsilon(1.0, n=1_000, k=5)
        assert 0.999 < made.epsilon("everything", 999) <= 1.0
        if coins == [Pair]:
            assert made.coin == Pair(5)
        else:
            assert made.variance([200] * 5)[0] <= before.variance([200] * 5)[0]


@pytest.mark.statistical
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("simulated", [True, False])
def test_a_new_coin_from_deck_to_estimate(simulated: bool) -> None:
    m = jrr.MRR(30, own=3.0, card_rate=0.3, announced_rate=0.8, coin=Pair(5))
    counts, rng = np.array([12, 9, 6, 3, 0]), jrr.SeededRandom(8)
    if simulated:
        found = jrr.simulate(m, counts, 4_000, rng)[:, 0]
    else:
        values, found = np.repeat(np.arange(5), counts), np.empty(400)
        for run in range(400):
            cards = m.deal(rng)
            reports = m.respond(values, cards, rng)
            found[run] = m.estimate(reports, announced=m.announce(cards, rng=rng)).counts[0]
    check_law(found, 12.0, math.sqrt(m.variance(counts)[0]))


def check_law(found: NDArray[np.float64], true: float, spread: float) -> None:
    """Estimates lie about the truth as far as they say, and not a third farther."""
    accepts_only(lambda mean: mean_test(found, mean, spread), true, true + OFF * spread)
    accepts_only(lambda sd: spread_test(found, sd), spread, (1 + OFF) * spread)


def test_refusals() -> None:
    with pytest.raises(jrr.JrrError, match="coin must be one for k=3 values"):
        jrr.MRR(9, own=3.0, card_rate=0.3, total_rate=0.1, k=3, coin=jrr.Choice(4))
    with pytest.raises(jrr.JrrError, match="coin must be"):
        jrr.MRR(9, own=3.0, card_rate=0.3, total_rate=0.1, k=2, coin="pair")
    with pytest.raises(jrr.JrrError, match=r"sizes must be .*4,096, which is 4,098, got"):
        jrr.Block((2, 2049))
    with pytest.raises(jrr.JrrError, match="two or more whole numbers"):
        jrr.Block((4,))
    with pytest.raises(jrr.JrrError, match=r"size must be .*1\.\.4, got size=5"):
        jrr.Subset(5, 5)
    for kind, k in ((jrr.Choice, 1), (jrr.Choice, "two"), (jrr.Bits, 2), (jrr.Bits, 3.5)):
        with pytest.raises(jrr.JrrError, match=f"k must be a whole number .*got k={k!r}"):
            kind(k)  # type: ignore[arg-type]
    for steps, width, words in (
        (0, 3, r"steps must be a whole number in 1\.\.64, got steps=0"),
        (65, 3, r"steps must be a whole number in 1\.\.64, got steps=65"),
        (4, 0, r"width must be a whole number in 1\.\.128, got width=0"),
        (4, 129, r"width must be a whole number in 1\.\.128, got width=129"),
        (2.5, 3, "steps must be a whole number .*got steps=2.5"),
    ):
        with pytest.raises(jrr.JrrError, match=words):
            jrr.Window(steps, width)  # type: ignore[arg-type]
    for coin, words in (
        (["window", 3], "coin must be .'window', steps, width., got"),
        (["block", 64, 65], "sizes must be .*4,096, which is 4,160"),
        (["block", 2, 1], "sizes must be a whole number in 2"),
        (["subset", 3, 1], 'coin must be ."subset", size., got'),
        (["rr", 3], 'coin must be "rr" without numbers'),
    ):
        k = 2 if coin[0] == "window" else 4
        with pytest.raises(jrr.JrrError, match=words):
            jrr.MRR(9, own=3.0, card_rate=0.3, total_rate=0.1, k=k, coin=coin)
    m = jrr.MRR(9, own=3.0, card_rate=0.3, announced_rate=0.1, coin=jrr.Block((2, 3)))
    for values in ([0, 1], [[0, 1, 1]], [[0, 1], [0]]):
        with pytest.raises(jrr.JrrError, match="values must be rows of 2 answers"):
            m.respond(values)
    with pytest.raises(jrr.JrrError, match="values of item 1 must"):
        m.respond([[0, 3]])
    with pytest.raises(jrr.JrrError, match="value must be 2 answers"):
        m.respond_one(1)
    with pytest.raises(jrr.JrrError, match="coin must be"):
        jrr.from_dict(m.to_dict() | {"coin": ["block", 2, 2]})


def test_golden_vectors() -> None:
    assert make_coins.PATH.read_text() == make_coins.text()
    for m in make_coins.MECHANISMS:
        assert jrr.from_json(m.to_json()) == m


# -- blocks ---------------------------------------------------------------------------------


def block(n: int = 400) -> jrr.MRR:
    return jrr.MRR(n, own=3.0, card_rate=0.3, announced_rate=0.8, coin=jrr.Block((2, 2, 3)))


def test_an_item_loses_what_its_block_does() -> None:
    """Whatever it is asked for: alone it would seem to lose less."""
    m = jrr.MRR(1_000, own=3.0, card_rate=0.3, announced_rate=0.8, coin=jrr.Block((2, 2, 3)))
    item = m.item(2)
    alone = jrr.from_dict(item.to_dict())
    assert alone.epsilon("cards") < 0.95 * m.epsilon("cards")
    for one in (item, item.for_dealers(2), item.resized(500)):
        assert one.guarantees(5) == m.guarantees(5)
        assert one.epsilon("everything", 5) == m.epsilon("everything", 5)
        assert one.losses(5).pure == m.losses(5).pure
    assert item == m.item(2)
    assert hash(item) == hash(m.item(2))
    assert item not in (m.item(1), alone)
    assert repr(item) == f"{m!r}.item(2)"


def test_an_item_has_the_coin_of_the_block() -> None:
    """What item j is told to be follows from its true answer alone, as by a coin for it."""
    m = block()
    (laws, sizes) = law_of(m.coin, m.lie_words), (2, 2, 3)
    combinations = list(itertools.product(*map(range, sizes)))
    for number, size in enumerate(sizes):
        item = m.item(number)
        assert item.k == size
        for law, true in zip(laws, combinations, strict=True):
            told = np.zeros(size)
            for chance, said in zip(law.values(), combinations, strict=True):
                told[said[number]] += chance
            expected = np.full(size, (1 - item.p) / (size - 1))
            expected[true[number]] = item.p
            assert told == pytest.approx(expected, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("with_cards", [True, False])
def test_a_block_from_answers_to_estimates(with_cards: bool) -> None:
    m, rng = block(200), jrr.SeededRandom(5)
    values = np.stack([np.arange(200) % 5 == 0, np.arange(200) % 2, np.arange(200) % 3], axis=1)
    found = np.empty((700, 3))
    for run in range(700):
        cards = m.deal(rng) if with_cards else None
        reports = m.respond(values, cards, rng)
        told = None if cards is None else m.announce(cards, rng=rng)
        items = m.estimate(reports, announced=told).items
        found[run] = [items[0].counts[1], items[1].counts[1], items[2].counts[2]]
    for number, answer in enumerate((1, 1, 2)):
        counts = np.bincount(values[:, number].astype(int), minlength=m.coin.items[number])
        item = m.item(number)
        if with_cards:
            spread = math.sqrt(item.variance(counts)[answer])
        else:
            law = item.moments.without_cards()
            spread = math.sqrt(law.variance(counts.astype(float), 200.0, 1)[answer])
        check_law(found[:, number], float(counts[answer]), spread)


def test_one_report_of_a_block_and_many() -> None:
    m, rng = block(), jrr.SeededRandom(1)
    values = np.array([[0, 1, 2], [1, 0, 0]] * 50)
    cards = m.deal(rng)[:100]
    single = [m.respond_one(tuple(v), card, rng) for v, card in zip(values, cards, strict=True)]
    tally = m.tally(single)
    assert tally.n_carded == 100
    assert len(tally.carded) == 7
    estimate = m.estimate(m.settle(tally, announced=m.announce(cards, rng=rng)))
    assert [len(item.counts) for item in estimate.items] == [2, 2, 3]
    assert estimate.items[0].items == (estimate.items[0],)
    sampled = estimate.for_population("sample", 5_000)
    for item, other in zip(estimate.items, sampled.items, strict=True):
        assert (other.stderr == item.for_population("sample", 5_000).stderr).all()
        assert (other.stderr > item.stderr).all()
    with pytest.raises(jrr.JrrError, match="item by item"):
        _ = estimate.frequencies
    with pytest.raises(jrr.JrrError, match=r"item\(j\)"):
        m.variance([1] * 12)
    with pytest.raises(jrr.JrrError, match="for one item"):
        m.item(0).item(0)
