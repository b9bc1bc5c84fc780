"""Documents that are named by their hash, fetched from the collector."""

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
