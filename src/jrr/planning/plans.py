"""From what a person knows before a survey to a mechanism (docs/theory-jrr.md, section 7)."""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from jrr._base import checks
from jrr._base.documents import read_json
from jrr._base.shown import Row as ShownRow
from jrr._base.shown import Shown
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.estimates import Population, quantile, sampling_of
from jrr.mechanisms.base import Mechanism, checked_mechanism
from jrr.mechanisms.informed_search import keeps_everything, losses_of_everything
from jrr.mechanisms.registry import BASELINE, families, from_dict
from jrr.mechanisms.request import LOST, Family, Frequency, Request
from jrr.planning.choice import (
    AUTO,
    MAX_BYTES,
    Costs,
    check_word,
    choose,
    choose_informed,
    costs_of,
    least_without_cards,
    objection,
)
from jrr.planning.liars import liar_bias
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.views import PlanView

DELTA = 1e-6  # of the view "everything", unless told otherwise
FREQUENCIES = (0.0, 0.01, 0.1, 0.25, 0.5)  # where comparisons are shown
MechanismWord = Literal[
    "auto",
    "rr",
    "jrr",
    "drr",
    "mrr",
    "sue",
    "sue-joint",
    "sue-dealt",
    "oue",
    "oue-joint",
    "oue-dealt",
    "olh",
    "olh-joint",
]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One mechanism of a comparison, or the reason why there is none."""

    family: Family
    mechanism: Mechanism | None  # None where it does not exist; `refusal` says why
    request: Request
    delta: float | None = None  # where ε is to be kept in the view "everything"
    stderr: Mapping[float, float] = field(default_factory=dict)  # frequency -> standard error
    objection: str = ""  # why an automatic choice leaves it out
    refusal: str = ""

    @property
    def name(self) -> str:
        """For tables and legends."""
        return self.family.label

    @cached_property
    def epsilon(self) -> Mapping[str, float]:
        """View -> ε of this row's mechanism."""
        colluders = self.request.colluders
        return {} if self.mechanism is None else self.mechanism.guarantees(colluders)

    @cached_property
    def expected_stderr(self) -> float:
        """By the plan's criterion; not a number where there is no mechanism."""
        return math.nan if self.mechanism is None else stderr(self.mechanism, self.request)

    @cached_property
    def kept(self) -> bool:
        """Whether the guarantee that was asked for holds."""
        if self.mechanism is None:
            return True
        if self.delta is None:
            return self.request.allows(self.mechanism)
        return keeps_everything(self.mechanism, self.request, self.delta)

    @property
    def one_liar(self) -> float:
        """By how many people one liar moves an estimate; not a number without a mechanism."""
        return math.nan if self.mechanism is None else liar_bias(self.mechanism)

    @property
    def costs(self) -> Costs | None:
        """Bytes and seconds."""
        return None if self.mechanism is None else costs_of(self.mechanism, self.request.n)

    @property
    def note(self) -> str:
        """What a reader should know of this row."""
        if self.mechanism is None:
            return self.refusal
        if self.family.key != BASELINE and self.mechanism.name == "RR":
            return "plain RR is the best of this family here"
        if not self.kept:
            return "breaks the guarantee asked for"
        return f"left out of the automatic choice: {self.objection}" if self.objection else ""


