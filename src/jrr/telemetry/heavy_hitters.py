"""HeavyHitters: frequent strings from reports that can all be sent at once, without cards.

Each device takes one level at random, hashes the prefix of its string with a hash function of its
own and perturbs the hash (OLH). The collector then goes through the levels (jrr.telemetry.
prefix_search). Whatever it asks the reports, each device reported once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.estimation.estimates import Estimate, Stratum
from jrr.mechanisms import registry
from jrr.mechanisms.base import Reports, Rng
from jrr.mechanisms.hashed import OLH, support_of
from jrr.mechanisms.report_formats import SEEDED_REPORT
from jrr.telemetry.asked import named_fields
from jrr.telemetry.prefix_search import FrequentStrings, PrefixSearch, check_levels, default_levels
from jrr.telemetry.report_lines import level_and_report, list_of
from jrr.telemetry.words import Words, fingerprint, fingerprints

LEVEL_REPORT = np.dtype([("level", "u1"), *SEEDED_REPORT.descr])
_HASHED = list(SEEDED_REPORT.names or ())
_FIELDS = {"words", "epsilon", "keep", "levels", "hashed"}


@checks.init_checked
@dataclass(frozen=True)
class HeavyHitters:
    """A search for frequent strings.

    Attributes:
        words: what the strings look like.
        epsilon: the privacy loss of the one report of a device, in every view: there are no cards.
        keep: how many prefixes are extended from each level to the next; at least the number of
            strings that are wanted.
        levels: the lengths of the prefixes that are told; by default the fewest levels that have
            at most 4,096 candidates each. Fewer levels are more accurate and take longer.

    Raises:
        ArgumentError: for levels that do not rise to the length of the strings.

    Example:
        >>> import jrr
        >>> search = HeavyHitters(jrr.Words("0123456789", 5), epsilon=4.0)
        >>> search.levels
        (3, 4, 5)
        >>> rng = jrr.SeededRandom(1)
        >>> reports = search.respond(["11"] * 3000 + ["6"] * 2000 + ["3"] * 1000, rng)
        >>> search.find(reports, top=3).strings
        ('11', '6', '3')
    """

    words: Words
    epsilon: float
    keep: int = 40
    levels: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        if not isinstance(self.words, Words):
            allowed = "jrr.Words: an alphabet and the most characters of a string"
            raise checks.refusal("words", self.words, allowed)
        checks.integer("keep", self.keep, 1)
        chosen: Sequence[int] = self.levels
        if chosen == ():
            chosen = default_levels(self.words, self.keep, 4_096)
        object.__setattr__(self, "levels", check_levels(self.words, chosen))
        if len(self.levels) > 255:
            raise checks.refusal("levels", self.levels, "at most 255")
        _ = self.mechanism  # refuses a bad epsilon

    @cached_property
    def mechanism(self) -> OLH:
        """What perturbs the fingerprint of a prefix."""
        return OLH(1 << 32, epsilon=checks.epsilon("epsilon", self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        return {
            "mechanism": "HeavyHitters",
            "words": self.words.to_dict(),
            "epsilon": self.epsilon,
            "keep": self.keep,
            "levels": list(self.levels),
            "hashed": self.mechanism.to_dict(),  # what devices need to know of epsilon
        }

    @classmethod
    def from_dict(cls, document: object) -> "HeavyHitters":
        """What `to_dict` wrote.

        Args:
            document: what `to_dict` returned.
        """
        fields = named_fields(cls, document, _FIELDS)
        levels, hashed = tuple(list_of("levels", fields["levels"])), fields.pop("hashed")
        made = cls(**(fields | {"words": Words.from_dict(fields["words"]), "levels": levels}))
        stated, own = registry.from_dict(hashed), made.mechanism
        # Another machine's e^ε may differ in its last digit; devices go by what is written.
        alike = isinstance(stated, OLH) and abs(stated.p - own.p) < 1e-12
        if not alike or stated.to_dict() | {"p": own.p} != own.to_dict():
            allowed = f"what epsilon={made.epsilon:g} gives: {own.to_dict()}"
            raise checks.refusal("hashed", hashed, allowed)
        made.__dict__["mechanism"] = stated
        return made

    # -- devices ----------------------------------------------------------------------------

    def respond(self, strings: Iterable[str], rng: Rng = None) -> Reports:
        """Reports as a structured array of level, seed and perturbed hash.

        Args:
            strings: one per person.
            rng: where random words come from; None: the operating system.
        """
        rows = self.words.symbols(strings)
        source = randomness.source(rng)
        out = np.empty(len(rows), LEVEL_REPORT)
        # The level does not depend on the string, so its exact law is no matter of privacy.
        out["level"] = source.words(len(rows)) % np.uint64(len(self.levels))
        prints = np.empty(len(rows), np.uint32)
        for level, length in enumerate(self.levels):
            here = out["level"] == level
            prints[here] = fingerprints(rows[here, :length])
        out[_HASHED] = self.mechanism.respond(prints, None, source)
        return out

    def respond_one(self, string: str, rng: Rng = None) -> tuple[int, int, int]:
        """One device's report: level, seed, perturbed hash; from the same words as `respond`.

        Args:
            string: the true one.
            rng: where random words come from; None: the operating system.
        """
        source = randomness.source(rng)
        symbols = self.words.symbols_of(string)
        level = source.word() % len(self.levels)
        held = fingerprint(symbols[: self.levels[level]])
        seed, value = self.mechanism.respond_one(held, None, source)
        return level, seed, value

    def report_to_json(self, report: tuple[int, int, int]) -> list[Any]:
        """One report, as `respond_one` makes it or as a row of `respond`, as a JSON value.

        Args:
            report: level, seed, perturbed hash.
        """
        level, *hashed = report
        last = len(self.levels) - 1
        return [checks.integer("level", level, 0, last), self.mechanism.report_to_json(hashed)]

    def report_from_json(self, document: object) -> tuple[int, int, int]:
        """The report that `report_to_json` wrote; anything else is refused.

        Args:
            document: a JSON value.
        """
        level, hashed = level_and_report(document, len(self.levels))
        seed, value = self.mechanism.report_from_json(hashed)
        return level, seed, value

    def reports_to_json(self, reports: ArrayLike) -> Iterator[list[Any]]:
        """All reports as JSON values, in the order that they have.

        Args:
            reports: as `respond` makes them, or a list of what `respond_one` returns.
        """
        for level, seed, value in self.checked(reports).tolist():
            yield [level, [str(seed), value]]

    def reports_from_json(self, documents: list[Any]) -> Reports:
        """All reports that `reports_to_json` wrote, as `find` takes them; others are refused.

        Args:
            documents: JSON values.
        """
        out = np.empty(len(documents), LEVEL_REPORT)
        try:
            rows = [(level, seed, value) for level, (seed, value) in documents]
            levels, seeds, values = zip(*rows, strict=True) if rows else ((), (), ())
            numbers = list(map(int, seeds))
            # What int reads and nobody writes: +1, 1_0, 01, numbers that are no texts.
            if set(map(type, (*levels, *values))) - {int} or list(map(str, numbers)) != list(seeds):
                raise ValueError
            out["level"], out["seed"], out["value"] = levels, numbers, values
            return self.checked(out) if rows else out
        except (TypeError, ValueError, OverflowError):
            for document in documents:  # say which one
                self.report_from_json(document)
            raise

    # -- collector --------------------------------------------------------------------------

    def find(self, reports: ArrayLike, top: int | None = None) -> FrequentStrings:
        """The most frequent strings.

        Args:
            reports: as `respond` makes them, or a list of what `respond_one` returns.
            top: how many strings, at most `keep`; None: 20, or `keep` where it is less.

        Returns:
            The strings with shares of all who reported, standard errors and intervals. There are
            `top` of them whether they stand out or not: `may_be_absent` marks those whose
            interval includes 0, which perhaps nobody sent.

        Raises:
            ArgumentError: for other reports, or a level that nobody reported at.
        """
        checked = self.checked(reports)

        def count(level: int, values: NDArray[np.uint32]) -> tuple[NDArray[np.int64], int]:
            hashed = of_level(checked, level)
            return support_of(hashed, values, self.mechanism.g), len(hashed)

        return self.search(count, len(checked), top)

    def search(
        self,
        count: Callable[[int, NDArray[np.uint32]], tuple[NDArray[np.int64], int]],
        people: int,
        top: int | None = None,
    ) -> FrequentStrings:
        """The same where reports lie elsewhere, as in a database.

        Args:
            count: of a level and some hashed values: how many of that level's reports support each
                value, and how many reports that level has.
            people: reports of all levels.
            top: how many strings, at most `keep`; None: 20, or `keep` where it is less.

        Returns:
            What `find` does.

        Raises:
            ArgumentError: for a level that nobody reported at.
        """
        top = checks.integer("top", min(20, self.keep) if top is None else top, 1, self.keep)
        search = PrefixSearch.start(self.words, self.keep, self.levels)
        moments = self.mechanism.moments
        while search.found is None:
            counts, n = count(search.level, fingerprints(search.prefixes))
            if not n:
                allowed = f"of every level 0..{len(self.levels) - 1}: there are none"
                raise checks.refusal("reports", search.level, allowed)
            held = moments.estimate(counts.astype(np.float64), n)
            group = Estimate([Stratum(moments=moments, n=n, counts=held, decks=1)])
            # Of all people, one group of whom was asked this.
            search = search.extended(group.for_population("sample", people))
        return search.found.top(top)

    def checked(self, reports: ArrayLike) -> Reports:
        """Reports as an array of level, seed and value; anything else is refused.

        Args:
            reports: a structured array, or rows of three numbers.
        """
        if isinstance(reports, list | tuple):
            try:
                reports = np.array([tuple(report) for report in reports], LEVEL_REPORT)
            except (TypeError, ValueError, OverflowError):
                allowed = "what respond, respond_one or report_from_json returned"
                raise checks.refusal("reports", reports, allowed) from None
        array = np.asarray(reports)
        if array.dtype != LEVEL_REPORT or array.ndim != 1 or not len(array):
            allowed = "at least one, with the fields level (u1), seed (u8) and value (u4)"
            raise checks.refusal("reports", reports, allowed)
        checks.symbols("reports['level']", np.ascontiguousarray(array["level"]), len(self.levels))
        g = self.mechanism.g
        checks.symbols("reports['value']", np.ascontiguousarray(array["value"]), g)
        return array


def of_level(reports: Reports, level: int) -> Reports:
    """The seeds and hashes of one level, as `mechanism` makes them."""
    found: Reports = reports[reports["level"] == level][_HASHED].astype(SEEDED_REPORT)
    return found
