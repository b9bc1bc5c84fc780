"""What the others' reports tell of the target's card: Pr[observation z, card], for both cards.

Given the observation z of the others, the target's report depends on its card alone, so a pair of
numbers for each z is all that the loss needs (docs/theory-jrr.md, the view `everything`).
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jrr.privacy.binomial import FAINT, ULP, Floats, Part
from jrr.privacy.informed.sums import (
    BLOCK,
    LawRows,
    Reporters,
    Rows,
    fewer_marked,
    hypergeometric,
    mixtures_of,
    ones_of,
    rows_of,
    side_by_side,
)

_SILENT = 1e-26  # observations less likely than this are dropped, and their probability added to δ
_CELLS = 1 << 17  # of a grid of odds, where observations are merged


class Cards(NamedTuple):
    """The cards of the target and of all others who do not collude."""

    total: int
    plus: int

    @property
    def chance(self) -> Fraction:
        """That the target holds plus."""
        return Fraction(self.plus, self.total)

    @property
    def kinds(self) -> list[tuple[bool, int, float]]:
        """For each kind the target may hold: is it plus, the others' plus cards, its chance."""
        both = ((True, self.plus - 1, self.chance), (False, self.plus, 1 - self.chance))
        return [(kind, held, float(chance)) for kind, held, chance in both if chance]

    def turned(self) -> "Cards":
        """The same deck with plus and minus exchanged."""
        return Cards(self.total, self.total - self.plus)

    def part(self, most: int) -> "Cards":
        """About the same share of plus cards among at most so many; see `Evidence.believed`."""
        plus = round(Fraction(self.plus * most, self.total))
        # A kind of card that is all but absent is not left out.
        return Cards(most, plus) if self.total > most and 0 < plus < most else self


class Evidence(NamedTuple):
    """Joint chances of each observation z with the target's card."""

    plus: Floats
    minus: Floats
    error: float  # relative, of every entry
    missing: float  # chance, in sum, of what is not listed

    def believed(self, cards: Cards, chance: Fraction) -> "Evidence":
        """Of these cards, where the target holds plus with another chance.

        So it is where they are a part of a deck, the rest of which the adversary is shown: who is
        shown is drawn among the others, as many of each kind as leave this part. That adversary
        is no weaker, and who is shown says nothing of the target (docs/theory-jrr.md, Lemma D).
        """
        if chance == cards.chance:
            return self
        up, down = float(chance / cards.chance), float((1 - chance) / (1 - cards.chance))
        missing = self.missing * max(up, down)
        return Evidence(self.plus * up, self.minus * down, self.error + 4 * ULP, missing)


def parts(decks: list[Cards], most: int, least: int) -> Iterator[tuple[Cards, list[Fraction]]]:
    """Parts that bound all of these decks, each with chances that the target holds plus.

    δ is convex in that chance, so that of decks with a large part in common two are enough: at
    most `most` cards of it. Where they have none, at most `least` cards of each.
    """
    plus, minus = min(c.plus for c in decks), min(c.turned().plus for c in decks)
    if plus and minus and plus + minus >= decks[0].total / 2:
        chances = [cards.chance for cards in decks]
        yield Cards(plus + minus, plus).part(most), sorted({min(chances), max(chances)})
        return
    for cards in decks:
        yield cards.part(least), [cards.chance]


def belief(cards: Cards, plus: Fraction, minus: Fraction) -> Fraction:
    """Pr[target's card is plus] when all others showed the same; its chances by their card.

    Neighbouring coefficients of (minus + plus·z)^(N-1): the odds are D·minus : (N-D)·plus.
    """
    mine, theirs = cards.plus * minus, (cards.total - cards.plus) * plus
    if mine + theirs == 0:  # all others cannot have shown this
        return Fraction(cards.plus, cards.total)
    return mine / (mine + theirs)


def of_one_group(cards: Cards, plus: Fraction, minus: Fraction) -> Evidence:
    """All others are alike: z is the number of 1s among them."""
    return located(cards, plus, minus)[1]


def located(cards: Cards, plus: Fraction, minus: Fraction) -> tuple[int, Evidence]:
    """The same, and the first z that is listed."""
    people = Reporters(cards.total - 1, plus, minus)
    start, laws = side_by_side([ones_of(people, held) for _, held, _ in cards.kinds])
    length = laws.shape[1]
    joint = {kind: chance * law for (kind, _, chance), law in zip(cards.kinds, laws, strict=True)}
    error, missing = (16 * length + 256) * ULP, 128 * length * FAINT
    return start, _evidence(joint, length, error, missing)


def of_two_groups(cards: Cards, first: Reporters, second: Reporters) -> Evidence:
    """Two groups of others, each alike; z is the number of 1s in each, and the rest are silent."""
    others = cards.total - 1
    deals = {held: hypergeometric(others, held, first.size) for _, held, _ in cards.kinds}
    if second.size == 0:
        return _of_one_group_and_silence(cards, first, deals)
    low = min(deal.start for deal in deals.values())
    high = max(deal.start + len(deal.law) for deal in deals.values()) - 1
    of_first = rows_of(first, low, high)
    # How many plus cards are left for the others: a card of the target's makes a difference of one.
    left = [
        held - (deal.start + end) for held, deal in deals.items() for end in (0, len(deal.law) - 1)
    ]
    blocks = _blocks(others - first.size, max(left), min(left), second.size)
    e_low = min(block.start for block in blocks)
    e_high = max(block.start + block.laws.shape[1] for block in blocks) - 1
    of_second = rows_of(second, e_low, e_high)
    given_left = _given_left(max(left), blocks, of_second)
    joint = {
        kind: chance * _table(deals[held], held, of_first, given_left)
        for kind, held, chance in cards.kinds
    }
    size = of_first.laws.shape[1] * of_second.laws.shape[1]
    return _heard(joint, size, sum(of_first.laws.shape) + sum(of_second.laws.shape))


