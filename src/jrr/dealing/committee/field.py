"""A prime field and additive sharing of vectors over it.

A vector is shared by random vectors that add up to it; any proper part of them is uniform and
tells nothing. Random vectors are expanded from seeds, so that most shares travel as 32 bytes.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

PRIME = (1 << 31) - 1  # products of two elements fit into 64 bits
SEED = 32  # bytes
Vector = NDArray[np.uint64]
Seeds = Callable[[], bytes]


def new_seed() -> bytes:
    """Fresh randomness for one vector."""
    return secrets.token_bytes(SEED)


def expand(seed: bytes, shape: tuple[int, ...], prime: int = PRIME) -> Vector:
    """The exactly uniform vector that a seed stands for."""
    count = int(np.prod(shape))
    mask = (1 << prime.bit_length()) - 1
    stream = _stream(seed)
    parts: list[NDArray[Any]] = []
    have = 0
    while have < count:
        # Elements beyond the prime are thrown away: at most half, for 2^31-1 hardly any.
        need = count - have
        words = np.frombuffer(stream(4 * (need + need // 2 + 16)), "<u4") & np.uint32(mask)
        kept = words[words < prime]
        parts.append(kept)
        have += len(kept)
    return np.concatenate(parts)[:count].astype(np.uint64).reshape(shape)


def permutation(seed: bytes, size: int) -> NDArray[np.intp]:
    """The uniform order that a seed stands for: random words, sorted."""
    for attempt in range(100):
        stream = _stream(hashlib.sha256(b"order" + bytes([attempt]) + seed).digest())
        keys = np.frombuffer(stream(8 * size), "<u8")
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():  # a tie would favour one order
            return order
    raise AssertionError("a hundred ties in a row")


def add(first: Vector, second: Vector, prime: int = PRIME) -> Vector:
    """Element by element."""
    return (first + second) % np.uint64(prime)


def subtract(first: Vector, second: Vector, prime: int = PRIME) -> Vector:
    """Element by element."""
    return (first + np.uint64(prime) - second) % np.uint64(prime)


def times(vector: Vector, factor: int, prime: int = PRIME) -> Vector:
    """Every element by one factor."""
    return (vector * np.uint64(factor)) % np.uint64(prime)


def total(vector: Vector, prime: int = PRIME) -> int:
    """The sum of all elements."""
    return int(vector.sum(dtype=np.uint64) % np.uint64(prime)) if vector.size else 0


def to_bytes(vector: Vector) -> bytes:
    """Four bytes an element, little-endian."""
    return vector.astype("<u4").tobytes()


def from_bytes(data: bytes, shape: tuple[int, ...], prime: int = PRIME) -> Vector:
    """The vector of this shape in these bytes, or a ValueError."""
    if len(data) != 4 * int(np.prod(shape)):
        raise ValueError(f"a vector of shape {shape} must have {4 * int(np.prod(shape))} bytes")
    vector = np.frombuffer(data, "<u4").astype(np.uint64).reshape(shape)
    if vector.size and int(vector.max()) >= prime:
        raise ValueError("a vector must hold elements of the field")
    return vector


def _stream(seed: bytes) -> Callable[[int], bytes]:
    cipher = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor()
    return lambda size: cipher.update(bytes(size))
