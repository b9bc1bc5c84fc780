"""Numbers that follow from a secret, the same in every language: cards, noise and blinding.

The law of whole numbers is drawn exactly, from whole numbers alone (Canonne, Kamath, Steinke: The
discrete Gaussian for differential privacy, 2020, Algorithm 2).
"""

import hashlib
from fractions import Fraction

from jrr.dealing.verified.group import as_number, digest


class Stream:
    """Bytes from a secret: SHA-512 of the secret's hash and a counter, block after block.

    Args:
        domain: What is drawn.
        parts: The secret, and what else it depends on.
    """

    def __init__(self, domain: str, *parts: bytes) -> None:
        self._key = digest(domain, *parts)
        self._block = 0
        self._left = b""

    def take(self, size: int) -> bytes:
        """The next bytes."""
        while len(self._left) < size:
            counter = self._block.to_bytes(8, "little")
            self._left += hashlib.sha512(self._key + counter).digest()
            self._block += 1
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def below(self, bound: int) -> int:
        """A uniform whole number below a bound."""
        bits = (bound - 1).bit_length()
        while True:
            found = int.from_bytes(self.take((bits + 7) // 8), "little") & ((1 << bits) - 1)
            if found < bound:
                return found

    def number(self) -> int:
        """A uniform number modulo the group's order."""
        return as_number(self.take(64))

    def laplace(self, rate: float) -> int:
        """A whole number z with Pr[z] proportional to exp(-rate |z|).

        Args:
            rate: Above 0; taken as the fraction that it is.
        """
        fraction = Fraction(rate)
        steps, scale = fraction.numerator, fraction.denominator
        while True:
            start = self.below(scale)
            if not self._decays(start, scale):
                continue
            whole = 0
            while self._decays(1, 1):
                whole += 1
            size = (start + scale * whole) // steps
            negative = self.below(2) == 1
            if negative and size == 0:
                continue
            return -size if negative else size

    def _decays(self, over: int, under: int) -> bool:
        """True with the chance exp(-over/under), for a fraction of 0 to 1."""
        tries = 1
        while self.below(under * tries) < over:
            tries += 1
        return tries % 2 == 1
