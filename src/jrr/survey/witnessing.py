"""The collector as the witness of a dealer's decks: what it writes down, and when it draws.

A promise is written down before the beacon is drawn, and the hash of the roots before the coin is.
Nothing that was written down changes again, so a dealer has one try.
"""

import hashlib
from dataclasses import replace

from jrr._base import randomness
from jrr.errors import IntegrityError
from jrr.mechanisms.base import Rng
from jrr.survey.campaign import Campaign
from jrr.survey.cut_and_choose.audit import audit_decks
from jrr.survey.cut_and_choose.leaves import chosen_deck, random_bytes
from jrr.survey.cut_and_choose.published import Notes, Published
from jrr.survey.documents import canonical_json
from jrr.survey.witnessed import Witnessed, beacon_source, coin_source


def noted(
    so_far: Witnessed, campaign: Campaign, published: Published, rng: Rng = None
) -> Witnessed:
    """Write down the next stage, and draw what comes after it; the same again changes nothing.

    Args:
        so_far: What was written down before.
        campaign: Whose decks they are.
        published: What the dealer has published by now.
        rng: Where beacon and coin come from; None: the system's cryptographic randomness.

    Raises:
        IntegrityError: It contradicts what was written down before, or the campaign.
    """
    check_published(campaign, published)
    source = randomness.source(rng)
    if so_far.promise is None:
        if published.beacon is not None:
            raise IntegrityError("the beacon is not the one that was drawn here")
        return replace(so_far, promise=published.promise, beacon=random_bytes(source))
    if published.promise != so_far.promise:
        raise IntegrityError("another promise was written down for this deck: a dealer has one try")
    if published.roots is None:
        if so_far.commitment is not None:
            raise IntegrityError("the roots were written down, and now there are none")
        return so_far
    if published.beacon != so_far.beacon:
        raise IntegrityError("the beacon is not the one that was drawn here")
    if so_far.commitment is None:
        if published.coin is not None:
            raise IntegrityError("the coin is not the one that was drawn here")
        if len(published.roots) != len(published.seeds):
            raise IntegrityError("roots must be as many as decks")
        coin = random_bytes(source)
        chosen = chosen_deck(coin, so_far.promise, len(published.seeds))
        root = published.roots[chosen]
        return replace(so_far, commitment=published.commitment, coin=coin, root=root)
    if published.commitment != so_far.commitment:
        raise IntegrityError("the roots are not those that were written down before the coin")
    if published.coin is not None and published.coin != so_far.coin:
        raise IntegrityError("the coin is not the one that was drawn here")
    if so_far.closing is not None and closing_hash(published) not in (None, so_far.closing):
        raise IntegrityError("other marks or cards were published at the end before")
    return so_far


def checked(so_far: Witnessed, published: Published, faults: tuple[str, ...]) -> Witnessed:
    """Write down what an audit of everything published so far has found."""
    closing = closing_hash(published)
    if so_far.faults is not None and (closing is None or so_far.closing is not None):
        return so_far  # found before
    if closing is None or published.marks is None:
        return replace(so_far, faults=faults)
    undealt = None
    if published.undealt is not None:
        cards = len(published.undealt["cards"])
        undealt = {"cards": cards, "sums": [published.undealt["sum"] if cards else None]}
    dealt = len(published.marks)
    return replace(so_far, faults=faults, closing=closing, dealt=dealt, undealt=undealt)


def notes_of(so_far: Witnessed) -> Notes:
    """As an audit takes them.

    Raises:
        IntegrityError: Not everything was written down.
    """
    if so_far.promise is None or so_far.beacon is None or so_far.commitment is None:
        raise IntegrityError("the collector has not written down promise and roots in time")
    assert so_far.coin is not None  # drawn with the commitment
    return Notes((so_far.promise,), so_far.beacon, so_far.commitment, so_far.coin)


def check_published(campaign: Campaign, published: Published) -> None:
    """Refuse what is no document of this campaign's dealer.

    Raises:
        IntegrityError: It is of another campaign, mechanism, number of decks or source.
    """
    expected = {
        "campaign": campaign.hash,
        "deck": 0,
        "mechanism": campaign.mechanism,
        "beacon_source": beacon_source(campaign),
        "coin_source": coin_source(campaign),
        "lot_source": "",
    }
    for name, value in expected.items():
        if getattr(published, name) != value:
            raise IntegrityError(f"{name} of the dealer's decks is not the campaign's")
    if len(published.seeds) != campaign.committed_decks:
        raise IntegrityError(
            f"the dealer must commit to {campaign.committed_decks} decks, as the campaign says, "
            f"got {len(published.seeds)}"
        )


def faults_of(
    campaign: Campaign, published: Published, witnessed: Witnessed, invited: int | None = None
) -> tuple[str, ...]:
    """What is wrong with the decks by all that was published and written down.

    Args:
        campaign: Whose decks they are.
        published: By the dealer.
        witnessed: By the collector.
        invited: How many people were; None: anybody may come, or it is not known.
    """
    try:
        check_published(campaign, published)
        faults = list(audit_decks(published, notes_of(witnessed)).faults)
    except IntegrityError as error:
        return (str(error),)
    if invited is not None and published.marks is not None and len(published.marks) > invited:
        faults.append(f"{len(published.marks)} places were dealt, but {invited} people invited")
    if witnessed.closing is not None and closing_hash(published) != witnessed.closing:
        faults.append("marks and undealt cards are not those that the collector was given")
    return tuple(faults)


def closing_hash(published: Published) -> bytes | None:
    """The hash of what is published at the end; None before it."""
    if published.marks is None:
        return None
    document = published.to_dict()
    written = canonical_json({name: document[name] for name in ("marks", "undealt")})
    return hashlib.sha256(b"jrr closing 1:" + written).digest()
