"""Random 64-bit words: secure unless a seed is asked for.

Every random draw of the library goes through a `RandomSource`. Words are the little-endian
64-bit integers of an AES-256-CTR key stream.

Secrets are overwritten in memory when they are of no more use (`overwrite`). Python does not clear
what it frees: a key that nobody refers to any more stays where it was until the place is used
again, which on an idle server may be never.
"""

import ctypes
import hashlib
import hmac
import os
import threading
import weakref
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import ArgumentError

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


class _Stream(ABC):
    """Words served from blocks that a subclass makes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._size = _FIRST
        self._pool: Words = np.empty(0, np.uint64)
        self._at = 0

    @abstractmethod
    def _block(self, count: int) -> Words:
        """The next so many words, however they are made."""

    def _refill(self) -> None:
        self._pool = self._block(self._size)
        self._at = 0
        self._size = min(2 * self._size, BLOCK)

    def words(self, count: int) -> Words:
        """The next `count` words; the array belongs to the caller."""
        count = checks.integer("count", count, 0)
        with self._lock:
            if self._busy:
                return self._reentered(count)
            self._busy = True
            try:
                return self._next(count)
            finally:
                self._busy = False

    def _next(self, count: int) -> Words:
        if count > BLOCK:
            self._size = BLOCK
        if self._at == len(self._pool):
            self._refill()
        if self._at == 0 and count == len(self._pool):
            self._at = count
            return self._pool
        out = np.empty(count, np.uint64)  # a view would show the words that come after it
        done = 0
        while done < count:
            if self._at == len(self._pool):
                self._refill()
            step = min(count - done, len(self._pool) - self._at)
            served = self._pool[self._at : self._at + step]
            out[done : done + step] = served
            served.fill(0)  # the words are the caller's alone
            self._at += step
            done += step
        return out

    def _reentered(self, count: int) -> Words:
        """Words for a signal handler that interrupted a draw in the same thread."""
        raise ArgumentError("a seeded source must not be drawn from inside its own draw")

    def word(self) -> int:
        """The next word as a plain integer."""
        return int(self.words(1)[0])


class SecureRandom(_Stream):
    """Cryptographic words, keyed from the operating system; the default everywhere.

    Every block also makes the key of the next one, so that a key found in memory does not
    tell earlier words. A forked child keys itself anew.

    Example:
        >>> 0 <= SecureRandom().word() < 2**64
        True
    """

    def __init__(self) -> None:
        super().__init__()
        _cipher()
        self._key = os.urandom(32)
        _SECURE.add(self)

    def _forked(self) -> None:
        """In a child process: another key, and a lock that no thread of the parent holds."""
        super().__init__()
        self._key = os.urandom(32)

    def _block(self, count: int) -> Words:
        used, encryptor = self._key, _encryptor(self._key)
        self._key = encryptor.update(_ZEROS[:32])
        overwrite(used)
        return _key_stream(encryptor, 8 * count).view("<u8")

    def _reentered(self, count: int) -> Words:
        return SecureRandom().words(count)

    def __reduce__(self) -> Any:
        return (SecureRandom, ())  # a copy must never repeat this stream

    def __repr__(self) -> str:
        return "SecureRandom()"


_SECURE: "weakref.WeakSet[SecureRandom]" = weakref.WeakSet()


_HELD: "list[SecureRandom]" = []


def _before_fork() -> None:
    """Let every draw finish: a child must not inherit the middle of one."""
    for stream in list(_SECURE):
        stream._lock.acquire()
        _HELD.append(stream)


def _after_fork_in_parent() -> None:
    while _HELD:
        _HELD.pop()._lock.release()


def _after_fork_in_child() -> None:
    _HELD.clear()
    for stream in list(_SECURE):
        stream._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


class _KeyStream(_Stream):
    """Words that follow from a key."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._stream = _encryptor(key)

    def _block(self, count: int) -> Words:
        return _key_stream(self._stream, 8 * count).view("<u8")


class SeededRandom(_KeyStream):
    """Reproducible words for simulations and tests; never for real answers.

    Args:
        seed: a whole number >= 0; the same seed gives the same words on every machine.

    Example:
        >>> SeededRandom(7).word() == SeededRandom(7).word()
        True
    """

    def __init__(self, seed: int) -> None:
        self.seed = checks.integer("seed", seed, 0)
        super().__init__(hashlib.sha256(b"jrr seeded words 1:%d" % self.seed).digest())

    def __reduce__(self) -> Any:
        raise ArgumentError("rng must not be copied: make another SeededRandom with the same seed")

    def __repr__(self) -> str:
        return f"SeededRandom({self.seed})"


class KeyedRandom(_KeyStream):
    """Words that follow from a secret key, for decks that are drawn again from it.

    Args:
        key: 32 secret bytes.
        purpose: what the words are for; others give other words.
    """

    def __init__(self, key: bytes, purpose: bytes) -> None:
        digest = hmac.new(key, b"jrr keyed words 1:" + purpose, hashlib.sha256).digest()
        super().__init__(digest)
        overwrite(digest)

    def __repr__(self) -> str:
        return "KeyedRandom()"  # never the key


class _GeneratorWords:
    """A numpy Generator as a source of words."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


Rng = RandomSource | np.random.Generator | None  # what every `rng=` argument takes


def source(rng: Rng) -> RandomSource:
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
    for _ in range(100):
        keys = rng.words(len(deck))
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():  # a tie would favour one order: draw again
            return deck[order]
    raise checks.refusal("rng", rng, "random: it gave the same word twice a hundred times")


def _key_stream(encryptor: Any, size: int) -> NDArray[np.uint8]:
    stream = np.empty(size + 15, np.uint8)  # the cipher asks for a block's room less one byte
    encryptor.update_into(_ZEROS[:size], stream)
    return stream[:size]


@cache
def _cipher() -> tuple[Any, Any, Any]:
    # Loaded with the first source: planning needs no cipher. Kept, because an import in one
    # thread while another forks would leave the child waiting for ever.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher, algorithms.AES, modes.CTR


def _encryptor(key: bytes) -> Any:
    cipher, aes, counter = _cipher()
    return cipher(aes(key), counter(bytes(16))).encryptor()


_SHORTEST = 16  # bytes: shorter ones may be shared between strangers by the interpreter


def overwrite(secret: bytes) -> None:
    """Overwrite bytes in place, wherever else they are referred to.

    Args:
        secret: A key that nobody uses any more, made at run time and not a literal.
    """
    if len(secret) >= _SHORTEST:
        place = ctypes.cast(ctypes.c_char_p(secret), ctypes.c_void_p).value
        assert place is not None  # not empty
        ctypes.memset(place, 0, len(secret))


def overwrite_array(array: NDArray[Any] | None) -> None:
    """Overwrite an array in place; None: nothing."""
    if array is not None and array.flags.writeable:
        array.fill(0)
