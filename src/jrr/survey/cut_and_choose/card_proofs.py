"""A contributor's side: is my card the one that was committed to, and is its place mine alone?"""

from jrr._base import checks, randomness
from jrr.mechanisms.base import Rng
from jrr.survey.cut_and_choose.leaves import is_under, random_bytes
from jrr.survey.cut_and_choose.lots import places_by_lot
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.cut_and_choose.published import Published


def new_mark(rng: Rng = None) -> bytes:
    """A random mark that a contributor gives the dealer, to find itself in the published list."""
    return random_bytes(randomness.source(rng))


def check_card(published: Published, proof: CardProof, mark: bytes | None = None) -> list[str]:
    """What is wrong with a contributor's card; nothing where it is as committed.

    Args:
        published: what the dealer has published so far, at least up to the coin.
        proof: what came with the card.
        mark: the contributor's own; after closing, or once the lot has drawn places, it must
            stand at the card's place and nowhere else, or two people were given the same card.

    Returns:
        A sentence for each fault.
    """
    faults = []
    if not under_root(published, proof):
        faults.append(f"the card at place {proof.place} is not under the root of the dealt deck")
    order = published.marks
    if published.enrolled is not None and published.lot is not None:
        order = places_by_lot(published.promise, published.enrolled, published.lot)
    if mark is not None and order is not None:
        places = [place for place, found in enumerate(order) if found == mark]
        if places != [proof.place]:
            faults.append(
                f"place {proof.place} was dealt to somebody else too: the mark stands at {places}"
            )
    return faults


def under_root(published: Published, proof: CardProof) -> bool:
    """Whether a card is the one that was committed to at its place of the deck that is dealt."""
    if published.roots is None or published.coin is None:
        raise checks.refusal("published", "neither roots nor coin", "what is published by the coin")
    root = published.dealt_root
    return root is not None and is_under(root, published.mechanism, proof)
