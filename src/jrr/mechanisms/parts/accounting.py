"""The account of privacy: what each adversary can learn of one answer at most."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.mechanisms.parts.describing import Describing
from jrr.privacy import loss
from jrr.privacy.views import VIEWS, View

if TYPE_CHECKING:
    from jrr.privacy.informed.distribution import LossDistribution, Losses
    from jrr.privacy.informed.frequency import Frequency
    from jrr.privacy.shuffled.question import ShuffledSurvey


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
        self,
        colluders: int = 0,
        *,
        ones: int | None = None,
        frequency: "Frequency" = None,
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