def _of_one_group_and_silence(cards: Cards, group: Reporters, deals: dict[int, Part]) -> Evidence:
    """The same where the second group is nobody: its table has one column."""
    _, laws, terms = mixtures_of(group, [deals[held] for _, held, _ in cards.kinds])
    joint = {kind: chance * law for (kind, _, chance), law in zip(cards.kinds, laws, strict=True)}
    return _heard(joint, laws.shape[1], terms)


def _heard(joint: dict[bool, Floats], size: int, terms: int) -> Evidence:
    """What is not too unlikely to be listed; so many terms were added to one another."""
    faint = 128 * terms * FAINT + size * _SILENT
    seen = _evidence(joint, size, (32 * terms + 1024) * ULP, faint)
    heard = seen.plus + seen.minus > _SILENT
    return seen._replace(plus=seen.plus[heard], minus=seen.minus[heard])


def together(parts: list[tuple[float, Evidence]]) -> Evidence:
    """A mixture of several, with these chances; the adversary sees which one it is."""
    return Evidence(
        np.concatenate([chance * part.plus for chance, part in parts]),
        np.concatenate([chance * part.minus for chance, part in parts]),
        max(part.error for _, part in parts) + 4 * ULP,
        sum(chance * part.missing for chance, part in parts),
    )


def merged(seen: Evidence) -> Evidence:
    """Merge observations of nearly equal odds; their difference is counted as an error."""
    if len(seen.plus) <= 2 * _CELLS:
        return seen
    with np.errstate(divide="ignore"):
        odds = np.log(seen.plus) - np.log(seen.minus)
    even = np.isfinite(odds)
    low, high = float(odds[even].min(initial=0.0)), float(odds[even].max(initial=0.0))
    step = max((high - low) / _CELLS, ULP)
    cells = np.where(even, (np.where(even, odds, low) - low) / step + 1, odds)
    cells = np.clip(cells, 0, _CELLS + 2).astype(np.int64)
    plus, minus = (np.bincount(cells, part).astype(np.float64) for part in (seen.plus, seen.minus))
    there = plus + minus > 0
    wide = np.expm1(step) + (len(cells) + 64) * ULP  # the sums' own rounding
    return Evidence(plus[there], minus[there], seen.error + wide, seen.missing)


def _evidence(joint: dict[bool, Floats], size: int, error: float, missing: float) -> Evidence:
    """A kind of card that the target cannot hold has no chance."""
    plus, minus = (joint.get(kind, np.zeros(size)) for kind in (True, False))
    return Evidence(plus, minus, error, missing)


def _blocks(total: int, most: int, least: int, drawn: int) -> list[LawRows]:
    """How many plus cards the second group has when most, most-1, ... least are left for it."""
    return [
        fewer_marked(total, top, min(BLOCK, top - least + 1), drawn)
        for top in range(most, least - 1, -BLOCK)
    ]


def _given_left(most: int, blocks: list[LawRows], of_second: Rows) -> Rows:
    """The second group's laws when most, most-1, ... plus cards are left for it.

    A law is 0 outside of its own stretch, so that what is multiplied is a part of everything.
    """
    laws = np.zeros((sum(len(block.laws) for block in blocks), of_second.laws.shape[1]))
    begins: list[int] = []
    ends: list[int] = []
    for start, share in blocks:
        theirs = slice(start - of_second.low, start - of_second.low + share.shape[1])
        across = slice(min(of_second.begins[theirs]), max(of_second.ends[theirs]))
        mine = slice(len(begins), len(begins) + len(share))
        laws[mine, across] = share @ of_second.laws[theirs, across]
        begins += [across.start] * len(share)
        ends += [across.stop] * len(share)
    return Rows(most, of_second.start, laws, tuple(begins), tuple(ends))


def _table(deal: Part, held: int, of_first: Rows, given_left: Rows) -> Floats:
    """The joint law of both counts, flattened; rows of `given_left` fall from its `low`."""
    table = np.zeros((of_first.laws.shape[1], given_left.laws.shape[1]))
    row, other = deal.start - of_first.low, given_left.low - (held - deal.start)
    for at in range(0, len(deal.law), BLOCK):
        count = min(BLOCK, len(deal.law) - at)
        mine, theirs = slice(row + at, row + at + count), slice(other + at, other + at + count)
        down = slice(min(of_first.begins[mine]), max(of_first.ends[mine]))
        across = slice(min(given_left.begins[theirs]), max(given_left.ends[theirs]))
        weighted = of_first.laws[mine, down] * deal.law[at : at + count, None]
        table[down, across] += weighted.T @ given_left.laws[theirs, across]
    return table.ravel()
