"""The reports of one sensitive question, person by person; for likelihoods as yes and no."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.analysis.shared_coins import SharedCoin
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Ints, checked_mechanism
from jrr.mechanisms.base import Mechanism as AnyMechanism
from jrr.mechanisms.cards import Reading


@dataclass(frozen=True, eq=False)
class SensitiveItem:
    """The reports of one sensitive question, in the order of the people.

    Attributes:
        mechanism: the one that made the reports: RR, JRR, DRR, or MRR with k=2.
        reports: as `respond` makes them, one per person.
        carded: whose reports were made with a card, as for `Mechanism.tally`.
        decks: how many decks those with a card were dealt from; None: as few as can be.
        shared: the coin that changed the answers to this question together with others (a survey's
            `split = "together"`); None: the question has a coin of its own.
        asked: the share of those who answered that were asked this, drawn whatever they answer. Of
            reports of the people who were asked two questions: the share that were asked both.

    Raises:
        ArgumentError: for reports that the mechanism cannot have made, none at all, or a
            mechanism whose single reports are not one of few symbols.

    Example:
        >>> import jrr
        >>> SensitiveItem(jrr.RR(p=0.75), [0, 1, 1]).symbols.tolist()
        [0, 1, 1]
    """

    mechanism: AnyMechanism
    reports: ArrayLike
    carded: ArrayLike | bool | None = None
    decks: int | None = None
    shared: SharedCoin | None = None
    asked: float = 1.0

    def __post_init__(self) -> None:
        checked_mechanism(self.mechanism).check_values_are_answers()
        if not len(self.symbols):
            raise ArgumentError("reports must hold at least one report, got none")
        fewest = self.mechanism.fewest_decks(int(self.with_card.sum()))
        decks = fewest if self.decks is None else checks.integer("decks", self.decks, fewest)
        object.__setattr__(self, "decks", decks)
        checks.real("asked", self.asked, "in (0, 1]", 0.0, 1.0, open_low=True)

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def k(self) -> int:
        """Possible answers."""
        return self.mechanism.k

    @cached_property
    def symbols(self) -> Ints:
        """What each report is read as, 0..k-1."""
        self.reading  # noqa: B018 - refuses what cannot be read, before reports are looked at
        return self.mechanism.read(self.reports)

    @cached_property
    def reading(self) -> Reading:
        """The chances of these symbols."""
        return self.mechanism.reading

    @cached_property
    def with_card(self) -> NDArray[np.bool_]:
        """Whose reports were made with a card."""
        return self.mechanism.carded_flags(self.reports, len(self.symbols), self.carded)

    @property
    def tie(self) -> float:
        """Minus the factor of the product of two people's leans in their covariance."""
        return self.reading.tie(self.decks or 1)

    @property
    def independent(self) -> bool:
        """Whether the reports of different people are independent."""
        return self.reading.independent or int(self.with_card.sum()) < 2


@dataclass(frozen=True, eq=False)
class ReportsOfOne:
    """Whether each report says one answer.

    Attributes:
        item: the reports.
        value: the answer.
        said: 1 where the report says it.
        p: chance that a report says it of somebody who holds it, person by person.
        q: the same of anybody else.
    """

    item: SensitiveItem
    value: int
    said: Floats
    p: Floats
    q: Floats

    @classmethod
    def of(cls, item: SensitiveItem, value: int) -> "ReportsOfOne":
        """From the reports of a question.

        Raises:
            ArgumentError: it has no such answer.
        """
        value = checks.integer("value", value, 0, item.k - 1)
        law, alone = item.reading.law, item.reading.alone
        p, q = (
            np.where(item.with_card, law[held, value], alone[held, value])
            for held in (value, 0 if value else 1)
        )
        return cls(item, value, (item.symbols == value).astype(np.float64), p, q)

    @property
    def independent(self) -> bool:
        """Whether people's reports are independent."""
        return self.item.independent

    def chances(self, said: Floats) -> Floats:
        """Of such reports, given no (first column) and yes."""
        no = said * self.q + (1 - said) * (1 - self.q)
        yes = said * self.p + (1 - said) * (1 - self.p)
        return np.stack([no, yes], axis=1)

    def answers(self, said: Floats) -> Floats:
        """Reports turned into answers, unbiased."""
        turned: Floats = (said - self.q) / (self.p - self.q)
        return turned

    def kinds(self) -> Floats:
        """For every kind of card and person the leans of somebody without and with the answer."""
        other = 0 if self.value else 1
        each = self.item.reading.leans[:, [other, self.value], self.value]
        leans: Floats = each[:, None, :] * self.item.with_card[None, :, None]
        return leans

    def leans(self, shares: Floats) -> Floats:
        """Expected, for every kind of card, where people hold the answer with such chances."""
        kinds = self.kinds()
        expected: Floats = kinds[:, :, 0] * (1 - shares) + kinds[:, :, 1] * shares
        return expected
