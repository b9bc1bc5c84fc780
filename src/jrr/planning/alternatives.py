"""The same helper, used differently: dealing cards, shuffling reports or adding them up.

JRR, DRR and MRR need a dealer. Whoever can run one can often run a shuffler, or add answers up,
instead: what each of these costs in accuracy, against whom it protects and who is trusted.
Binary answers, one full deck, everybody reports (docs/which-mechanism.md).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.privacy.binomial import LARGEST, Progress
from jrr.privacy.shuffled import shuffled_epsilon
from jrr.privacy.shuffled.guarantee import amplified_epsilon, shuffled_delta
from jrr.privacy.shuffled.question import check_delta, check_scan, view_of_rr, views_of_rr

FREQUENCIES = (0.0, 0.1, 0.5)
MOST_COMPARED = 50_000  # people; all they may hold is looked at in about half a minute
_NOBODY = "nobody"
_DEALER = "the dealer, not to show the collector the cards"
_SHUFFLER = "the shuffler, not to tell whose report is whose"


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One way to ask; all of them answer the same request."""

    name: str
    mechanism: Mechanism | None  # None: the answers are added up, nobody perturbs one
    variance: Mapping[float, float]  # true frequency -> variance of the estimated count
    epsilon: float
    delta: float
    guarantee: str  # against whom ε and δ hold
    trust: str  # who is trusted for what
    if_they_collude: float  # ε left when the helper and the collector collude
    shuffled_epsilon: float | None = None  # ε at δ of the counts alone, behind a shuffler
    shuffled_rr_variance: float | None = None  # of RR that keeps the same ε behind a shuffler
    compositions: str = ""  # what the others may hold, where that was computed

    def to_dict(self, n: int) -> dict[str, Any]:
        """A result document: plain values, with standard errors of the share among n people."""
        return {
            **vars(self),
            "mechanism": self.mechanism and self.mechanism.to_dict(),
            "variance": {f"{f:g}": value for f, value in self.variance.items()},
            "stderr": {f"{f:g}": math.sqrt(value) / n for f, value in self.variance.items()},
        }


def alternatives(
    n: int,
    epsilon: float,
    delta: float = 1e-6,
    colluders: int = 5,
    dealer_epsilon: float | None = None,
    k: int = 2,
    compositions: str = "all",
    progress: Progress | None = None,
) -> list[Alternative]:
    """Every way to keep ε, or (ε, δ) behind a shuffler, for n people and a yes-or-no question.

    dealer_epsilon: the cap on a corrupt dealer in the row that has one (None: ε + 2).
    compositions: what a shuffler leaves is computed for "all" values that others may hold, or,
    sooner, only for those "listed": the shares 0, 0.1 and 0.5 of yes. RR is quick, and takes all
    of them up to MOST_COMPARED people in either case.
    """
    if k != 2:
        raise checks.refusal("k", k, "2: the alternatives are known here for yes or no only")
    checks.one_of("compositions", compositions, ("all", "listed"))
    request = Request(n, epsilon, colluders)
    cap = min(request.epsilon + 2, 700.0) if dealer_epsilon is None else dealer_epsilon
    capped = Request(n, epsilon, colluders, dealer_epsilon=cap)
    asked = _Question(request, delta, compositions == "all", progress, {})
    # JRR gains most where all agree; elsewhere the best JRR may be another one, or plain RR.
    # Pairs: without a cap the best uneven deck hides nothing from a collector who knows the others.
    joint = [JRR.best_even(Request(n, epsilon, colluders, frequency=f)) for f in FREQUENCIES]
    dealt, held = DRR.best(request), DRR.best(capped)
    rows = [
        asked.unshuffled("RR", RR.best(request)),
        asked.unshuffled("JRR, tuned to each frequency", joint[0], joint),
        asked.unshuffled("DRR, no cap on the dealer", dealt),
        asked.unshuffled(f"DRR, dealer capped at {cap:g}", held),
        asked.shuffled_by_closed_form(),
        asked.shuffled_exactly(),
    ]
    for name, mechanism in (("JRR", joint[0]), ("DRR", dealt), ("DRR, capped", held)):
        if mechanism.deals:
            rows.append(asked.shuffled(f"{name}, then shuffled", mechanism))
    for name, announced in (("MRR, closed deck", False), ("MRR, announced sum", True)):
        masked = MRR.best(replace(capped, announced=announced))
        if masked.deals:
            rows.append(asked.masked(f"{name}, dealer capped at {cap:g}", masked))
    return [*rows, asked.added_up()]


