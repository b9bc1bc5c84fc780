"""From what a person knows before a survey to a mechanism, and back (docs/theory.md, section 7)."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

from jrr._base import checks
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.estimates import quantile
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.guarantees import guarantees
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import OUE, SUE
from jrr.planning.algorithm1 import algorithm1
from jrr.planning.informed import best_everything
from jrr.planning.optimum import (
    Frequency,
    Request,
    best_drr,
    best_encoded,
    best_jrr,
    best_rr,
    least,
)
from jrr.privacy.informed import Losses, everything, loss_distribution

DELTA = 1e-6  # of the view "everything", unless told otherwise
FREQUENCIES = (0.0, 0.01, 0.1, 0.25, 0.5)  # where comparisons are shown
_FAMILIES: Mapping[str, Callable[[Request], Mechanism]] = {
    "rr": best_rr,
    "jrr": best_jrr,
    "drr": best_drr,
}
_ENCODED: Mapping[str, Callable[[Request], Mechanism]] = {
    "sue": partial(best_encoded, SUE, "none"),
    "sue-joint": partial(best_encoded, SUE, "joint"),
    "sue-dealt": partial(best_encoded, SUE, "dealt"),
    "oue": partial(best_encoded, OUE, "none"),
    "oue-joint": partial(best_encoded, OUE, "joint"),
    "oue-dealt": partial(best_encoded, OUE, "dealt"),
    "olh": partial(best_encoded, OLH, "none"),
    "olh-joint": partial(best_encoded, OLH, "joint"),
}
MECHANISMS = ("auto", *_FAMILIES, *_ENCODED)


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
    kind: str = "rr"  # the family it was chosen from, or "auto"
    delta: float | None = None  # where it was planned in the view "everything"

    def stderr(self, frequency: float | None = None) -> float:
        """Standard error of an estimated frequency; without one, by the plan's criterion."""
        request = self.request
        if frequency is not None:
            at = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
            request = replace(request, frequency=at)
        return math.sqrt(request.expected_variance(self.mechanism))

    @property
    def view(self) -> str:
        """The view in which the ε asked for is kept."""
        return "cards" if self.delta is None else "everything"

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> ε, with the colluders that were planned for."""
        return guarantees(self.mechanism, self.request.colluders)

    def everything(self, delta: float = DELTA) -> float:
        """ε at δ against a collector that also knows everybody else's answer (an upper bound)."""
        delta = checks.real("delta", delta, "in 0..1", 0.0, 1.0, open_high=True)
        losses = self.losses
        bound = everything(self.mechanism, delta) if losses is None else losses.epsilon(delta)
        if self.delta is None or delta < self.delta:
            return bound
        return min(bound, self.request.epsilon)  # planning may have looked closer

    def surely(self, chance: float = DELTA) -> float:
        """ε that this collector's loss exceeds with at most this chance (an upper bound).

        More than `everything`, because δ also counts by how much.
        """
        losses = self.losses
        if losses is None:
            return everything(self.mechanism, 0.0)
        return losses.sure_epsilon(chance)

    def everything_at_least(self, delta: float = DELTA) -> float:
        """An ε that some answers of the others do reach at δ: how tight `everything` is."""
        losses = self.losses
        low = 0.0 if losses is None else losses.epsilon_low(delta)
        return min(low, self.everything(delta))

    @property
    def losses(self) -> Losses | None:
        """The law of the loss in the view "everything"; None where it is not known."""
        if not isinstance(self.mechanism, RR | JRR | DRR):
            return None
        known = 0 if isinstance(self.mechanism, RR) else self.request.colluders
        return _losses(self.mechanism, known)

    def compare(self, frequencies: object = FREQUENCIES) -> list[Row]:
        """Every mechanism beside the others: RR, JRR (the paper's and optimal), DRR, encodings."""
        request = self.request
        if not isinstance(frequencies, Sequence):
            raise checks.refusal("frequencies", frequencies, "a list of numbers in 0..1")
        rows = []
        makers: tuple[tuple[str, Callable[[Request], Mechanism]], ...] = (
            ("RR", best_rr),
            ("JRR (Algorithm 1)", _paper_jrr),
            ("JRR (optimal)", best_jrr),
            ("DRR", best_drr),
        )
        if self.delta is not None:
            kept = partial(_best_everything, delta=self.delta)
            makers = (
                ("RR", best_rr),
                ("JRR (optimal)", partial(kept, kind="jrr")),
                ("DRR", partial(kept, kind="drr")),
            )
        elif request.k > 2:  # encodings of a larger domain
            makers += tuple((_shown(name), f) for name, f in _ENCODED.items())
        if request.k == 2 and self.kind in _ENCODED:  # asked for by name
            makers += ((_shown(self.kind), _ENCODED[self.kind]),)
        for name, make in makers:
            try:
                mechanism = make(request)
            except JrrError as error:
                rows.append(Row(name, None, note=str(error)))
                continue
            row = Plan(request, mechanism)
            kept_too = self.delta is not None or request.allows(mechanism)
            note = "" if kept_too else "breaks the guarantee asked for"
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
    delta: float | None = None,
    view: str = "cards",
    mechanism: str = "auto",
    frequency: Frequency = None,
) -> Plan:
    """The most accurate mechanism that keeps ε against the collector and `colluders`.

    n: contributors per deck. dealer_epsilon: what a dealer that colludes with the collector
    may learn at most (None: no cap). frequency: what is known of the answer beforehand, a
    number, an interval (low, high: its worst is counted), or None (k = 2: the mean over all
    frequencies; larger k: the mean over the values of the worst population). By that
    criterion no plan by "auto", "jrr" or "drr" is worse than RR. view "everything": ε is kept,
    as (ε, `delta`)-differential privacy, against a collector that also knows everybody else's
    answer.
    """
    view = checks.one_of("view", view, ("cards", "everything"))
    if view == "cards" and delta is not None:
        raise checks.refusal("delta", delta, "None: guarantees in the view 'cards' hold outright")
    kind = checks.one_of("mechanism", mechanism, MECHANISMS)
    request = Request(n, epsilon, colluders, k, dealer_epsilon, frequency)
    if view == "everything":
        if delta is None:
            raise checks.refusal("delta", delta, "in (0, 1) for the view 'everything'")
        if kind not in ("auto", *_FAMILIES):
            raise checks.refusal("mechanism", mechanism, "auto, rr, jrr or drr in this view")
        return Plan(request, _best_everything(request, delta, kind), kind, delta)
    known = {**_FAMILIES, **_ENCODED}
    if kind != "auto":
        return Plan(request, known[kind](request), kind)
    families = _FAMILIES if k == 2 else known
    return Plan(request, least(list(_those_that_exist(families.values(), request)), request), kind)


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
    margin = check_margin(margin)
    colluders = checks.integer("colluders", colluders, 0)
    z = quantile(level)

    def enough(pairs: int) -> bool:
        made = plan(
            2 * pairs,
            epsilon,
            colluders,
            k,
            dealer_epsilon,
            mechanism=mechanism,
            frequency=frequency,
        )
        return z * made.stderr() <= margin

    fewest = max(1, colluders // 2 + 1)
    high = fewest
    while not enough(high):
        high *= 2
        if 2 * high > most:
            raise checks.refusal("margin", margin, f"reachable with at most {most} contributors")
    return 2 * _first_true(enough, fewest - 1 if fewest == high else high // 2, high)


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
    margin = check_margin(margin)
    if dealer_above is not None:
        dealer_above = checks.real("dealer_above", dealer_above, "a number >= 0", 0.0)
    z = quantile(level)

    def enough(epsilon: float) -> bool:
        cap = None if dealer_above is None else epsilon + dealer_above
        made = plan(n, epsilon, colluders, k, cap, mechanism=mechanism, frequency=frequency)
        return z * made.stderr() <= margin

    low, high = 1e-6, 20.0
    if not enough(high):
        raise checks.refusal("margin", margin, f"reachable by {n} people at epsilon <= {high}")
    if enough(low):
        return low
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


_best_everything = lru_cache(maxsize=64)(best_everything)  # it takes seconds


@lru_cache(maxsize=8)
def _losses(mechanism: Mechanism, colluders: int) -> Losses:
    """Kept: it takes a second, and tables and texts ask for the same."""
    return loss_distribution(mechanism, colluders=colluders)


def check_margin(margin: object) -> float:
    """Half the width of an interval of a frequency."""
    allowed = "in (0, 1), a share"
    return checks.real("margin", margin, allowed, 0.0, 1.0, open_low=True, open_high=True)


def _shown(name: str) -> str:
    encoding, _, coupling = name.partition("-")
    return f"{encoding.upper()} + {coupling}" if coupling else encoding.upper()


def _those_that_exist(
    families: Iterable[Callable[[Request], Mechanism]], request: Request
) -> Iterator[Mechanism]:
    """The best of each family; RR always exists, others may be refused."""
    for best in families:
        try:
            yield best(request)
        except JrrError:
            if best is best_rr:
                raise


def _paper_jrr(request: Request) -> JRR:
    if request.k > 2:
        raise ArgumentError(f"k must be 2 for the paper's Algorithm 1, got k={request.k}")
    return algorithm1(request.n, request.epsilon, request.colluders)


def _first_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first integer in (low, high] that holds; high does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
