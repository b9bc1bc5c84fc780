"""A privacy-loss distribution: what can be seen, with its chances under both hypotheses."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.privacy.binomial import LARGEST, ULP, Floats
from jrr.privacy.loss import DealtLaw, IndependentLaw, JointLaw

MOST_PEOPLE = 10_000_000  # beyond, laws are slow, and bounded by smaller ones


class Beta(NamedTuple):
    """A prior of the share of 1s among the others, who are independent given it."""

    a: float
    b: float


Frequency = float | Beta | None


def check_frequency(value: object) -> Frequency:
    """A known share of 1s, a Beta prior of it, or None: all values are known."""
    allowed = "None, a number in 0..1 or Beta(a, b) with a, b > 0"
    if value is None:
        return None
    if isinstance(value, Beta):
        sizes = [checks.real("frequency", part, allowed, 0.0, 1e6, open_low=True) for part in value]
        return Beta(*sizes)
    return checks.real("frequency", value, allowed, 0.0, 1.0)


def check_question(
    law: JointLaw | DealtLaw, ones: int | None, colluders: int, frequency: Frequency
) -> tuple[Frequency, int | None]:
    """A prior and a number of ones that fit together and the deck, or a refusal."""
    prior = check_frequency(frequency)
    n = law.n
    checks.integer("colluders", colluders, 0, n - 1)
    if n > MOST_PEOPLE and (prior is not None or ones is not None):
        raise checks.refusal("n", n, f"at most {MOST_PEOPLE} with ones or a frequency")
    if (prior is not None or ones is not None) and law.k > 2:
        raise checks.refusal("k", law.k, "2 where ones or a frequency is given")
    if ones is None:
        return prior, None
    if prior is not None:
        raise checks.refusal("ones", ones, "None where a frequency is given")
    return prior, checks.integer("ones", ones, 0, n - colluders - 1)


_STEPS = 33  # tries of δ, four to a power of ten
_ENOUGH = 1e-9  # relative precision of an ε, always on its upper side


class _Tails(NamedTuple):
    """Atoms in order of falling loss, and what they weigh up to each of them."""

    losses: Floats  # rising, of the negative loss
    first: Floats
    second: Floats

    @classmethod
    def of(cls, losses: Floats, first: Floats, second: Floats) -> "_Tails":
        there = np.flatnonzero(first > 0)  # others weigh nothing in this direction
        order = there[np.argsort(-losses[there])]
        zero = np.zeros(1)
        return cls(
            -losses[order],
            np.concatenate((zero, np.cumsum(first[order]))),
            np.concatenate((zero, np.cumsum(second[order]))),
        )

    def excess(self, up: float, down: float) -> float:
        """The sum over atoms of max(0, up·first - down·second)."""
        count = int(np.searchsorted(self.losses, math.log(up / down)))
        return max(0.0, up * float(self.first[count]) - down * float(self.second[count]))


@dataclass(frozen=True)
class LossDistribution:
    """Atoms of one case: chances `first` if the target holds x, `second` if it holds x'.

    Chances have a relative error of at most `error`. Observations that are not listed have
    together a chance of at most `missing` under either hypothesis. No loss exceeds `pure`.
    """

    first: Floats
    second: Floats
    error: float
    missing: float
    pure: float
    case: dict[str, Any] = field(default_factory=dict)  # what this case is about

    @cached_property
    def losses(self) -> Floats:
        """ln(first / second) of each atom; ±inf where one of them is impossible."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.first) - np.log(self.second)

    @cached_property
    def _tails(self) -> tuple[_Tails, _Tails]:
        """Both directions."""
        return (
            _Tails.of(self.losses, self.first, self.second),
            _Tails.of(-self.losses, self.second, self.first),
        )

    def delta(self, epsilon: float, once: bool = False) -> float:
        """The larger δ of both directions, never too small.

        Args:
            epsilon: the loss that is kept but for δ.
            once: nothing is kept that would make the next answer quicker.
        """
        if epsilon >= self.pure:
            return 0.0
        error = self.error + (len(self.first) + 16) * ULP  # of the sums
        up, down = 1 + error, math.exp(min(epsilon, LARGEST)) * (1 - error)
        if once:
            pairs = ((self.first, self.second), (self.second, self.first))
            worst = max(float(np.maximum(0.0, up * a - down * b).sum()) for a, b in pairs)
        else:
            worst = max(tail.excess(up, down) for tail in self._tails)
        return min(1.0, worst + self.missing)

    def delta_low(self, epsilon: float) -> float:
        """The same, never too large."""
        error = self.error + (len(self.first) + 16) * ULP
        up, down = 1 - error, math.exp(min(epsilon, LARGEST)) * (1 + error)
        best = max(tail.excess(up, down) for tail in self._tails)
        return max(0.0, best - down * self.missing)

    def epsilon(self, delta: float) -> float:
        """The smallest ε, rounded up, at which δ is at most this; math.inf if there is none.

        Args:
            delta: the δ that is kept.
        """
        return least_epsilon(self, delta)

    def quantile(self, share: float) -> float:
        """The size of the loss that is not exceeded with this chance, if the target holds x.

        Args:
            share: a chance in 0..1.
        """
        share = checks.real("share", share, "in 0..1", 0.0, 1.0)
        there = self.first > 0
        sizes, chances = np.abs(self.losses[there]), self.first[there]
        order = np.argsort(sizes)
        reached = np.cumsum(chances[order])
        place = int(np.searchsorted(reached, share * reached[-1]))
        return float(sizes[order][min(place, len(order) - 1)])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; an impossible side makes a loss of "inf" or "-inf"."""
        seen = self.first + self.second > 0
        losses = [
            float(loss) if math.isfinite(loss) else str(float(loss)) for loss in self.losses[seen]
        ]
        return {
            "case": dict(self.case),
            "loss": losses,
            "first": self.first[seen].tolist(),
            "second": self.second[seen].tolist(),
            "relative_error": self.error,
            "missing": self.missing,
            "pure": self.pure if math.isfinite(self.pure) else "inf",
        }


@dataclass(frozen=True)
class Losses:
    """The worst of several cases.

    `cases` bound δ from above. `tried` are cases that do occur, and bound it from below; where
    `compositions` is "all", both are the same.
    """

    cases: tuple[LossDistribution, ...]
    tried: tuple[LossDistribution, ...]
    compositions: str  # which values of the others were looked at, or bounded

    @property
    def pure(self) -> float:
        """A loss that is never exceeded: ε at δ = 0."""
        return max(case.pure for case in self.cases)

    def delta(self, epsilon: float) -> float:
        """The largest δ, never too small.

        Args:
            epsilon: the loss that is kept but for δ.
        """
        epsilon = checks.real("epsilon", epsilon, "a number >= 0", 0.0)
        return max(case.delta(epsilon) for case in self.cases)

    def delta_low(self, epsilon: float) -> float:
        """A δ that is reached, never too large."""
        epsilon = checks.real("epsilon", epsilon, "a number >= 0", 0.0)
        return max((case.delta_low(epsilon) for case in self.tried), default=0.0)

    def epsilon(self, delta: float) -> float:
        """The smallest ε, rounded up, at which δ is at most this; math.inf if there is none.

        Args:
            delta: the δ that is kept.
        """
        delta = checks.delta(delta)
        reached = 0.0
        for case in self.cases:
            if case.delta(reached) > delta:
                reached = least_epsilon(case, delta, reached)
        return reached

    def sure_epsilon(self, chance: float) -> float:
        """An ε, never too small, that no loss exceeds with more than this chance.

        δ is another thing: the mean of how far the loss goes beyond ε, which is smaller. By
        Pr[loss > ε'] <= δ(ε) / (1 - e^(ε-ε')) for every ε < ε', and so also for whatever δ bounds:
        all compositions, and larger decks.

        Args:
            chance: with which the loss may be larger.
        """
        chance = checks.real("chance", chance, "in 0..1", 0.0, 1.0, open_high=True)
        if chance == 0:
            return self.pure
        best = self.pure
        for step in range(1, _STEPS):
            epsilon = self.epsilon(chance * 10 ** (-step / 4))
            if epsilon >= best:
                break
            best = min(best, epsilon - math.log1p(-self.delta(epsilon) / chance))
        return min(self.pure, best * (1 + 4 * ULP))

    @property
    def revealed(self) -> float:
        """The largest chance of a loss without bound, never too small."""
        return self.delta(LARGEST) if math.isinf(self.pure) else 0.0

    def epsilon_low(self, delta: float) -> float:
        """An ε below which δ is not kept in a case that does occur.

        Args:
            delta: the δ that is kept.
        """
        return max((_most_broken(case, delta) for case in self.tried), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "compositions": self.compositions,
            "cases": [case.to_dict() for case in self.cases],
            "same_cases_tried": self.tried is self.cases,
        }


def least_epsilon(case: LossDistribution, delta: float, failed: float = 0.0) -> float:
    """The least ε from `failed` on at which δ is kept; δ falls with ε."""
    if case.delta(failed, once=True) <= delta:
        return failed
    low, high = failed, max(2 * failed, 1e-3)
    while case.delta(high) > delta:
        low, high = high, 2 * high
        if high > LARGEST:
            return case.pure
    while high - low > _ENOUGH * high:
        middle = (low + high) / 2
        low, high = (low, middle) if case.delta(middle) <= delta else (middle, high)
    return min(high, case.pure)


def _most_broken(case: LossDistribution, delta: float) -> float:
    if case.delta_low(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1e-3
    while high < LARGEST and case.delta_low(high) > delta:
        low, high = high, 2 * high
    if high >= LARGEST:
        return low
    while high - low > _ENOUGH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if case.delta_low(middle) > delta else (low, middle)
    return low


def independent_losses(
    law: IndependentLaw, ones: int | None, colluders: int, frequency: Frequency
) -> Losses:
    """Others' reports are independent of the target's: two atoms, and one that tells nothing."""
    check_frequency(frequency)
    checks.integer("colluders", colluders, 0)
    lie = Fraction(law.lie, SCALE)
    true, each = float(1 - lie), float(lie / (law.k - 1))
    rest = (law.k - 2) * each
    case = LossDistribution(
        np.array([true, each, rest]),
        np.array([each, true, rest]),
        8 * ULP,
        0.0,
        law.epsilon("report", 0),
    )
    return Losses((case,), (case,), "all")
