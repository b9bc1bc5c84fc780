"""Plans for the mean of a number: rounded to yes or no, or told in steps by a window of numbers.

A rounded number varies by t(1-t), t being how far on the way from one end to the other it is.
Steps need no rounding to speak of; how many, and how wide a window, is what has the least variance
(docs/theory.md, section on numbers). A window of one number and one step is the yes or no.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.errors import JrrError
from jrr.estimation.estimates import Population, quantile, sampling_of
from jrr.estimation.own_noise import WindowNoise
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.coins.window import ROUNDING
from jrr.mechanisms.numbers import NumberRange, Numbers
from jrr.mechanisms.registry import families, mechanism_class
from jrr.mechanisms.request import LOST, Request
from jrr.planning.choice import AUTO, LEAST_GAIN, choose, choose_informed
from jrr.privacy.views import PlanView

_UNKNOWN_SPREAD = 1 / 12  # their variance


@dataclass(frozen=True, kw_only=True)
class NumberRow:
    """One way to ask for a number, and how accurate its mean would be."""

    name: str  # the family, such as "mrr" or "piecewise"
    question: Numbers
    stderr: float  # of the mean of the respondents


@dataclass(frozen=True, kw_only=True)
class NumberPlan(Shown):
    """A question about a number, chosen for a request; made by `plan_number`.

    Attributes:
        request: what was asked, as for plans of shares.
        question: what was chosen.
        mean: what is known of the mean.
        sd: what is known of the standard deviation.
        delta: of the view "everything"; None in the view "cards".
    """

    request: Request
    question: Numbers
    mean: float | None = None
    sd: float | None = None
    delta: float | None = None

    @property
    def mechanism(self) -> Mechanism:
        """What perturbs the number."""
        return self.question.mechanism

    @property
    def unit(self) -> float:
        """What a share of 1 is in the unit of the number."""
        return self._known.width

    @property
    def stated_stderr(self) -> float:
        """What estimates will state: the largest error that there can be, whatever people say."""
        moments = self.mechanism.moments
        if not isinstance(moments.masks, WindowNoise):
            return self.stderr()
        rounded = replace(moments, masks=moments.masks.with_rounding())
        return self.unit * math.sqrt(self.request.variance_of(rounded))

    @property
    def guarantees(self) -> Mapping[str, float]:
        """View -> ε, with the colluders that were planned for."""
        colluders = self.request.colluders if self.mechanism.deals else 0
        return MappingProxyType(self.mechanism.guarantees(colluders))

    def stderr(
        self, *, population: Population | str = "respondents", population_size: float | None = None
    ) -> float:
        """Expected standard error of the mean, in the unit of the number.

        Args:
            population: "respondents", or with "sample" those they are a random sample of.
            population_size: people in that population; None: no end of them.
        """
        sampling = sampling_of(population, self.request.n, population_size)
        variance = self._known.variance(self.mechanism, self.request)
        if sampling is not None:
            variance += self._known.spread * sampling.second / self.request.reporters
        return self._known.width * math.sqrt(variance)

    def compare(self) -> list[NumberRow]:
        """Every way to ask, the most accurate of each family."""
        known = self._known
        return [
            NumberRow(
                name=name,
                question=Numbers(known.low, known.high, mechanism, clip=self.question.clip),
                stderr=known.width * math.sqrt(known.variance(mechanism, self.request)),
            )
            for name, mechanism in _ways(self.request, self.delta, known)
        ]

    shown_value = "margin"

    def _heading(self) -> str:
        request = self.request
        return f"{request.n:,} people, a mean, ε = {request.epsilon:g}: {self.mechanism.title}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each way to ask: the error of the mean."""
        return [
            {
                "mechanism": row.name,
                "chosen": row.question == self.question,
                "stderr": row.stderr,
                "margin": quantile(level) * row.stderr,
            }
            for row in self.compare()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what was asked, what was chosen, and how accurate it is."""
        asked = ("n", "epsilon", "colluders", "dealer_epsilon", "lost", "announced")
        return {name: getattr(self.request, name) for name in asked} | {
            "mean": self.mean,
            "sd": self.sd,
            "delta": self.delta,
            "question": self.question.to_dict(),
            "guarantees": dict(self.guarantees),
            "stderr": self.stderr(),
        }

    @property
    def _known(self) -> "_Known":
        return _Known(self.question.low, self.question.high, self.mean, self.sd)


@dataclass(frozen=True)
class _Known:
    """What is known of the numbers beforehand."""

    low: float
    high: float
    mean: float | None
    sd: float | None

    def __post_init__(self) -> None:
        low, high, _ = NumberRange.checked(self.low, self.high)
        if self.mean is not None:
            checks.real("mean", self.mean, f"in {low:g}..{high:g}", low, high)
        if self.sd is not None:
            share = self.share
            most = (high - low) * math.sqrt(0.25 if share is None else share * (1 - share))
            allowed = f"in 0..{most:.6g}, as far as numbers of this mean and range can differ"
            checks.real("sd", self.sd, allowed, 0.0, most * (1 + 1e-9))

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def share(self) -> float | None:
        """The mean on the way from low to high."""
        return None if self.mean is None else (self.mean - self.low) / self.width

    @property
    def rounding(self) -> float:
        """The mean of t(1-t): what is known of it, or the most where the mean alone is known."""
        if self.mean is None and self.sd is None:
            return ROUNDING
        share = 0.5 if self.share is None else self.share
        return max(
            0.0, share * (1 - share) - (0.0 if self.sd is None else self.sd / self.width) ** 2
        )

    @property
    def spread(self) -> float:
        """The variance of t, in the same way."""
        if self.sd is not None:
            return (self.sd / self.width) ** 2
        return _UNKNOWN_SPREAD if self.share is None else self.share * (1 - self.share)

    def variance(self, mechanism: Mechanism, request: Request) -> float:
        """Expected variance of the mean of t among respondents."""
        n = request.reporters
        noise = request.variance_of(mechanism.moments)
        masks = mechanism.moments.masks
        if isinstance(masks, WindowNoise):
            return noise + masks.more(self.rounding) / n
        curvature = float(mechanism.moments.quadratic(n, 1).square[-1])
        return noise + (1 + curvature) * self.rounding / n


@checks.names_checked
def plan_number(
    n: int,
    epsilon: float,
    low: float,
    high: float,
    *,
    mean: float | None = None,
    sd: float | None = None,
    colluders: int | None = None,
    dealer_epsilon: float | None = None,
    view: PlanView = "cards",
    delta: float | None = None,
    mechanism: str = AUTO,
    lost: float = LOST,
    announced: bool | int = True,
    clip: bool = False,
) -> NumberPlan:
    """The most accurate way to ask for the mean of a number that keeps ε.

    Args:
        n: contributors per deck.
        epsilon: what an adversary may learn at most.
        low: the lowest number possible.
        high: the highest.
        mean: what is known of the mean beforehand.
        sd: what is known of the standard deviation. Without both, numbers are taken to lie
            anywhere between the ends; with the mean alone, all at the mean, where rounding to a
            yes or no is worst.
        colluders: as for `plan`, and so dealer_epsilon, view, delta, lost and announced.
        dealer_epsilon: what a dealer that colludes with the collector may learn at most.
        view: "cards" or "everything".
        delta: with view "everything" only.
        mechanism: "rr", "jrr" or "drr" (the number rounded to a yes or no), "piecewise" or, with
            cards, "mrr" (by a window of numbers, where that is better), or "auto": the best of all.
        lost: the share of cards that are dealt and never reported with.
        announced: whether the dealer announces at the end the sum of the cards that were used;
            False asks for a closed deck, as for `plan`.
        clip: whether numbers beyond an end count as the end.

    Returns:
        The plan: its `question`, `guarantees`, `stderr()` and `compare()`.

    Raises:
        ArgumentError: for arguments out of range, or if nothing keeps what is asked.

    Example:
        >>> import jrr
        >>> plan = jrr.plan_number(10_000, 2.0, 0, 100, mean=45, sd=15)
        >>> plan.mechanism.name, round(plan.stderr(), 2)
        ('MRR', 0.15)
    """
    known = _Known(low, high, mean, sd)
    request = Request.with_defaults(
        n,
        epsilon,
        colluders=colluders,
        dealer_epsilon=dealer_epsilon,
        frequency=known.share,
        lost=lost,
        announced=announced,
    )
    checks.one_of("view", view, ("cards", "everything"))
    if (view == "everything") == (delta is None):
        raise checks.refusal("delta", delta, "given with the view 'everything', and only then")
    word = checks.one_of("mechanism", str(mechanism).lower(), (AUTO, *_bit_words(), PIECEWISE))
    made = dict(_ways(request, delta, known, word))
    without = [known.variance(m, request) for m in made.values() if not m.deals]
    enough = (1 - LEAST_GAIN) * min(without, default=math.inf) if word == AUTO else math.inf
    worth = [m for m in made.values() if not m.deals or known.variance(m, request) <= enough]
    best = min(worth, key=lambda m: known.variance(m, request))
    question = Numbers(low, high, best, clip=clip)
    return NumberPlan(request=request, question=question, mean=mean, sd=sd, delta=delta)


def _bit_words() -> tuple[str, ...]:
    return tuple(key for key, family in families().items() if family.chosen and not family.encodes)


def _ways(
    request: Request, delta: float | None, known: _Known, word: str | None = None
) -> Iterator[tuple[str, Mechanism]]:
    """The best of each family that keeps the request.

    word: one of them; "auto": yes or no by the automatic choice of shares; None: all.
    """

    def windows(name: str) -> list[Mechanism]:
        return mechanism_class(name).windows(request, known.rounding)

    def best(made: Sequence[Mechanism]) -> Mechanism:
        return min(made, key=lambda m: known.variance(m, request))

    words = _bit_words() if word is None else (word,)
    for one in words:
        if one == PIECEWISE:
            continue
        try:
            bit = choose(request, one) if delta is None else choose_informed(request, delta, one)
        except JrrError:
            if word not in (None, AUTO):
                raise
        else:
            yield (one, best([bit, *windows("MRR")]) if one == MASKED else bit)
    if word == AUTO:
        masked = windows("MRR")
        if masked:
            yield MASKED, best(masked)
    if word in (None, AUTO, PIECEWISE):
        yield PIECEWISE, best(windows("Piecewise"))


MASKED = "mrr"
PIECEWISE = "piecewise"
NUMBER_WORDS = (PIECEWISE,)  # mechanisms for numbers only
