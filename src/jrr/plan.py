"""From what a person knows before a survey to a mechanism (docs/theory.md, section 7).

Privacy is demanded in the view `cards` (the collector and M colluders who hand over their
cards) and, with a cap, in the view `dealer`. All constraints are linear in a mechanism's
probabilities, and along every edge of what they allow the variance is a quadratic in one
parameter: so the optimum is found in closed form, checked against the exact privacy of the
mechanism that would run, and moved to the private side of rounding.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from jrr import checks
from jrr.algorithm1 import algorithm1
from jrr.errors import JrrError
from jrr.estimate import quantile
from jrr.exact import private_side
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR, even_deck
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR, truth_probability
from jrr.privacy import VIEWS

MECHANISMS = ("auto", "rr", "jrr", "drr")
FREQUENCIES = (0.0, 0.01, 0.1, 0.25, 0.5)  # where comparisons are shown

_M = TypeVar("_M", bound=Mechanism)
Frequency = float | tuple[float, float] | None


@dataclass(frozen=True)
class Request:
    """What is asked of a plan."""

    n: int
    epsilon: float
    colluders: int = 0
    k: int = 2
    dealer_epsilon: float | None = None
    frequency: Frequency = None

    def __post_init__(self) -> None:
        checks.integer("k", self.k, 2)
        checks.integer("n", self.n, 2)
        checks.positive("epsilon", self.epsilon)
        checks.integer("colluders", self.colluders, 0, self.n - 1)
        if self.dealer_epsilon is not None:
            checks.positive("dealer_epsilon", self.dealer_epsilon)
        object.__setattr__(self, "frequency", _check_frequency(self.frequency))

    @property
    def budget(self) -> float:
        """ε that every report must keep; a cap below it binds reports too."""
        cap = self.dealer_epsilon
        return self.epsilon if cap is None else min(self.epsilon, cap)

    def allows(self, mechanism: Mechanism) -> bool:
        """Whether the mechanism that would run keeps what was asked."""
        cap = self.dealer_epsilon
        return mechanism.epsilon("cards", self.colluders) <= self.budget and (
            cap is None or mechanism.epsilon("dealer") <= cap
        )

    def expected_variance(self, mechanism: Mechanism) -> float:
        """The criterion: variance of an estimated frequency, averaged over the values.

        At the given frequency; at the worst one of a given interval; or, with none given, on
        average over all populations (the uniform law on frequency vectors).
        """
        a, b, c = mechanism.moments.quadratic(self.n, 1)
        b, c = b * self.n, c * self.n**2
        if isinstance(self.frequency, tuple):
            low, high = self.frequency
            with np.errstate(divide="ignore", invalid="ignore"):
                top = np.where(c < 0, np.clip(-b / (2 * c), low, high), high)
            worst = [a + f * (b + f * c) for f in (low, high, top)]
            return float(np.max(worst)) / self.n**2
        if self.frequency is None:
            first, second = 1 / self.k, 2 / (self.k * (self.k + 1))
        else:
            first, second = self.frequency, self.frequency**2
        return float(np.mean(a + first * b + second * c)) / self.n**2


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison."""

    name: str
    mechanism: Mechanism | None  # None where it does not exist; `note` says why
    stderr: Mapping[float, float] = field(default_factory=dict)  # frequency -> standard error
    expected_stderr: float = math.nan  # by the plan's criterion
    epsilon: Mapping[str, float] = field(default_factory=dict)  # view -> ε
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """A mechanism chosen for a request, with what it promises and how well it does."""

    request: Request
    mechanism: Mechanism

    def stderr(self, frequency: float | None = None) -> float:
        """Standard error of an estimated frequency; without one, by the plan's criterion."""
        request = self.request
        if frequency is not None:
            request = _at(request, checks.real("frequency", frequency, "in 0..1", 0.0, 1.0))
        return math.sqrt(request.expected_variance(self.mechanism))

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> ε, with the colluders that were planned for."""
        return guarantees(self.mechanism, self.request.colluders)

    def compare(self, frequencies: Sequence[float] = FREQUENCIES) -> list[Row]:
        """RR, JRR by the paper's Algorithm 1, optimal JRR and DRR beside each other."""
        request = self.request
        rows = []
        for name, make in (
            ("RR", _best_rr),
            ("JRR (Algorithm 1)", _paper_jrr),
            ("JRR (optimal)", _best_jrr),
            ("DRR", _best_drr),
        ):
            try:
                mechanism = make(request)
            except JrrError as error:
                rows.append(Row(name, None, note=str(error)))
                continue
            row = Plan(request, mechanism)
            note = "" if request.allows(mechanism) else "breaks the guarantee asked for"
            if isinstance(mechanism, RR) and name != "RR":
                note = "plain RR is the best of this family here"
            rows.append(
                Row(
                    name,
                    mechanism,
                    {f: row.stderr(f) for f in frequencies},
                    row.stderr(),
                    dict(row.guarantees),
                    note,
                )
            )
        return rows


