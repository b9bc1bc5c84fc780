"""What contributors ask of those who deal, whichever way they deal."""

from typing import TYPE_CHECKING, Any

from jrr.errors import ProtocolError
from jrr.protocol.steps import (
    LEFT_OUT,
    UNKNOWN_NAME,
    Call,
    Steps,
    insist,
    printable,
    read_problem,
    read_reply,
    refused,
)

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


def address_at(survey: "Survey", number: int) -> str:
    """Where one of those who deal keeps the survey."""
    return f"{survey.dealing.addresses[number]}{survey.path}"


def same_everywhere(
    survey: "Survey", patience: float, *, silence_is_fine: bool = False
) -> Steps[list[bool]]:
    """Of each who deals, whether it serves the very same survey; False where it serves nothing."""
    found = []
    for number in range(len(survey.dealing.addresses)):
        call = Call(address_at(survey, number))
        reply = yield from insist(call, patience, silence_is_fine=silence_is_fine)
        if not reply.gave_up and reply.status != 200:
            raise refused("the dealer", reply)
        if not reply.gave_up and reply.body != survey.to_bytes():
            raise ProtocolError("dealer and collector serve different surveys")
        found.append(not reply.gave_up)
    return found


def ask_for_place(survey: "Survey", number: int, body: bytes, patience: float) -> Steps[None]:
    """Enrol at one who deals."""
    reply = yield from insist(Call(f"{address_at(survey, number)}/seats", body), patience)
    if reply.status not in (200, 201):
        raise refused("the dealer", reply)


def ask_for_cards(
    survey: "Survey", number: int, body: bytes, patience: float
) -> Steps[tuple[dict[str, Any] | None, str | None]]:
    """What one who deals replies; None where no card is to be had of it.

    And what it says of why somebody who enrolled was dealt nothing, if it does.
    """
    call = Call(f"{address_at(survey, number)}/cards", body)
    reply = yield from insist(call, patience, silence_is_fine=True, also=(425,))
    kind, detail = read_problem(reply.body)
    # Who did not enrol in time has no card and may answer; where nobody enrols, somebody whom the
    # dealer does not know must not send anything to the collector either.
    is_stranger = kind == UNKNOWN_NAME and not survey.dealing.enrols
    if reply.gave_up or (reply.status in (404, 410, 425) and not is_stranger):
        # Nothing came, this name has no seat, the cards are burned or not dealt yet.
        return None, printable(detail) if kind == LEFT_OUT else None
    if reply.status != 200:
        raise refused("the dealer", reply)
    return read_reply(reply.body, "the dealer"), None
