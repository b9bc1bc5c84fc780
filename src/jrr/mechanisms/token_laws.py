"""Laws of numbers of tokens: how many there are, and how many of them on one side.

A deck of masks is piles of plus and minus tokens (jrr.mechanisms.masked_deck). Two laws say how
many tokens there are in some piles: on their own, and given how many there are in more piles. Both
are log-concave, so that one way to draw numbers serves both (docs/theory.md, Theorem 30a).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

_LGAMMA = 2.0**-48  # far above the relative error of math.lgamma
_CONTEXT = Context(prec=60)


class TokenLaw(ABC):
    """A log-concave law of a number of tokens, known up to a factor."""

    most: int | None  # the largest number; None: there is none

    @property
    @abstractmethod
    def mode(self) -> int:
        """A number with the largest chance."""

    @property
    @abstractmethod
    def width(self) -> int:
        """At least one by the chance of the mode."""

    @abstractmethod
    def log_ratio(self, tokens: int) -> tuple[float, float]:
        """Ln of the chance of so many tokens by that of the mode, and how far off it may be."""

    @abstractmethod
    def exact_log_ratio(self, tokens: int) -> Decimal:
        """The same to fifty digits."""

    def chance(self, tokens: int) -> tuple[float, float]:
        """Ln of the chance that a proposed number is taken, and how far off it may be.

        A number that is k beside the mode is proposed with a chance proportional to e^(-k/w), w
        being the width, and taken with the chance p/p(mode) e^(k/w - 1), which is at most 1.
        """
        logarithm, error = self.log_ratio(tokens)
        far = abs(tokens - self.mode) / self.width - 1
        return logarithm + far, error + _LGAMMA * (abs(far) + 1)

    def exact_chance(self, tokens: int) -> Decimal:
        """The same to fifty digits."""
        # The rate that runs is the double nearest to 1/width: so is this one.
        far = _CONTEXT.multiply(Decimal(abs(tokens - self.mode)), Decimal(1 / self.width))
        return _CONTEXT.add(self.exact_log_ratio(tokens), _CONTEXT.subtract(far, Decimal(1)))


@dataclass(frozen=True)
class PileTokens(TokenLaw):
    """Tokens in n piles that are independent geometric numbers: C(g+n-1, n-1) e^(-rate g)."""

    n: int
    rate: float
    most = None

    @cached_property
    def mode(self) -> int:
        """The chance rises while r (g+n) > g+1, r = e^-rate."""
        r = _CONTEXT.exp(Decimal(self.rate).copy_negate())
        rising = _CONTEXT.subtract(_CONTEXT.multiply(Decimal(self.n), r), Decimal(1))
        peak = _CONTEXT.divide(rising, _CONTEXT.subtract(Decimal(1), r))
        return max(0, math.floor(peak) + 1)

    @cached_property
    def width(self) -> int:
        """From the variance n r/(1-r)²."""
        return _width(self.n / (4 * math.sinh(self.rate / 2) ** 2))

    def log_ratio(self, tokens: int) -> tuple[float, float]:
        """By logarithms of factorials."""
        mode, n = self.mode, self.n
        logs = [math.lgamma(g + shift) for g in (tokens, mode) for shift in (n, 1)]
        ratio = logs[0] - logs[1] - logs[2] + logs[3] - self.rate * (tokens - mode)
        error = _LGAMMA * (sum(map(abs, logs)) + self.rate * abs(tokens - mode) + 1)
        return ratio, error

    def exact_log_ratio(self, tokens: int) -> Decimal:
        """Factor by factor, from the mode on."""
        low, high = sorted((tokens, self.mode))
        rise = Decimal(1)
        for g in range(low, high):
            rise = _CONTEXT.multiply(rise, _CONTEXT.divide(Decimal(g + self.n), Decimal(g + 1)))
        lost = _CONTEXT.multiply(Decimal(self.rate), Decimal(high - low))
        gained = _CONTEXT.subtract(_CONTEXT.ln(rise), lost)
        return gained if tokens > self.mode else gained.copy_negate()


@dataclass(frozen=True)
class SplitTokens(TokenLaw):
    """Tokens in the left piles, `most` being spread over all: all ways are equally likely.

    C(g+l-1, l-1) C(most-g+r-1, r-1), l piles being left and r right.
    """

    most: int
    left: int
    right: int

    @cached_property
    def mode(self) -> int:
        """The chance rises while g (l+r-2) < (l-1) most - (r-1)."""
        steps = self.left + self.right - 2
        if not steps:
            return 0  # two piles: all numbers are equally likely
        peak = -(-((self.left - 1) * self.most - (self.right - 1)) // steps)
        return min(max(0, peak), self.most)

    @cached_property
    def width(self) -> int:
        """From the variance, which is that of a beta-binomial law."""
        piles = self.left + self.right
        ways = self.most * self.left * self.right * (piles + self.most)
        return _width(ways / (piles * piles * (piles + 1)))

    def log_ratio(self, tokens: int) -> tuple[float, float]:
        """By logarithms of factorials."""
        logs = []
        for g, sign in ((tokens, 1), (self.mode, -1)):
            for held, piles in ((g, self.left), (self.most - g, self.right)):
                logs += [sign * math.lgamma(held + piles), -sign * math.lgamma(held + 1)]
        return math.fsum(logs), _LGAMMA * (sum(map(abs, logs)) + 1)

    def exact_log_ratio(self, tokens: int) -> Decimal:
        """Factor by factor, from the mode on."""
        low, high = sorted((tokens, self.mode))
        rise = Decimal(1)
        for g in range(low, high):
            over = Decimal((g + self.left) * (self.most - g))
            under = Decimal((g + 1) * (self.most - g - 1 + self.right))
            rise = _CONTEXT.multiply(rise, _CONTEXT.divide(over, under))
        gained = _CONTEXT.ln(rise)
        return gained if tokens > self.mode else gained.copy_negate()


def _width(variance: float) -> int:
    """A whole number that is at least one by the largest chance of a law with this variance.

    No law on whole numbers whose chances are at most M has a variance below (1/M² - 1)/12.
    """
    return math.ceil(math.sqrt(1 + 12 * variance) * (1 + 2.0**-30))
