"""Random 64-bit words: secure unless a seed is asked for.

Every random draw of the library goes through a `RandomSource`. Words are the little-endian
64-bit integers of an AES-256-CTR key stream.
"""

import hashlib
import os
import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jrr import checks

Words = NDArray[np.uint64]

BLOCK = 1 << 15  # words made at a time: a quarter of a megabyte, which stays in the cache
_FIRST = 1 << 5  # the first block is small, so that one report costs little
_ZEROS = memoryview(bytes(32 + 8 * BLOCK))


class RandomSource(Protocol):
    """Where random words come from."""

    def words(self, count: int) -> Words:
        """The next `count` words."""

    def word(self) -> int:
        """The next word as a plain integer."""


class _Stream:
    """Words served from blocks that a subclass makes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = _FIRST
        self._pool: Words = np.empty(0, np.uint64)
        self._at = 0

    def _block(self, count: int) -> Words:
        raise NotImplementedError

    def _refill(self) -> None:
        self._pool = self._block(self._size)
        self._at = 0
        self._size = min(2 * self._size, BLOCK)

    def words(self, count: int) -> Words:
        """The next `count` words; the array belongs to the caller."""
        count = checks.integer("count", count, 0)
        with self._lock:
            self._guard()
            if count > BLOCK:
                self._size = BLOCK
            if self._at == len(self._pool):
                self._refill()
            if count <= len(self._pool) - self._at:
                taken = self._pool[self._at : self._at + count]
                self._at += count
                return taken
            out = np.empty(count, np.uint64)
            done = 0
            while done < count:
                if self._at == len(self._pool):
                    self._refill()
                step = min(count - done, len(self._pool) - self._at)
                out[done : done + step] = self._pool[self._at : self._at + step]
                self._at += step
                done += step
            return out

    def word(self) -> int:
        """The next word as a plain integer."""
        return int(self.words(1)[0])

    def _guard(self) -> None:
        """Called before every draw."""


class SecureRandom(_Stream):
    """Cryptographic words, keyed from the operating system; the default everywhere.

    Every block also makes the key of the next one, so that a key found in memory does not
    tell earlier words. A forked child keys itself anew.
    """

    def __init__(self) -> None:
        super().__init__()
        self._key = os.urandom(32)
        self._pid = os.getpid()

    def _guard(self) -> None:
        if self._pid != os.getpid():
            self._key = os.urandom(32)
            self._pid = os.getpid()
            self._pool = np.empty(0, np.uint64)
            self._at = 0

    def _block(self, count: int) -> Words:
        stream = _key_stream(_encryptor(self._key), 32 + 8 * count)
        self._key = stream[:32].tobytes()
        return stream[32:].view("<u8")

    def __reduce__(self) -> Any:
        return (SecureRandom, ())  # a copy must never repeat this stream

    def __repr__(self) -> str:
        return "SecureRandom()"


class SeededRandom(_Stream):
    """Reproducible words for simulations and tests; never for real answers."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = checks.integer("seed", seed, 0)
        self._stream = _encryptor(hashlib.sha256(b"jrr seeded words 1:%d" % self.seed).digest())

    def _block(self, count: int) -> Words:
        return _key_stream(self._stream, 8 * count).view("<u8")

    def __repr__(self) -> str:
        return f"SeededRandom({self.seed})"


class _GeneratorWords:
    """A numpy Generator as a source of words."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


def source(rng: RandomSource | np.random.Generator | None) -> RandomSource:
    """The source behind an `rng=` argument; None is a fresh SecureRandom."""
    if rng is None:
        return SecureRandom()
    if isinstance(rng, np.random.Generator):
        return _GeneratorWords(rng)
    if callable(getattr(rng, "words", None)) and callable(getattr(rng, "word", None)):
        return rng
    raise checks.refusal(
        "rng", rng, "None, a SecureRandom, a SeededRandom or a numpy.random.Generator"
    )


def shuffled(deck: NDArray[Any], rng: RandomSource) -> NDArray[Any]:
    """The deck in an exactly uniform order: sorted by distinct random words."""
    while True:
        keys = rng.words(len(deck))
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():  # a tie would favour one order: draw again
            return deck[order]


def _key_stream(encryptor: Any, size: int) -> NDArray[np.uint8]:
    stream = np.empty(size + 15, np.uint8)  # the cipher asks for a block's room less one byte
    encryptor.update_into(_ZEROS[:size], stream)
    return stream[:size]


def _encryptor(key: bytes) -> Any:
    # Loaded when the first word is drawn: planning needs no cipher.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
