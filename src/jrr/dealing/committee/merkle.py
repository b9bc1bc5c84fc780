"""A commitment to many messages, each of which can be shown to belong to it (RFC 6962's tree)."""

import hashlib
from collections.abc import Sequence

HASH = 32


def leaf(message: bytes) -> bytes:
    """The hash of one message."""
    return hashlib.sha256(b"\0" + message).digest()


class Tree:
    """The hashes of all messages, pair by pair up to one root; an odd one moves up alone."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._levels = [[leaf(message) for message in messages]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            above = [_node(below[at], below[at + 1]) for at in range(0, len(below) - 1, 2)]
            self._levels.append(above + below[len(above) * 2 :])

    @property
    def root(self) -> bytes:
        """What is committed to."""
        return self._levels[-1][0]

    def path(self, index: int) -> list[bytes]:
        """The neighbours on the way from a message to the root."""
        neighbours = []
        for level in self._levels[:-1]:
            neighbour = index ^ 1
            if neighbour < len(level):
                neighbours.append(level[neighbour])
            index //= 2
        return neighbours


def belongs(message: bytes, index: int, count: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether the message is number `index` of `count` under this root."""
    if not 0 <= index < count:
        return False
    node, left = leaf(message), list(path)
    while count > 1:
        if index ^ 1 < count:
            if not left:
                return False
            neighbour = left.pop(0)
            node = _node(neighbour, node) if index % 2 else _node(node, neighbour)
        index, count = index // 2, -(-count // 2)
    return not left and node == root


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
