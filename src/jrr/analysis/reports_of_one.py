"""The reports of one question as yes and no, with the chances of each: for likelihoods."""

from dataclasses import dataclass

import numpy as np

from jrr._base import checks
from jrr.analysis.items import SensitiveItem
from jrr.estimation.moments import Floats


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
