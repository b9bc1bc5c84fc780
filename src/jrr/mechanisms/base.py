"""What every mechanism is: an immutable value with the verbs deal, respond, tally, estimate."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import RandomSource
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally
from jrr.estimation.weights import WeightedTally, WeightSums, check_weights
from jrr.privacy import loss

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
    def respond_one(self, value: int, card: Any = None, rng: Rng = None) -> Any:
        """One report without arrays of people, for a contributor's own device."""

    @abstractmethod
    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true values.

        Without cards by the mechanism's own marginal: then say tally(reports, carded=False).
        """

    # -- collector -------------------------------------------------------------------------

    @abstractmethod
    def _check_reports(self, reports: ArrayLike) -> Reports:
        """The reports as an array, or a refusal."""

    @abstractmethod
    def _support(self, reports: Reports) -> tuple[int, ...]:
        """How many checked reports support each value."""

    @overload
    def tally(
        self, reports: ArrayLike, carded: ArrayLike | bool | None = None, deck: str = ""
    ) -> Tally: ...

    @overload
    def tally(
        self,
        reports: ArrayLike,
        carded: ArrayLike | bool | None = None,
        deck: str = "",
        *,
        weights: ArrayLike,
    ) -> WeightedTally: ...

    def tally(
        self,
        reports: ArrayLike,
        carded: ArrayLike | bool | None = None,
        deck: str = "",
        *,
        weights: ArrayLike | None = None,
    ) -> Tally | WeightedTally:
        """Count reports; `carded` says whose were made with a card.

        None means everybody, for a mechanism that deals cards: say False, or an array of flags,
        for those who answered without one, or their noise is understated. deck: a name for the
        deck the cards came from, where there are several. weights: survey weights, one per
        report.
        """
        checked = self._check_reports(reports)
        if len(checked) == 0:
            raise ArgumentError("reports must hold at least one report, got none")
        deals = self.deals
        if carded is None:
            carded = deals
        if isinstance(carded, bool | np.bool_):
            flags = np.broadcast_to(np.bool_(carded), len(checked))
        else:
            flags = checks.flags("carded", carded, len(checked))
        held = int(np.count_nonzero(flags))
        if held and not deals:
            raise ArgumentError(f"carded must be False for {self.name}, which deals no cards")
        if weights is not None:
            w = check_weights(weights, len(checked))
            carding, others = (self._weigh(checked[part], w[part]) for part in (flags, ~flags))
            return WeightedTally(self.to_dict(), carded=carding, cardless=others, decks=(deck,))
        with_card, without = self._supports(checked, flags, held)
        return Tally(
            self.to_dict(),
            carded=with_card,
            cardless=without,
            n_carded=held,
            n_cardless=len(checked) - held,
            decks=(deck,),
        )

    def _supports(
        self, reports: Reports, flags: NDArray[np.bool_], held: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Support with and without a card."""
        fewer = min(held, len(reports) - held)
        if fewer > len(reports) // 16:
            return self._support(reports[flags]), self._support(reports[~flags])
        # Almost everybody is alike: count all where they lie, and copy only the few.
        few = self._support(reports[flags if fewer == held else ~flags] if fewer else reports[:0])
        many = tuple(a - b for a, b in zip(self._support(reports), few, strict=True))
        return (few, many) if fewer == held else (many, few)

    def _weigh(self, reports: Reports, weights: Floats) -> WeightSums:
        squares = weights**2
        return WeightSums(
            n=len(reports),
            support=self._weighted_support(reports, weights),
            support_squares=self._weighted_support(reports, squares),
            weight=float(weights.sum()),
            weight_squares=float(squares.sum()),
        )

    @abstractmethod
    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        """What the checked reports that support each value weigh together."""

    def estimate(
        self, reports: ArrayLike | Tally | WeightedTally, decks: int | None = None
    ) -> Estimate:
        """Unbiased counts with error bars.

        `decks` is how many decks the carded contributors were dealt from. By default as many as
        the tally names, or the fewest that could hold them: say more where people of more decks
        dropped out, or the error bars are too short.
        """
        tally: Tally | WeightedTally
        tally = reports if isinstance(reports, Tally | WeightedTally) else self.tally(reports)
        if tally.mechanism != self.to_dict():
            raise ArgumentError(
                f"reports must be a tally of {self.to_dict()}, got one of {dict(tally.mechanism)}"
            )
        moments = self.moments
        fewest = self.fewest_decks(tally.n_carded)
        if decks is None:
            decks = max(fewest, len(tally.decks))
            if tally.decks and "" not in tally.decks and fewest > len(tally.decks):
                raise ArgumentError(
                    f"reports with a card must be at most {moments.deck} for each of the "
                    f"{len(tally.decks)} decks named, got {tally.n_carded}: is one there twice?"
                )
        decks = checks.integer("decks", decks, fewest)
        if isinstance(tally, WeightedTally):
            if not tally.weight > 0:
                raise ArgumentError("weights must not all be 0")
            groups = ((moments, tally.carded, decks), (moments.without_cards(), tally.cardless, 1))
            return Estimate([_weighted_stratum(*group) for group in groups])
        self._check_tally(tally)
        counts = (
            (moments, tally.n_carded, tally.carded, decks),
            (moments.without_cards(), tally.n_cardless, tally.cardless, 1),
        )
        return Estimate(
            [
                Stratum(
                    moments=m,
                    n=n,
                    counts=m.estimate(np.asarray(support, np.float64), n),
                    decks=used,
                )
                for m, n, support, used in counts
            ]
        )

    @property
    def deals(self) -> bool:
        """Whether there are cards, and so a dealer."""
        return self.moments.deck is not None

    def fewest_decks(self, carded: int) -> int:
        """The fewest decks that so many people with a card can have been dealt from."""
        deck = self.moments.deck
        return 1 if deck is None else max(1, -(-carded // deck))

    def _check_tally(self, tally: Tally) -> None:
        """Refuse counts that these reports cannot have."""
        if len(tally.carded) != self.k:
            raise checks.refusal("reports", tally, f"a tally of {self.k} values")
        if tally.n_carded and not self.deals:
            raise checks.refusal("reports", tally, f"card-less: {self.name} deals no cards")

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


def _weighted_stratum(moments: Moments, sums: WeightSums, decks: int) -> Stratum:
    return Stratum(
        moments=moments,
        n=sums.n,
        counts=moments.estimate(sums.support, sums.weight),
        decks=decks,
        weight=sums.weight,
        weight_squares=sums.weight_squares,
        squares=moments.estimate(sums.support_squares, sums.weight_squares),
    )


def check_countable(k: int) -> None:
    """Refuse to make a list of counts that would fill the memory."""
    if k > 1 << 24:
        raise checks.refusal("k", k, f"at most {1 << 24} to count every value")


def check_view(view: object, mechanism: str) -> str:
    """A known view, or a refusal."""
    word = checks.one_of("view", view, loss.VIEWS)
    if word == "paper" and mechanism != "JRR":
        raise loss.no_paper_view(mechanism)
    return word


def check_truth_probability(argument: str, value: object, k: int) -> float:
    """A probability of telling the truth, better than guessing."""
    return checks.real(argument, value, f"in (1/{k}, 1]", 1 / k, 1.0, open_low=True)


def fields(document: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Exactly these fields of a mechanism's JSON form."""
    given = {name: value for name, value in document.items() if name != "mechanism"}
    if set(given) != names:
        found = sorted(map(str, given))
        raise checks.refusal("mechanism fields", found, f"exactly {sorted(names)}")
    return given
