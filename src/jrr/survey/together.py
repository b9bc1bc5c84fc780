"""Answers that are perturbed together, with one coin for all of them (docs/theory.md, Theorem 28b).

With the chance `keep` the device takes all true answers, otherwise all of them are drawn evenly.
Each question then has cards, a deck, reports and a result of its own, as any other: what somebody
sees of one question follows from its answer alone. What all of them lose is counted once.

Each person may be asked only some of these questions. Which ones follows from the survey and from
the name by which the collector knows the person, so that nobody can choose, and the collector can
check it. It does not depend on any answer: that it is known costs nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jrr._base import checks, randomness
from jrr.mechanisms.coins.block import Block
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.registry import from_dict
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import most_asked, truth_of
from jrr.protocol.documents import canonical_json, hash_of
from jrr.survey.promises import EVERYTHING

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism, Rng
    from jrr.mechanisms.coins.interface import Coin
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey
    from jrr.survey.survey_document import Together


@dataclass(frozen=True, eq=False)
class JointAnswers:
    """The perturbed answers of such questions: one entry where losses are added up."""

    stated: "Together"
    answers: tuple["SensitiveQuestion", ...]
    survey: "Survey"

    delta = 0.0
    cost_delta = 0.0

    @property
    def deals(self) -> bool:
        """Whether contributors are dealt cards for them."""
        return self.answers[0].deals

    @property
    def cost_view(self) -> str:
        """The view to reckon with."""
        return self.answers[0].cost_view

    @property
    def name(self) -> str:
        """The names of all of them."""
        return "+".join(one.name for one in self.answers)

    @property
    def colluders(self) -> int:
        """Who may show their cards."""
        return self.answers[0].colluders

    @cached_property
    def _most(self) -> "list[Mechanism]":
        """Of all who may lose the most; who is asked less loses less."""
        by_question: dict[str, list[int]] = {}
        for one in self.answers:
            by_question.setdefault(one.asked.name, []).append(one.mechanism.k)
        return [
            self._asked_for(sizes)
            for sizes in most_asked(list(by_question.values()), self.stated.ask)
        ]

    @cached_property
    def mechanism(self) -> "Mechanism":
        """Of somebody who loses the most to whoever does not know the cards."""
        return max(self._most, key=lambda one: one.epsilon("cards", self.colluders))

    def _asked_for(self, sizes: Sequence[int]) -> Any:
        """Of somebody who is asked answers with so many values."""
        k = math.prod(sizes)
        if not self.deals:
            return RR(k, p=truth_of(self.stated.keep, k))
        # Neither what the coin says nor what it loses depends on how many dealers add cards; how
        # far reports may be from it does, and stands in the mechanism of each answer.
        one_answer = self.answers[0].mechanism.to_dict() | {"dealers": 1}
        return from_dict(
            one_answer
            | {
                "k": k,
                "coin": ["block", *sizes] if len(sizes) > 1 else "rr",
                "p": truth_of(self.stated.keep, k),
                "alone": truth_of(self.stated.alone, k),
            }
        )

    def guarantee(self, view: str) -> float:
        """The ε of all of them together in a view."""
        view = "cards" if view == EVERYTHING else view
        return max(one.epsilon(view, self.colluders) for one in self._most)

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
        coin: Coin = Block(sizes) if len(sizes) > 1 else Choice(sizes[0])
        answers = [values[name] for name in mechanisms]
        held = coin.check_value("value", answers if len(answers) > 1 else answers[0])
        kept = truth_of(self.stated.keep if cards else self.stated.alone, coin.k)
        marks = coin.toss(held, [randomness.source(rng).word()], coin.lie_words(kept))
        reports = {}
        for name, mechanism in mechanisms.items():
            width = 1 if mechanism.k == 2 else mechanism.k
            own, marks = marks[:width], marks[width:]
            if self.deals:
                reports[name] = mechanism.with_mask(own, cards.get(name))
            else:
                reports[name] = own[0] if width == 1 else own.index(1)
        return reports


def not_asked(survey: "Survey", person: bytes) -> frozenset[str]:
    """The sensitive questions that are not for this person, though their conditions may hold.

    Of questions that share a coin each person is asked those that come first when all are put in
    the order of a hash; in all waves the same, so that answers can be compared.

    Args:
        survey: Which asks.
        person: The name at the collector, 32 bytes.
    """

    def place(question: str) -> str:
        return hash_of(
            canonical_json(
                {"survey": survey.collector_salt, "person": person.hex(), "question": question}
            )
        )

    return frozenset(
        name
        for stated in survey.together
        for name in sorted(stated.questions, key=place)[stated.ask :]
    )


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
        checks.integer("ask", stated.ask, 1, len(stated.questions))
        seen |= named
        for one in own:
            _check_coin(one, own[0], stated)
        found.append(JointAnswers(stated, own, survey))
        _ = found[-1].mechanism  # refuses too many combinations
    return found


def _check_coin(one: "SensitiveQuestion", first: "SensitiveQuestion", stated: "Together") -> None:
    """Refuse a question whose mechanism is not what the coin of all of them makes of it."""
    for name in ("keep", "alone"):
        checks.real(
            f"{name} of together",
            getattr(stated, name),
            "in (0, 1)",
            0.0,
            1.0,
            open_low=True,
            open_high=True,
        )
    mechanism, k = one.mechanism, one.mechanism.k
    expected = first.mechanism.to_dict() | {"k": k, "p": truth_of(stated.keep, k)}
    if one.deals:
        expected |= {"mechanism": "MRR", "coin": "rr", "alone": truth_of(stated.alone, k)}
    else:  # without cards there is one chance
        expected["mechanism"] = "RR" if stated.keep == stated.alone else None
    if mechanism.to_dict() != expected or one.asked.kind == "number":
        allowed = f"what keep={stated.keep!r} and alone={stated.alone!r} make of its answers"
        raise checks.refusal(f"mechanism of {one.name}", mechanism, allowed)
