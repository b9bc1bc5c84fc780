"""A contributor's part in committed decks: leave a mark, and check the card before using it."""

from typing import TYPE_CHECKING, Any

from jrr.errors import IntegrityError, JrrError, ProtocolError
from jrr.survey.cut_and_choose.leaves import is_under
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.identity import device_name
from jrr.survey.steps import Call, Steps, insist, read_reply, refused
from jrr.survey.witnessed import Witnessed, notes_address

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

_ROLE = "mark"


def own_mark(campaign: "Campaign", secret: bytes, device: bytes | None) -> bytes:
    """The mark to leave at the dealer: the same however often one asks, and told to nobody else.

    Args:
        campaign: Whose card is asked for.
        secret: Of the invitation.
        device: A secret of this device, so that whoever made the invitations cannot compute the
            mark; None: there is none.
    """
    return device_name(secret if device is None else device, campaign.hash, _ROLE)


def fetch_notes(campaign: "Campaign", patience: float) -> Steps[Witnessed]:
    """What the collector has written down of the dealer's decks."""
    reply = yield from insist(Call(notes_address(campaign)), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    return Witnessed.from_document(read_reply(reply.body, "the collector"))


def fetch_root(campaign: "Campaign", patience: float) -> Steps[bytes]:
    """The root under which one's card must be, as the collector witnessed it.

    Raises:
        ProtocolError: The collector has witnessed no deck that passed: no card is asked for.
    """
    notes = yield from fetch_notes(campaign, patience)
    if notes.root is None or not notes.passed:
        raise ProtocolError(
            "the collector has witnessed no deck of the dealer that passed: no card was asked "
            "for, and nothing was sent"
        )
    return notes.root


def check_dealt(campaign: "Campaign", root: bytes, cards: Any, proofs: Any) -> int:
    """The place of a card that is the one committed to.

    Args:
        campaign: Whose dealer gave it.
        root: As the collector witnessed it.
        cards: As the dealer gave them, one of them.
        proofs: Place, salt and path.

    Raises:
        IntegrityError: It is another card, or nothing shows that it is not.
    """
    try:
        ((card,), (shown,)) = (cards, proofs)
        proof = CardProof.from_dict({"card": card, **shown})
        fits = is_under(root, campaign.mechanism, proof)
    except (TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, JrrError) else "there must be one of each"
        raise _other_card(f"its proof is none: {reason}") from None
    if not fits:
        raise _other_card(f"at place {proof.place} is another one")
    return proof.place


def _other_card(why: str) -> IntegrityError:
    return IntegrityError(
        f"the dealer's card is not the one that it committed to ({why}): it was not used, and "
        "nothing was sent; tell whoever runs the survey"
    )
