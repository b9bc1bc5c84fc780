"""What every mechanism is: an immutable value that says everything of itself.

The verbs are deal, respond, tally and estimate. Files, messages, decks, servers, plans, pictures
and audits ask the mechanism through the methods below and know no kind of mechanism by name, so a
new one is a class that fills them in and one line in jrr.mechanisms.registry (CONTRIBUTING.md).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import RandomSource
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Population, Stratum
from jrr.estimation.masks import NOTHING_KNOWN
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally
from jrr.estimation.weights import WeightedTally, WeightSums, check_weights
from jrr.mechanisms.cards import CardLaw, MaskCards, SortedDeck
from jrr.mechanisms.readings import Reading
from jrr.mechanisms.report_formats import ReportFormat
from jrr.mechanisms.single_reports import UNKNOWN, marked_report, remembered_of
from jrr.privacy import loss
from jrr.privacy.informed.distribution import LossDistribution, Losses
from jrr.privacy.informed.frequency import Frequency
from jrr.privacy.shuffled.survey import ShuffledSurvey
from jrr.privacy.views import VIEWS, View

Rng = RandomSource | np.random.Generator | None
Reports = NDArray[Any]
Cards = NDArray[Any]
Ints = NDArray[np.int64]
R = TypeVar("R")
_WITH_MASKS = "one whose cards are whole numbers to add, as MRR"


class Mechanism(ABC):
    """A value that describes itself: no state, no input or output, no randomness of its own.

    Filled in by every mechanism: `name`, `title`, `parameters`, `moments`, `_epsilon`,
    `report_format`, `deal`, `respond`, `respond_one` and the private methods that count reports.
    Everything else has a default that is right for a mechanism that does without, such as
    `sorted_deck` (no cards) or `losses` (no law is known; bounds are used instead).
    """

    k: int
    steps: int = 1  # from value 0 to value 1, where numbers in between can be told (jrr.Numbers)
    behind_memory: bool = False  # its values are what devices remember (jrr.Longitudinal)
    name: ClassVar[str]  # as in documents and tables
    title: ClassVar[str]  # in words, for people
    parameters: ClassVar[tuple[str, ...]]  # fields of its JSON form, arguments of its constructor
    optional_parameters: ClassVar[tuple[str, ...]] = ()  # those that may be None
    omitted_parameters: ClassVar[tuple[str, ...]] = ()  # those that documents may leave out
    colour: ClassVar[str] = "#444444"  # in pictures
    told_by_colluders: ClassVar[str] = "their answers and reports"  # in the view `truths`

    # -- what a mechanism says of itself ---------------------------------------------------

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """First and second moments of the reports (jrr.estimation.moments)."""

    @abstractmethod
    def _epsilon(self, view: View, colluders: int) -> float:
        """The privacy loss in one of `self.views`; colluders is a number >= 0."""

    @property
    @abstractmethod
    def report_format(self) -> ReportFormat:
        """How reports are written: bytes, JSON, columns of a table."""

    @property
    def sorted_deck(self) -> SortedDeck | None:
        """The contents of a deck; None where no cards are dealt, or no deck is like another."""
        return None

    @property
    def card_format(self) -> SortedDeck | MaskCards | None:
        """How a card is written and checked; None where no cards are dealt."""
        return self.sorted_deck

    @property
    def masked(self) -> bool:
        """Whether cards are whole numbers that are added to answers, and must be taken off sums."""
        return self.moments.masks is not None

    @property
    def announced(self) -> bool:
        """Whether the dealer announces, at the end, the sum of the cards that were used."""
        return False

    @property
    def views(self) -> tuple[View, ...]:
        """The views in which `epsilon` states a loss without a δ."""
        return tuple(view for view in VIEWS if view != "paper")

    @property
    def pure(self) -> bool:
        """Whether ε of the view "cards" holds, without a δ, also in the view "everything"."""
        return not self.deals

    @classmethod
    def families(cls) -> tuple[Any, ...]:
        """The ways in which a plan may choose this mechanism: jrr.mechanisms.families.Family."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; `jrr.from_dict` reads them back."""
        return {"mechanism": self.name} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, getattr(self, name)) for name in self.parameters)
        }

    def for_dealers(self, dealers: int) -> "Mechanism":
        """The same where so many dealers give everybody a card, all of which are added (MRR)."""
        if dealers != 1:
            raise checks.refusal("dealers", dealers, "1: only cards that are numbers add up")
        return self

    def to_json(self) -> str:
        """One line of JSON; `jrr.from_json` reads it back."""
        return json.dumps(self.to_dict(), sort_keys=True)

    # -- privacy ---------------------------------------------------------------------------

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        """The privacy loss against an adversary with this view.

        Args:
            view: what the adversary has besides the target's report: "report" nothing,
                "truths" what colluders tell of their reports, "cards" their cards, "dealer" the
                target's own card, "everything" all reports, everybody else's answer and the
                colluders' cards. "paper" is the bound printed in the paper, for binary JRR.
            colluders: how many others tell the adversary what they have.
            delta: only for "everything", whose loss is random: ε holds as (ε, delta)-differential
                privacy. The other views hold outright.

        Returns:
            ε, exact for the words that run or an upper bound; math.inf where it is unbounded.

        Raises:
            ArgumentError: for a view that has no meaning here, or more colluders than others.

        Example:
            >>> import jrr
            >>> round(jrr.RR(p=0.75).epsilon(), 4)
            1.0986
        """
        word = checks.one_of("view", view, (*VIEWS, "everything"))
        colluders = checks.integer("colluders", colluders, 0, self._most_colluders())
        if word == "everything":
            return self._epsilon_of_everything(colluders, delta)
        if delta:
            raise checks.refusal("delta", delta, f"0 in the view {word!r}, which holds outright")
        if word not in self.views:
            raise loss.no_paper_view(self._in_refusals())
        return self._epsilon(word, colluders)

    def guarantees(self, colluders: int = 0) -> dict[str, float]:
        """View -> ε, for every view that has a meaning here and needs no δ."""
        return {view: self.epsilon(view, colluders) for view in self.views}

    def losses(
        self,
        colluders: int = 0,
        *,
        ones: int | None = None,
        frequency: Frequency = None,
    ) -> Losses | None:
        """The law of the loss in the view "everything"; None where it is not known.

        Arguments as for `jrr.privacy.informed.loss_distribution`.
        """
        return None

    def quick_losses(self, colluders: int) -> Losses | None:
        """A bound of `losses` that takes less time and may be looser: what a search compares."""
        return self.losses(colluders)

    def likely_worst(self, colluders: int) -> Losses | None:
        """Cases that occur and are likely the worst, in a moment: where a search begins."""
        return self.losses(colluders)

    def compositions(self, colluders: int) -> Iterator[LossDistribution] | None:
        """That law for all that the others may hold, one by one.

        None where `losses` is no looser than that, or the law is not known.
        """
        return None

    def shuffled(
        self, n: int | None = None, ones: int | None = None, colluders: int = 0
    ) -> ShuffledSurvey:
        """What a collector sees behind a shuffler (jrr.privacy.shuffled)."""
        raise checks.refusal(
            "mechanism", self, "RR, or JRR or DRR with k=2: no law is known here for others"
        )

    def _epsilon_of_everything(self, colluders: int, delta: float) -> float:
        delta = checks.real("delta", delta, "in 0..1", 0.0, 1.0, open_high=True)
        law = self.losses(colluders)
        # The dealer's view has the target's own card, which is more than everything else tells.
        return self.epsilon("dealer") if law is None else law.epsilon(delta)

    def _most_colluders(self) -> int | None:
        deck = self.moments.deck
        return None if deck is None else deck - 1

    def _in_refusals(self) -> str:
        return self.name

    # -- in words --------------------------------------------------------------------------

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        p = float(self.moments.p[0])
        return (
            f"{of_hundred(p, start=True)} the device sends your true answer, otherwise another "
            "answer drawn at random; nobody is told which."
        )

    def brief(self) -> str:
        """The name and parameters to four digits; all of them are in `to_dict`."""
        digits = {float: ".4g", int: ","}
        shown = (
            f"{key} {format(value, digits.get(type(value), ''))}"
            for key, value in self.to_dict().items()
            if key not in ("mechanism", *self._left_out_of_brief()) and value not in (None, "none")
        )
        return f"{self.name} ({', '.join(shown)})"

    def _left_out_of_brief(self) -> tuple[str, ...]:
        return ()

    # -- in other sizes, in simulations, to an adversary ------------------------------------

    def resized(self, n: int) -> "Mechanism":
        """The same probabilities with decks of n cards."""
        if not self.deals or "n" not in self.parameters:
            raise checks.refusal("mechanism", self, "one with decks of any size, as JRR or DRR")
        arguments: dict[str, Any] = {name: getattr(self, name) for name in self.parameters}
        return type(self)(**arguments | {"n": n})

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
        if _is_list(reports):
            reports = self.report_format.from_list(reports)
        return np.asarray(self._check_reports(reports)).astype(np.int64)

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value in `runs` surveys, one row each.

        Person by person; mechanisms whose law is known draw from that instead.
        """
        values = np.repeat(np.arange(self.k), counts)
        rows = []
        for _ in range(runs):
            cards = self.deal(rng) if with_cards else None
            reports = self.respond(values, None if cards is None else cards[: len(values)], rng)
            rows.append(self._support(self._check_reports(reports)))
        return np.array(rows, np.int64)

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

    # -- dealer ----------------------------------------------------------------------------

    @abstractmethod
    def deal(self, rng: Rng = None) -> Cards | None:
        """One secret card per contributor of a deck, in uniformly random order.

        Args:
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            An array with one card per contributor, or None where no cards are dealt.

        Example:
            >>> import jrr
            >>> sorted(jrr.JRR(5, p=0.6, s=0.4).deal().tolist())
            [-1, -1, 0, 1, 1]
        """

    # -- contributor -----------------------------------------------------------------------

    @abstractmethod
    def respond_one(self, value: int, card: Any = None, rng: Rng = None) -> Any:
        """One report without arrays of people, for a contributor's own device.

        Args:
            value: the true value, 0..k-1.
            card: the card that was dealt; None: answer without one.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            The report: a whole number, bytes (unary encodings) or a seed and a number (OLH).

        Raises:
            ArgumentError: for a value or a card that does not exist.

        Example:
            >>> import jrr
            >>> jrr.RR(p=1.0).respond_one(1)
            1
        """

    @abstractmethod
    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true values.

        Args:
            values: the true values, whole numbers 0..k-1, one per contributor.
            cards: one card per contributor, as `deal` makes them; None: everybody answers without
                a card, by the mechanism's own marginal. The reports remember it.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            The reports as an array, one entry or row per contributor.

        Raises:
            ArgumentError: for values or cards that do not exist, or of another length.

        Example:
            >>> import jrr
            >>> m = jrr.DRR(4, truth=0.5)
            >>> m.respond([0, 1, 1, 0], m.deal(jrr.SeededRandom(1)), jrr.SeededRandom(2)).shape
            (4,)
        """

    def respond_steps(
        self, steps: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of whole numbers of steps, 0..`self.steps`; otherwise as `respond`."""
        return self.respond(steps, cards, rng)

    def respond_one_step(self, step: int, card: Any = None, rng: Rng = None) -> Any:
        """One report of a whole number of steps; otherwise as `respond_one`."""
        if self.steps == 1:
            return self.respond_one(step, card, rng)
        cards = None if card is None else np.array([card])
        report = int(self.respond_steps([step], cards, rng)[0])
        return self._marked(report, card)

    def _marked(self, report: R, card: object) -> R:
        """A single report that remembers whether there was a card, where there are any."""
        return marked_report(report, carded=card is not None) if self.deals else report

    def report_to_json(self, report: Any, carded: bool | None = None) -> Any:
        """One report, as `respond_one` makes it, as a JSON value.

        Args:
            report: one report.
            carded: whether it was made with a card. None is what the report remembers, as those
                of `respond_one` do; of an entry of an array it must be said.

        Returns:
            What `report_from_json` reads back: a number, a text or a list. Where the mechanism
            deals cards, an object of that (`report`) and whether there was a card (`carded`).

        Raises:
            ArgumentError: where neither the report nor `carded` says whether a card was used.

        Example:
            >>> import jrr
            >>> m = jrr.SUE(k=4, epsilon=1.0)
            >>> report = m.respond_one(2)
            >>> m.report_from_json(m.report_to_json(report)) == report
            True
            >>> m = jrr.JRR(10, p=0.99, s=0.0)
            >>> m.report_to_json(m.respond_one(1, rng=jrr.SeededRandom(1)))
            {'carded': False, 'report': 1}
        """
        if carded is not None and not isinstance(carded, bool):
            raise checks.refusal("carded", carded, "True, False or None")
        told = self.report_format.to_json(report)
        flags = self.carded_flags([report], 1, carded)
        return {"carded": bool(flags[0]), "report": told} if self.deals else told

    def report_from_json(self, document: object) -> Any:
        """The report that `report_to_json` wrote; anything out of the domain is refused.

        Args:
            document: a JSON value.

        Returns:
            The report, as `respond_one` makes it; `tally` takes lists of them.

        Raises:
            ArgumentError: for anything that the mechanism cannot have reported; where it deals
                cards also for a document that does not say whether one was used.
        """
        if not self.deals:
            return self.report_from_bytes(self.report_bytes(document))
        allowed = "an object of carded (true or false) and report"
        if not isinstance(document, Mapping) or set(document) != {"carded", "report"}:
            raise checks.refusal("report", document, allowed)
        carded = document["carded"]
        if not isinstance(carded, bool):
            raise checks.refusal("report", document, allowed)
        row = self.report_bytes(document["report"])
        report = self.report_from_bytes(row if carded else self.check_cardless(row))
        return marked_report(report, carded=carded)

    def report_from_bytes(self, row: bytes) -> Any:
        """One report, from bytes that `report_bytes` checked; it does not know of a card."""
        one = self.report_format.unpack(np.frombuffer(row, np.uint8)[None, :])[0]
        return one.tobytes() if one.ndim else one.item()

    def report_bytes(self, document: object) -> bytes:
        """A report, without what is said of its card, from JSON as the bytes that are stored.

        Raises:
            ArgumentError: for anything that the mechanism cannot have reported.
        """
        row = self.report_format.from_json(document)
        self._check_reports(self.report_format.unpack(np.frombuffer(row, np.uint8)[None, :]))
        return row

    def check_cardless(self, report: bytes) -> bytes:
        """A report in bytes that can have been made without a card.

        Raises:
            ArgumentError: It can only have been made with one.
        """
        return report

    # -- what a dealer of whole numbers tells at the end -----------------------------------

    def announce(self, cards: ArrayLike, named: ArrayLike | None = None, rng: Rng = None) -> Any:
        """The noisy sum of the cards that were used, where sums are announced (MRR)."""
        raise checks.refusal("mechanism", self, _WITH_MASKS)

    def undealt_sum(self, cards: ArrayLike, named: ArrayLike | None = None) -> Any:
        """The sum of cards that nobody fetched, for closed decks of whole numbers (MRR)."""
        raise checks.refusal("mechanism", self, _WITH_MASKS)

    def settle(
        self,
        tally: Tally,
        *,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
    ) -> Tally:
        """Take off a tally what the dealer told of the masks in it (MRR)."""
        raise checks.refusal("mechanism", self, _WITH_MASKS)

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
                self.to_dict(),
                carded=carding,
                cardless=others,
                decks=(deck,),
                masked=self.moments.masks is not None,
            )
        with_card, without = self._supports(checked, flags, held)
        return Tally(
            self.to_dict(),
            carded=with_card,
            cardless=without,
            n_carded=held,
            n_cardless=len(checked) - held,
            decks=(deck,),
            masked=self.moments.masks is not None,
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
        known = remembered_of(reports) if self.deals else False
        if carded is None:
            return self._remembered_flags(known, n)
        if isinstance(carded, bool | np.bool_):
            flags: NDArray[np.bool_] = np.broadcast_to(np.bool_(carded), n)
        else:
            flags = checks.flags("carded", carded, n)
        if not self.deals and flags.any():
            raise ArgumentError(f"carded must be False for {self.name}, which deals no cards")
        if isinstance(known, bool) and (flags != known).any():
            raise ArgumentError(
                f"carded must be {known} for these reports, which were made "
                f"{'with' if known else 'without'} cards, got another"
            )
        if isinstance(known, np.ndarray) and ((known != flags) & (known != UNKNOWN)).any():
            raise ArgumentError(
                "carded must say of each report what it remembers of its card, got another"
            )
        return flags

    def _remembered_flags(
        self, known: bool | str | NDArray[np.int8] | None, n: int
    ) -> NDArray[np.bool_]:
        """One flag for each report where they all remember, or a refusal."""
        if isinstance(known, bool):
            return np.broadcast_to(np.bool_(known), n)
        if known is None:
            raise self._must_say_carded("these reports do not remember it")
        if isinstance(known, str):
            raise self._must_say_carded("some of them were made with a card, and some without")
        if (known == UNKNOWN).any():
            raise self._must_say_carded("some of these reports do not remember it")
        return np.equal(known, 1)

    def _must_say_carded(self, because: str) -> ArgumentError:
        return ArgumentError(
            "carded must be True, False or a boolean array of one flag per report, to say which "
            f"reports were made with a card of {self.name}: {because}. Lists, plain arrays and "
            "columns of tables remember nothing"
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
            weight_cubes=float((squares * weights).sum()),
            heaviest=float(weights.max(initial=0.0)),
        )

    @abstractmethod
    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        """What the checked reports that support each value weigh together."""

    def estimate(
        self,
        reports: ArrayLike | Tally | WeightedTally,
        decks: int | None = None,
        *,
        carded: ArrayLike | bool | None = None,
        population: Population | str = "respondents",
        population_size: float | None = None,
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
            groups = ((moments, tally.carded, decks), (moments.without_cards(), tally.cardless, 1))
            weighted = Estimate([_weighted_stratum(*group) for group in groups])
            return weighted.for_population(population, population_size)
        self._check_tally(tally)
        counts = (
            (moments, tally.n_carded, tally.carded, decks, tally.known),
            (moments.without_cards(), tally.n_cardless, tally.cardless, 1, NOTHING_KNOWN),
        )
        return Estimate(
            [
                Stratum(
                    moments=m,
                    n=n,
                    counts=m.estimate(np.asarray(support, np.float64), n),
                    decks=used,
                    known=known,
                )
                for m, n, support, used, known in counts
            ]
        ).for_population(population, population_size)

    def _tally_of(
        self,
        reports: ArrayLike | Tally | WeightedTally,
        carded: ArrayLike | bool | None,
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


def _is_list(reports: object) -> TypeGuard[Sequence[Any]]:
    """Whether these are single reports in a list, not an array of them."""
    return isinstance(reports, list | tuple)


def _weighted_stratum(moments: Moments, sums: WeightSums, decks: int) -> Stratum:
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
    )


def check_countable(k: int) -> None:
    """Refuse to make a list of counts that would fill the memory."""
    if k > 1 << 24:
        raise checks.refusal("k", k, f"at most {1 << 24} to count every value")


def check_truth_probability(argument: str, value: object, k: int) -> float:
    """A probability of telling the truth, better than guessing."""
    return checks.real(argument, value, f"in (1/{k}, 1]", 1 / k, 1.0, open_low=True)


def checked_mechanism(value: object) -> Mechanism:
    """A mechanism, or a refusal."""
    if not isinstance(value, Mechanism):
        raise checks.refusal("mechanism", value, "a mechanism")
    return value
