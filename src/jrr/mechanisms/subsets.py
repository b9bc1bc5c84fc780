"""Subset selection (SS, Ye and Barg 2018): report d of the k values, likely the true one too.

With probability p the true value and d-1 of the others, otherwise d of the others, uniformly. A
report supports the values it names. No cards. For d = 1 this is RR; with d about k/(e^ε + 1) it is
the most accurate mechanism without cards for some dozen values (docs/theory-jrr.md, Theorem 16a).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, log_ratio_up, private_side, words_down
from jrr._base.randomness import RandomSource
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng
from jrr.mechanisms.packed import PackedBits
from jrr.mechanisms.registry import baseline
from jrr.mechanisms.request import Family, Request
from jrr.privacy.views import View

_MOST = 1 << 16  # values: a report draws a word for each of them
_MOST_PLANNED = 1 << 10  # values: beyond, OUE is as accurate and cheaper
_CELLS = 1 << 20  # words drawn at a time
_LISTED = 1 << 12  # subsets, whose counts are drawn at once in simulations


@dataclass(frozen=True, init=False)
class SS(PackedBits):
    """Subset selection over k values.

    Args:
        k: possible values.
        epsilon: the privacy loss; p is then the largest that keeps it.
        d: values in a report, 1..k-1; the most accurate number unless given.
        p: the probability that the true value is among them, together with d instead of epsilon.

    Example:
        >>> SS(8, epsilon=1.0).d
        2
    """

    k: int  # size of the domain
    d: int  # values in a report
    p: float  # probability that the true value is among them
    name: ClassVar[str] = "SS"
    title: ClassVar[str] = "subset selection, a form of randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("k", "d", "p")
    colour: ClassVar[str] = "#1b9e77"

    def __init__(
        self, k: int, epsilon: float | None = None, *, d: int | None = None, p: float | None = None
    ) -> None:
        k = checks.domain(k, _MOST)
        checks.exactly_one(epsilon=epsilon, p=p)
        if p is not None:
            if d is None:
                raise checks.refusal("d", d, "given together with p")
            d = checks.integer("d", d, 1, k - 1)
            p = checks.real("p", p, f"in ({d}/{k}, 1]", d / k, 1.0, open_low=True)
        else:
            budget = checks.positive("epsilon", epsilon)
            if d is None:
                d = _most_accurate(k, budget, partial(_at_even_shares, k=k))
            d = checks.integer("d", d, 1, k - 1)
            p = _private(k, d, budget)
            if not p > d / k:
                raise checks.refusal("epsilon", epsilon, "large enough for p to exceed d/k")
        self._set(k=k, d=d, p=p)

    @property
    def q(self) -> float:
        """Probability that a given other value is in a report."""
        return (self.d - self.p) / (self.k - 1)

    @cached_property
    def truth_words(self) -> int:
        """Words that put the true value into the report."""
        return words_down(Fraction(self.p))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments: a report supports each value it names."""
        p = Fraction(self.truth_words, SCALE)
        return _moments(self.k, self.d, p)

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The most accurate number of values in a report."""
        caption = "some answers, yours likely among them"
        return (cls._family(cls._best, cards=False, encodes=True, caption=caption),)

    @classmethod
    def _best(cls, request: Request) -> Mechanism:
        if request.k > _MOST_PLANNED:
            allowed = f"at most {_MOST_PLANNED} for SS: beyond, OUE is as accurate and cheaper"
            raise checks.refusal("k", request.k, allowed)
        made = cls._most_accurate(request, cards=False)
        # One value is plain randomized response, whose reports are smaller.
        return baseline(request) if made.d == 1 else made

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        d = _most_accurate(request.k, request.budget, request.variance_of)
        return cls(request.k, epsilon=request.budget, d=d)

    def _epsilon(self, view: View, colluders: int) -> float:
        """There are no cards, so every view is that of the report alone."""
        return _loss(self.k, self.d, self.truth_words)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        named = "one answer" if self.d == 1 else f"{self.d} answers"
        return (
            f"The device sends {named} of the {self.k}: {of_hundred(self.p)} yours is among "
            "them, and all others are drawn at random; nobody is told which."
        )

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        if math.comb(self.k, self.d) > _LISTED:
            return super().simulated_support(counts, runs, rng, with_cards=with_cards)
        sets = np.zeros((math.comb(self.k, self.d), self.k), np.int64)
        for row, chosen in zip(sets, itertools.combinations(range(self.k), self.d), strict=True):
            row[list(chosen)] = 1
        held = self.p / math.comb(self.k - 1, self.d - 1)
        other = (1 - self.p) / math.comb(self.k - 1, self.d)
        support: Ints = np.zeros((runs, self.k), np.int64)
        for value, holders in enumerate(counts):
            law = np.where(sets[:, value] == 1, held, other)
            support += rng.multinomial(holders, law / law.sum(), runs) @ sets
        return support

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> NDArray[np.uint8]:
        """Packed reports, one row of bytes each."""
        checked = checks.symbols("values", values, self.k)
        if cards is not None:
            raise checks.refusal("cards", cards, f"None for {self.name}, which deals no cards")
        source = randomness.source(rng)
        out = np.empty((len(checked), self.width), np.uint8)
        step = max(1, _CELLS // self.k)
        for start in range(0, len(checked), step):
            out[start : start + step] = self._respond_rows(checked[start : start + step], source)
        return out

    def _respond_rows(self, values: NDArray[Any], source: RandomSource) -> NDArray[np.uint8]:
        rows = np.arange(len(values))
        truthful = source.words(len(values)) >> np.uint64(1) < np.uint64(self.truth_words)
        keys = source.words(len(values) * self.k).reshape(len(values), self.k)
        ranks = np.sort(keys, axis=1)
        tied = np.flatnonzero((ranks[:, 1:] == ranks[:, :-1]).any(axis=1))
        for row in tied:  # a tie would favour one subset: draw again
            keys[row] = _distinct(self.k, source)
        # The true value does not compete: it comes before all others, or after them.
        order = np.argsort(keys, axis=1)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(self.k)[None, :], axis=1)
        mine = place[rows, values][:, None]
        place -= place > mine
        chosen = place < (self.d - truthful.astype(np.int64))[:, None]
        chosen[rows, values] = truthful
        return np.packbits(chosen, axis=1, bitorder="little")

    def respond_one(self, value: int, card: object = None, rng: Rng = None) -> bytes:
        """One report without arrays, for a contributor's own device.

        The first word says whether the true value is in; then every value draws a word, all
        anew if two are equal, and the others with the smallest words fill the report.
        """
        value = checks.symbol("value", value, self.k)
        if card is not None:
            raise checks.refusal("card", card, f"None for {self.name}, which deals no cards")
        source = randomness.source(rng)
        truthful = source.word() >> 1 < self.truth_words
        keys = _distinct(self.k, source)
        others = sorted((key, v) for v, key in enumerate(keys) if v != value)
        chosen = [v for _, v in others[: self.d - truthful]]
        report = bytearray(self.width)
        for v in [*chosen, value] if truthful else chosen:
            report[v // 8] |= 1 << v % 8
        return bytes(report)

    def _check_packed(self, argument: str, packed: ArrayLike, length: int | None) -> Reports:
        array = super()._check_packed(argument, packed, length)
        named = np.unpackbits(array, axis=1).sum(axis=1, dtype=np.int64)
        if (named != self.d).any():
            wrong = int(named[np.argmax(named != self.d)])
            raise ArgumentError(
                f"{argument} must name exactly d={self.d} values each, got one that names {wrong}"
            )
        return array


def _loss(k: int, d: int, truth_words: int) -> float:
    """Loss of a report that names x but not x', or the other way round."""
    named, unnamed = truth_words * (k - d), (SCALE - truth_words) * d
    return log_ratio_up(max(named, unnamed), min(named, unnamed))


