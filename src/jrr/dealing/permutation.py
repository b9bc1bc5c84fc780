"""A secret order of very many cards that is never written down: a keyed permutation.

Up to 2^20 cards are shuffled: sorted by pseudorandom words, exactly uniform if the words
are. More cards go through an alternating Feistel network, which finds each card on its own and
in the same time, however many there are. What is claimed of either, and every byte of both, is
in docs/protocol.md.
"""

import math

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import Words, overwrite, overwrite_array
from jrr.errors import ArgumentError

KEY_BYTES = 32
SHUFFLED = 1 << 20  # words that are sorted in 0.2 seconds, once for each deck
ALWAYS_SHUFFLED = 1 << 14  # cards that are shuffled however many columns they have
ROUNDS = 12  # FF1 makes do with 10

_LABEL = b"jrr deck permutation 1"
_MOST = 1 << 50  # the parts stay below 2^26, so that no product below leaves 64 bits
_CANDIDATES = 1024  # grids that are looked at for one that hardly exceeds the size
_BLOCK = 1 << 14  # positions found at a time: their blocks stay in the cache
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

Positions = NDArray[np.int64]


class Permutation:
    """The permutations of 0..size-1 of one key and tweak, one for each column."""

    def __init__(
        self,
        key: bytes,
        size: int,
        tweak: bytes,
        *,
        columns: int = 1,
        shuffled: int | None = None,  # these two are for tests
        rounds: int = ROUNDS,
    ) -> None:
        self.size = checks.integer("size", size, 1, _MOST)
        most = max(SHUFFLED // columns, ALWAYS_SHUFFLED) if shuffled is None else shuffled
        self.shuffles = self.size <= most
        self._rounds = rounds
        self._rows, self._columns = grid(self.size)
        info = _LABEL + self.size.to_bytes(8, "little") + tweak
        self._key = HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(_check_key(key))
        self._cipher = Cipher(algorithms.AES(self._key), modes.ECB())
        self._order: tuple[int, Positions] | None = None

    def __repr__(self) -> str:
        return f"Permutation(size={self.size})"  # never the key

    def forget(self) -> None:
        """Overwrite the key and the order; the permutation is of no more use."""
        overwrite(self._key)
        if self._order is not None:
            overwrite_array(self._order[1])

    def at(self, position: int, column: int = 0) -> int:
        """Where one position goes."""
        position = checks.integer("position", position, 0, self.size - 1)
        column = _check_column(column)
        if self.shuffles:
            return int(self._shuffle(column)[position])
        # A cipher of one's own in every call: threads must not share one.
        encryptor = self._cipher.encryptor()
        image = self._network(encryptor, position, column)
        while image >= self.size:  # outside: walk on along the cycle until it comes back
            image = self._network(encryptor, image, column)
        return image

    def many(self, positions: ArrayLike, column: int = 0) -> Positions:
        """Where each of the positions goes."""
        wanted = checks.symbols("positions", positions, self.size)
        column = _check_column(column)
        if self.shuffles:
            images: Positions = self._shuffle(column)[wanted]
            return images
        return self._walk(wanted, np.full(len(wanted), column, np.uint64))

    def across(self, position: int, columns: int) -> Positions:
        """Where one position goes in each of the columns 0..columns-1."""
        position = checks.integer("position", position, 0, self.size - 1)
        columns = checks.integer("columns", columns, 1, 1 << 32)
        if self.shuffles:
            return np.array([self._shuffle(v)[position] for v in range(columns)], np.int64)
        every = np.arange(columns, dtype=np.uint64)
        return self._walk(np.full(columns, position, np.uint64), every)

    # -- few cards -------------------------------------------------------------------------

    def whole(self, column: int = 0) -> Positions:
        """Where all positions go, in order; the caller's own, made anew by a sort."""
        encryptor, every = self._cipher.encryptor(), np.arange(self.size, dtype=np.uint64)
        attempt = 0
        while True:
            words = _words(encryptor, every, np.uint64(_place(column, attempt)))
            order = np.argsort(words).astype(np.int64, copy=False)
            ranked = words[order]
            is_tied = (ranked[1:] == ranked[:-1]).any()
            overwrite_array(words)
            overwrite_array(ranked)
            if not is_tied:
                return order
            attempt += 1  # a tie would favour one order: sort by other words

    def _shuffle(self, column: int) -> Positions:
        """The whole order of one column; the last one asked for is kept."""
        kept = self._order
        if kept is None or kept[0] != column:
            self._order = kept = column, self.whole(column)
        return kept[1]

    # -- many cards ------------------------------------------------------------------------

    def _network(self, encryptor: CipherContext, position: int, column: int) -> int:
        """The image of one position in the grid."""
        a, b, place = self._rows, self._columns, column << 64
        update, number = encryptor.update, int.from_bytes  # this loop is all the time a card takes
        row, at = divmod(position, b)
        for _ in range(0, self._rounds, 2):
            block = update((at | place).to_bytes(16, "little"))
            row = (row + (number(block[:8], "little") * a >> 64)) % a
            place += 1 << 96  # the next round
            block = update((row | place).to_bytes(16, "little"))
            at = (at + (number(block[:8], "little") * b >> 64)) % b
            place += 1 << 96
        return row * b + at

    def _networks(self, encryptor: CipherContext, positions: Words, columns: Words) -> Words:
        """As `_network`, for arrays."""
        a, b = np.uint64(self._rows), np.uint64(self._columns)
        row, at = np.divmod(positions, b)
        for turn in range(0, self._rounds, 2):
            _add(row, _words(encryptor, at, columns | np.uint64(_place(0, turn))), a)
            _add(at, _words(encryptor, row, columns | np.uint64(_place(0, turn + 1))), b)
        return row * b + at

    def _walk(self, positions: NDArray[np.integer], columns: Words) -> Positions:
        encryptor = self._cipher.encryptor()
        out = np.empty(len(positions), np.int64)
        for start in range(0, len(positions), _BLOCK):
            block = slice(start, start + _BLOCK)
            image = self._networks(encryptor, positions[block].astype(np.uint64), columns[block])
            while (outside := np.flatnonzero(image >= np.uint64(self.size))).size:
                image[outside] = self._networks(encryptor, image[outside], columns[block][outside])
            out[block] = image
        return out


def grid(size: int) -> tuple[int, int]:
    """Rows and columns, both near the square root, of a grid of hardly more than `size` cells."""
    root = math.isqrt(size - 1) + 1
    rows = min(
        range(root, root + min(_CANDIDATES, root // 8 + 1)),
        key=lambda rows: rows * -(-size // rows),
    )
    return rows, -(-size // rows)


def _place(column: int, turn: int) -> int:
    """What the second half of a block says: whose words these are."""
    return column | turn << 32


def _words(encryptor: CipherContext, x: Words, place: Words | np.uint64) -> Words:
    """The pseudorandom word of each x: the first half of an enciphered block."""
    blocks = np.empty((len(x), 2), "<u8")
    blocks[:, 0] = x
    blocks[:, 1] = place
    out = np.empty(16 * len(x) + 15, np.uint8)  # the cipher asks for a block's room less one byte
    encryptor.update_into(blocks.reshape(-1).view(np.uint8).data, out.data)
    return out[: 16 * len(x)].view("<u8")[::2]


def _add(half: Words, words: Words, modulus: np.uint64) -> None:
    """Add floor(word · modulus / 2^64) to every half, modulo the modulus."""
    low = (words & _LOW) * modulus >> _HALF
    half += ((words >> _HALF) * modulus + low) >> _HALF
    # Below the modulus the difference wraps around and is huge.
    np.minimum(half, half - modulus, out=half)


def _check_column(column: int) -> int:
    return checks.integer("column", column, 0, (1 << 32) - 1)


def _check_key(key: object) -> bytes:
    if isinstance(key, bytes) and len(key) == KEY_BYTES:
        return key
    shown = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
    raise ArgumentError(f"key must be {KEY_BYTES} bytes, got {shown}")  # never the key itself
