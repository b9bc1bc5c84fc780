"""Documents that are named by their hash: fetched from the collector, compared at who deals."""

from jrr.errors import ProtocolError
from jrr.protocol.addresses import split_link
from jrr.protocol.documents import hash_of
from jrr.protocol.steps import Call, Steps, insist, refused


def fetch_document(link: str, patience: float) -> Steps[bytes]:
    """The bytes that a link names, from the collector that it names.

    Args:
        link: As contributors are given it.
        patience: Seconds to wait for the collector.

    Raises:
        ProtocolError: The collector refuses, or serves something else.
        UnreachableError: It does not answer.
    """
    _, name = split_link(link)
    reply = yield from insist(Call(link.strip().rstrip("/")), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    if hash_of(reply.body) != name:
        raise ProtocolError("the collector serves another survey than the link names")
    return reply.body


def is_same_at(
    address: str, document: bytes, patience: float, *, silence_is_fine: bool = False
) -> Steps[bool]:
    """Whether who deals serves the very same bytes; False where nothing is served.

    Args:
        address: Of the document there.
        document: As the collector serves it.
        patience: Seconds to wait.
        silence_is_fine: False is returned where nothing comes, instead of an error.

    Raises:
        ProtocolError: They differ, or the server refuses.
    """
    reply = yield from insist(Call(address), patience, silence_is_fine=silence_is_fine)
    if reply.gave_up:
        return False
    if reply.status != 200:
        raise refused("the dealer", reply)
    if reply.body != document:
        raise ProtocolError("dealer and collector serve different surveys")
    return True
