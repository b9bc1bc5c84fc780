"""The collector's part: from reports to tallies and estimates; what audits and analyses look at."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeGuard, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import Rng
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Population, Stratum
from jrr.estimation.masks import NOTHING_KNOWN, Known
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally, WeightedTally, WeightSums, check_weights
from jrr.mechanisms.cards import CardLaw, Reading
from jrr.mechanisms.marked_arrays import carded_flags
from jrr.mechanisms.parts.describing import WITH_MASKS, Cards, Describing, Ints, Reports


class Collecting(Describing):
    """Counting and estimating."""

    @abstractmethod
    def _support(self, reports: Reports) -> tuple[int, ...]:
        """How many checked reports support each value."""

    @abstractmethod
    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        """What the checked reports that support each value weigh together."""

    @property
    def marks(self) -> int | None:
        """How many answers a report without its mask marks, whatever is held; None: by chance."""
        return 1 if self.moments.exclusive else None

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
        """Count reports.

        Args:
            reports: as `respond` makes them, or a list of what `respond_one` returns.
            carded: whose reports were made with a card: True, False or one flag per report. None
                is what the reports themselves remember: arrays from `respond`, and single ones
                from `respond_one` and `report_from_json`. Plain arrays, lists of plain numbers
                and columns of tables remember nothing; there it must be said if the mechanism
                deals cards.
            deck: a name for the deck that the cards came from, where there are several.
            weights: survey weights, one per report.

        Returns:
            A Tally, or with weights a WeightedTally; both add up.

        Raises:
            ArgumentError: for reports that the mechanism cannot have made, or none at all; where
                neither the reports nor `carded` say whether cards were used.

        Example:
            >>> import jrr
            >>> jrr.RR(p=0.75).tally([0, 1, 1, 1]).cardless
            (1, 3)
            >>> m = jrr.OLH(k=100, epsilon=1.0)
            >>> m.tally([m.respond_one(7), m.respond_one(42)]).n
            2
        """
        given = self.report_format.from_list(reports) if _is_list(reports) else reports
        checked = self._check_reports(given)
        if len(checked) == 0:
            raise ArgumentError("reports must hold at least one report, got none")
        flags = self.carded_flags(reports, len(checked), carded)
        held = int(np.count_nonzero(flags))
        if weights is not None:
            w = check_weights(weights, len(checked))
            carding, others = (self._weigh(checked[part], w[part]) for part in (flags, ~flags))
            return WeightedTally(
                self.to_dict(), carded=carding, cardless=others, decks=(deck,), masked=self.masked
            )
        with_card, without = self._supports(checked, flags, held)
        return Tally(
            self.to_dict(),
            carded=with_card,
            cardless=without,
            n_carded=held,
            n_cardless=len(checked) - held,
            decks=(deck,),
            masked=self.masked,
        )

    def carded_flags(
        self, reports: object, n: int, carded: ArrayLike | bool | None
    ) -> NDArray[np.bool_]:
        """Whose reports were made with a card, one flag for each of n reports.

        Args:
            reports: as for `tally`; they may remember it.
            n: how many reports there are.
            carded: what the caller says, as for `tally`.

        Raises:
            ArgumentError: where the two contradict each other, or neither says it.
        """
        return carded_flags(self, reports, n, carded)

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
            weight_cubes=float((squares * weights).sum()),
            heaviest=float(weights.max(initial=0.0)),
        )

    def estimate(
        self,
        reports: ArrayLike | Tally | WeightedTally,
        decks: int | None = None,
        *,
        carded: ArrayLike | bool | None = None,
        population: Population | str = "respondents",
        population_size: float | None = None,
        asked: float = 1.0,
    ) -> Estimate:
        """Unbiased counts with error bars.

        Args:
            reports: reports, or a tally of them.
            decks: how many decks the contributors with a card were dealt from. By default as many
                as the tally names, or one: say more where people of more decks dropped out, or
                the error bars are too short.
            carded: whose reports were made with a card, as for `tally`; a tally knows it.
            population: whom error bars speak of: "respondents", or with "sample" those whom the
                respondents are a random sample of (`Estimate.for_population`).
            population_size: people in that population; None: no end of them.
            asked: the share of those who answered that were asked this (`Estimate.for_population`).

        Returns:
            The estimate: `counts`, `frequencies`, `stderr` and `interval(level)`.

        Raises:
            ArgumentError: for a tally of another mechanism, or more reports than cards; for
                `fresh` of a `jrr.Longitudinal` that remembers, whose own `estimate` is right.

        Example:
            >>> import jrr
            >>> jrr.RR(p=0.75).estimate([0] * 50 + [1] * 50).frequencies.tolist()
            [0.5, 0.5]
        """
        tally = self._tally_of(reports, carded)
        if tally.mechanism != self.to_dict():
            raise ArgumentError(
                f"reports must be a tally of {self.to_dict()}, got one of {dict(tally.mechanism)}"
            )
        moments = self.moments
        fewest = self.fewest_decks(tally.n_carded)
        if decks is None:
            decks = max(1, len(tally.decks))
            if fewest > decks:
                named = "one deck" if decks == 1 else f"each of the {decks} decks named"
                raise ArgumentError(
                    f"reports with a card must be at most {moments.deck} for {named}, got "
                    f"{tally.n_carded}: is one there twice? Of several decks, name them (deck=) or "
                    "say how many there are (decks=)"
                )
        decks = checks.integer("decks", decks, fewest)
        if isinstance(tally, WeightedTally):
            if not tally.weight > 0:
                raise ArgumentError("weights must not all be 0")
            strata = [
                _weighted_stratum(moments, tally.carded, decks, tally.known),
                _weighted_stratum(moments.without_cards(), tally.cardless, 1),
            ]
        else:
            self._check_tally(tally)
            strata = [
                _stratum(moments, tally.n_carded, tally.carded, decks, tally.known),
                _stratum(moments.without_cards(), tally.n_cardless, tally.cardless, 1),
            ]
        return Estimate(strata).for_population(population, population_size, asked)

    def _tally_of(
        self, reports: ArrayLike | Tally | WeightedTally, carded: ArrayLike | bool | None
    ) -> Tally | WeightedTally:
        """What `estimate` was given, counted; refused where its values are not the answers."""
        self.check_values_are_answers()
        if not isinstance(reports, Tally | WeightedTally):
            return self.tally(reports, carded)
        if carded is not None:
            raise checks.refusal("carded", carded, "None where a tally is given, which knows it")
        return reports

    def check_values_are_answers(self) -> None:
        """Refuse `fresh` of a `jrr.Longitudinal` that remembers: its values are no answers."""
        if self.behind_memory:
            allowed = (
                "one whose values are answers: these reports are of what devices remember, whose "
                "shares are others; give the reports or their tally to `Longitudinal.estimate`"
            )
            raise checks.refusal("mechanism", self, allowed)

    @property
    def _supported(self) -> int:
        """How many values a tally counts the support of."""
        return self.k

    def _check_tally(self, tally: Tally) -> None:
        """Refuse counts that these reports cannot have."""
        if len(tally.carded) != self._supported:
            raise checks.refusal("reports", tally, f"a tally of {self._supported} values")
        if tally.n_carded and not self.deals:
            raise checks.refusal("reports", tally, f"card-less: {self.name} deals no cards")
        if self.moments.without_cards().masks is None and not all(
            0 <= count <= tally.n_cardless for count in tally.cardless
        ):
            raise checks.refusal("reports", tally, "a tally with card-less counts in 0..n_cardless")

    def variance(self, counts: ArrayLike, decks: int = 1) -> Floats:
        """Variance of the estimated count of each value, given the true counts of reporters.

        Args:
            counts: how many of those who reported hold each value. Fewer than there are cards
                are drop-outs, independent of their cards.
            decks: from how many decks they were dealt; they are taken to be assigned at random.

        Returns:
            One variance per value.

        Raises:
            ArgumentError: for more reporters than cards, or counts that are none.

        Example:
            >>> import jrr
            >>> jrr.RR(p=0.75).variance([90, 10]).round(6).tolist()
            [75.0, 75.0]
        """
        true = checks.amounts("counts", counts, self.k)
        decks = checks.integer("decks", decks, 1)
        n = float(true.sum())
        self.moments.check_total("counts", n, decks)
        return self.moments.variance(true, n, decks)

    def settle(
        self,
        tally: Tally,
        *,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
    ) -> Tally:
        """Take off a tally what the dealer told of the masks in it (MRR)."""
        raise checks.refusal("mechanism", self, WITH_MASKS)


def _is_list(reports: object) -> TypeGuard[Sequence[Any]]:
    """Whether these are single reports in a list, not an array of them."""
    return isinstance(reports, list | tuple)


def _stratum(
    moments: Moments, n: int, support: Sequence[int], decks: int, known: Known = NOTHING_KNOWN
) -> Stratum:
    counts = moments.estimate(np.asarray(support, np.float64), n)
    return Stratum(moments=moments, n=n, counts=counts, decks=decks, known=known)


def _weighted_stratum(
    moments: Moments, sums: WeightSums, decks: int, known: Known = NOTHING_KNOWN
) -> Stratum:
    return Stratum(
        moments=moments,
        n=sums.n,
        counts=moments.estimate(sums.support, sums.weight),
        decks=decks,
        weight=sums.weight,
        weight_squares=sums.weight_squares,
        weight_cubes=sums.weight_cubes,
        heaviest=sums.heaviest,
        squares=moments.estimate(sums.support_squares, sums.weight_squares),
        known=known,
    )


class Observing(Describing):
    """Reports and cards as an adversary, or an analyst, sees them."""

    @property
    def most_support(self) -> int:
        """How much a single report can add to the support of one value: a liar's reach."""
        return 1

    def card_laws(self) -> list[CardLaw]:
        """Every kind of card, how often it is dealt and what its holders report."""
        raise checks.refusal("mechanism", self, "RR, JRR or DRR")

    @property
    def reading(self) -> Reading:
        """What single reports say of an answer; refused where they are not one of few symbols."""
        return Reading.of_cards(self.card_laws(), self.moments.deck)

    def read(self, reports: ArrayLike) -> Ints:
        """Reports as the symbols of `reading`."""
        if isinstance(reports, list | tuple):
            reports = self.report_format.from_list(reports)
        return np.asarray(self._check_reports(reports)).astype(np.int64)

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """Reports as rows of a few whole numbers, so that an audit meets the same report again.

        values: those that are compared. It may be less than the adversary has, never more.
        """
        return reports.astype(np.int64)[:, None]

    def observed_cards(self, cards: Cards) -> Ints:
        """What the cards of colluders tell, trial by trial: cards[trial, colluder]."""
        return np.sort(cards, axis=1).astype(np.int64)

    def observed_with_card(self, reports: Reports, cards: Cards, values: tuple[int, ...]) -> Ints:
        """Reports beside the cards that they were made with."""
        held = np.asarray(cards).reshape(len(reports), -1).astype(np.int64)
        return np.hstack((self.observed(reports, values), held))

    def published(self, decks: Cards, rng: Rng = None) -> Ints | None:
        """What the dealer publishes of each deck at the end: decks[trial, place]; mostly nothing.

        Args:
            decks: whole decks, all of whose cards were used.
            rng: where randomness comes from.
        """
        return None

    def observed_together(
        self,
        target: Reports,
        others: Reports,
        known: Cards,
        published: Ints | None,
        values: tuple[int, ...],
    ) -> Ints:
        """What somebody sees who has all reports and some cards, as rows of a few whole numbers.

        Args:
            target: the report that is asked about, one a trial.
            others: others[trial, person]: the reports of those whose cards are not known.
            known: known[trial, colluder]: cards.
            published: what `published` returned.
            values: those that are compared.

        Returns:
            The target's report, how often the others made each, and what the cards tell: at most
            what the adversary has.
        """
        shown = self.observed(others.reshape(-1, *others.shape[2:]), values)
        if shown.shape[1] == 1:
            shown = (shown == np.array(values[1:], np.int64)).astype(np.int64)
        seen = shown.reshape(*others.shape[:2], -1).sum(axis=1)
        parts = [self.observed(target, values), seen]
        if known.shape[1]:
            parts.append(self.observed_cards(known))
        return np.hstack(parts)
