"""What is asked: one question, its possible answers, and of whom it is asked.

A question is sensitive, and then its answer is perturbed on the contributor's device, or open, and
then sent as it is. Of whom a question is asked may depend on open answers only: that a sensitive
question was shown must not tell the answer to another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["yes-no", "choice", "several", "scale", "number"]
KINDS: tuple[Kind, ...] = ("yes-no", "choice", "several", "scale", "number")
Texts = Mapping[str, str]  # by language

MARGIN = 0.03  # half an interval of 95% that a question is asked for, unless it says otherwise
NO_YES = ("no", "yes")  # the answers to "yes-no", in documents and results
PREFER_NOT = "prefer not to say"  # one more answer, where a question has it
NOT_ASKED = "not asked"  # stands for the open answer of somebody whom the question was not shown


@dataclass(frozen=True, kw_only=True)
class Question:
    """One thing that is asked.

    Attributes:
        name: in results; letters, digits and underscores.
        kind: "yes-no", "choice" (one of the labels), "several" (any of them), "scale" (a whole
            number from low to high) or "number" (anything from low to high).
        text: the question, by language.
        labels: the possible answers of "choice" and "several", each by language.
        low: of "scale" and "number".
        high: of "scale" and "number".
        sensitive: whether the answer is perturbed; an open one is sent as it is.
        weight: its share of the budget with the split "weight".
        margin: how exact it is to be with the split "margin": half an interval of 95%.
        prefer_not: whether "prefer not to say" is one more answer.
        only_if: open questions -> the answers of which it is asked, or () for everybody.
    """

    name: str
    kind: Kind
    text: Texts
    labels: tuple[Texts, ...] = ()
    low: float = 0.0
    high: float = 1.0
    sensitive: bool = True
    weight: float = 1.0
    margin: float = MARGIN
    prefer_not: bool = False
    only_if: Mapping[str, tuple[str, ...]] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The labels in the first language."""
        return tuple(next(iter(label.values())) for label in self.labels)

    @property
    def values(self) -> int:
        """How many answers can be told apart; for "several" of each label, for "number" 0."""
        if self.kind == "number":
            return 0
        answers = {
            "yes-no": 2,
            "choice": len(self.labels),
            "several": 2,
            "scale": round(self.high - self.low) + 1,
        }[self.kind]
        return answers + self.prefer_not

    @property
    def perturbed(self) -> int:
        """How many separate answers are perturbed: one for each label of "several"."""
        return len(self.labels) if self.kind == "several" else 1

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be told apart, in the first language; for "several" of a label."""
        if self.kind == "number":
            return ()
        if self.kind == "choice":
            words = self.words
        elif self.kind == "scale":
            words = tuple(str(step) for step in range(round(self.low), round(self.high) + 1))
        else:
            words = NO_YES
        return (*words, PREFER_NOT) if self.prefer_not else words

    @property
    def as_asked(self) -> "Question":
        """The same without what only the planning needs."""
        return replace(self, weight=1.0, margin=MARGIN)

    def to_dict(self) -> dict[str, Any]:
        """As a draft has it: what is asked, and what the planning of a sensitive question needs."""
        planned = {"weight": self.weight, "margin": self.margin} if self.sensitive else {}
        return self.to_document() | planned

    def to_document(self) -> dict[str, Any]:
        """As a survey's document has it: what is asked."""
        found: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "text": dict(self.text),
            "sensitive": self.sensitive,
        }
        if self.prefer_not:
            found["prefer_not"] = True
        if self.labels:
            found["labels"] = [dict(label) for label in self.labels]
        if self.kind in ("scale", "number"):
            found |= {"low": self.low, "high": self.high}
        if self.only_if:
            found["only_if"] = {name: list(answers) for name, answers in self.only_if.items()}
        return found