@dataclass(frozen=True)
class _Question:
    request: Request
    delta: float
    scan: bool
    progress: Progress | None
    epsilons: dict[Mechanism, float]  # ε behind a shuffler, which two rows of a mechanism share

    def unshuffled(
        self, name: str, mechanism: Mechanism, by_frequency: list[Mechanism] | None = None
    ) -> Alternative:
        request = self.request
        dealt = mechanism.deals
        colluders = f" and has the cards of {request.colluders} colluders" if dealt else ""
        beware = "; not against one that uses all reports together" if dealt else ""
        return self._row(
            name,
            mechanism,
            by_frequency,
            epsilon=mechanism.epsilon("cards", request.colluders),
            guarantee=f"a collector that sees who reported what{colluders}{beware}",
            trust=_DEALER if dealt else _NOBODY,
            shuffled_epsilon=self._shuffled_epsilon(mechanism),
            compositions=self._compositions(mechanism),
        )

    def masked(self, name: str, mechanism: Mechanism) -> Alternative:
        """Cards that are numbers: who reported what may be known, and everything else too."""
        return self._row(
            name,
            mechanism,
            epsilon=mechanism.epsilon("everything", self.request.colluders),
            guarantee="a collector that has all reports, everybody else's answer and any number of "
            "other people's cards",
            trust=_DEALER,
        )

    def shuffled_by_closed_form(self) -> Alternative:
        n, request = self.request.n, self.request
        rr = shuffled_rr(n, request.epsilon, self.delta, bound="closed form")
        reached = amplified_epsilon(rr.epsilon(), n, self.delta)
        return self._shuffled_row("shuffled RR, by a closed form", rr, reached, "all")

    def shuffled_exactly(self) -> Alternative:
        request = self.request
        rr = self._shuffled_rr(request.epsilon)
        name = "shuffled RR, by the law of the count"
        return self._shuffled_row(name, rr, request.epsilon, self._compositions(rr))

    def shuffled(self, name: str, mechanism: Mechanism) -> Alternative:
        """Cards and a shuffler: the estimate is the same, the collector sees less."""
        epsilon = self._shuffled_epsilon(mechanism)
        return self._shuffled_row(name, mechanism, epsilon, self._compositions(mechanism))

    def _shuffled_row(
        self, name: str, mechanism: Mechanism, epsilon: float, compositions: str
    ) -> Alternative:
        dealt = mechanism.deals
        rr = None
        if dealt and 0 < epsilon < math.inf:
            rr = self._shuffled_rr(epsilon)
        return self._row(
            name,
            mechanism,
            epsilon=epsilon,
            delta=self.delta,
            guarantee="a collector that sees the counts of all reports and knows everybody else's "
            "answer, if no contributor colludes",
            trust=f"{_DEALER}; {_SHUFFLER}" if dealt else _SHUFFLER,
            shuffled_epsilon=epsilon,
            shuffled_rr_variance=rr and self._variance([rr] * len(FREQUENCIES))[0.0],
            compositions=compositions,
        )

    def _row(
        self,
        name: str,
        mechanism: Mechanism,
        by_frequency: list[Mechanism] | None = None,
        **facts: Any,
    ) -> Alternative:
        return Alternative(
            name=name,
            mechanism=mechanism,
            variance=self._variance(by_frequency or [mechanism] * len(FREQUENCIES)),
            if_they_collude=mechanism.epsilon("dealer"),
            **({"delta": 0.0} | facts),
        )

    def added_up(self) -> Alternative:
        shrink = math.exp(-self.request.epsilon)
        noise = 2 * shrink / math.expm1(-self.request.epsilon) ** 2
        return Alternative(
            name="secure aggregation with geometric noise",
            mechanism=None,
            variance=dict.fromkeys(FREQUENCIES, noise),
            epsilon=self.request.epsilon,
            delta=0.0,
            guarantee="a collector that sees the noisy count and knows everybody else's answer",
            trust="those who add up, not to look at answers and to add the noise",
            if_they_collude=math.inf,
        )

    def _variance(self, mechanisms: list[Mechanism]) -> dict[float, float]:
        """At each frequency, of its mechanism."""
        n = self.request.n
        variances = {}
        for frequency, mechanism in zip(FREQUENCIES, mechanisms, strict=True):
            ones = round(frequency * n)
            variances[frequency] = float(mechanism.variance((n - ones, ones))[1])
        return variances

    def _shuffled_epsilon(self, mechanism: Mechanism) -> float:
        if mechanism not in self.epsilons:
            listed = [None] if self._scans(mechanism) else self._listed()
            self.epsilons[mechanism] = max(
                shuffled_epsilon(mechanism, self.delta, self.request.n, ones, 0, self.progress)
                for ones in listed
            )
        return self.epsilons[mechanism]

    def _shuffled_rr(self, epsilon: float) -> RR:
        n = self.request.n
        if self.scan or n <= MOST_COMPARED:
            return shuffled_rr(n, epsilon, self.delta, progress=self.progress)
        rr = (shuffled_rr(n, epsilon, self.delta, ones=ones) for ones in self._listed())
        return min(rr, key=lambda rr: rr.epsilon())

    def _scans(self, mechanism: Mechanism) -> bool:
        return self.scan or (not mechanism.deals and self.request.n <= MOST_COMPARED)

    def _listed(self) -> list[int]:
        return [round(frequency * (self.request.n - 1)) for frequency in FREQUENCIES]

    def _compositions(self, mechanism: Mechanism) -> str:
        if self._scans(mechanism):
            return "all"
        return "only " + ", ".join(map(str, self._listed())) + " of the others hold 1"


