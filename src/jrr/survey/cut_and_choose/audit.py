"""What anybody can find out about a dealer from what it published and what was noted in time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jrr.errors import ArgumentError
from jrr.mechanisms.cards import MaskCards
from jrr.survey.cut_and_choose.leaves import (
    chosen_deck,
    drawn_root,
    is_under,
    seed_commitment,
    sum_of,
)
from jrr.survey.cut_and_choose.lots import enrolment_hash, places_by_lot
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.cut_and_choose.published import Notes, Published
from jrr.survey.cut_and_choose.rules import passing_chance
from jrr.survey.deck import card_format, card_from_json

_BY_LOT = "Places were drawn by a lot that came after everybody had enrolled."
_BY_ARRIVAL = (
    "That places were given out in order of arrival is not shown: a dealer can leave some out."
)


@dataclass(frozen=True)
class DeckAudit:
    """What is wrong with a deck; where nothing is, a cheat in it had to guess the coin."""

    faults: tuple[str, ...]
    decks: int  # L
    chosen: int | None  # the one that is dealt; None where there was no coin
    by_lot: bool = False  # whether places were drawn after everybody had enrolled

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.faults

    @property
    def chance(self) -> float:
        """The chance at most that a dealer who cheated in one deck passes all this."""
        return passing_chance(self.decks)

    @property
    def sentence(self) -> str:
        """The finding for people."""
        if self.faults:
            return "The dealer cheated: " + "; ".join(self.faults) + "."
        return (
            f"No cheating found: {self.decks - 1} of {self.decks} decks were opened and drawn "
            f"again. A dealer that cheated in the deck that is dealt passes with chance "
            f"1/{self.decks} at most. Contributors must check their own cards (--card). "
            f"{_BY_LOT if self.by_lot else _BY_ARRIVAL}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "passed": self.passed,
            "faults": list(self.faults),
            "decks": self.decks,
            "chosen": self.chosen,
            "chance": self.chance,
            "by_lot": self.by_lot,
        }


def audit_decks(published: Published, notes: Notes) -> DeckAudit:
    """Draw all opened decks again and hold everything else against what was noted.

    Args:
        published: the dealer's document. A stage that is missing counts as cheating: who may stop
            after having seen the coin has as many tries as it likes.
        notes: what was written down when it was published, and looked up at the named sources.

    Returns:
        What is wrong, and the chance that a cheat passes.

    Example:
        >>> import jrr
        >>> from jrr.survey.cut_and_choose import CommittedDealer, Notes
        >>> dealer = CommittedDealer(jrr.JRR(6, p=0.6, s=0.3), decks=5)
        >>> beacon, coin = bytes(32), bytes([1]) * 32     # in earnest: from public sources
        >>> promise = dealer.published.promise            # noted before the beacon
        >>> dealer.commit(beacon)
        >>> commitment = dealer.published.commitment      # noted before the coin
        >>> dealer.open(coin)
        >>> audit_decks(dealer.published, Notes((promise,), beacon, commitment, coin)).chance
        0.2
    """
    decks = len(published.seeds)
    chosen = None
    if published.coin is not None:
        chosen = chosen_deck(published.coin, published.promise, decks)
    faults = [*_order(published, notes), *_openings(published, chosen)]
    if published.roots is not None and chosen is not None and not faults:
        faults += _closing(published)
    faults += _places(published, notes)
    return DeckAudit(tuple(faults), decks, chosen, published.by_lot)


def _order(published: Published, notes: Notes) -> Iterator[str]:
    """Whether everything was fixed before what must not influence it was known."""
    if notes.promises != (published.promise,):
        yield (
            f"{len(notes.promises)} promises were noted for this deck, and there must be one, the "
            "published one: seeds chosen later, or after an abort, could suit the beacon"
        )
    if published.beacon != notes.beacon:
        yield "the beacon is not the one of its source"
    if published.commitment != notes.commitment:
        yield "the roots are not those that were noted before the coin"
    if published.coin != notes.coin:
        yield "the coin is not the one of its source"
    sources = {published.beacon_source, published.coin_source} - {""}
    if notes.beacon == notes.coin or len(sources) == 1:
        yield "beacon and coin are the same: roots could be made to suit the coin"
    if len(set(published.seeds)) != len(published.seeds):
        yield "two decks have the same seed"


def _openings(published: Published, chosen: int | None) -> Iterator[str]:
    """Whether every deck but the chosen one was opened and is what it should be."""
    if published.beacon is None or published.roots is None:
        yield "no roots were published: stopping counts as cheating"
        return
    if chosen is None:
        yield "no coin was published: stopping counts as cheating"
        return
    if len(published.roots) != len(published.seeds):
        yield f"{len(published.roots)} roots were published for {len(published.seeds)} seeds"
        return
    opened = published.opened or {}
    if chosen in opened:
        yield f"deck {chosen} was opened, though it is dealt: its cards are public"
    for number, commitment in enumerate(published.seeds):
        if number == chosen:
            continue
        if number not in opened:
            yield f"deck {number} was not opened: stopping counts as cheating"
            continue
        seed = opened[number]
        if seed_commitment(seed) != commitment:
            yield f"the seed of deck {number} is not the one committed to"
            continue
        drawn = (published.mechanism, seed, published.promise, published.beacon, number)
        if drawn_root(*drawn) != published.roots[number]:
            yield f"deck {number} is not the one that follows from its seed and the beacon"


def _closing(published: Published) -> Iterator[str]:
    """Whether places were used once, and what nobody fetched was opened."""
    marks, undealt = published.marks, published.undealt
    form = card_format(published.mechanism)
    if marks is None:
        if undealt is not None:
            yield "undealt cards were opened before dealing had ended"
        return
    if len(set(marks)) != len(marks):
        yield "a mark stands at two places"
    if len(marks) > form.size:
        yield f"{len(marks)} places were dealt of a deck of {form.size}"
    if not isinstance(form, MaskCards):
        if undealt is not None:
            yield "undealt cards were opened: of this mechanism they count as colluders' cards"
        return
    if undealt is None:
        yield "the cards that nobody fetched were not opened"
        return
    yield from _undealt(published, range(len(marks), form.size))


def _places(published: Published, notes: Notes) -> Iterator[str]:
    """Whether places were drawn by a lot that nobody knew when enrolment ended."""
    if not published.by_lot:
        return
    if published.enrolled is None or published.lot is None:
        yield "no places were drawn: stopping counts as cheating"
        return
    if notes.enrolment != enrolment_hash(published.promise, published.enrolled):
        yield "those who enrolled are not those that were noted before the lot"
    if published.lot != notes.lot:
        yield "the lot is not the one of its source"
    sources = (published.beacon_source, published.coin_source)
    if published.lot in (published.beacon, published.coin) or published.lot_source in sources:
        yield "the lot is the beacon or the coin: people could be enrolled to suit it"
    drawn = places_by_lot(published.promise, published.enrolled, published.lot)
    if published.marks is not None and published.marks != drawn:
        yield "places are not those that the lot draws"


def _undealt(published: Published, places: range) -> Iterator[str]:
    assert published.undealt is not None
    try:
        proofs = [CardProof.from_dict(card) for card in published.undealt["cards"]]
        for proof in proofs:
            card_from_json(published.mechanism, proof.card)
    except ArgumentError as error:
        yield f"an opened card is none: {error}"
        return
    if [proof.place for proof in proofs] != list(places):
        yield f"opened cards are not those at the places {places.start} to {places.stop - 1}"
    root = published.dealt_root
    assert root is not None  # no fault was found before
    wrong = [proof.place for proof in proofs if not is_under(root, published.mechanism, proof)]
    if wrong:
        yield f"opened cards are not those committed to, at the places {wrong[:10]}"
    cards = [proof.card for proof in proofs]
    if published.undealt["sum"] != sum_of(cards, published.mechanism):
        yield "the undealt sum is not that of the opened cards"
