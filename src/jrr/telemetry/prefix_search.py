"""Finding frequent strings by their prefixes, level by level (PEM: Wang, Li and Jha, 2019).

People are divided into groups, one for each level. The first group tells short prefixes of its
strings; the next one is asked about those longer prefixes only that begin with a frequent one, and
so on to whole strings. Everybody reports once, so that the loss is that of one report.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, Shown, value_rows
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Ints
from jrr.telemetry.words import NO_PREFIX, Symbols, Words, places

MOST_CANDIDATES = 1 << 20


def default_levels(words: Words, keep: int, candidates: int) -> tuple[int, ...]:
    """The fewest levels whose candidates are at most so many: prefixes as long as they can be."""
    levels = [0]
    kept = 1
    while levels[-1] < words.length:
        step = 1
        while kept * words.branches ** (step + 1) <= candidates:
            step += 1
        levels.append(min(words.length, levels[-1] + step))
        kept = keep
    return tuple(levels[1:])


def check_levels(words: Words, levels: Sequence[int]) -> tuple[int, ...]:
    """Rising lengths of prefixes, the last one that of whole strings; or a refusal."""
    allowed = f"rising whole numbers that end with the length of the strings, {words.length}"
    if not isinstance(levels, tuple | list) or not levels:
        raise checks.refusal("levels", levels, allowed)
    found = tuple(checks.integer("levels", level, 1, words.length) for level in levels)
    if found[-1] != words.length or any(b <= a for a, b in pairwise(found)):
        raise checks.refusal("levels", levels, allowed)
    if words.branches ** found[0] > MOST_CANDIDATES:
        allowed = f"such that the first has at most {MOST_CANDIDATES:,} prefixes"
        raise checks.refusal("levels", levels, allowed)
    return found


@dataclass(frozen=True, eq=False)
class FrequentStrings(Shown):
    """Strings that were found, the most frequent first, with estimated shares.

    Attributes:
        strings: the strings.
        asked: how many strings the last group was asked about.
    """

    strings: tuple[str, ...]
    asked: int
    _estimate: Estimate
    _places: Ints  # of the strings in the estimate

    @property
    def people(self) -> int:
        """All who reported, as far as that was said; otherwise those of the last group."""
        sampling = self._estimate.sampling
        if sampling is None or math.isinf(sampling.size):
            return self._estimate.n
        return round(sampling.size)

    @property
    def frequencies(self) -> Floats:
        """Estimated shares.

        Unbiased for each string that was asked about; those that lead the list are on average a
        little too high, because that is why they lead it.
        """
        return self._estimate.frequencies[self._places]

    @property
    def stderr(self) -> Floats:
        """Standard errors of the shares."""
        return self._estimate.stderr[self._places]

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Intervals of the shares that hold all at once, also after the choice of the largest.

        They are those of all strings that the last group was asked about (Bonferroni), so that
        it does not matter which of them are shown.

        Args:
            level: the chance with which an interval holds.
        """
        each = 1 - (1 - checks.level(level)) / self.asked
        low, high = self._estimate.interval(each)
        return low[self._places], high[self._places]

    def may_be_absent(self, level: float = 0.95) -> tuple[bool, ...]:
        """Of each string whether its interval includes 0, so that perhaps nobody sent it.

        The list is as long as asked for, whatever stands out: its end may be noise.

        Args:
            level: of the intervals.
        """
        low, _ = self.interval(level)
        return tuple(bool(end <= 0) for end in low)

    shown_heading = "Frequent strings of {0.people:,} reports; intervals hold all at once"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each string: share, stderr, low, high, may_be_absent.

        Args:
            level: of the intervals, which hold all at once.
        """
        low, high = self.interval(level)
        return value_rows(
            {
                "string": self.strings,
                "share": self.frequencies,
                "stderr": self.stderr,
                "low": low,
                "high": high,
                "may_be_absent": self.may_be_absent(level),
            }
        )

    def top(self, strings: int) -> "FrequentStrings":
        """The first so many of them.

        Args:
            strings: how many.
        """
        return replace(self, strings=self.strings[:strings], _places=self._places[:strings])

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers, with the intervals of one level.

        Args:
            level: the chance with which an interval holds.
        """
        low, high = self.interval(level)
        return {
            "strings": list(self.strings),
            "frequencies": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "level": level,
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
            "may_be_absent": list(self.may_be_absent(level)),
            "asked": self.asked,
        }

    def __len__(self) -> int:
        return len(self.strings)


def _some(estimate: Estimate, places: Ints) -> tuple[Estimate, Ints]:
    """An estimate of these values alone, if all values have the same law, and their places."""
    if any(stratum.moments.p.size > 1 for stratum in estimate.strata):
        return estimate, places
    strata = [
        replace(
            stratum,
            counts=stratum.counts[places],
            squares=None if stratum.squares is None else stratum.squares[places],
        )
        for stratum in estimate.strata
    ]
    return Estimate(strata, estimate.sampling), np.arange(len(places))


