"""Audits of dealt cards: what a dealer that swaps cards gains, and how likely it is caught.

A deck's contents are public: so many cards of each face. An auditor takes some cards as any
contributor would, by ordinary invitations, and counts their faces. The dealer does not know which
of those who ask are auditors. Of an honest deck of N cards with K of a face, k cards hold that face
as often as a hypergeometric law says; of one in which m others were turned into it, as often as the
law with K + m says. Both chances are exact (`caught`).

Cards that an auditor has seen count as colluders' cards. They are lost for answers, as any card
that is fetched and never reported with.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import SortedDeck
from jrr.survey.campaign import Campaign

FALSE_ALARM = 0.001  # chance that an honest dealer is accused, at most
SURE = 0.95
SIZES = (0.01, 0.02, 0.05, 0.1, 0.2)  # of an even share of the deck: swaps that are shown


@dataclass(frozen=True)
class _Face:
    """One face of a deck, and how many of some audited cards may have it."""

    size: int  # cards in the deck
    cards: int  # with this face
    audited: int
    fewest: int
    most: int

    def outside(self, cards: int, several: bool) -> float:
        """The chance that a count is refused where so many cards have this face, at least."""
        laws = _laws(self.size, cards, self.audited, several)
        return float(min(law.cdf(self.fewest - 1) + law.sf(self.most) for law in laws))


def _laws(size: int, cards: int, audited: int, several: bool) -> list[Any]:
    """How many audited cards have a face; of cards from several decks, the two ends."""
    from scipy import stats  # a second to load, and most commands do without

    laws: list[Any] = [stats.hypergeom(size, cards, audited)]
    if several:  # cards of different decks: between these two
        laws.append(stats.binom(audited, cards / size))
    return laws


def _face(size: int, cards: int, audited: int, alarm: float, several: bool) -> _Face:
    """What an honest deck keeps to, but for a chance of `alarm`, half of it on each side."""
    laws = _laws(size, cards, audited, several)
    fewest = min(_last(law.cdf, audited, alarm / 2) + 1 for law in laws)
    most = max(audited - 1 - _last(_from_above(law, audited), audited, alarm / 2) for law in laws)
    return _Face(size, cards, audited, fewest, most)


def _from_above(law: Any, audited: int) -> Any:
    """The chance of `audited` less a number or more, by that number."""
    return lambda number: law.sf(audited - number - 1)


def _last(chance: Any, audited: int, alarm: float) -> int:
    """The largest number up to which a growing chance is at most `alarm`; -1 where none is."""
    counts = np.arange(audited + 1)
    return int(np.searchsorted(chance(counts), alarm * (1 - 1e-9), side="right")) - 1


def caught(
    size: int,
    cards: int,
    swapped: int,
    audited: int,
    *,
    faces: int = 2,
    decks: int = 1,
    false_alarm: float = FALSE_ALARM,
) -> float:
    """The chance, at least, that an audit notices swapped cards.

    Args:
        size: Cards in a deck.
        cards: Of them with one face, as it should be.
        swapped: Cards of other faces that were turned into it, in every deck.
        audited: Cards that the auditor took.
        faces: Of the deck; every one is tested, and shares the chance of a false alarm.
        decks: From which was dealt.
        false_alarm: Chance that an honest dealer is accused, at most.

    Returns:
        The exact chance for one deck; a lower bound for several.

    Example:
        >>> round(caught(10_000, 5_000, 1_000, 500), 3)
        0.897
        >>> caught(10_000, 5_000, 1_000, 0)
        0.0
    """
    checks.integer("swapped", swapped, 0, size - cards)
    checks.integer("audited", audited, 0, size * decks)
    if not audited:
        return 0.0
    # With two faces one count says the other: it is one test.
    alarm = false_alarm / (1 if faces == 2 else faces)
    if decks == 1 or audited <= size:
        face = _face(size, cards, audited, alarm, decks > 1)
        return face.outside(cards + swapped, decks > 1)
    face = _face(size * decks, cards * decks, audited, alarm, True)
    return face.outside((cards + swapped) * decks, True)


@dataclass(frozen=True, kw_only=True)
class CardFinding:
    """What an audit of some cards found."""

    audited: int
    faces: dict[str, int]  # face -> cards with it
    expected: dict[str, tuple[int, int]]  # face -> fewest and most of an honest deck

    @property
    def passed(self) -> bool:
        """Whether every face came as often as it does from an honest deck."""
        return all(low <= self.faces[face] <= high for face, (low, high) in self.expected.items())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "audited": self.audited,
            "passed": self.passed,
            "faces": self.faces,
            "expected": {face: list(ends) for face, ends in self.expected.items()},
            "false_alarm": FALSE_ALARM,
        }


def audit_cards(mechanism: Mechanism, cards: Iterable[Any], decks: int = 1) -> CardFinding:
    """Hold the faces of some dealt cards against what an honest deck gives.

    Args:
        mechanism: For which they were dealt.
        cards: As the dealer gave them.
        decks: From which was dealt, at most.

    Raises:
        ArgumentError: Its cards cannot be audited, or there are none.
    """
    deck = _auditable(mechanism)
    counts = Counter(int(card) for card in cards)
    audited = counts.total()
    if not audited:
        raise ArgumentError("cards must be at least one, got none")
    present = [(face, number) for face, number in _faces(deck) if number]
    alarm = FALSE_ALARM / (1 if len(present) == 2 else len(present))
    expected = {}
    for face, number in present:
        whole = 1 if decks == 1 or audited <= deck.size else decks
        found = _face(deck.size * whole, number * whole, audited, alarm, decks > 1)
        expected[str(face)] = found.fewest, found.most
    return CardFinding(
        audited=audited,
        faces={str(face): counts[face] for face, _ in present},
        expected=expected,
    )


def lying_dealer(campaign: Campaign, mechanism: Mechanism, audited: int, decks: int) -> Any:
    """What a dealer that swaps cards could do to an estimate, and how likely it is caught.

    Args:
        campaign: Whose cards they are.
        mechanism: For as many people as were dealt cards.
        audited: Cards that an auditor took and held against the deck.
        decks: From which was dealt.

    Returns:
        As plain JSON values, for whoever reads an estimate.
    """
    reason = not_auditable(campaign, mechanism)
    if reason is not None:
        return {"audited": 0, "reason": reason}
    deck = _auditable(mechanism)
    audited = min(audited, deck.size * decks)
    present = [number for _, number in _faces(deck) if number]
    even = deck.size / len(present)
    swaps = sorted({max(1, round(share * even)) for share in SIZES})
    chances = {
        swap: min(
            caught(deck.size, number, swap, audited, faces=len(present), decks=decks)
            for number in set(present)  # into whichever face shows it least
        )
        for swap in swaps
        if swap <= deck.size - max(present)
    }
    each = moved_by_a_card(mechanism)
    return {
        "audited": audited,
        "false_alarm": FALSE_ALARM,
        "people_per_card": each,
        "sizes": [
            {"cards": swap, "people": swap * decks * each, "caught": chance}
            for swap, chance in chances.items()
        ],
    }


def moved_by_a_card(mechanism: Mechanism) -> float:
    """By how many people one swapped card moves an estimated count, at most."""
    laws = [law.reports for law in mechanism.card_laws()]
    spread = np.max(laws, axis=0) - np.min(laws, axis=0)
    return float(np.max(spread / np.min(np.abs(mechanism.moments.gain))))


def not_auditable(campaign: Campaign, mechanism: Mechanism) -> str | None:
    """Why cards of a campaign are not audited; None where they can be."""
    if not campaign.deals:
        return "there are no cards"
    if campaign.by_committee:
        return "a committee deals: its parties check each other's cards"
    if campaign.by_groups:
        return "contributors deal among themselves"
    if mechanism.masked:
        return (
            "cards are drawn numbers, of which a dealer may announce any sum"
            if mechanism.announced
            else "cards are drawn numbers: they are checked by --committed-decks, jrr audit-deck"
        )
    deck = mechanism.sorted_deck
    if deck is None or deck.bits is not None:
        return "a card is a bit for every answer, each of a deck of its own"
    try:
        mechanism.card_laws()
    except (ArgumentError, NotImplementedError):
        return "what a card does to a report depends on each contributor's own hash"
    return None


def _auditable(mechanism: Mechanism) -> SortedDeck:
    deck = mechanism.sorted_deck
    if deck is None or deck.bits is not None or mechanism.masked:
        allowed = "one whose deck has faces that are whole numbers: JRR, DRR"
        raise checks.refusal("mechanism", mechanism, allowed)
    return deck


def _faces(deck: SortedDeck) -> list[tuple[int, int]]:
    """Faces and how many cards each has."""
    return list(zip((int(face) for face in deck.faces), deck.counts, strict=True))


def cards_for(mechanism: Mechanism, swapped: int, chance: float = SURE) -> int | None:
    """How many cards an audit of one deck must take to catch so many swaps; None: not even all.

    Args:
        mechanism: Whose deck.
        swapped: Cards turned into the face that most cards have.
        chance: With which they should be noticed.
    """
    deck = _auditable(mechanism)
    present = [number for _, number in _faces(deck) if number]
    cards = max(present)
    low, high = 0, deck.size
    if caught(deck.size, cards, swapped, high, faces=len(present)) < chance:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = caught(deck.size, cards, swapped, middle, faces=len(present))
        low, high = (low, middle) if found >= chance else (middle, high)
    return high
