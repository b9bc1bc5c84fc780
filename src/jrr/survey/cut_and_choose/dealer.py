"""The dealer's side: commits to several decks, deals the one the coin picks, opens the rest."""

from dataclasses import replace
from typing import Any

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.cards import MaskCards
from jrr.survey.cut_and_choose.leaves import (
    Leaf,
    chosen_deck,
    deck_key,
    hashes_of,
    leaves_of,
    random_bytes,
    seed_commitment,
    sum_of,
)
from jrr.survey.cut_and_choose.lots import places_by_lot
from jrr.survey.cut_and_choose.merkle import paths_of, root_of
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.cut_and_choose.rules import BYTES, FEWEST_DECKS, check_closed
from jrr.survey.deck import card_format

MOST_DECKS = 1_000


class CommittedDealer:
    """One deck of a campaign, dealt by cut and choose; `published` is what everybody may see.

    Args:
        mechanism: one that deals closed decks: MRR, DRR, JRR.
        decks: L: a cheat in one deck passes with chance 1/L.
        campaign: what the deck is for; its document should hold the promise.
        deck: its number in the campaign.
        beacon_source: where the beacon will be found, once it exists.
        coin_source: the same of the coin; later than the beacon.
        rng: where the seeds come from; None: the system's cryptographic randomness.
        lot_source: where the lot will be found that draws places once everybody has enrolled
            (`enrol`, `draw`); empty: places are given in order of arrival.

    Example:
        >>> import jrr
        >>> from jrr.survey.cut_and_choose import check_card, new_mark
        >>> dealer = CommittedDealer(jrr.DRR(6, truth=0.3, own=0.1), decks=4)
        >>> dealer.commit(beacon=bytes(range(32)))   # in earnest: from a public source
        >>> dealer.open(coin=bytes(range(1, 33)))    # a later one
        >>> mark = new_mark()
        >>> check_card(dealer.published, dealer.deal(mark), mark)
        []
    """

    def __init__(
        self,
        mechanism: Mechanism,
        decks: int = 20,
        campaign: str = "",
        deck: int = 0,
        beacon_source: str = "",
        coin_source: str = "",
        rng: Rng = None,
        lot_source: str = "",
    ) -> None:
        check_closed(mechanism)
        number = checks.integer("decks", decks, FEWEST_DECKS, MOST_DECKS)
        source = randomness.source(rng)
        self._seeds = [random_bytes(source) for _ in range(number)]
        self._hashes: list[list[bytes]] = []
        self._leaves: list[Leaf] = []
        self._marks: list[bytes] = []
        self.published = Published(
            campaign,
            checks.integer("deck", deck, 0),
            mechanism,
            beacon_source,
            coin_source,
            tuple(map(seed_commitment, self._seeds)),
            lot_source=lot_source,
        )

    def commit(self, beacon: bytes) -> None:
        """Draw all decks, now that the beacon is known, and publish their roots."""
        self._expect(self.published.beacon is None, "commit once")
        promise = self.published.promise
        self._hashes = [
            hashes_of(self._drawn(deck_key(seed, promise, beacon, number)))
            for number, seed in enumerate(self._seeds)
        ]
        roots = tuple(map(root_of, self._hashes))
        self.published = replace(self.published, beacon=beacon, roots=roots)

    def open(self, coin: bytes) -> None:
        """Open every deck but the one that the coin picks, and get ready to deal that."""
        beacon, promise = self.published.beacon, self.published.promise
        self._expect(beacon is not None and self.published.coin is None, "open once, after commit")
        assert beacon is not None
        chosen = chosen_deck(coin, promise, len(self._seeds))
        self._leaves = self._drawn(deck_key(self._seeds[chosen], promise, beacon, chosen))
        self._hashes = [self._hashes[chosen]]
        opened = {number: seed for number, seed in enumerate(self._seeds) if number != chosen}
        self.published = replace(self.published, coin=coin, opened=opened)

    def enrol(self, mark: bytes) -> None:
        """Take somebody in, before places are drawn; the mark will be published."""
        ready = self.published.by_lot and self.published.enrolled is None
        self._expect(ready, "enrol people before its enrolment ends, where places are drawn")
        self._take(mark)

    def end_enrolment(self) -> None:
        """Publish who has enrolled, for witnesses to note before the lot is drawn."""
        ready = self.published.by_lot and self.published.enrolled is None
        self._expect(ready, "end its enrolment once, where places are drawn")
        self.published = replace(self.published, enrolled=tuple(sorted(self._marks)))

    def draw(self, lot: bytes) -> None:
        """Draw the places of all who have enrolled, now that the lot is known."""
        enrolled = self.published.enrolled
        ready = enrolled is not None and self.published.lot is None
        self._expect(ready, "draw once, after enrolment")
        assert enrolled is not None
        self._marks = list(places_by_lot(self.published.promise, enrolled, lot))
        self.published = replace(self.published, lot=lot)

    def deal(self, mark: bytes) -> CardProof:
        """The card of whoever comes next; its place is the number of those who came before.

        Where places are drawn, the card of somebody who has enrolled.
        """
        self._expect(bool(self._leaves) and self.published.marks is None, "deal while it is open")
        if not self.published.by_lot:
            self._take(mark)
            return self._proofs([len(self._marks) - 1])[0]
        self._expect(self.published.lot is not None, "deal after places were drawn")
        if mark not in self._marks:
            raise checks.refusal("mark", mark, "one that has enrolled")
        return self._proofs([self._marks.index(mark)])[0]

    def _take(self, mark: bytes) -> None:
        size = self.published.mechanism.moments.deck or 0
        if len(self._marks) >= size:
            raise ArgumentError(f"cards must be left, but all {size} are dealt")
        if len(mark) != BYTES or mark in self._marks:
            raise checks.refusal("mark", mark, f"{BYTES} bytes that nobody else gave")
        self._marks.append(mark)

    def close(self) -> None:
        """Publish who has which place and, of masks, the cards that nobody fetched."""
        drawn = not self.published.by_lot or self.published.lot is not None
        ready = bool(self._leaves) and self.published.marks is None and drawn
        self._expect(ready, "close once, after dealing")
        undealt: dict[str, Any] | None = None
        # Of other cards nothing is opened: they would count as colluders' cards.
        if isinstance(card_format(self.published.mechanism), MaskCards):
            left = self._proofs(list(range(len(self._marks), len(self._leaves))))
            undealt = {
                "sum": sum_of([proof.card for proof in left], self.published.mechanism),
                "cards": [proof.to_dict() for proof in left],
            }
        self.published = replace(self.published, marks=tuple(self._marks), undealt=undealt)
        self._seeds, self._hashes, self._leaves = [], [], []

    def _drawn(self, key: bytes) -> list[Leaf]:
        return leaves_of(self.published.mechanism, key)

    def _proofs(self, places: list[int]) -> list[CardProof]:
        paths = paths_of(self._hashes[0], places)
        return [
            CardProof(place, self._leaves[place].card, self._leaves[place].salt, tuple(path))
            for place, path in zip(places, paths, strict=True)
        ]

    @staticmethod
    def _expect(ready: bool, wish: str) -> None:
        if not ready:
            raise ArgumentError(f"a committed dealer must {wish}")
