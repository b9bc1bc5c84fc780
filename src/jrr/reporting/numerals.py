"""Numbers and intervals as people of a language read them.

Decimal points or commas, percent signs, ε; and which chance an interval has, for how many answers,
of whom.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jrr._base.wording import rounded_up
from jrr.estimation.estimates import FEWEST_EFFECTIVE, Estimate
from jrr.reporting.catalogue import FALLBACK, text

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


def intervals_in_words(estimate: Estimate, level: float, simultaneous: bool) -> str:
    """A sentence for below a table of intervals.

    Example:
        >>> import jrr
        >>> estimate = jrr.RR(p=0.75).estimate([0, 1, 1, 1] * 100)
        >>> intervals_in_words(estimate, 0.95, simultaneous=False)
        'Each interval holds with a chance of 95%, for the people who answered.'
    """
    return sentence(
        level=level,
        simultaneous=simultaneous,
        population=estimate.population,
        population_size=estimate.population_size,
    )


def sentence(
    *,
    level: float,
    simultaneous: bool,
    population: str,
    population_size: int | None,
    language: str = FALLBACK,
) -> str:
    """The same from the fields of a result document, in a language of the catalogue."""
    numerals = Numerals(language)
    if population == "respondents":
        whom = text(language, "interval.respondents")
    elif population_size is None:
        whom = text(language, "interval.sample")
    else:
        whom = text(language, "interval.sample_of", size=numerals.count(population_size))
    key = "interval.all" if simultaneous else "interval.each"
    return text(language, key, level=numerals.level(level), whom=whom)


def weights_in_words(estimate: Estimate) -> str:
    """What unequal weights cost, and a warning where they leave too little.

    Example:
        >>> import jrr
        >>> m = jrr.RR(p=0.75)
        >>> weights_in_words(m.estimate(m.tally([0, 1] * 50, weights=[1.0] * 99 + [20.0])))
        'Effective sample size: 28.4 of 100, since the weights are unequal.'
    """
    size = f"{estimate.effective_n:,.1f}"
    words = f"Effective sample size: {size} of {estimate.n:,}, since the weights are unequal."
    if estimate.effective_n < FEWEST_EFFECTIVE:
        words += f" Below {FEWEST_EFFECTIVE} intervals may hold less often than they say."
    return words


class ChangeRow(NamedTuple):
    """What has changed between two waves in one answer, as it is shown."""

    question: str
    answer: str  # "": of a mean, or where nothing is shown
    change: str  # "": nothing is shown
    interval: str  # or why not


def gains(
    changes: Mapping[str, Mapping[str, Any]], asked: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The standard error of pairs beside that of everybody's answers, a sentence each.

    asked: What questions are called; by their names unless given.
    """
    for name, facts in changes.items():
        if "unpaired_stderr" in facts:
            wide, unit = 100.0, " points"
            if "mean" in facts:  # in the unit of the number, whose ends are the labels
                low, high = map(float, facts["labels"])
                wide, unit = high - low, ""
            paired, apart = (wide * max(facts[of]) for of in ("stderr", "unpaired_stderr"))
            yield (
                f"{(asked or {}).get(name, name)}: standard error {paired:.3g}{unit} among the "
                f"{facts['n_both']:,} who answered both, {apart:.3g}{unit} for a population of "
                "which others answered each wave"
            )


def change_rows(changes: Mapping[str, Mapping[str, Any]]) -> Iterator[ChangeRow]:
    """The changes that a collector tells, a row each."""
    for name, facts in changes.items():
        if "refused" in facts:
            yield ChangeRow(name, "", "", facts["refused"])
        elif "mean" in facts:
            low, high = facts["mean"]["interval"]
            moved = facts["mean"]["change"]
            yield ChangeRow(name, "", f"{moved:+.4g}", f"{low:+.4g} to {high:+.4g}")
        else:
            answers = zip(facts["labels"], facts["difference"], facts["interval"], strict=True)
            for label, moved, (low, high) in answers:
                ends = f"{100 * low:+.2f} to {100 * high:+.2f}"
                yield ChangeRow(name, label, f"{100 * moved:+.2f} points", ends)
