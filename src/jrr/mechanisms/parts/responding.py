"""The dealer's part, cards; and the contributor's, from a value and a card to a report."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.randomness import Rng
from jrr.mechanisms.marked_arrays import DealtCards, carded_flags, marked_report
from jrr.mechanisms.parts.describing import WITH_MASKS, Describing, Reports

if TYPE_CHECKING:
    from jrr.mechanisms.cards import MaskCards, SortedDeck


class GivingCards(Describing):
    """One secret card for every contributor of a deck, or none."""

    @property
    def sorted_deck(self) -> "SortedDeck | None":
        """The contents of a deck; None where no cards are dealt, or no deck is like another."""
        return None

    @property
    def card_format(self) -> "SortedDeck | MaskCards | None":
        """How a card is written and checked; None where no cards are dealt."""
        return self.sorted_deck

    @property
    def announced(self) -> bool:
        """Whether the dealer announces, at the end, the sum of the cards that were used."""
        return False

    @property
    def announcements(self) -> int:
        """In how many announced sums a card may be."""
        return 0

    def for_dealers(self, dealers: int) -> Self:
        """The same where so many dealers give everybody a card, all of which are added (MRR)."""
        if dealers != 1:
            raise checks.refusal("dealers", dealers, "1: only cards that are numbers add up")
        return self

    def deal(self, rng: Rng = None) -> Any:
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
        deck = self.sorted_deck
        if deck is None:
            return None
        faces = np.repeat(deck.faces, deck.counts)
        return DealtCards.of(randomness.shuffled(faces, randomness.source(rng)))

    def announce(self, cards: ArrayLike, named: ArrayLike | None = None, rng: Rng = None) -> Any:
        """The noisy sum of the cards that were used, where sums are announced (MRR)."""
        raise checks.refusal("mechanism", self, WITH_MASKS)

    def undealt_sum(self, cards: ArrayLike, named: ArrayLike | None = None) -> Any:
        """The sum of cards that nobody fetched, for closed decks of whole numbers (MRR)."""
        raise checks.refusal("mechanism", self, WITH_MASKS)

    def resized(self, n: int) -> Self:
        """The same probabilities with decks of n cards."""
        if not self.deals or "n" not in self.parameters:
            raise checks.refusal("mechanism", self, "one with decks of any size, as JRR or DRR")
        arguments: dict[str, Any] = {name: getattr(self, name) for name in self.parameters}
        return type(self)(**arguments | {"n": n})


R = TypeVar("R")


class Responding(Describing):
    """What a contributor's device does, and how its reports travel."""

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
        """Perturbed reports of whole numbers of steps.

        Args:
            steps: one per person, 0..`self.steps`.
            cards: as of `respond`.
            rng: as of `respond`.
        """
        return self.respond(steps, cards, rng)

    def respond_one_step(self, step: int, card: Any = None, rng: Rng = None) -> Any:
        """One report of a whole number of steps.

        Args:
            step: 0..`self.steps`.
            card: as of `respond_one`.
            rng: as of `respond_one`.
        """
        if self.steps == 1:
            return self.respond_one(step, card, rng)
        cards = None if card is None else np.array([card])
        report = int(self.respond_steps([step], cards, rng)[0])
        return self._marked(report, card)

    def report_to_json(self, report: Any, carded: bool | None = None) -> Any:
        """One report, as `respond_one` makes it or as a row of `respond`, as a JSON value.

        Args:
            report: one report.
            carded: whether it was made with a card. None is what the report remembers, as those
                of `respond_one` do; of a number out of an array it must be said (`reports_to_json`
                knows it of the whole array).

        Returns:
            What `report_from_json` reads back: a number, a text or a list. Where the mechanism
            deals cards, an object of that (`report`) and whether there was a card (`carded`).

        Raises:
            ArgumentError: where neither the report nor `carded` says whether a card was used, or
                for what is no report of this mechanism.

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
        flags = carded_flags(self, [report], 1, carded)
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

    def reports_to_json(self, reports: Any, carded: ArrayLike | bool | None = None) -> list[Any]:
        """All reports as JSON values, each as `report_to_json` says it.

        Args:
            reports: as `respond` makes them, or a list of what `respond_one` returns.
            carded: whether they were made with cards, where they do not remember it.
        """
        singles = reports if isinstance(reports, list) else _singles(np.asarray(reports))
        told = [self.report_format.to_json(report) for report in singles]
        flags = carded_flags(self, reports, len(told), carded)
        if not self.deals:
            return told
        return [
            {"carded": had, "report": report}
            for had, report in zip(flags.tolist(), told, strict=True)
        ]

    def reports_from_json(self, documents: list[Any]) -> list[Any]:
        """All reports that `reports_to_json` wrote, as `tally` takes them.

        Args:
            documents: JSON values.

        Raises:
            ArgumentError: for anything that the mechanism cannot have reported.
        """
        return [self.report_from_json(document) for document in documents]

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

    def _marked(self, report: R, card: object) -> R:
        """A single report that remembers whether there was a card, where there are any."""
        return marked_report(report, carded=card is not None) if self.deals else report


def _singles(reports: NDArray[Any]) -> list[Any]:
    """An array of reports as single ones: numbers, pairs, or the bytes of a row."""
    return reports.tolist() if reports.ndim == 1 else [row.tobytes() for row in reports]