@dataclass(frozen=True)
class Plan(Shown):
    """A mechanism chosen for a request, with what it promises and how well it does.

    Made by `plan`. It cannot be put together with a mechanism that does not keep its request:
    guarantees travel with the mechanism that they were found for.

    Attributes:
        request: what was asked.
        mechanism: what was chosen.
        kind: the family it was chosen from, or "auto".
        delta: with which it was planned in the view "everything"; None in the view "cards".
        max_bytes: of a report, in an automatic choice.

    Example:
        >>> plan(1_000, 1.0, mechanism="rr").guarantees["report"] <= 1.0
        True
    """

    request: Request
    mechanism: Mechanism
    kind: str = "rr"  # the family it was chosen from, or "auto"
    delta: float | None = None  # where it was planned in the view "everything"
    max_bytes: int = MAX_BYTES  # of a report, in an automatic choice
    unit: ClassVar[float] = 1.0  # errors are of shares

    def __post_init__(self) -> None:
        request: object = self.request
        if not isinstance(request, Request):
            raise checks.refusal("request", request, "a Request")
        mechanism = checked_mechanism(self.mechanism)
        check_word(self.kind)
        if mechanism.k != request.k or mechanism.moments.deck not in (None, request.n):
            raise ArgumentError(
                f"mechanism must have k={request.k} and decks of n={request.n}, "
                f"got {mechanism.brief()}"
            )
        if self.delta is not None:
            if not keeps_everything(mechanism, request, checks.delta(self.delta)):
                raise ArgumentError(
                    f"mechanism must keep epsilon={request.epsilon!r} at delta={self.delta!r} in "
                    f"the view 'everything' with {request.colluders} colluders, and "
                    f"dealer_epsilon={request.dealer_epsilon!r}, got {mechanism.brief()}"
                )
        elif not request.allows(mechanism):
            reached = mechanism.epsilon("cards", request.colluders)
            raise ArgumentError(
                f"mechanism must keep epsilon={request.epsilon!r} in the view 'cards' and "
                f"dealer_epsilon={request.dealer_epsilon!r}, got {mechanism.brief()}, which "
                f"has {reached!r} and {mechanism.epsilon('dealer')!r}"
            )

    @property
    def stated_stderr(self) -> float:
        """What estimates are expected to state."""
        return self.stderr()

    def stderr(
        self,
        frequency: float | None = None,
        *,
        population: Population | str = "respondents",
        population_size: float | None = None,
    ) -> float:
        """Standard error of an estimated frequency; without one, by the plan's criterion.

        Args:
            frequency: the true one; None: by the plan's criterion.
            population: "respondents": the noise of perturbation alone; "sample": also that of
                drawing the n people at random, as for `Estimate.for_population`.
            population_size: people in that population; None: no end of them.

        Raises:
            ArgumentError: for a frequency, population or size that is none.
        """
        noise = stderr(self.mechanism, self.request, frequency)
        sampling = sampling_of(population, self.request.n, population_size)
        if sampling is None:
            return noise
        request = self.request
        if frequency is not None:
            request = replace(request, frequency=frequency)
        return math.hypot(noise, math.sqrt(request.sampling_variance(sampling)))

    @property
    def one_liar(self) -> float:
        """By how many people one contributor who sends what it likes can move an estimate."""
        return liar_bias(self.mechanism)

    @property
    def one_liar_verified(self) -> float:
        """The same where cards are verified; of mechanisms whose cards cannot be, no other."""
        return liar_bias(self.mechanism, verified=True)

    @property
    def view(self) -> PlanView:
        """The view in which the ε asked for is kept."""
        return "cards" if self.delta is None else "everything"

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> ε, with the colluders that were planned for."""
        return MappingProxyType(self.mechanism.guarantees(self.request.colluders))

    def everything(self, delta: float = DELTA) -> float:
        """ε at δ against a collector that also knows everybody else's answer (an upper bound).

        Args:
            delta: the chance that is left out.
        """
        if self.mechanism.pure:
            return self.mechanism.epsilon("cards", self.request.colluders)
        bound = epsilon_of_everything(self.mechanism, self.request.colluders, delta)
        if self.delta is None or delta < self.delta:
            return bound
        return min(bound, self.request.epsilon)  # planning may have looked closer

    def surely(self, chance: float = DELTA) -> float:
        """ε that this collector's loss exceeds with at most this chance (an upper bound).

        More than `everything`, because δ also counts by how much.

        Args:
            chance: with which the loss may be larger.
        """
        losses = self.losses
        if losses is None or self.mechanism.pure:
            return epsilon_of_everything(self.mechanism, self.request.colluders, 0.0)
        return losses.sure_epsilon(chance)

    def everything_at_least(self, delta: float = DELTA) -> float:
        """An ε that some answers of the others do reach at δ: how tight `everything` is.

        Args:
            delta: as for `everything`.
        """
        losses = self.losses
        low = 0.0 if losses is None or self.mechanism.pure else losses.epsilon_low(delta)
        return min(low, self.everything(delta))

    @property
    def costs(self) -> Costs:
        """Bytes of a report and of a card, time to deal and to respond."""
        return costs_of(self.mechanism, self.request.n)

    @property
    def losses(self) -> Losses | None:
        """The law of the loss in the view "everything"; None where it is not known."""
        return losses_of_everything(self.mechanism, self.request.colluders)

    def compare(self, frequencies: object = FREQUENCIES) -> list[Row]:
        """Every mechanism beside the others: RR, JRR (the paper's and optimal), DRR, encodings.

        Args:
            frequencies: true shares at which errors are shown.
        """
        if not isinstance(frequencies, Sequence):
            raise checks.refusal("frequencies", frequencies, "a list of numbers in 0..1")
        without = least_without_cards(self.request, self.max_bytes)
        return [self._row(family, frequencies, without) for family in self._compared()]

    def _compared(self) -> Iterator[Family]:
        for family in families().values():
            if self.delta is not None:
                wanted = family.best_informed is not None and (self.delta > 0 or family.pure)
            else:  # encodings are for larger domains, or asked for by name
                wanted = not family.encodes or self.request.k > 2 or family.key == self.kind
            if wanted:
                yield family

    def _row(self, family: Family, frequencies: Sequence[float], without: float) -> Row:
        request, delta = self.request, self.delta
        try:
            if delta is None:
                mechanism = family.best(request)
            else:
                mechanism = choose_informed(request, delta, family.key)
        except JrrError as error:
            return Row(
                family=family, mechanism=None, request=request, delta=delta, refusal=str(error)
            )
        return Row(
            family=family,
            mechanism=mechanism,
            request=request,
            delta=delta,
            stderr={f: stderr(mechanism, request, f) for f in frequencies},
            objection=objection(family, mechanism, request, without, self.max_bytes)
            if family.chosen and delta is None
            else "",
        )

    shown_value = "margin"

    def _heading(self) -> str:
        request = self.request
        return (
            f"{request.n:,} people, {request.k} answers, ε = {request.epsilon:g}: "
            f"{self.mechanism.title}"
        )

    def to_rows(self, level: float = 0.95) -> list[ShownRow]:
        """A row for each mechanism that could be chosen: errors of a share, and ε by view."""
        chosen = self.mechanism
        return [
            {
                "mechanism": row.name,
                "chosen": row.mechanism == chosen,
                "stderr": row.expected_stderr,
                "margin": quantile(level) * row.expected_stderr,
            }
            | {f"ε {view}": row.epsilon[view] for view in ("report", "cards", "dealer")}
            for row in self.compare()
            if row.mechanism is not None
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `Plan.from_dict` reads back: the request and what was chosen."""
        frequency = self.request.frequency
        shown = list(frequency) if isinstance(frequency, tuple) else frequency
        return {
            "request": dataclasses.asdict(self.request) | {"frequency": shown},
            "mechanism": self.mechanism.to_dict(),
            "kind": self.kind,
            "delta": self.delta,
        }

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, document: object) -> "Plan":
        """The plan that `to_dict` wrote; what it promises is computed and checked anew.

        Args:
            document: what `to_dict` returned.
        """
        fields = checks.exact_fields(document, {"request", "mechanism", "kind", "delta"})
        names = {field.name for field in dataclasses.fields(Request)}
        asked = checks.exact_fields(fields["request"], names, "request")
        mechanism = from_dict(fields["mechanism"])
        return cls(Request(**asked), mechanism, check_word(fields["kind"]), fields["delta"])

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """The plan that `to_json` wrote.

        Args:
            text: what `to_json` returned.
        """
        return cls.from_dict(read_json("text", text, "a plan in JSON"))


