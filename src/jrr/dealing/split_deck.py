"""A closed deck of masks in blocks, each drawn by itself from a key: for decks of any size.

How many tokens the whole deck has is drawn first, then how many of them lie in the first half of
its blocks, and so on down to single blocks (jrr.mechanisms.token_laws). Every such number has words
of its own, which follow from the key and from what is split: whoever needs one block draws the
numbers on the way to it, and gets the same cards every time and everywhere. The law of the cards is
exactly that of a deck that is drawn as a whole (docs/theory.md, Theorem 30a).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import KeyedRandom, overwrite_array
from jrr.dealing.deck import Deck
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.masked_deck import Ints, closed_totals, draw_tokens, uniform_piles
from jrr.mechanisms.masking import MaskedDealing
from jrr.mechanisms.token_laws import SplitTokens

BLOCK = 1 << 16  # cards that are drawn together
_DECKS = 1 << 64
_SIGNS = (-1, 1)  # of the two kinds of tokens


class SplitDeck:
    """A closed deck of whole numbers whose blocks are found one by one.

    Args:
        mechanism: MRR with a closed deck.
        key: 32 secret bytes.
        number: of the deck; every deck of a key has another one.
        block: cards that are drawn together; another number gives other cards.
    """

    def __init__(
        self, mechanism: Mechanism, key: bytes, number: int, *, block: int = BLOCK
    ) -> None:
        if not isinstance(mechanism, MaskedDealing) or mechanism.announced:
            raise checks.refusal("mechanism", mechanism, "one with a closed deck of masks")
        self.mechanism = mechanism
        form = mechanism.card_format
        self.number = checks.integer("number", number, 0, _DECKS - 1)
        self.size, self._form = form.size, form
        self._key = key
        self._block = checks.integer("block", block, 1)
        self._blocks = -(-self.size // self._block)
        self._tokens: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._last: tuple[int, NDArray[Any]] | None = None

    def __repr__(self) -> str:
        return f"SplitDeck({self.mechanism!r}, number={self.number})"  # never the key

    def forget(self) -> None:
        """Overwrite the cards; the deck is of no more use."""
        self._tokens.clear()
        if self._last is not None:
            overwrite_array(self._last[1])

    def totals(self) -> list[tuple[int, int]]:
        """Of every value's cards: how many minus and how many plus tokens the deck has."""
        return [self._total(value) for value in range(self._form.numbers_per_card)]

    def cards_from(self, first: int, count: int) -> NDArray[Any]:
        """The cards at places first, first + 1, …, as `respond` takes them."""
        first = checks.integer("first", first, 0, self.size)
        end = first + checks.integer("count", count, 0, self.size - first)
        parts = []
        for index in range(first // self._block, -(-end // self._block)):
            start = index * self._block
            parts.append(self._cards(index)[max(first - start, 0) : end - start])
        shape = (0,) if self._form.numbers_per_card == 1 else (0, self._form.numbers_per_card)
        return np.concatenate(parts) if parts else np.empty(shape, np.int16)

    def _cards(self, index: int) -> NDArray[Any]:
        """The cards of one block; those of the last one asked for are kept."""
        if self._last is not None and self._last[0] == index:
            return self._last[1]
        piles, width = self._piles(index, 1), self._form.numbers_per_card
        cards = np.empty((piles, width), np.int16)
        for value in range(width):
            total: Ints = np.zeros(piles, np.int64)
            for kind, sign in enumerate(_SIGNS):
                tokens = self._tokens_in(value, index)[kind]
                source = self._source(b"mask piles:", value, kind, index, 1)
                total += sign * uniform_piles(tokens, piles, source)
            np.clip(total, -self._form.most, self._form.most, out=cards[:, value], casting="unsafe")
        self._last = index, cards[:, 0] if width == 1 else cards
        return self._last[1]

    def _tokens_in(self, value: int, index: int) -> tuple[int, int]:
        """Minus and plus tokens of a block: the deck is halved until the block is alone."""
        first, blocks = 0, self._blocks
        found = self._total(value)
        while blocks > 1:
            half = blocks // 2
            left = self._left(value, first, half, blocks, found)
            if index < first + half:
                blocks, found = half, left
            else:
                first, blocks = first + half, blocks - half
                found = found[0] - left[0], found[1] - left[1]
        return found

    def _total(self, value: int) -> tuple[int, int]:
        """Minus and plus tokens of the whole deck."""
        place = value, 0, 0
        if place not in self._tokens:
            m, source = self.mechanism, self._source(b"mask totals:", value, 0, 0, 0)
            self._tokens[place] = closed_totals(self.size, m.card_rate, m.total_rate, source)
        return self._tokens[place]

    def _left(
        self, value: int, first: int, half: int, blocks: int, tokens: tuple[int, int]
    ) -> tuple[int, int]:
        """How many of the tokens of some blocks lie in the first half of them."""
        place = value, first, blocks
        if place not in self._tokens:
            left, right = self._piles(first, half), self._piles(first + half, blocks - half)
            minus, plus = (
                draw_tokens(
                    SplitTokens(most, left, right),
                    self._source(b"mask split:", value, kind, first, blocks),
                )
                for kind, most in enumerate(tokens)
            )
            self._tokens[place] = minus, plus
        return self._tokens[place]

    def _piles(self, first: int, blocks: int) -> int:
        """How many cards so many blocks have."""
        return min((first + blocks) * self._block, self.size) - first * self._block

    def _source(
        self, purpose: bytes, value: int, kind: int, first: int, blocks: int
    ) -> KeyedRandom:
        """Words of one draw."""
        place = (self.number, value, kind, first, blocks)
        return KeyedRandom(self._key, purpose + b"".join(n.to_bytes(8, "little") for n in place))


class RowDecks:
    """The cards of rows by their numbers, deck after deck, all from one key; no table of cards.

    Args:
        mechanism: one that deals cards: with public contents, or closed decks of masks.
        key: 32 secret bytes.
    """

    def __init__(self, mechanism: Mechanism, key: bytes) -> None:
        self._mechanism, self._key = mechanism, key
        deck = mechanism.moments.deck
        if deck is None:
            raise checks.refusal("mechanism", mechanism, "one that deals cards")
        self._size: int = deck
        self._last: Deck | SplitDeck | None = None

    def cards(self, first: int, count: int) -> NDArray[Any]:
        """The cards of so many rows, from one on."""
        parts, end = [], first + count
        while first < end:
            number, place = divmod(first, self._size)
            here = min(end - first, self._size - place)
            parts.append(self._deck(number).cards_from(place, here))
            first += here
        return np.concatenate(parts)

    def _deck(self, number: int) -> Deck | SplitDeck:
        """One deck; the last one asked for is kept."""
        if self._last is None or self._last.number != number:
            made = SplitDeck if self._mechanism.masked else Deck
            self._last = made(self._mechanism, self._key, number)
        return self._last
