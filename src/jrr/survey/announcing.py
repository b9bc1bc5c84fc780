"""What a dealer tells of its cards at the end: sums, never a card.

Each sum is told once for a campaign: two of them can differ by one person's card. Who calls this
must see to that, and to storing what was told before anybody hears of it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr.errors import ArgumentError
from jrr.estimation.told_sums import CardSum
from jrr.mechanisms.base import Rng
from jrr.survey.dealer import Dealer
from jrr.survey.naming import Announcement, Naming
from jrr.survey.serials import Places

Numbers = NDArray[np.int64]  # of places: block times the size of a block, and seat


def place_numbers(dealer: Dealer, places: list[tuple[int, int]]) -> Numbers:
    """Blocks and seats as numbers, sorted."""
    blocks = np.array([block for block, _ in places], np.int64)
    seats = np.array([seat for _, seat in places], np.int64)
    return np.sort(blocks * dealer.block_size + seats)


def unknown_serials(dealer: Dealer, naming: Naming, dealt: Numbers) -> list[bytes]:
    """The serial numbers in a naming that nobody was given.

    Args:
        dealer: Whose cards they should be of.
        naming: What a collector has.
        dealt: The places of all cards that were dealt, from `place_numbers`.
    """
    found = []
    for names in naming.serials.values():
        known = _known(dealer, dealer.serials.places(names), dealt)
        found += [name for name, is_known in zip(names, known, strict=True) if not is_known]
    return found


def announce(
    dealer: Dealer, naming: Naming, dealt: Numbers, fewest: int, rng: Rng = None
) -> Announcement:
    """The noisy sums of exactly the named cards, of all blocks at once.

    Args:
        dealer: Whose cards they are.
        naming: Which cards came back with a report; every card is in one group at most.
        dealt: The places of all cards that were dealt, from `place_numbers`.
        fewest: Cards in the smallest sum that is told.
        rng: Where the noise comes from; None: the system's secure randomness.

    Returns:
        One sum for each group; none of a group without cards.

    Raises:
        ArgumentError: Nothing is named, a name is unknown, or a sum would be of fewer cards.
    """
    if not any(naming.serials.values()):
        raise ArgumentError(
            "serials must be those of the cards that came back, got none: a sum is told once, so "
            "nothing was announced; --without-sum ends the campaign without one"
        )
    unknown = len(unknown_serials(dealer, naming, dealt))
    if unknown:
        raise ArgumentError(
            f"serials must be of cards that were dealt, got {unknown} that nobody was given; "
            "--discard-unknown deletes the reports that came with them"
        )
    for group, names in naming.serials.items():
        if 0 < len(names) < fewest:
            where = f" in the group {group!r:.80}" if naming.by is not None else ""
            raise ArgumentError(
                f"serials must be at least {fewest} (the campaign's min_cell and min_batch)"
                f"{where}, or none, got {len(names)}; --discard-small deletes such reports, "
                "--without-sum gives all up"
            )
    told = {
        group: CardSum(len(names), _noisy_sum(dealer, names, rng))
        for group, names in naming.serials.items()
    }
    return Announcement(campaign=naming.campaign, by=naming.by, merged=naming.merged, sums=told)


def undealt_sum(dealer: Dealer, blocks: int, given: Numbers) -> CardSum:
    """The sum of the cards in so many blocks that were given to nobody.

    Args:
        dealer: Whose cards they are; it must deal no more.
        blocks: Blocks from which cards were dealt.
        given: The places of all cards that may have left the dealer, from `place_numbers`.

    Returns:
        How many cards are left, and their sum; None where none are.
    """
    places = np.arange(blocks * dealer.block_size, dtype=np.int64)
    left = np.setdiff1d(places, given, assume_unique=True)
    if not len(left):
        return CardSum(0, None)
    return CardSum(len(left), dealer.mechanism.undealt_sum(_cards(dealer, left)))


def _known(dealer: Dealer, places: Places, dealt: Numbers) -> NDArray[np.bool_]:
    fits = (places["seat"] < dealer.block_size) & (places["block"] < 1 << 32)
    fits &= places["zero"] == 0
    numbers = np.where(fits, _numbers(dealer, places), -1)
    known: NDArray[np.bool_] = fits & np.isin(numbers, dealt)
    return known


def _numbers(dealer: Dealer, places: Places) -> Numbers:
    # What is made up may overflow here, harmlessly: it does not fit anyway.
    blocks, seats = (places[name].astype(np.int64) for name in ("block", "seat"))
    numbers: Numbers = blocks * dealer.block_size + seats
    return numbers


def _noisy_sum(dealer: Dealer, names: tuple[bytes, ...], rng: Rng) -> Any:
    if not names:
        return None
    numbers = _numbers(dealer, dealer.serials.places(names))
    return dealer.mechanism.announce(_cards(dealer, numbers), rng=rng)


def _cards(dealer: Dealer, numbers: Numbers) -> NDArray[Any]:
    blocks, seats = np.divmod(np.sort(numbers), dealer.block_size)
    begun, starts = np.unique(blocks, return_index=True)
    parts = [
        dealer.deck_cards(int(block), mine)
        for block, mine in zip(begun, np.split(seats, starts[1:]), strict=True)
    ]
    return np.concatenate(parts)
