"""What intervals mean, in words: which chance, for how many answers, of whom."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jrr.estimation.estimates import FEWEST_EFFECTIVE, Estimate
from jrr.reporting.catalogue import FALLBACK, text
from jrr.reporting.numerals import Numerals


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
