"""Mechanisms whose report is a set of values, one bit for each: what SUE, OUE and SS share.

Reports are packed: bit v is bit v mod 8, least significant first, of byte v div 8.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import BLOCK, RandomSource
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Ints, Mechanism, Reports
from jrr.mechanisms.report_formats import BitsFormat

_ALL_BITS = 12  # reports of at most so many bits are seen whole by an audit
_PLANES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


class PackedBits(Mechanism):
    """One bit per value; a report supports every value whose bit is set."""

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return -(-self.k // 8)

    @property
    def report_format(self) -> BitsFormat:
        """A bit per value."""
        return BitsFormat(self.k)

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """The bits; of long reports the compared ones, and how many others are set."""
        bits = np.unpackbits(reports, axis=1, count=self.k, bitorder="little")
        if self.k <= _ALL_BITS:
            return bits.astype(np.int64)
        compared = bits[:, list(values)].astype(np.int64)
        others = bits.sum(axis=1, dtype=np.int64) - compared.sum(axis=1)
        return np.column_stack((compared, others))

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self._check_packed("reports", reports, None)

    def _check_packed(self, argument: str, packed: ArrayLike, length: int | None) -> Reports:
        array = checks.array_of(argument, packed, f"rows of {self.width} bytes")
        rows = "rows" if length is None else f"{length} rows"
        if (
            array.dtype != np.uint8
            or array.ndim != 2
            or array.shape[1] != self.width
            or (length is not None and len(array) != length)
        ):
            raise ArgumentError(
                f"{argument} must be {rows} of {self.width} bytes (uint8), "
                f"got dtype {array.dtype}, shape {array.shape}"
            )
        padding = 8 * self.width - self.k
        if padding and len(array) and int(array[:, -1].max()) >> (8 - padding):
            raise ArgumentError(
                f"{argument} must leave the {padding} bits after bit {self.k - 1} at 0, "
                "got some that are set"
            )
        return array

    def _support(self, reports: Reports) -> tuple[int, ...]:
        # How often each byte occurs in a column says how often each of its bits is set.
        columns = [np.bincount(column, minlength=256) @ _PLANES for column in reports.T]
        return tuple(np.concatenate(columns)[: self.k].tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        columns = [np.bincount(column, weights, minlength=256) @ _PLANES for column in reports.T]
        return np.concatenate(columns)[: self.k].astype(np.float64, copy=False)


def balanced_bits(cards: int, decks: int, source: RandomSource) -> NDArray[np.uint8]:
    """Packed bits: row i has card i of every deck, and half of the cards of a deck are set.

    Throw a fair coin for every card, then mend each deck: where it has too many plus cards, a
    uniformly random choice of them becomes minus, and the other way round. Coins do not know their
    places, and neither does the choice, so every order of a balanced deck is equally likely. That
    takes one random bit a card and a few words a deck, where a shuffle takes a word a card.

    Args:
        cards: cards of each deck, an even number.
        decks: how many decks; deck v is bit v mod 8, least significant first, of byte v div 8.
        source: where randomness comes from.

    Returns:
        An array of `cards` rows of ceil(decks / 8) bytes; bits beyond the last deck are 0.
    """
    width = -(-decks // 8)
    words = source.words(-(-cards * width // 8)).astype("<u8", copy=False)
    bits = words.view(np.uint8)[: cards * width].reshape(cards, width)
    if decks % 8:
        bits[:, -1] &= np.uint8((1 << decks % 8) - 1)
    for byte in range(width):
        column = np.ascontiguousarray(bits[:, byte])
        surplus = np.bincount(column, minlength=256) @ _PLANES - cards // 2
        for bit in range(min(8, decks - 8 * byte)):
            _turn(column, np.uint8(1 << bit), int(surplus[bit]), source)
        bits[:, byte] = column
    return bits


def _turn(column: NDArray[np.uint8], mask: np.uint8, surplus: int, source: RandomSource) -> None:
    """Turn over as many random cards as the deck has too many of one kind."""

    def fits(places: Ints) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = ((column[places] & mask) != 0) == (surplus > 0)
        return fitting

    for chosen in random_places(len(column), abs(surplus), 3, fits, source):
        column[chosen] ^= mask


def random_places(
    size: int,
    wanted: int,
    tries: int,
    fits: Callable[[Ints], NDArray[np.bool_]],
    source: RandomSource,
) -> Iterator[Ints]:
    """So many different places below `size` that fit, some at a time, uniformly at random.

    tries: how many places are drawn for each that is wanted. Who is given places may change what
    fits before the next are drawn.
    """
    while wanted:
        places = uniform_places(size, tries * wanted + 8, source)
        fitting = places[fits(places)]
        _, first = np.unique(fitting, return_index=True)
        chosen = fitting[np.sort(first)[:wanted]]  # each once, in the order they were drawn
        yield chosen
        wanted -= len(chosen)


def uniform_places(size: int, count: int, source: RandomSource) -> Ints:
    """Uniform places below `size`; the few words that would favour some are left out."""
    fair = np.uint64((1 << 63) // size * size)
    parts = []
    for start in range(0, count, BLOCK):
        words = source.words(min(BLOCK, count - start)) >> np.uint64(1)
        parts.append((words[words < fair] % np.uint64(size)).astype(np.int64))
    return np.concatenate(parts)