def shuffled_rr(
    n: int,
    epsilon: float,
    delta: float,
    k: int = 2,
    bound: str = "exact",
    progress: Progress | None = None,
    ones: int | None = None,
) -> RR:
    """Randomized response with the largest local ε0 that is (ε, δ)-private once shuffled.

    Args:
        n: contributors.
        epsilon: what a collector may learn that sees shuffled reports and knows all other answers.
        delta: in (0, 1).
        k: possible answers.
        bound: "exact" by the law of the counts (k = 2) or its bound (k > 2), "closed form" by
            `amplified_epsilon`.
        progress: called with how many compositions are done and how many there are.
        ones: how many of the others hold 1, for more people than can be scanned; without it
            (ε, δ) holds for every number.

    Returns:
        The mechanism.

    Raises:
        ArgumentError: for arguments out of range, or too many people to look at.

    Example:
        >>> shuffled_rr(1_000, 0.5, 1e-6).epsilon() > 1.5
        True
    """
    epsilon, delta = checks.epsilon("epsilon", epsilon), check_delta(delta)
    n, k = checks.integer("n", n, 1), checks.domain(k)
    bound = checks.one_of("bound", bound, ("exact", "closed form"))
    if ones is not None and (bound == "closed form" or k > 2):
        raise checks.refusal("ones", ones, "None: this bound holds for all")
    if bound == "closed form":
        return RR(k, _largest(epsilon, lambda local: amplified_epsilon(local, n, delta) <= epsilon))
    if k > 2:
        return RR(k, _largest(epsilon, lambda e: shuffled_delta(RR(k, e), epsilon, n) <= delta))
    alone = check_scan(n, ones)
    # A few compositions choose, all of them check, and one that fails joins the few. For each of
    # them δ grows with ε0, because answers can be made more random after the fact.
    few = {0, n // 2, n - 1} if alone is None else {alone, n - 1 - alone}
    nearly = delta * (1 - 1e-9)  # so that rounding cannot make one of the few fail the check
    while True:

        def keeps(local: float) -> bool:
            rr = RR(2, local)
            return all(view_of_rr(rr.law, n, held).delta(epsilon) <= nearly for held in few)

        rr = RR(2, _largest(epsilon, keeps))
        if alone is not None or epsilon >= rr.epsilon():
            return rr
        views = views_of_rr(rr.law, n, progress)
        reached, worst = max((view.delta(epsilon), view.ones) for view in views)
        if reached <= delta:
            return rr
        few.add(worst)


def _largest(certain: float, keeps: Callable[[float], bool]) -> float:
    """The largest number, to nine digits and rounded down, that keeps; `certain` does."""
    low, high = certain, 2 * certain
    while high < LARGEST and keeps(high):
        low, high = high, 2 * high
    high = min(high, LARGEST)
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
