"""What a dealer tells of its cards at the end: sums, never a card.

Each announcement that was planned is made once: two sums can differ by one person's card, and ε
counts so many. Who calls this must see to that, and to storing what was told before anybody hears
of it. The noise follows from the key and the request, so that the same request is answered the same
also where a database went back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr.dealing.decks import QuestionDecks
from jrr.dealing.serials import Places
from jrr.errors import ArgumentError
from jrr.estimation.told_sums import CardSum
from jrr.mechanisms.base import Rng

Numbers = NDArray[np.int64]  # of places: block times the size of a block, and seat
Groups = Mapping[str, Sequence[bytes]]  # group -> serial numbers; every card in one at most


def place_numbers(block_size: int, places: Iterable[tuple[int, int]]) -> Numbers:
    """Blocks and seats as numbers, sorted."""
    listed = list(places)
    blocks = np.array([block for block, _ in listed], np.int64)
    seats = np.array([seat for _, seat in listed], np.int64)
    return np.sort(blocks * block_size + seats)


def unknown_serials(decks: QuestionDecks, named: Iterable[bytes], dealt: Numbers) -> list[bytes]:
    """Those of some serial numbers that nobody was given.

    Args:
        decks: Whose cards they should be of.
        named: What a collector has.
        dealt: The places of all cards that were dealt, from `place_numbers`.
    """
    names = list(named)
    if not names:
        return []
    places = decks.serials.places(names)
    fits = (places["round"] == 0) & (places["zero"] == 0)
    fits &= (places["seat"] < decks.block_size) & (places["block"] < 1 << 32)
    known = fits & np.isin(np.where(fits, _numbers(decks, places), -1), dealt)
    return [name for name, is_known in zip(names, known, strict=True) if not is_known]


def people_named(named: Mapping[str, Iterable[bytes]], decks: Mapping[str, QuestionDecks]) -> int:
    """How many people's cards are named: not everybody is asked every question.

    Args:
        named: Question -> serial numbers that are known.
        decks: Question -> whose cards they are of.
    """
    numbers = [
        _numbers(decks[question], decks[question].serials.places(list(names)))
        for question, names in named.items()
    ]
    return np.unique(np.concatenate(numbers)).size


def announce(
    decks: QuestionDecks, groups: Groups, dealt: Numbers, fewest: int, rng: Rng = None
) -> dict[str, CardSum]:
    """The noisy sums of exactly the named cards, of all blocks at once; none of an empty cell.

    Args:
        decks: Whose cards they are.
        groups: Which cards came back with a report.
        dealt: The places of all cards that were dealt, from `place_numbers`.
        fewest: Cards in the smallest sum that is told.
        rng: Where the noise comes from, cell by cell in the order of their names; None: the
            system's secure randomness.

    Raises:
        ArgumentError: A name is unknown, or a sum would be of fewer cards.
    """
    named = [name for names in groups.values() for name in names]
    unknown = len(unknown_serials(decks, named, dealt))
    if unknown:
        raise ArgumentError(
            f"serials must be of cards that were dealt, got {unknown} that nobody was given; "
            "--discard-unknown deletes the reports that came with them"
        )
    for group, names in groups.items():
        if 0 < len(names) < fewest:
            where = f" in the group {group!r:.80}" if group else ""
            raise ArgumentError(
                f"serials must be at least {fewest} (the survey's min_cell and min_batch){where}, "
                f"or none, got {len(names)}; --discard-small deletes such reports, --without-sum "
                "gives all up"
            )
    return {
        group: CardSum(len(groups[group]), _noisy_sum(decks, groups[group], rng))
        for group in sorted(groups)
    }


def undealt_sum(decks: QuestionDecks, blocks: int, given: Numbers) -> CardSum:
    """The sum of the cards in so many blocks that were given to nobody.

    Args:
        decks: Whose cards they are; nothing may be dealt any more.
        blocks: Blocks from which cards were dealt.
        given: The places of all cards that may have left the dealer, from `place_numbers`.
    """
    places = np.arange(blocks * decks.block_size, dtype=np.int64)
    left = np.setdiff1d(places, given, assume_unique=True)
    if not len(left):
        return CardSum(0, None)
    return CardSum(len(left), decks.mechanism.undealt_sum(_cards(decks, left)))


def _numbers(decks: QuestionDecks, places: Places) -> Numbers:
    # What is made up may overflow here, harmlessly: it does not fit anyway.
    blocks, seats = (places[name].astype(np.int64) for name in ("block", "seat"))
    numbers: Numbers = blocks * decks.block_size + seats
    return numbers


def _noisy_sum(decks: QuestionDecks, names: Sequence[bytes], rng: Rng) -> Any:
    if not names:
        return None
    numbers = _numbers(decks, decks.serials.places(list(names)))
    return decks.mechanism.announce(_cards(decks, numbers), rng=rng)


def _cards(decks: QuestionDecks, numbers: Numbers) -> NDArray[Any]:
    blocks, seats = np.divmod(np.sort(numbers), decks.block_size)
    begun, starts = np.unique(blocks, return_index=True)
    parts = [
        decks.cards(int(block), mine)
        for block, mine in zip(begun, np.split(seats, starts[1:]), strict=True)
    ]
    return np.concatenate(parts)
