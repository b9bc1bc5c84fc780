"""What every mechanism is: an immutable value with the verbs deal, respond, tally, estimate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr import checks, privacy, randomness
from jrr.errors import JrrError
from jrr.estimate import Estimate, Part
from jrr.randomness import RandomSource
from jrr.tally import Tally
from jrr.variance import Floats, Moments

Rng = RandomSource | np.random.Generator | None
Reports = NDArray[Any]
Cards = NDArray[Any]


class Mechanism(ABC):
    """Probabilities, and nothing else: no state, no input or output, no randomness of its own."""

    k: int
    name: ClassVar[str]

    # -- what a mechanism says of itself ---------------------------------------------------

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """First and second moments of the reports (jrr.variance)."""

    @abstractmethod
    def epsilon(self, view: str = "report", colluders: int = 0) -> float:
        """The privacy loss against an adversary with this view; math.inf where unbounded."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; `jrr.from_dict` reads them back."""

    # -- dealer ----------------------------------------------------------------------------

    @abstractmethod
    def deal(self, rng: Rng = None) -> Cards | None:
        """One secret card per contributor of a deck, in uniformly random order."""

    # -- contributor -----------------------------------------------------------------------

    @abstractmethod
    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random 64-bit word makes of a value (docs/protocol.md)."""

    @abstractmethod
    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        """Whole arrays of `report_from_word`; u holds the upper 63 bits of the words."""

    @abstractmethod
    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        """The cards as an array, or a refusal."""

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true values; without cards by the mechanism's own marginal."""
        checked = checks.symbols("values", values, self.k)
        dealt = None if cards is None else self._check_cards(cards, len(checked))
        source = randomness.source(rng)
        out = np.empty(len(checked), _smallest(self.k))
        for start in range(0, len(checked), randomness.BLOCK):
            block = slice(start, start + randomness.BLOCK)
            u = source.words(len(out[block]))
            u >>= np.uint64(1)
            self._respond_block(
                checked[block], None if dealt is None else dealt[block], u, out[block]
            )
        return out

    def respond_one(self, value: int, card: int | None = None, rng: Rng = None) -> int:
        """One report without arrays, for a contributor's own device."""
        value = checks.integer("value", value, 0, self.k - 1)
        if card is not None:
            card = self._check_card(card)
        return self.report_from_word(value, card, randomness.source(rng).word())

    @abstractmethod
    def _check_card(self, card: int) -> int:
        """The card as a plain integer, or a refusal."""

    # -- collector -------------------------------------------------------------------------

    def tally(self, reports: ArrayLike, carded: ArrayLike | bool | None = None) -> Tally:
        """Count reports; `carded` says whose were made with a card (all, where cards exist)."""
        checked = checks.symbols("reports", reports, self.k)
        if checked.size == 0:
            raise JrrError("reports must hold at least one report, got none")
        deals = self.moments.deck is not None
        if carded is None:
            carded = deals
        if isinstance(carded, bool | np.bool_):
            with_card, without = (checked, checked[:0]) if carded else (checked[:0], checked)
        else:
            flags = checks.flags("carded", carded, len(checked))
            with_card, without = checked[flags], checked[~flags]
        if len(with_card) and not deals:
            raise JrrError(f"carded must be False for {self.name}, which deals no cards")
        return Tally(
            self.to_dict(),
            _support(with_card, self.k),
            _support(without, self.k),
            len(with_card),
            len(without),
        )

    def estimate(self, reports: ArrayLike | Tally, decks: int | None = None) -> Estimate:
        """Unbiased counts with error bars.

        `decks` is how many decks the carded contributors were dealt from; by default the
        fewest that they could have been.
        """
        tally = reports if isinstance(reports, Tally) else self.tally(reports)
        if tally.mechanism != self.to_dict():
            raise JrrError(
                f"reports must be a tally of {self.to_dict()}, got one of {dict(tally.mechanism)}"
            )
        moments = self.moments
        fewest = 1 if moments.deck is None else max(1, math.ceil(tally.n_carded / moments.deck))
        decks = fewest if decks is None else checks.integer("decks", decks, fewest)
        groups = (
            (moments, tally.n_carded, tally.carded, decks),
            (moments.without_cards(), tally.n_cardless, tally.cardless, 1),
        )
        return Estimate(
            [
                Part(m, n, m.estimate(np.asarray(support, np.float64), n), used)
                for m, n, support, used in groups
            ]
        )

    def variance(self, counts: ArrayLike, decks: int = 1) -> Floats:
        """Variance of the estimated count of each value, given the true counts of reporters.

        Fewer reporters than cards are drop-outs, independent of their cards. With several
        decks, contributors are taken to be assigned to decks at random.
        """
        true = checks.amounts("counts", counts, self.k)
        decks = checks.integer("decks", decks, 1)
        n = float(true.sum())
        self.moments.check_total("counts", n, decks)
        return self.moments.variance(true, n, decks)


def check_view(view: object, mechanism: str) -> str:
    """A known view, or a refusal."""
    word = checks.one_of("view", view, privacy.VIEWS)
    if word == "paper" and mechanism != "JRR":
        raise privacy.no_paper_view(mechanism)
    return word


def check_truth_probability(argument: str, value: object, k: int) -> float:
    """A probability of telling the truth, better than guessing."""
    return checks.real(argument, value, f"in (1/{k}, 1]", 1 / k, 1.0, open_low=True)


def fields(document: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Exactly these fields of a mechanism's JSON form."""
    given = {name: value for name, value in document.items() if name != "mechanism"}
    if set(given) != names:
        raise checks.refusal("mechanism fields", sorted(given), f"exactly {sorted(names)}")
    return given


def _smallest(k: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest unsigned type that holds 0..k-1."""
    for kind in (np.uint8, np.uint16, np.uint32):
        if k - 1 <= np.iinfo(kind).max:
            return kind
    return np.uint64


def _support(reports: NDArray[Any], k: int) -> tuple[int, ...]:
    if k == 2 and reports.dtype.itemsize == 1:  # checked to be 0 or 1, so they can be read as flags
        ones = int(np.count_nonzero(reports.view(np.bool_)))
        return (len(reports) - ones, ones)
    return tuple(np.bincount(reports.astype(np.intp, copy=False), minlength=k).tolist())
