"""Answers that are perturbed together, with one coin for all of them (docs/theory.md, Theorem 28b).

With the chance `keep` the device takes all true answers, otherwise all of them are drawn evenly.
Each question then has cards, a deck, reports and a result of its own, as any other: what somebody
sees of one question follows from its answer alone. What all of them lose is counted once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jrr._base import checks, randomness
from jrr.mechanisms.coins.block import MOST_COMBINATIONS, Block, truth_of
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.masked import MRR
from jrr.survey.promises import EVERYTHING

if TYPE_CHECKING:
    from jrr.mechanisms.base import Rng
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


@dataclass(frozen=True)
class Together:
    """What a document says of them.

    Attributes:
        questions: their names.
        keep: the chance that all true answers are taken, by somebody with cards.
        alone: the same without cards.
    """

    questions: tuple[str, ...]
    keep: float
    alone: float


@dataclass(frozen=True, eq=False)
class JointAnswers:
    """The perturbed answers of such questions: one entry where losses are added up."""

    stated: Together
    answers: tuple["SensitiveQuestion", ...]
    survey: "Survey"

    delta = 0.0
    cost_delta = 0.0
    deals = True
    cost_view = EVERYTHING

    @property
    def name(self) -> str:
        """The names of all of them."""
        return "+".join(one.name for one in self.answers)

    @property
    def colluders(self) -> int:
        """Who may show their cards."""
        return self.answers[0].colluders

    @cached_property
    def mechanism(self) -> MRR:
        """Of somebody who is asked all of them; who is asked fewer loses less."""
        first = self.answers[0].mechanism
        assert isinstance(first, MRR)  # checked when the survey was read
        sizes = tuple(one.mechanism.k for one in self.answers)
        k = math.prod(sizes)
        return MRR(
            first.n,
            p=truth_of(self.stated.keep, k),
            card_rate=first.card_rate,
            total_rate=first.total_rate,
            announced_rate=first.announced_rate,
            coin=Block(sizes),
            alone=truth_of(self.stated.alone, k),
            dealers=first.dealers,
        )

    def guarantee(self, view: str) -> float:
        """The ε of all of them together in a view."""
        return self.mechanism.epsilon("cards" if view == EVERYTHING else view, self.colluders)

    @property
    def cost(self) -> float:
        """The ε in the view to reckon with."""
        return self.guarantee(self.cost_view)

    def respond(
        self,
        mechanisms: Mapping[str, Any],
        values: Mapping[str, int],
        cards: Mapping[str, Any],
        rng: "Rng" = None,
    ) -> dict[str, Any]:
        """The reports of somebody who is asked some of them.

        Args:
            mechanisms: Of the answers that are asked for, by name.
            values: The true answers.
            cards: All cards of these answers, or none at all.
            rng: Where randomness comes from.

        Returns:
            Name -> report.
        """
        sizes = tuple(one.k for one in mechanisms.values())
        k = math.prod(sizes)
        coin = Block(sizes) if len(sizes) > 1 else Choice(k)
        answers = [values[name] for name in mechanisms]
        held = coin.check_value("value", answers if len(sizes) > 1 else answers[0])
        lies = coin.lie_words(truth_of(self.stated.keep if cards else self.stated.alone, k))
        marks = coin.toss(held, [randomness.source(rng).word()], lies)
        reports = {}
        for name, mechanism in mechanisms.items():
            own, marks = marks[: mechanism.numbers], marks[mechanism.numbers :]
            reports[name] = mechanism.with_mask(own, cards.get(name))
        return reports


def joint_answers(survey: "Survey", answers: Sequence["SensitiveQuestion"]) -> list[JointAnswers]:
    """The answers that are perturbed together, checked.

    Raises:
        ArgumentError: A question is none that can be, stands twice, or has another coin.
    """
    found, seen = [], set[str]()
    for stated in survey.together:
        own = tuple(one for one in answers if one.asked.name in stated.questions)
        named = {one.asked.name for one in own}
        missing = [name for name in stated.questions if name not in named]
        if missing or seen & named or len(named) != len(stated.questions) or len(own) < 2:
            allowed = "sensitive questions, each of them once, with two answers at least"
            raise checks.refusal("together", list(stated.questions), allowed)
        seen |= named
        if math.prod(one.mechanism.k for one in own) > MOST_COMBINATIONS:
            allowed = f"with at most {MOST_COMBINATIONS:,} combinations of answers"
            raise checks.refusal("together", list(stated.questions), allowed)
        for one in own:
            _check_coin(one, own[0], stated)
        found.append(JointAnswers(stated, own, survey))
    return found


def _check_coin(one: "SensitiveQuestion", first: "SensitiveQuestion", stated: Together) -> None:
    """Refuse a question whose mechanism is not what the coin of all of them makes of it."""
    for name in ("keep", "alone"):
        checks.real(f"{name} of together", getattr(stated, name), "in (0, 1)", 0.0, 1.0)
    mechanism, other = one.mechanism, first.mechanism
    fits = (
        isinstance(mechanism, MRR)
        and isinstance(other, MRR)
        and isinstance(mechanism.coin, Choice)
        and one.asked.kind != "number"
        and mechanism.p == truth_of(stated.keep, mechanism.k)
        and mechanism.alone == truth_of(stated.alone, mechanism.k)
        and all(
            getattr(mechanism, name) == getattr(other, name)
            for name in ("n", "card_rate", "total_rate", "announced_rate", "dealers")
        )
    )
    if not fits:
        allowed = f"what keep={stated.keep!r} and alone={stated.alone!r} make of its answers"
        raise checks.refusal(f"mechanism of {one.name}", mechanism, allowed)