def plan(
    n: int,
    epsilon: float,
    colluders: int = 0,
    k: int = 2,
    dealer_epsilon: float | None = None,
    view: str = "cards",
    mechanism: str = "auto",
    frequency: Frequency = None,
) -> Plan:
    """The most accurate mechanism that keeps ε against the collector and `colluders`.

    n: contributors per deck. dealer_epsilon: what a dealer that colludes with the collector
    may learn at most (None: no cap). frequency: what is known of the answer beforehand, a
    number, an interval (low, high), or None. By that criterion no plan is worse than RR.
    """
    checks.one_of("view", view, ("cards",))
    kind = checks.one_of("mechanism", mechanism, MECHANISMS)
    request = Request(n, epsilon, colluders, k, dealer_epsilon, frequency)
    families = {"rr": [_best_rr], "jrr": [_best_jrr], "drr": [_best_drr]}
    makers = families.get(kind, [_best_rr, _best_jrr, _best_drr])
    return Plan(request, _least([make(request) for make in makers], request))


def required_n(
    margin: float,
    epsilon: float,
    colluders: int = 0,
    k: int = 2,
    dealer_epsilon: float | None = None,
    mechanism: str = "auto",
    frequency: Frequency = None,
    level: float = 0.95,
    most: int = 10**12,
) -> int:
    """The fewest contributors (an even number) whose margin of error is at most `margin`.

    The margin is half the width of a confidence interval of a frequency.
    """
    margin = checks.positive("margin", margin)
    z = quantile(level)

    def enough(pairs: int) -> bool:
        made = plan(2 * pairs, epsilon, colluders, k, dealer_epsilon, "cards", mechanism, frequency)
        return z * made.stderr() <= margin

    least = max(1, colluders // 2 + 1)
    high = least
    while not enough(high):
        high *= 2
        if 2 * high > most:
            raise checks.refusal("margin", margin, f"reachable with at most {most} contributors")
    return 2 * _first_true(enough, least - 1 if least == high else high // 2, high)


def required_epsilon(
    margin: float,
    n: int,
    colluders: int = 0,
    k: int = 2,
    dealer_above: float | None = None,
    mechanism: str = "auto",
    frequency: Frequency = None,
    level: float = 0.95,
) -> float:
    """The smallest ε, to four digits, at which n contributors reach a margin of error.

    dealer_above: the cap on the dealer as so much above ε (None: no cap).
    """
    margin = checks.positive("margin", margin)
    z = quantile(level)

    def enough(epsilon: float) -> bool:
        cap = None if dealer_above is None else epsilon + dealer_above
        made = plan(n, epsilon, colluders, k, cap, "cards", mechanism, frequency)
        return z * made.stderr() <= margin

    low, high = 1e-6, 20.0
    if not enough(high):
        raise checks.refusal(
            "margin", margin, f"reachable by {n} contributors at epsilon <= {high}"
        )
    if enough(low):
        return low
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def guarantees(mechanism: Mechanism, colluders: int) -> dict[str, float]:
    """View -> ε for every view that has a meaning for the mechanism."""
    paper = isinstance(mechanism, JRR) and mechanism.k == 2
    return {view: mechanism.epsilon(view, colluders) for view in VIEWS if view != "paper" or paper}


# -- the best of each family ---------------------------------------------------------------


def _best_rr(request: Request) -> RR:
    return RR(request.k, epsilon=request.budget)


def _paper_jrr(request: Request) -> JRR:
    if request.k > 2:
        raise JrrError(f"k must be 2 for the paper's Algorithm 1, got k={request.k}")
    return algorithm1(request.n, request.epsilon, request.colluders)


def _best_jrr(request: Request) -> Mechanism:
    """Theorem 10: plain RR or a corner of the edges s(p) that privacy allows."""
    n, k, m = request.n, request.k, request.colluders
    rr = _best_rr(request)
    signed = n - n % 2
    known = min(m, signed - 1)
    lean = min(1.0, known / (signed - known))
    cap = request.dealer_epsilon
    # Each line (a, b) allows s <= (a - p)/b or, with b < 0, s <= (p - a)/-b.
    lines = [(1.0, 1.0), (0.0, -1.0)]
    if lean > 0:
        lines += [(_most_true(request.budget, k), lean), (_least_true(request.budget, k), -lean)]
    if cap is not None:
        lines += [(_most_true(cap, k), 1.0), (_least_true(cap, k), -1.0)]
    top = truth_probability(request.budget, k)
    candidates = []
    for p in _edge_points(lines, top, request):
        s = min(min((a - p) / b for a, b in lines), p, 1 - p)
        if s > 0:
            candidates.append(JRR(n, p, s=s, k=k))
    if not candidates:
        return rr
    return _least([rr, *_private_joint(request, _least(candidates, request))], request)


def _edge_points(lines: Sequence[tuple[float, float]], top: float, request: Request) -> set[float]:
    """Where along the edges the criterion can be least: corners, and inner minima (k > 2)."""
    k = request.k
    corners = {top}
    for i, (a, b) in enumerate(lines):
        for c, d in lines[:i]:
            if b != d:
                corners.add((a * d - c * b) / (d - b))
    inside = sorted(p for p in corners if 1 / k < p <= top)
    if k == 2 and not isinstance(request.frequency, tuple):
        return set(inside)  # on an edge the criterion is monotone or concave
    points = set(inside)
    for low, high in zip([1 / k, *inside], inside, strict=False):
        points.update(_inner_minimum(lines, low, high, request))
    return points


def _inner_minimum(
    lines: Sequence[tuple[float, float]], low: float, high: float, request: Request
) -> list[float]:
    """The least point of one edge, by golden section in 1/(kp - 1), where it is smooth."""
    k = request.k

    def position(w: float) -> float:
        return (1 + 1 / w) / k

    def worth(w: float) -> float:
        p = min(position(w), high)
        s = max(0.0, min((a - p) / b for a, b in lines))
        return request.expected_variance(JRR(request.n, p, s=min(s, p, 1 - p), k=k))

    near = 1 / (k * high - 1)
    far = min(1 / max(k * low - 1, 1e-12), 64 * near)  # further down the noise only grows
    if not far > near:
        return []
    return [position(_golden(worth, near, far))]


def _private_joint(request: Request, best: JRR) -> list[Mechanism]:
    """The JRR nearest to the best one, towards guessing, that rounding leaves private."""
    guess = 1 / request.k

    def shrunk(p: float) -> JRR:
        return JRR(request.n, p, s=min(best.s * (p - guess) / (best.p - guess), p, 1 - p), k=best.k)

    p = private_side(best.p, guess, lambda p: p > guess and request.allows(shrunk(p)))
    return [shrunk(p)] if p > guess else []


def _best_drr(request: Request) -> Mechanism:
    """Theorem 11: plain RR, or as few decoys of one's own as the cap allows."""
    n, k, m = request.n, request.k, request.colluders
    cap = request.dealer_epsilon
    rr = _best_rr(request)
    if cap is not None and cap <= request.epsilon:
        return rr
    gain = math.expm1(request.budget)
    hidden = max(0, min(even_deck(n, k)) - m) / (n - m)
    ratio = 0.0 if cap is None else k / math.expm1(cap)  # own >= ratio * truth
    truth = gain * hidden / (1 + gain * (hidden * (1 + ratio) - ratio / k))
    own = ratio * truth
    if not (truth > 0 and truth + own <= 1):
        return rr

    def shrunk(kept: float) -> DRR:
        return DRR(n, kept, own + (truth - kept), k)  # what the truth loses, one's own decoys gain

    least = 2.0**-52
    kept = private_side(truth, least, lambda t: request.allows(shrunk(t)))
    return _least([rr, shrunk(kept)] if kept > least else [rr], request)


def _least(candidates: Sequence[_M], request: Request) -> _M:
    return min(candidates, key=request.expected_variance)


def _most_true(epsilon: float, k: int) -> float:
    """The largest belief in a truthful report that ε allows."""
    return truth_probability(epsilon, k)


def _least_true(epsilon: float, k: int) -> float:
    """The smallest belief in a truthful report that ε allows."""
    return 1 / (1 + (k - 1) * math.exp(epsilon))


# -- small numerics ------------------------------------------------------------------------


def _golden(worth: Callable[[float], float], low: float, high: float, rounds: int = 60) -> float:
    ratio = (math.sqrt(5) - 1) / 2
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    at_c, at_d = worth(c), worth(d)
    for _ in range(rounds):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - ratio * (b - a)
            at_c = worth(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + ratio * (b - a)
            at_d = worth(d)
    return (a + b) / 2


def _first_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first integer in (low, high] that holds; high does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _at(request: Request, frequency: float) -> Request:
    return Request(
        request.n,
        request.epsilon,
        request.colluders,
        request.k,
        request.dealer_epsilon,
        frequency,
    )


def _check_frequency(frequency: object) -> Frequency:
    allowed = "a number in 0..1, an interval (low, high) in 0..1, or None"
    if frequency is None:
        return None
    if isinstance(frequency, tuple | list):
        if len(frequency) != 2:
            raise checks.refusal("frequency", frequency, allowed)
        low = checks.real("frequency", frequency[0], allowed, 0.0, 1.0)
        high = checks.real("frequency", frequency[1], allowed, low, 1.0)
        return (low, high)
    return checks.real("frequency", frequency, allowed, 0.0, 1.0)