def _private(k: int, d: int, epsilon: float) -> float:
    """The largest p that keeps ε, on the private side of rounding."""
    best = 1 / (1 + (k - d) / d * math.exp(-epsilon))
    return private_side(best, d / k, lambda p: _loss(k, d, words_down(Fraction(p))) <= epsilon)


def _moments(k: int, d: int, p: Fraction) -> Moments:
    q = (d - p) / (k - 1)
    return Moments.same_for_all(p=float(p), q=float(q), gain=float(p - q))


def _at_even_shares(moments: Moments, k: int) -> float:
    """Variance where every value is as frequent as the others: the worst population."""
    return float(moments.variance(np.full(1, 1 / k), 1.0, 1)[0])


def _most_accurate(k: int, epsilon: float, worth: Callable[[Moments], float]) -> int:
    """The number of values in a report that makes a variance small.

    For rare values k/(e^ε + 1) is best, for others nearly so; the variance has one minimum in d.
    """

    def worth_of(d: int) -> float:
        p = 1 / (1 + (k - d) / d * math.exp(-epsilon))
        return worth(_moments(k, d, Fraction(p)))

    d = min(max(1, round(k / (math.exp(min(epsilon, 50.0)) + 1))), k - 1)
    here = worth_of(d)
    for step in (-1, 1):
        while 1 <= d + step <= k - 1 and (there := worth_of(d + step)) < here:
            d, here = d + step, there
    return d


def _distinct(count: int, source: RandomSource) -> list[int]:
    for _ in range(100):
        keys = [source.word() for _ in range(count)]
        if len(set(keys)) == count:
            return keys
    raise checks.refusal("rng", source, "random: it gave the same word twice a hundred times")
