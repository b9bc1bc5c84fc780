"""What the others' reports tell of the target's card: Pr[sight, target holds plus], and minus.

The target's report depends on its card alone once the others' sight z is given, so a pair of
numbers for each z is all that the loss needs (docs/theory.md, the view `everything`).
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jrr.everything.sums import Group, Rows, hypergeometric, ones_of, rows_of, side_by_side
from jrr.shuffling.binomial import FAINT, ULP, Floats, Part

_SILENT = 1e-26  # sights less likely than this are dropped, and counted


class Cards(NamedTuple):
    """The cards of the target and of all others who do not collude."""

    total: int
    plus: int

    def turned(self) -> "Cards":
        """The same deck with plus and minus exchanged."""
        return Cards(self.total, self.total - self.plus)


class Evidence(NamedTuple):
    """Joint chances of each sight z with the target's card."""

    plus: Floats
    minus: Floats
    error: float  # relative, of every entry
    missing: float  # chance, in sum, of what is not listed

    def turned(self) -> "Evidence":
        """With plus and minus exchanged."""
        return self._replace(plus=self.minus, minus=self.plus)


def belief(cards: Cards, plus: Fraction, minus: Fraction) -> Fraction:
    """Pr[target's card is plus] when every other showed a sight of these chances, by card.

    Neighbouring coefficients of (minus + plus·z)^(N-1): the odds are D·minus : (N-D)·plus.
    """
    mine, theirs = cards.plus * minus, (cards.total - cards.plus) * plus
    if mine + theirs == 0:  # such a sight of all cannot be
        return Fraction(cards.plus, cards.total)
    return mine / (mine + theirs)


def of_one_group(cards: Cards, plus: Fraction, minus: Fraction) -> Evidence:
    """All others are alike: z is the number of 1s among them."""
    return located(cards, plus, minus)[1]


def located(cards: Cards, plus: Fraction, minus: Fraction) -> tuple[int, Evidence]:
    """The same, and the first z that is listed."""
    people = Group(cards.total - 1, plus, minus)
    parts, shares = [], []
    for held, mine in ((cards.plus - 1, cards.plus), (cards.plus, cards.total - cards.plus)):
        if mine:
            parts.append(ones_of(people, held))
            shares.append(mine / cards.total)
        else:  # the target cannot hold this card
            parts.append(Part(0, np.zeros(0)))
            shares.append(0.0)
    present = [part for part in parts if len(part.law)]
    parts = [part if len(part.law) else Part(present[0].start, np.zeros(1)) for part in parts]
    start, laws = side_by_side(parts)
    length = laws.shape[1]
    error, missing = (16 * length + 256) * ULP, 128 * length * FAINT
    return start, Evidence(shares[0] * laws[0], shares[1] * laws[1], error, missing)


def of_two_groups(cards: Cards, first: Group, second: Group) -> Evidence:
    """Two groups of others, each alike; z is the number of 1s in each, and the rest are silent."""
    others = cards.total - 1
    silent = others - first.size - second.size
    counts = [
        (held, mine / cards.total)
        for held, mine in ((cards.plus - 1, cards.plus), (cards.plus, cards.total - cards.plus))
        if mine
    ]
    deals = {held: hypergeometric(others, held, first.size) for held, _ in counts}
    low = min(deal.start for deal in deals.values())
    high = max(deal.start + len(deal.law) for deal in deals.values()) - 1
    of_first = rows_of(first, low, high)
    splits = {
        held: _split(deal, others - first.size, held, second.size, silent)
        for held, deal in deals.items()
    }
    e_low = min(part.start for parts in splits.values() for part in parts)
    e_high = max(part.start + len(part.law) for parts in splits.values() for part in parts) - 1
    of_second = rows_of(second, e_low, e_high)
    tables = dict.fromkeys((True, False), np.zeros(0))
    for (held, share), is_plus in zip(counts, _kinds(cards), strict=True):
        tables[is_plus] = share * _table(deals[held], splits[held], of_first, of_second)
    size = of_first.laws.shape[1] * of_second.laws.shape[1]
    plus, minus = (table if table.size else np.zeros(size) for table in tables.values())
    heard = plus + minus > _SILENT
    lengths = sum(of_first.laws.shape) + sum(of_second.laws.shape)
    faint = 128 * lengths * FAINT + size * _SILENT
    return Evidence(plus[heard], minus[heard], (32 * lengths + 256) * ULP, faint)


def together(parts: list[tuple[float, Evidence]]) -> Evidence:
    """One sight of several, with these chances; the adversary sees which."""
    return Evidence(
        np.concatenate([chance * part.plus for chance, part in parts]),
        np.concatenate([chance * part.minus for chance, part in parts]),
        max(part.error for _, part in parts) + 4 * ULP,
        sum(chance * part.missing for chance, part in parts),
    )


def _kinds(cards: Cards) -> list[bool]:
    """The kinds of card that the target may hold, plus first."""
    return [kind for kind in (True, False) if (cards.plus if kind else cards.total - cards.plus)]


def _split(deal: Part, left: int, held: int, drawn: int, silent: int) -> list[Part]:
    """For each number of plus cards in the first group, how many the second has."""
    numbers = range(deal.start, deal.start + len(deal.law))
    if silent == 0:
        return [Part(held - number, np.ones(1)) for number in numbers]
    return [hypergeometric(left, held - number, drawn) for number in numbers]


def _table(deal: Part, split: list[Part], of_first: Rows, of_second: Rows) -> Floats:
    """The joint law of both counts, flattened."""
    begin = deal.start - of_first.low
    weighted = of_first.laws[begin : begin + len(deal.law)] * deal.law[:, None]
    if all(len(part.law) == 1 for part in split):
        rows = of_second.laws[[part.start - of_second.low for part in split]]
    else:
        share = np.zeros((len(split), len(of_second.laws)))
        for row, part in zip(share, split, strict=True):
            row[part.start - of_second.low : part.start - of_second.low + len(part.law)] = part.law
        rows = share @ of_second.laws
    table: Floats = (weighted.T @ rows).ravel()
    return table
