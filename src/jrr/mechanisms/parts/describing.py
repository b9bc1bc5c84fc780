"""What a mechanism says of itself: its parameters and moments, and what can be learnt at most."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.wording import of_hundred
from jrr.privacy import loss
from jrr.privacy.views import VIEWS, View

if TYPE_CHECKING:
    from jrr.estimation.moments import Moments
    from jrr.mechanisms.report_formats import ReportFormat
    from jrr.privacy.informed.distribution import Frequency as FrequencyOrPrior
    from jrr.privacy.informed.distribution import LossDistribution, Losses
    from jrr.privacy.shuffled.question import ShuffledSurvey

Cards = NDArray[Any]  # one card a contributor
Reports = NDArray[Any]  # one report a contributor
Ints = NDArray[np.int64]
WITH_MASKS = "one whose cards are whole numbers to add, as MRR"  # in refusals of all others


class Describing(ABC):
    """The facts that everything else is computed from, and their descriptions."""

    k: int
    steps: int = 1  # from value 0 to value 1, where numbers in between can be told (jrr.Numbers)
    behind_memory: bool = False  # its values are what devices remember (jrr.Longitudinal)
    name: ClassVar[str]  # as in documents and tables
    title: ClassVar[str]  # in words, for people
    parameters: ClassVar[tuple[str, ...]]  # fields of its JSON form, arguments of its constructor
    optional_parameters: ClassVar[tuple[str, ...]] = ()  # those that may be None
    omitted_parameters: ClassVar[tuple[str, ...]] = ()  # those that documents may leave out
    colour: ClassVar[str] = "#444444"  # in pictures
    told_by_colluders: ClassVar[str] = "their answers and reports"  # in the view `truths`

    def _set(self, **fields: Any) -> None:
        """Set fields of a value that is immutable from then on."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def moments(self) -> "Moments":
        """First and second moments of the reports (jrr.estimation.moments)."""

    @property
    @abstractmethod
    def report_format(self) -> "ReportFormat":
        """How reports are written: bytes, JSON, columns of a table."""

    @property
    def deals(self) -> bool:
        """Whether there are cards, and so a dealer."""
        return self.moments.deck is not None

    @property
    def masked(self) -> bool:
        """Whether cards are whole numbers that are added to answers, and must be taken off sums."""
        return self.moments.masks is not None

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; `jrr.from_dict` reads them back."""
        return {"mechanism": self.name} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, getattr(self, name)) for name in self.parameters)
        }

    def to_json(self) -> str:
        """One line of JSON; `jrr.from_json` reads it back."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        p = float(self.moments.p[0])
        return (
            f"{of_hundred(p, start=True)} the device sends your true answer, otherwise another "
            "answer drawn at random; nobody is told which."
        )

    def brief(self) -> str:
        """The name and parameters to four digits; all of them are in `to_dict`."""
        digits = {float: ".4g", int: ","}
        shown = (
            f"{key} {format(value, digits.get(type(value), ''))}"
            for key, value in self.to_dict().items()
            if key not in ("mechanism", *self._left_out_of_brief()) and value not in (None, "none")
        )
        return f"{self.name} ({', '.join(shown)})"

    def _left_out_of_brief(self) -> tuple[str, ...]:
        return ()

    def _in_refusals(self) -> str:
        return self.name

    def fewest_decks(self, carded: int) -> int:
        """The fewest decks that so many people with a card can have been dealt from."""
        deck = self.moments.deck
        return 1 if deck is None else max(1, -(-carded // deck))

    @abstractmethod
    def _check_reports(self, reports: ArrayLike) -> Reports:
        """The reports as an array, or a refusal."""


class Accounting(Describing):
    """ε by view, and the law of the loss where one is known."""

    @abstractmethod
    def _epsilon(self, view: View, colluders: int) -> float:
        """The privacy loss in one of `self.views`; colluders is a number >= 0."""

    @property
    def views(self) -> tuple[View, ...]:
        """The views in which `epsilon` states a loss without a δ."""
        return tuple(view for view in VIEWS if view != "paper")

    @property
    def pure(self) -> bool:
        """Whether ε of the view "cards" holds, without a δ, also in the view "everything"."""
        return not self.deals

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        """The privacy loss against an adversary with this view.

        Args:
            view: what the adversary has besides the target's report: "report" nothing,
                "truths" what colluders tell of their reports, "cards" their cards, "dealer" the
                target's own card, "everything" all reports, everybody else's answer and the
                colluders' cards. "paper" is the bound printed in the paper, for binary JRR.
            colluders: how many others tell the adversary what they have.
            delta: only for "everything", whose loss is random: ε holds as (ε, delta)-differential
                privacy. The other views hold outright.

        Returns:
            ε, exact for the words that run or an upper bound; math.inf where it is unbounded.

        Raises:
            ArgumentError: for a view that has no meaning here, or more colluders than others.

        Example:
            >>> import jrr
            >>> round(jrr.RR(p=0.75).epsilon(), 4)
            1.0986
        """
        word = checks.one_of("view", view, (*VIEWS, "everything"))
        colluders = checks.integer("colluders", colluders, 0, self._most_colluders())
        if word == "everything":
            return self._epsilon_of_everything(colluders, delta)
        if delta:
            raise checks.refusal("delta", delta, f"0 in the view {word!r}, which holds outright")
        if word not in self.views:
            raise loss.no_paper_view(self._in_refusals())
        return self._epsilon(word, colluders)

    def guarantees(self, colluders: int = 0) -> dict[str, float]:
        """View -> ε, for every view that has a meaning here and needs no δ."""
        return {view: self.epsilon(view, colluders) for view in self.views}

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: "FrequencyOrPrior" = None
    ) -> "Losses | None":
        """The law of the loss in the view "everything"; None where it is not known.

        Arguments as for `jrr.privacy.informed.loss_distribution`.
        """
        return None

    def quick_losses(self, colluders: int) -> "Losses | None":
        """A bound of `losses` that takes less time and may be looser: what a search compares."""
        return self.losses(colluders)

    def likely_worst(self, colluders: int) -> "Losses | None":
        """Cases that occur and are likely the worst, in a moment: where a search begins."""
        return self.losses(colluders)

    def compositions(self, colluders: int) -> "Iterator[LossDistribution] | None":
        """That law for all that the others may hold, one by one.

        None where `losses` is no looser than that, or the law is not known.
        """
        return None

    def shuffled(
        self, n: int | None = None, ones: int | None = None, colluders: int = 0
    ) -> "ShuffledSurvey":
        """What a collector sees behind a shuffler (jrr.privacy.shuffled)."""
        raise checks.refusal(
            "mechanism", self, "RR, or JRR or DRR with k=2: no law is known here for others"
        )

    def _epsilon_of_everything(self, colluders: int, delta: float) -> float:
        delta = checks.delta(delta)
        law = self.losses(colluders)
        # The dealer's view has the target's own card, which is more than everything else tells.
        return self.epsilon("dealer") if law is None else law.epsilon(delta)

    def _most_colluders(self) -> int | None:
        deck = self.moments.deck
        return None if deck is None else deck - 1
