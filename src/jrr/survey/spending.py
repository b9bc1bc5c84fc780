"""What a contributor's answers have cost together: over surveys, view by view.

Answers are made with cards and random words of their own, so that losses add up:

    report, cards, dealer   ε holds outright, and the ε of all answers add
    everything              answers by one mechanism: by the law of their sum (jrr.privacy.informed
                            .composed) where the law of one is known; different mechanisms: each at
                            its share of δ, and these ε add

A figure is never too small. A report that is sent again costs nothing: whoever has it has it.
What a contributor accepts, its limits, is compared with these figures.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import DamagedError, ProtocolError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.informed_search import losses_of_everything
from jrr.mechanisms.registry import from_dict
from jrr.privacy.informed.rounds import composed
from jrr.survey.promises import DELTA, EVERYTHING
from jrr.survey.sensitive import SensitiveQuestion, counted
from jrr.survey.study import loss_from_json, loss_to_json

if TYPE_CHECKING:
    from jrr.survey.together import JointAnswers

PURE_VIEWS = ("report", "cards", "dealer")  # whose ε hold outright and add up
MOST_REPEATS = 32  # that are composed by their law; of more the ε are added
_STEPS = range(10, 41)  # δ = 2^-step at which ε is kept, so that no law must be computed again
_FIELDS = {"survey", "question", "mechanism", "colluders", "pure", "steps"}


@dataclass(frozen=True, kw_only=True)
class Expense:
    """One answer, as a ledger keeps it: what was promised for it, and nothing of the answer."""

    survey: str  # its hash
    question: str  # its name
    mechanism: Mechanism
    colluders: int
    pure: Mapping[str, float]  # view -> ε
    steps: tuple[tuple[float, float], ...]  # (δ, ε) in the view "everything", δ falling

    def informed(self, delta: float) -> float:
        """ε in the view "everything" at the largest δ kept that is not above this one."""
        return min((epsilon for at, epsilon in self.steps if at <= delta), default=math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "survey": self.survey,
            "question": self.question,
            "mechanism": self.mechanism.to_dict(),
            "colluders": self.colluders,
            "pure": {view: loss_to_json(epsilon) for view, epsilon in self.pure.items()},
            "steps": [[delta, loss_to_json(epsilon)] for delta, epsilon in self.steps],
        }

    @classmethod
    def from_dict(cls, document: Any) -> "Expense":
        """The expense that `to_dict` wrote.

        Raises:
            DamagedError: It is anything else.
        """
        try:
            if set(document) != _FIELDS or set(document["pure"]) != set(PURE_VIEWS):
                raise KeyError
            return cls(
                survey=str(document["survey"]),
                question=str(document["question"]),
                mechanism=from_dict(document["mechanism"]),
                colluders=checks.integer("colluders", document["colluders"], 0),
                pure={
                    view: loss_from_json(view, epsilon)
                    for view, epsilon in document["pure"].items()
                },
                steps=tuple(
                    (loss_from_json("delta", delta), loss_from_json("epsilon", epsilon))
                    for delta, epsilon in document["steps"]
                ),
            )
        except (KeyError, TypeError, ValueError):
            raise DamagedError("a ledger must hold the answers that jrr entered into it") from None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What some answers cost together."""

    answers: int
    epsilon: float  # at `delta`, in the view "everything" (or the one to reckon with instead)
    delta: float
    pure: Mapping[str, float]  # view -> ε


def expenses_of(answers: Iterable[SensitiveQuestion]) -> list[Expense]:
    """What answers cost; those that share a coin are one entry."""
    return [_expense_of(one) for one in counted(answers)]


def _expense_of(question: "SensitiveQuestion | JointAnswers") -> Expense:
    """What one entry costs, by what the survey promises."""
    pure = {view: question.guarantee(view) for view in PURE_VIEWS}
    if not question.deals:
        steps: tuple[tuple[float, float], ...] = ((0.0, pure["report"]),)
    elif question.cost_view != EVERYTHING:  # strangers may have all other cards
        steps = ((0.0, pure["dealer"]),)
    else:
        promised = (question.cost_delta, question.guarantee(EVERYTHING))
        kept = (*_steps(question.mechanism, question.colluders), promised)
        steps = tuple(sorted(kept, key=lambda step: -step[0]))
    return Expense(
        survey=question.survey.hash,
        question=question.name,
        mechanism=question.mechanism,
        colluders=question.colluders,
        pure=pure,
        steps=steps,
    )