@checks.names_checked
def plan(
    n: int,
    epsilon: float,
    colluders: int | None = None,
    k: int = 2,
    dealer_epsilon: float | None = None,
    delta: float | None = None,
    view: PlanView = "cards",
    mechanism: MechanismWord | str = AUTO,
    frequency: Frequency = None,
    *,
    max_bytes: int = MAX_BYTES,
    lost: float = LOST,
    announced: bool | int = True,
) -> Plan:
    """The most accurate mechanism that keeps ε against an adversary.

    Args:
        n: contributors per deck.
        epsilon: what that adversary may learn at most.
        colluders: how many contributors show the adversary their cards; None: 5, or everybody
            else where there are fewer.
        k: possible answers.
        dealer_epsilon: what a dealer that colludes with the collector may learn at most;
            None: ε + 2; math.inf gives up the cap.
        delta: with view "everything" only, where ε is kept as (ε, delta)-differential privacy;
            0 asks for mechanisms that keep it outright: MRR and those without cards.
        view: "cards": the adversary has the report and the colluders' cards; "everything": it is
            a collector that has all reports and also knows everybody else's answer.
        mechanism: a family, such as "drr", or "auto": the best of all.
        frequency: what is known of the answer beforehand: a number, an interval (low, high: its
            worst is counted), or None (k = 2: the mean over all frequencies; larger k: the mean
            over the values of the worst population). By that criterion no plan by "auto", "jrr"
            or "drr" is worse than RR.
        max_bytes: of a report, with mechanism "auto". An automatic choice also leaves out cards
            that lower the variance by less than 5%, decks that take over a minute to deal, and
            cards where a collector with all reports is bounded only far above ε.
        lost: the share of cards that are dealt and never reported with.
        announced: MRR: whether the dealer announces at the end the noisy sum of the cards that
            were used, so that lost cards cost nothing. A number: so many sums may have the same
            card in them, as 2 for a panel. False asks for a closed deck, whose cards
            nearly cancel without the dealer: for files, and where it is not there at the end.

    Returns:
        The plan: its `mechanism`, `guarantees` by view, `stderr(frequency)` and `compare()`.

    Raises:
        ArgumentError: for arguments out of range, or if nothing keeps what is asked.

    Example:
        >>> import jrr
        >>> jrr.plan(n=10_000, epsilon=0.1).mechanism.name
        'MRR'
    """
    checks.one_of("view", view, ("cards", "everything"))
    if view == "cards" and delta is not None:
        raise checks.refusal("delta", delta, "None: guarantees in the view 'cards' hold outright")
    word = check_word(mechanism)
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
    if view == "cards":
        most = checks.integer("max_bytes", max_bytes, 1)
        return Plan(request, choose(request, word, most), word, max_bytes=most)
    if delta is None:
        raise checks.refusal("delta", delta, "in [0, 1) for the view 'everything'")
    return Plan(request, choose_informed(request, delta, word), word, delta)


def uncapped_plan(
    n: int,
    epsilon: float,
    colluders: int = 0,
    k: int = 2,
    dealer_epsilon: float | None = None,
    **options: Any,
) -> Plan:
    """As `plan` in the paper's setting: nobody colludes, no cap, no card lost, unless given."""
    cap = math.inf if dealer_epsilon is None else dealer_epsilon
    return plan(n, epsilon, colluders, k, cap, **{"lost": 0.0} | options)


def stderr(mechanism: Mechanism, request: Request, frequency: float | None = None) -> float:
    """Standard error of an estimated frequency; without one, by the request's criterion."""
    if frequency is not None:
        at = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
        request = replace(request, frequency=at)
    return math.sqrt(request.expected_variance(mechanism))


def epsilon_of_everything(mechanism: Mechanism, colluders: int, delta: float) -> float:
    """ε at δ in the view "everything" (an upper bound)."""
    delta = checks.delta(delta)
    if mechanism.pure:
        return mechanism.epsilon("cards", colluders if mechanism.deals else 0)
    losses = losses_of_everything(mechanism, colluders)
    if losses is None:  # bounded by the dealer's view
        return mechanism.epsilon("everything", colluders if mechanism.deals else 0, delta)
    return losses.epsilon(delta)
