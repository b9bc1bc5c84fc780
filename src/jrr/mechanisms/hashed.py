"""Local hashing (OLH): everybody hashes the value with a hash of their own, then answers that.

The report is a seed and a perturbed hash value in 0..g-1. A value is supported by every report
whose hash function sends it to the reported hash. The joint coupling is k-JRR on the hashed
value; because everybody hashes differently, it helps only for frequent values.
"""

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats, Moments
from jrr.mechanisms import hashing
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng, check_countable
from jrr.mechanisms.cards import SortedDeck
from jrr.mechanisms.design import Calibration, calibrated
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.marked_arrays import MarkedReports
from jrr.mechanisms.report_formats import SEEDED_REPORT, SeededFormat
from jrr.mechanisms.request import Family, Request, least
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import check_truth_probability, truth_probability
from jrr.privacy.views import View

_BLOCK = 1 << 14  # reports whose support is counted at a time


@dataclass(frozen=True, init=False)
class OLH(Mechanism):
    """Optimised local hashing over k values.

    Args:
        k: possible values.
        epsilon: the privacy loss; with a coupling in the view `cards`, with so many colluders.
        g: buckets of the hash; unless given round(e^ε) + 1, the best for rare values. A plan
            chooses the best for its frequency.
        coupling: "none" or "joint": whether cards are dealt.
        n: contributors per deck, where there are cards.
        colluders: how many show their cards to the adversary that epsilon is kept against.
        s: how far a card leans; chosen for accuracy unless given.
        p: the probability of a truthful hash, together with g instead of epsilon.
        dealer_epsilon: a cap on what a dealer can learn that colludes with the collector.

    Example:
        >>> OLH(1_000, epsilon=1.0).g
        4
    """

    k: int  # size of the domain
    g: int  # buckets
    p: float  # probability of a truthful hash
    s: float  # how far a card leans
    coupling: str  # "none" or "joint"
    n: int | None  # contributors per deck, where there are cards
    name: ClassVar[str] = "OLH"
    title: ClassVar[str] = "optimised local hashing, a form of randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("k", "g", "p", "s", "coupling", "n")
    optional_parameters: ClassVar[tuple[str, ...]] = ("n",)
    colour: ClassVar[str] = "#e7298a"
    told_by_colluders: ClassVar[str] = "whether they reported truthfully"

    def __init__(
        self,
        k: int,
        epsilon: float | None = None,
        *,
        g: int | None = None,
        coupling: str = "none",
        n: int | None = None,
        colluders: int = 0,
        s: float | None = None,
        p: float | None = None,
        dealer_epsilon: float | None = None,
    ) -> None:
        k = checks.domain(k)
        if coupling == "dealt":
            raise ArgumentError(
                "coupling must be 'none' or 'joint' for OLH, got coupling='dealt': under hash "
                "functions of one's own a dealt decoy supports no value in particular and gains "
                "nothing; use DRR on the original domain"
            )
        asked = Calibration.checked(coupling, n, colluders, epsilon, s, dealer_epsilon, p=p)
        if p is None and g is None:
            g = _buckets(asked.epsilon)
        if g is None:
            raise checks.refusal("g", g, "given together with p")
        g = checks.integer("g", g, 2, 1 << 31)
        if p is None:
            inner = _calibrated(g, asked)
        else:
            inner = _inner(check_truth_probability("p", p, g), s or 0.0, g, asked.n)
        lean = inner.s if isinstance(inner, JRR) else 0.0
        self._set(k=k, g=g, p=inner.p, s=lean, coupling=asked.coupling, n=asked.n)

    @cached_property
    def inner(self) -> RR | JRR:
        """What perturbs the hashed value."""
        return _inner(self.p, self.s, self.g, self.n)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the supports; a value not held is supported by one hash in g."""
        return _support_moments(self.inner)

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """Without cards, and with the joint coupling, the lean chosen for the request."""
        return (
            cls._family(cls._best, cards=False, encodes=True),
            cls._family(
                cls._best_joint,
                key="olh-joint",
                label="OLH + joint",
                cards=True,
                encodes=True,
                line="-.",
            ),
        )

    @classmethod
    def _best(cls, request: Request) -> "OLH":
        return cls(request.k, epsilon=request.budget, g=_best_buckets(request))

    @classmethod
    def _best_joint(cls, request: Request) -> "OLH":
        without, asked = _best_buckets(request), Calibration.for_request(request, "joint")

        def with_cards(g: int) -> "OLH":
            inner = _calibrated(g, asked)
            lean = inner.s if isinstance(inner, JRR) else 0.0
            return cls(request.k, g=g, coupling="joint", n=request.n, s=lean, p=inner.p)

        near = sorted({max(2, without + step) for step in (-1, 0, 1)})
        tuned = least([with_cards(g) for g in near], request)
        return tuned if tuned.s else cls._best(request)  # cards that do nothing

    def _epsilon(self, view: View, colluders: int) -> float:
        """Seeds tell nothing: what perturbs the hash says it all."""
        return self.inner.epsilon(view, colluders)

    @property
    def report_format(self) -> SeededFormat:
        """A seed and a number."""
        return SeededFormat(self.g)

    @property
    def sorted_deck(self) -> SortedDeck | None:
        """The deck of what perturbs the hash."""
        return self.inner.sorted_deck

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        cards = ", leaned by a secret card" if self.deals else ""
        return (
            f"The device sorts all answers at random into {self.g} groups and sends the "
            f"group of your answer {of_hundred(self.p)}, otherwise another group{cards}."
        )

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run, with ideal hash functions."""
        inner = self.inner
        if isinstance(inner, JRR):
            held = inner.simulated_truths(counts, runs, rng, with_cards=with_cards)
        else:
            held = rng.binomial(counts, self.p, (runs, self.k))
        others = rng.binomial(counts.sum() - counts, 1 / self.g, (runs, self.k))
        return held + others

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """Which of the compared values each report supports."""
        state = hashing.prefix(np.ascontiguousarray(reports["seed"]))
        return np.column_stack(
            [
                hashing.bucket(hashing.finish(state, np.uint32(value)), self.g) == reports["value"]
                for value in values
            ]
        ).astype(np.int64)

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Reports as a structured array of seed and perturbed hash."""
        checked = checks.symbols("values", values, self.k)
        source = randomness.source(rng)
        out = np.empty(len(checked), SEEDED_REPORT)
        seeds = source.words(len(checked))
        hashed = hashing.bucket(
            hashing.finish(hashing.prefix(seeds), checked.astype(np.uint32)), self.g
        )
        out["seed"] = seeds
        out["value"] = self.inner.respond(hashed, cards, source)  # where cards are spent
        return MarkedReports.of(out, carded=cards is not None)

    def respond_one(self, value: int, card: int | None = None, rng: Rng = None) -> tuple[int, int]:
        """One report: a seed and a perturbed hash."""
        value = checks.symbol("value", value, self.k)
        source = randomness.source(rng)
        seed = source.word()
        told = self.inner.respond_one(hashing.hash_one(seed, value, self.g), card, source)
        return self._marked((seed, int(told)), card)

    def _check_reports(self, reports: ArrayLike) -> Reports:
        array = checks.array_of("reports", reports, "an array of seed and value")
        if array.dtype.names is None or set(array.dtype.names) != {"seed", "value"}:
            raise ArgumentError(
                "reports must be a structured array with the fields seed (u8) and value (u4), "
                f"got dtype {array.dtype}"
            )
        if array.ndim != 1:
            raise ArgumentError(f"reports must be one-dimensional, got shape {array.shape}")
        checks.symbols("reports['value']", np.ascontiguousarray(array["value"]), self.g)
        if array.dtype["seed"].kind not in "iu" or array.dtype["seed"].itemsize != 8:
            raise ArgumentError(
                f"reports['seed'] must be 64-bit whole numbers, got dtype {array.dtype['seed']}"
            )
        return array.astype(SEEDED_REPORT, copy=False)

    def _support(self, reports: Reports) -> tuple[int, ...]:
        check_countable(self.k)
        return tuple(support_of(reports, np.arange(self.k, dtype=np.uint32), self.g).tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        check_countable(self.k)
        weighed = np.zeros(self.k)
        at = 0
        for state, start, width in _prepared(reports, self.g):
            block = weights[at : at + len(state)]
            weighed += [
                block[hashing.finish(state, np.uint32(v)) - start < width].sum()
                for v in range(self.k)
            ]
            at += len(state)
        return weighed


def support_of(reports: Reports, values: NDArray[np.uint32], g: int) -> NDArray[np.int64]:
    """How many reports support each of these values."""
    count = hashing.hash_support() or _count
    counts = np.zeros(len(values), np.int64)
    for state, start, width in _prepared(reports, g):
        counts += count(state, start, width, values)
    return counts


def _prepared(reports: Reports, g: int) -> Iterator[tuple[NDArray[np.uint32], ...]]:
    """Per block: prefixed hash states, and the run of hashes that each report supports."""
    for at in range(0, len(reports), _BLOCK):
        block = reports[at : at + _BLOCK]
        start = hashing.bucket_start(block["value"], g)
        end = hashing.bucket_start(block["value"] + np.uint32(1), g)
        yield (
            hashing.prefix(block["seed"]),
            start.astype(np.uint32),
            (end - start).astype(np.uint32),
        )


def _count(
    state: NDArray[np.uint32],
    start: NDArray[np.uint32],
    width: NDArray[np.uint32],
    values: NDArray[np.uint32],
) -> NDArray[np.int64]:
    counts = np.empty(len(values), np.int64)
    for at, value in enumerate(values):
        offset = hashing.finish(state, value)
        offset -= start  # wraps around: hashes below the start become huge
        counts[at] = np.count_nonzero(offset < width)
    return counts


def _buckets(epsilon: float) -> int:
    """The number of buckets with the least variance for rare values."""
    return round(math.exp(min(epsilon, 20.0))) + 1


def _best_buckets(request: Request) -> int:
    """The number of buckets with the least variance by the criterion of a plan.

    For rare values it is e^ε + 1. The variance falls, then rises, so halving finds the least.
    """

    def worth(g: int) -> float:
        return request.variance_of(_support_moments(RR(g, epsilon=request.budget)))

    tried = range(2, 4 * _buckets(request.budget) + 64)
    return 2 + bisect.bisect_left(tried, True, key=lambda g: worth(g) <= worth(g + 1))


def _inner(p: float, s: float, g: int, n: int | None) -> RR | JRR:
    return RR(g, p=p) if n is None else JRR(n, p, k=g, s=s)


def _support_moments(inner: RR | JRR) -> Moments:
    g, m = inner.k, inner.moments
    lean = float(m.lean_holder[0])
    # A non-holder's hash is any bucket: its expected lean s/g - (1-1/g)·s/(g-1) is 0.
    return Moments.same_for_all(
        p=inner.p, q=1 / g, gain=inner.p - 1 / g, lean_holder=lean, deck=m.deck, signed=m.signed
    )


def _calibrated(g: int, asked: Calibration) -> RR | JRR:
    """The most accurate perturbation of g buckets that keeps what is asked."""
    epsilon, size = asked.epsilon, asked.n
    if size is None:
        return RR(g, epsilon=min(epsilon, asked.dealer_epsilon or epsilon))
    best = truth_probability(epsilon, g)

    def p_at(noise: float) -> float:
        return 1 / g + (best - 1 / g) * (1 - noise)

    return calibrated(
        lambda noise, lean: JRR(size, p_at(noise), k=g, s=lean),
        lambda noise: min(p_at(noise), 1 - p_at(noise)),
        (0.0, 1 - 2.0**-20),
        asked,
        _support_moments,
    )