@dataclass(frozen=True, eq=False)
class PrefixSearch:
    """The collector's side of a search in which each group is asked after the one before.

    Groups can then be asked with any mechanism, also with cards: with masked cards (MRR) the noise
    is a fraction of that without. Values are the places of `prefixes`, and one more for
    "none of them".

    Attributes:
        words: what the strings look like.
        levels: the lengths of the prefixes that the groups are asked about.
        keep: how many prefixes are extended from each level to the next, at least as many as
            strings are wanted.
        prefixes: what the group of the present level is asked about; rows of symbols.
        level: the present level, from 0.
        found: the answer, at the end; before that None.

    Example:
        >>> import jrr
        >>> strings = ["to be"] * 300 + ["or"] * 200 + ["not"] * 100
        >>> search = PrefixSearch.start(jrr.Words("abcdefghijklmnopqrstuvwxyz ", 5), keep=8)
        >>> search.levels
        (2, 3, 4, 5)
        >>> groups = [strings[i::4] for i in range(4)]
        >>> while search.found is None:
        ...     group = groups[search.level]
        ...     m = jrr.RR(search.k, p=1.0)  # without noise, for once
        ...     search = search.answered(m.estimate(m.respond(search.values(group))))
        >>> search.found.strings[:3]
        ('to be', 'or', 'not')
    """

    words: Words
    levels: tuple[int, ...]
    keep: int
    prefixes: Symbols
    level: int = 0
    found: FrequentStrings | None = None

    @classmethod
    def start(
        cls,
        words: Words,
        keep: int = 40,
        levels: Sequence[int] | None = None,
        candidates: int = 1_024,
    ) -> "PrefixSearch":
        """A search that begins.

        Args:
            words: what the strings look like.
            keep: how many prefixes are extended from each level to the next; twice the number of
                strings that are wanted is a good choice.
            levels: the lengths of prefixes; None: as few levels as `candidates` allows.
            candidates: how many prefixes a group may be asked about, if levels are not given:
                the more, the fewer groups, and the longer the reports.

        Raises:
            ArgumentError: for levels that do not rise to the length of the strings.
        """
        keep = checks.integer("keep", keep, 1, MOST_CANDIDATES)
        if levels is None:
            candidates = checks.integer("candidates", candidates, 2, MOST_CANDIDATES)
            levels = default_levels(words, keep, candidates)
        checked = check_levels(words, levels)
        return cls(words, checked, keep, words.extended(NO_PREFIX, checked[0]))

    @property
    def k(self) -> int:
        """How many values the group of this level tells apart: its prefixes and "none of them"."""
        return len(self.prefixes) + 1

    def values(self, strings: Iterable[str]) -> Ints:
        """On devices: the values of strings, for the mechanism of this level.

        Args:
            strings: one per person.
        """
        return places(self.prefixes, self.words.symbols(strings))

    def answered(
        self, estimate: Estimate, *, population_size: float | None = None
    ) -> "PrefixSearch":
        """The search after a group's answers.

        Args:
            estimate: by a mechanism of `k` values, from the reports of this level's group.
            population_size: people in all groups together; standard errors of the last level then
                speak of them, otherwise of a population without end.

        Raises:
            ArgumentError: for an estimate of another number of values, or a search at its end.
        """
        if self.found is not None:
            raise ArgumentError("estimate must not be given to a search that is at its end")
        if len(estimate.counts) != self.k:
            raise ArgumentError(
                f"estimate must be of {self.k} values, got one of {len(estimate.counts)}"
            )
        return self.extended(estimate.for_population("sample", population_size))

    def extended(self, estimate: Estimate) -> "PrefixSearch":
        """The same, from an estimate whose first values are `prefixes`, errors as they are.

        Args:
            estimate: of the prefixes of this level.
        """
        shares = estimate.frequencies[: len(self.prefixes)]
        order = np.argsort(-shares, kind="stable")[: self.keep]
        order = order[shares[order] > 0]
        if not len(order):  # nothing stands out: go on with what is least unlikely
            order = np.argsort(-shares, kind="stable")[:1]
        if self.level + 1 == len(self.levels):
            names = self.words.strings(self.prefixes[order])
            found = FrequentStrings(tuple(names), len(shares), *_some(estimate, order))
            return replace(self, found=found)
        level = self.level + 1
        longer = self.words.extended(self.prefixes[order], self.levels[level])
        if len(longer) > MOST_CANDIDATES:
            allowed = f"such that at most {MOST_CANDIDATES:,} prefixes are asked about"
            raise checks.refusal("levels", self.levels, allowed)
        return replace(self, level=level, prefixes=longer)
