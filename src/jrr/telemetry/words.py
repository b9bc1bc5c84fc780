"""Words: strings over an alphabet that is known, though nobody has a list of the strings.

A word is a row of symbols: 1 for the first character of the alphabet, 2 for the second, and 0
behind its end. Its prefixes are the first symbols of that row.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms import hashing

Symbols = NDArray[np.uint8]
_LONGEST = 255
_SEED = np.uint64(0x6A72722D776F7264)  # any public number: fingerprints are no secret


@dataclass(frozen=True)
class Words:
    """Strings of at most `length` characters of an alphabet.

    Attributes:
        alphabet: the characters that occur, each once, at most 254.
        length: of the longest string, at most 255.
        fixed: whether all strings have that length, as numbers written in so many bits have.
        cut: whether longer strings count as their first `length` characters; otherwise refused.

    Example:
        >>> Words("abc", 4).symbols(["a", "cab"]).tolist()
        [[1, 0, 0, 0], [3, 1, 2, 0]]
    """

    alphabet: str
    length: int
    fixed: bool = False
    cut: bool = False

    def __post_init__(self) -> None:
        letters: object = self.alphabet
        if not isinstance(letters, str) or not 2 <= len(letters) <= 254:
            raise checks.refusal("alphabet", letters, "a text of 2 to 254 characters")
        if len(set(letters)) < len(letters):
            raise checks.refusal("alphabet", letters, "a text in which no character occurs twice")
        checks.integer("length", self.length, 1, _LONGEST)
        for name in ("fixed", "cut"):
            if not isinstance(getattr(self, name), bool):
                raise checks.refusal(name, getattr(self, name), "True or False")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: object) -> "Words":
        """What `to_dict` wrote.

        Args:
            document: what `to_dict` returned.
        """
        names = {"alphabet", "length", "fixed", "cut"}
        return cls(**checks.exact_fields(document, names))

    @property
    def branches(self) -> int:
        """How many prefixes a prefix has that are one symbol longer, at most."""
        return len(self.alphabet) + (not self.fixed)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {letter: place for place, letter in enumerate(self.alphabet, 1)}

    def symbols(self, strings: Iterable[str]) -> Symbols:
        """Strings as rows of symbols.

        Args:
            strings: words of the alphabet.

        Raises:
            ArgumentError: for characters that are not in the alphabet, or other lengths.
        """
        given = [strings] if isinstance(strings, str) else list(strings)
        known: dict[str, bytes] = {}  # telemetry repeats itself
        for string in given:
            if string not in known:
                known[string] = self.symbols_of(string)
        together = b"".join([known[string] for string in given])
        return np.frombuffer(together, np.uint8).reshape(len(given), self.length)

    def symbols_of(self, string: object) -> bytes:
        """One string as a row of symbols, without arrays; refusals as those of `symbols`.

        Args:
            string: a word of the alphabet.
        """
        if not isinstance(string, str):
            raise checks.refusal("strings", string, "texts")
        if len(string) > self.length and not self.cut:
            allowed = f"of at most {self.length} characters (cut=True: longer ones are cut)"
            raise checks.refusal("strings", string, allowed)
        if self.fixed and len(string) < self.length:
            raise checks.refusal("strings", string, f"of {self.length} characters")
        try:
            found = bytes([self._places[letter] for letter in string[: self.length]])
        except KeyError as error:
            allowed = f"of the characters {self.alphabet!r}"
            raise ArgumentError(
                f"strings must be {allowed}, got {string!r} with {error.args[0]!r}"
            ) from None
        return found.ljust(self.length, b"\0")

    def strings(self, rows: Symbols) -> list[str]:
        """Rows of symbols, whole words or prefixes, as strings.

        Args:
            rows: of symbols.
        """
        letters = ["", *self.alphabet]
        return ["".join(letters[symbol] for symbol in row) for row in rows]

    def extended(self, prefixes: Symbols, length: int) -> Symbols:
        """All prefixes of this length that begin with one of the given ones.

        Args:
            prefixes: rows of symbols.
            length: of the new prefixes.
        """
        rows = prefixes
        letters = np.arange(1, len(self.alphabet) + 1, dtype=np.uint8)
        while rows.shape[1] < length:
            width = rows.shape[1]
            ended = (rows[:, -1] == 0) if width else np.zeros(len(rows), np.bool_)
            going = rows[~ended]
            longer = np.column_stack(
                (np.repeat(going, len(letters), axis=0), np.tile(letters, len(going)))
            )
            parts = [longer]
            if not self.fixed:  # behind an end there is nothing, and anything may end
                parts.append(np.column_stack((rows, np.zeros(len(rows), np.uint8))))
            rows = np.concatenate(parts)
        return rows


NO_PREFIX = np.zeros((1, 0), np.uint8)  # what every word begins with


def fingerprints(prefixes: Symbols) -> NDArray[np.uint32]:
    """A public 32-bit number for each prefix: what is hashed in place of it.

    Two prefixes with the same number are confused; among m candidates there is one that is confused
    with a given one with a chance of m / 2^32.
    """
    n, width = prefixes.shape
    padded = np.zeros((n, -(-width // 4) * 4), np.uint8)
    padded[:, :width] = prefixes
    state = hashing.prefix(np.full(n, _SEED + np.uint64(width)))
    for lane in np.ascontiguousarray(padded).view("<u4").T:
        state = hashing.finish(state, lane)
    return state


def fingerprint(prefix: bytes) -> int:
    """The number of one prefix, without arrays, for a device."""
    state = hashing.prefix_one(int(_SEED) + len(prefix))
    for at in range(0, len(prefix), 4):
        state = hashing.finish_one(state, int.from_bytes(prefix[at : at + 4], "little"))
    return state


def places(prefixes: Symbols, rows: Symbols) -> NDArray[np.int64]:
    """Which of the prefixes each row begins with; their number where it is none of them."""
    width = prefixes.shape[1]
    # As texts of bytes: zeros behind the end are not compared, and stand nowhere else.
    texts = np.ascontiguousarray(prefixes).view(f"S{width}").ravel()
    sought = np.ascontiguousarray(rows[:, :width]).view(f"S{width}").ravel()
    order = np.argsort(texts)
    at = np.searchsorted(texts, sought, sorter=order)
    at = order[np.minimum(at, len(texts) - 1)]
    found: NDArray[np.int64] = np.where(texts[at] == sought, at, len(texts))
    return found
