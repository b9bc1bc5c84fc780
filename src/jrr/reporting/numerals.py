"""Numbers as people of a language write them: decimal points or commas, percent signs, ε."""

import math
from dataclasses import dataclass

from jrr._base.wording import rounded_up
from jrr.reporting.catalogue import text

_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Numerals:
    """How numbers are written in a language of the catalogue.

    Example:
        >>> Numerals("en").percent(0.3125, 1), Numerals("de").count(12_500)
        ('31.2%', '12.500')
    """

    language: str

    def number(self, value: float, decimals: int) -> str:
        """A number with so many decimals."""
        shown = f"{value:,.{decimals}f}"
        if not float(shown.replace(",", "")):
            shown = shown.removeprefix("-")  # nothing is less than nothing
        return self._in_language(shown)

    def short(self, value: float) -> str:
        """A number without zeros at its end, as on an axis."""
        return self._in_language(f"{value:.6g}")

    def count(self, value: int) -> str:
        """How many."""
        return self._in_language(f"{value:,}")

    def percent(self, share: float, decimals: int) -> str:
        """A share."""
        return self._percent(self.number(100 * share, decimals))

    def level(self, share: float) -> str:
        """A chance or an end of an axis, in percent, with no more decimals than it has."""
        return self._percent(self.short(100 * share))

    def interval(self, low: str, high: str) -> str:
        """From one end to the other."""
        return text(self.language, "number.interval", low=low, high=high)

    def loss(self, epsilon: float, delta: float = 0.0) -> str:
        """ε, rounded up to four digits, and the δ at which it holds where that is not 0."""
        if math.isinf(epsilon):
            return text(self.language, "number.epsilon_unbounded")
        shown = self.epsilon(epsilon)
        if not delta:
            return text(self.language, "number.epsilon", epsilon=shown)
        chance = self.count(math.floor(1 / delta))  # never less than δ
        return text(self.language, "number.epsilon_at", epsilon=shown, chance=chance)

    def epsilon(self, epsilon: float) -> str:
        """The same figure by itself, for a table."""
        if math.isinf(epsilon):
            return text(self.language, "number.unbounded")
        return self._in_language(rounded_up(epsilon, 4))

    def _percent(self, number: str) -> str:
        return text(self.language, "number.percent", number=number)

    def _in_language(self, shown: str) -> str:
        """From digits as Python writes them."""
        decimal = text(self.language, "number.decimal")
        thousands = text(self.language, "number.thousands")
        swap = str.maketrans({".": decimal, ",": thousands, "-": _MINUS})
        mantissa, e, exponent = shown.partition("e")
        return mantissa.translate(swap) + e + exponent


def share_decimals(stderr: float) -> int:
    """Decimals of percentages whose standard errors are at least this share."""
    points = 100 * stderr
    return min(4, max(1, -math.floor(math.log10(points)))) if points > 0 else 1


def mean_decimals(stderr: float) -> int:
    """Decimals of a mean: as many as give its standard error two digits."""
    return min(9, max(0, 1 - math.floor(math.log10(stderr)))) if stderr > 0 else 2
