"""One perturbed answer of a survey: to a sensitive question, or to one label of "several".

It has a mechanism, and cards, a deck and a result of its own. Decks and results know it by its
salt, a hash of the survey and its name.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import ProtocolError
from jrr.estimation.contrasts import Sampling
from jrr.estimation.estimates import quantile
from jrr.estimation.own_noise import WindowNoise
from jrr.mechanisms.request import Request
from jrr.protocol.documents import canonical_json, hash_of
from jrr.survey.promises import EVERYTHING, informed_epsilon

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism, Rng
    from jrr.survey.question import Question
    from jrr.survey.survey import Survey
    from jrr.survey.together import JointAnswers


@dataclass(frozen=True, eq=False)
class SensitiveQuestion:
    """What decks, cards, tallies and estimates are of."""

    name: str
    asked: "Question"
    label: int | None  # of "several": which one
    mechanism: "Mechanism"  # where people enrol first: for the fewest it may be dealt to
    colluders: int  # who may show their cards; 0 where there are none
    informed: float  # the promised ε in the view "everything"; it holds at `delta`
    delta: float  # 0 where the ε above holds outright
    survey: "Survey" = field(repr=False)

    @property
    def text(self) -> str:
        """What is asked, in the first language."""
        text = next(iter(self.asked.text.values()))
        if self.label is None:
            return text
        return f"{text} {next(iter(self.asked.labels[self.label].values()))}"

    @property
    def number(self) -> tuple[float, float] | None:
        """The ends between which the answer lies, where it is a number."""
        return (self.asked.low, self.asked.high) if self.asked.kind == "number" else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers in the first language, one per value; of a number its two ends."""
        ends = self.number
        return self.asked.answers if ends is None else tuple(f"{end:g}" for end in ends)

    @cached_property
    def salt(self) -> str:
        """The name of this answer among those of all surveys: 64 hexadecimal digits."""
        return hash_of(canonical_json({"survey": self.survey.hash, "question": self.name}))

    def margin_of(self, cards: int) -> float:
        """Half of the expected interval of 95% of so many reports, of which one sum is told.

        Of a share, or in the unit of a number.
        """
        moments, wide = self.mechanism.moments, 1.0
        if self.number is not None:
            wide = self.number[1] - self.number[0]
            if isinstance(moments.masks, WindowNoise):
                moments = replace(moments, masks=moments.masks.with_rounding())
        request = Request(max(cards, 2), self.cost, k=self.mechanism.k)
        drawn = request.sampling_variance(Sampling(fraction=self.survey.share_asked(self.name)))
        return wide * quantile(0.95) * math.sqrt(request.variance_of(moments) + drawn)

    def margin_words(self, cards: int) -> str:
        """The same in words."""
        return self.asked.margin_words(self.margin_of(cards))

    @property
    def is_for_everybody(self) -> bool:
        """Whether whoever answers the survey is asked for it."""
        return not self.asked.only_if and self.survey.share_asked(self.name) == 1

    def asks_the_same(self, other: "SensitiveQuestion") -> bool:
        """Whether another wave's question is asked alike, so that their answers compare."""
        alike = ((one.text, one.labels, one.number) for one in (self, other))
        return next(alike) == next(alike)

    @property
    def deals(self) -> bool:
        """Whether contributors are dealt cards for it."""
        return self.mechanism.deals

    @property
    def counted_as(self) -> "SensitiveQuestion | JointAnswers":
        """What its loss is counted as: itself, or all answers that share a coin with it."""
        return self.survey.joint.get(self.name, self)

    def guarantee(self, view: str) -> float:
        """The ε of this answer against an adversary with a view; in "everything" at `delta`.

        Of answers that share a coin that of all of them: one of them tells no more.
        """
        whole = self.counted_as
        if whole is not self:
            return whole.guarantee(view)
        return self.informed if view == EVERYTHING else self.mechanism.epsilon(view, self.colluders)

    @property
    def cost_view(self) -> str:
        """The view to reckon with, as long as dealer and collector do not collude.

        Where anybody can take cards, a stranger can take all but one, and so know that one; but
        not of cards that keep their secret however many others are known.
        """
        if not self.deals:
            return "report"
        return EVERYTHING if self.survey.invitations or self.mechanism.masked else "dealer"

    @property
    def cost(self) -> float:
        """The ε in the view to reckon with; it holds at `cost_delta`."""
        return self.guarantee(self.cost_view)

    @property
    def cost_delta(self) -> float:
        """The δ of the cost; 0 where it holds outright."""
        return self.delta if self.cost_view == EVERYTHING else 0.0

    def check_everything(self) -> None:
        """Refuse a promise in the view "everything" of less than what holds.

        It takes seconds for large decks, so that contributors check it, once, and servers do not.

        Raises:
            ProtocolError: Less is promised.
        """
        held = informed_epsilon(self.mechanism, self.colluders, self.delta)
        if held > self.informed:
            raise ProtocolError(
                f"the survey promises {show_guarantee(self.informed, self.delta)} for {self.name} "
                f"in the view everything, less than what holds: ε = {held:.6g}"
            )

    def respond(
        self,
        mechanisms: Mapping[str, Any],
        values: Mapping[str, Any],
        cards: Mapping[str, Any],
        rng: "Rng" = None,
    ) -> dict[str, Any]:
        """Its report, by its name; arguments as of `JointAnswers.respond`."""
        name = self.name
        return {name: mechanisms[name].respond_one_step(values[name], cards.get(name), rng)}

    def for_people(self, n: int | None) -> "Mechanism":
        """The mechanism dealt to n people.

        Args:
            n: How many have enrolled; without enrolment it does not matter.

        Raises:
            ProtocolError: For so few people it would not keep what the survey promises.
        """
        if not self.survey.dealing.enrols or not self.deals:
            return self.mechanism
        least = self.mechanism.moments.deck or 2
        if checks.integer("n", n, 0, self.survey.capacity) < least:
            raise ProtocolError(f"{n} have enrolled, at least {least} are needed for the guarantee")
        if n == least:
            return self.mechanism
        assert n is not None  # checked above
        resized = self.mechanism.resized(n)
        held = resized.guarantees(self.colluders)
        held[EVERYTHING] = informed_epsilon(resized, self.colluders, self.delta)
        for view, loss in held.items():
            if loss > self.guarantee(view):
                raise ProtocolError(f"n={n} must keep the guarantee of view {view}, got ε = {loss}")
        return resized


def counted(answers: Iterable[SensitiveQuestion]) -> "list[SensitiveQuestion | JointAnswers]":
    """What these answers' losses are counted as: those that share a coin once."""
    return list(dict.fromkeys(one.counted_as for one in answers))