def total(expenses: Iterable[Expense], delta: float) -> Spent:
    """What answers cost together.

    Args:
        expenses: One for each answer.
        delta: Of the view "everything", for all of them together.

    Returns:
        The sums, none too small.
    """
    entries = list(expenses)
    kinds: dict[tuple[Any, ...], list[Expense]] = {}
    for entry in entries:
        kind = (entry.mechanism, entry.colluders, entry.steps)
        kinds.setdefault(kind, []).append(entry)
    outright = math.fsum(entry.informed(0.0) for entry in entries)
    groups = list(kinds.values())
    is_random = [group[0].informed(0.0) > group[0].informed(delta) for group in groups]
    share = delta / max(1, sum(is_random))  # of δ: only those whose loss is random need some
    each = [
        _of_repeats(group, share) if random else len(group) * group[0].informed(0.0)
        for group, random in zip(groups, is_random, strict=True)
    ]
    return Spent(
        answers=len(entries),
        epsilon=_up(min(outright, math.fsum(each)), len(entries)),
        delta=delta,
        pure={
            view: _up(math.fsum(entry.pure[view] for entry in entries), len(entries))
            for view in PURE_VIEWS
        },
    )


def _of_repeats(group: list[Expense], delta: float) -> float:
    """ε at δ of answers by one mechanism."""
    rounds, one = len(group), group[0]
    if rounds == 1:
        return one.informed(delta)
    added = rounds * one.informed(delta / rounds)
    if rounds > MOST_REPEATS:
        return added
    # A survey may promise more than what holds: then its promise is what counts.
    slack = max(0.0, one.informed(delta) - _law_epsilon(one.mechanism, one.colluders, 1, delta))
    together = _law_epsilon(one.mechanism, one.colluders, rounds, delta)
    return min(added, together + rounds * slack)


@lru_cache(maxsize=64)
def _law_epsilon(mechanism: Mechanism, colluders: int, rounds: int, delta: float) -> float:
    law = losses_of_everything(mechanism, colluders)
    if law is None:
        return math.inf if rounds > 1 else 0.0
    return law.epsilon(delta) if rounds == 1 else composed(law, rounds).epsilon(delta)


@lru_cache(maxsize=8)
def _steps(mechanism: Mechanism, colluders: int) -> tuple[tuple[float, float], ...]:
    """(δ, ε) in the view "everything", and at the end what holds outright."""
    law = losses_of_everything(mechanism, colluders)
    if law is None:
        return ((0.0, mechanism.epsilon("dealer")),)
    steps = [(2.0**-step, law.epsilon(2.0**-step)) for step in _STEPS]
    return (*((delta, epsilon) for delta, epsilon in steps if epsilon < law.pure), (0.0, law.pure))


def _up(number: float, terms: int) -> float:
    """A sum that rounding has not made too small; one term alone is exact."""
    return number if terms < 2 or math.isinf(number) else math.nextafter(number, math.inf)


@dataclass(frozen=True)
class Limits:
    """What a contributor accepts, whatever a survey says."""

    epsilon: float  # most ε at `delta` against the collector, over all answers
    dealer: float | None = None  # most ε against dealer and collector together, over all answers
    patience: float = 30.0  # seconds to wait for a card, and for the collector
    delta: float = DELTA  # of all answers together


def check_limits(
    answers: Iterable[SensitiveQuestion], limits: Limits, before: Iterable[Expense] = ()
) -> Spent:
    """Refuse answers that cost more than is left of the contributor's own limits.

    Args:
        answers: Which would be given.
        limits: What is accepted.
        before: What was spent, on this and on other surveys.

    Returns:
        What will have been spent afterwards.

    Raises:
        ProtocolError: That is more than the limits; the message says what each answer costs.
    """
    asked, earlier = list(answers), list(before)
    after = total((*earlier, *expenses_of(asked)), limits.delta)
    if not asked:  # nothing is added: what was made before is only sent again
        return after
    costs = ", ".join(
        f"{one.name} {show_guarantee(one.cost, one.cost_delta)}" for one in counted(asked)
    )
    already = ""
    if earlier:
        spent = total(earlier, limits.delta)
        already = f", beside {show_guarantee(spent.epsilon, spent.delta)} spent before"
    if after.epsilon > limits.epsilon:
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(after.epsilon, after.delta)} against "
            f"the collector, who has all reports (view: everything), more than your limit "
            f"{limits.epsilon:.6g}{already}; its answers cost: {costs}"
        )
    most = after.pure["dealer"]
    if limits.dealer is not None and most > limits.dealer:
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(most, 0.0)} against dealer and "
            f"collector together (view: dealer), more than your limit {limits.dealer:.6g}{already}"
            f"; against the collector alone its answers cost: {costs}"
        )
    return after
