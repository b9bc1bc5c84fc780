"""A dealer's server and its committed decks: everything follows from the campaign's key.

So a restart at any time leads to the same promise, the same roots and the same cards, and burning
the key burns the deck that was dealt. The other decks are public by then.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from jrr._base.forgetting import overwrite
from jrr.survey.committed_deck import committed_seed
from jrr.survey.cut_and_choose.leaves import chosen_deck, drawn_root, seed_commitment
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.witnessed import beacon_source, coin_source

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign


def promise_decks(campaign: "Campaign", key: bytes) -> Published:
    """What a dealer publishes first: commitments to the seeds of all decks."""
    commitments = []
    for number in range(campaign.committed_decks):
        seed = committed_seed(key, number)
        commitments.append(seed_commitment(seed))
        overwrite(seed)
    return Published(
        campaign.hash,
        0,
        campaign.mechanism,
        beacon_source(campaign),
        coin_source(campaign),
        tuple(commitments),
    )


def commit_decks(published: Published, key: bytes, beacon: bytes) -> Published:
    """Draw all decks, now that the beacon is known, and publish their roots."""
    roots = []
    for number in range(len(published.seeds)):
        seed = committed_seed(key, number)
        roots.append(drawn_root(published.mechanism, seed, published.promise, beacon, number))
        overwrite(seed)
    return replace(published, beacon=beacon, roots=tuple(roots))


def open_decks(published: Published, key: bytes, coin: bytes) -> Published:
    """Publish the seeds of all decks but the one that the coin picks."""
    decks = len(published.seeds)
    chosen = chosen_deck(coin, published.promise, decks)
    opened = {number: committed_seed(key, number) for number in range(decks) if number != chosen}
    return replace(published, coin=coin, opened=opened)
