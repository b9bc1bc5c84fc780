"""A survey in two phases: a few people answer first, and their answers choose how the others do.

A part of the people, drawn at random, answers by plain randomized response. The share that this
suggests is what the plan for everybody else takes as known. Everybody answers once, so ε is that
of either phase. Counts of both are added, which is unbiased, and their variances add up although
the second mechanism depends on the first phase's reports (docs/theory-jrr.md, Theorem 12a).

This pays where the best mechanism depends on the true share, which is so for JRR; the errors of
DRR and MRR hardly do, and a first phase only costs accuracy there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import bdtr

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.request import LOST, Frequency, Request
from jrr.mechanisms.rr import RR
from jrr.planning.choice import AUTO, MAX_BYTES, check_word, choose
from jrr.planning.plans import FREQUENCIES, Plan, stderr

FIRST_SHARE = 0.02  # of the people in the first phase, unless told otherwise
SHOWN = (0.0, 0.01, 0.05, *FREQUENCIES[2:])  # true shares of which errors are shown
WORTH = 0.01  # two phases pay where they lower the standard error by this share or more
_PERCENTS = range(101)  # the second phase takes the first one's share as a whole percent


@dataclass(frozen=True, kw_only=True)
class TwoPhasePlan(Shown):
    """Both phases of a survey of yes or no. Made by `plan_two_phases`.

    Attributes:
        request: what was asked, for everybody together; nothing is known of the answer.
        kind: the family of mechanisms of the second phase, or "auto".
        first_share: the share of the people in the first phase.
        max_bytes: of a report, in an automatic choice.
    """

    request: Request
    kind: str
    first_share: float
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        if self.request.k != 2:
            raise checks.refusal("k", self.request.k, "2 in two phases")
        if self.request.frequency is not None:
            known = "None in two phases: the first one is there to find it out"
            raise checks.refusal("frequency", self.request.frequency, known)
        if self.request.n < 4:
            raise checks.refusal("n", self.request.n, "at least 4 in two phases")
        share = checks.real(
            "first_share", self.first_share, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True
        )
        object.__setattr__(self, "first_share", share)

    shown_value = "two phases"

    def _heading(self) -> str:
        pays = " or ".join(f"{100 * low:g}% to {100 * high:g}%" for low, high in self.pays)
        where = f"where the true share is {pays}" if pays else "nowhere"
        return f"Standard error by the true share of yes; two phases pay {where}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """Standard errors at some true shares of yes: of two phases, and of one."""
        del level
        return [
            {
                "frequency": f,
                "two phases": self.stderr(f),
                "one phase": self.one_phase.stderr(f),
                "one phase of any mechanism": self.any_mechanism.stderr(f),
            }
            for f in SHOWN
        ]

    @cached_property
    def first(self) -> Plan:
        """The first phase: randomized response without cards."""
        people = min(max(2, round(self.first_share * self.request.n)), self.request.n - 2)
        request = _resized(self.request, people)
        return Plan(request, RR.best(request), "rr")

    @cached_property
    def one_phase(self) -> Plan:
        """The same people in one phase, for comparison."""
        mechanism = choose(self.request, self.kind, self.max_bytes)
        return Plan(self.request, mechanism, self.kind, max_bytes=self.max_bytes)

    @cached_property
    def any_mechanism(self) -> Plan:
        """One phase with the most accurate of all mechanisms, for comparison."""
        mechanism = choose(self.request, AUTO, self.max_bytes)
        return Plan(self.request, mechanism, AUTO, max_bytes=self.max_bytes)

    def second(self, estimated_share: float) -> Plan:
        """The second phase, for the share of yes that the first one estimated.

        Args:
            estimated_share: as estimated, perhaps below 0 or above 1. The plan takes it as a
                whole percent within 0..1, so that it can be planned by hand as well (`jrr plan
                -f 0.03`).
        """
        share = checks.real("estimated_share", estimated_share, "a number", -math.inf, math.inf)
        percent = round(100 * min(1.0, max(0.0, share)))
        request = replace(self._second_request, frequency=percent / 100)
        mechanism = self._second_mechanisms[percent]
        return Plan(request, mechanism, self.kind, max_bytes=self.max_bytes)

    def stderr(self, frequency: float) -> float:
        """Standard error of the share of yes among all people, where this is the true one.

        Exact up to one part in the number of people: the first phase's count is binomial, and
        all that it can suggest is added up.

        Args:
            frequency: the true share of yes.
        """
        f = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
        first, second = self.first.request.reporters, self._second_request.reporters
        variance = (first * self.first.stderr(f)) ** 2
        chances = self._chances(f)
        for mechanism, percents in _places(self._second_mechanisms).items():
            chosen = float(chances[percents].sum())
            variance += chosen * (second * stderr(mechanism, self._second_request, f)) ** 2
        return math.sqrt(variance) / (first + second)

    def over_one_phase(self, frequency: float) -> float:
        """The standard error as a share of that of one phase, at this true share of yes.

        Args:
            frequency: the true share of yes.
        """
        return self.stderr(frequency) / self.one_phase.stderr(frequency)

    @cached_property
    def pays(self) -> tuple[tuple[float, float], ...]:
        """Ranges of the true share at which two phases lower the error by a percent or more.

        Looked for at every whole percent.
        """
        worth = [self.over_one_phase(percent / 100) <= 1 - WORTH for percent in _PERCENTS]
        starts = [at for at in _PERCENTS if worth[at] and (at == 0 or not worth[at - 1])]
        ends = [at for at in _PERCENTS if worth[at] and (at == 100 or not worth[at + 1])]
        return tuple((low / 100, high / 100) for low, high in zip(starts, ends, strict=True))

    def _chances(self, frequency: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Chance of every whole percent that the first phase can suggest."""
        people, first = round(self.first.request.reporters), self.first.mechanism.moments
        p, q = float(first.p[0]), float(first.q[0])
        # A percent is suggested from half a percent below it on.
        limits = [people * (q + (p - q) * (percent - 0.5) / 100) for percent in _PERCENTS[1:]]
        below = [
            float(bdtr(math.ceil(limit) - 1, people, q + (p - q) * frequency)) for limit in limits
        ]
        return np.diff(np.array([0.0, *below, 1.0]))

    @property
    def _second_request(self) -> Request:
        return _resized(self.request, self.request.n - self.first.request.n)

    @cached_property
    def _second_mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism for every percent.

        Variances are straight lines in f(1-f), so that a mechanism which is best at two shares
        below one half is so between them, and at 1 minus these shares.
        """
        best: dict[int, Mechanism] = {}

        def find(percent: int) -> Mechanism:
            if percent not in best:
                asked = replace(self._second_request, frequency=percent / 100)
                best[percent] = choose(asked, self.kind, self.max_bytes)
            return best[percent]

        def fill(low: int, high: int) -> None:
            if find(low) == find(high):
                best.update(dict.fromkeys(range(low, high + 1), best[low]))
            elif high - low > 1:
                middle = (low + high) // 2
                fill(low, middle)
                fill(middle, high)

        fill(0, 50)
        return tuple(best[min(percent, 100 - percent)] for percent in _PERCENTS)


@checks.names_checked
def plan_two_phases(
    n: int,
    epsilon: float,
    colluders: int | None = None,
    dealer_epsilon: float | None = None,
    mechanism: str = "jrr",
    *,
    first_share: float = FIRST_SHARE,
    lost: float = LOST,
    announced: bool | int = True,
    max_bytes: int = MAX_BYTES,
    k: int = 2,
    frequency: Frequency = None,
) -> TwoPhasePlan:
    """Plan a survey of yes or no in two phases, and say when they pay.

    First `plan.first` is asked of a random part of the people. `plan.second(share)` is the plan
    for the others, for the share that the first part's estimate has. `jrr.pooled` adds up both
    estimates.

    Args:
        n: contributors in both phases.
        epsilon: what the adversary of the view "cards" may learn of each at most.
        colluders: as for `plan`; all of them may be in one phase.
        dealer_epsilon: as for `plan`.
        mechanism: of the second phase; "jrr" is the one that a first phase can help.
        first_share: the share of the people in the first phase.
        lost: the share of cards that are dealt and never reported with.
        announced: as for `plan`.
        max_bytes: as for `plan`.
        k: 2; more answers are refused.
        frequency: None; what is known beforehand needs no first phase.

    Returns:
        The plan: `first`, `second(share)`, `stderr(frequency)`, `pays`, `one_phase`.

    Raises:
        ArgumentError: for arguments out of range, or if nothing keeps what is asked.

    Example:
        >>> phases = plan_two_phases(1_000_000, 0.1, 10_000, dealer_epsilon=math.inf, lost=0)
        >>> phases.first.request.n, phases.second(0.01).mechanism.name
        (20000, 'JRR')
        >>> round(phases.over_one_phase(0.02), 2)
        0.39
    """
    request = Request.with_defaults(
        n,
        epsilon,
        colluders=colluders,
        k=k,
        dealer_epsilon=dealer_epsilon,
        frequency=frequency,
        lost=lost,
        announced=announced,
    )
    return TwoPhasePlan(
        request=request,
        kind=check_word(mechanism),
        first_share=first_share,
        max_bytes=checks.integer("max_bytes", max_bytes, 1),
    )


def _resized(request: Request, n: int) -> Request:
    """The same for n of the people: all colluders may be among them."""
    return replace(request, n=n, colluders=min(request.colluders, n - 1))


def _places(mechanisms: Sequence[Mechanism]) -> Mapping[Mechanism, list[int]]:
    """Mechanism -> where it stands."""
    places: dict[Mechanism, list[int]] = {}
    for place, mechanism in enumerate(mechanisms):
        places.setdefault(mechanism, []).append(place)
    return places
