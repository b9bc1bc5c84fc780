"""Hash trees: one root stands for all leaves, and a short path shows that a leaf is under it.

The tree is that of RFC 6962: levels are paired from the left, and a last one without a partner
goes up as it is. Leaves and nodes are hashed with different first words, so that no node passes
for a leaf.
"""

import hashlib
from collections.abc import Sequence

_NODE = b"jrr node 1:"


class HashTree:
    """A tree with all its levels, for whoever needs many paths.

    Args:
        leaves: Hashes, at least one of them.
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._levels = _levels(leaves)

    @property
    def root(self) -> bytes:
        """What stands for all leaves."""
        return self._levels[-1][0]

    def path(self, place: int) -> list[bytes]:
        """The neighbours on the way from a leaf to the root."""
        path, at = [], place
        for level in self._levels[:-1]:
            if at ^ 1 < len(level):
                path.append(level[at ^ 1])
            at >>= 1
        return path


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over hashed leaves, at least one of them."""
    return HashTree(leaves).root


def paths_of(leaves: Sequence[bytes], places: Sequence[int]) -> list[list[bytes]]:
    """For each of some places: the neighbours on the way from that leaf to the root."""
    tree = HashTree(leaves)
    return [tree.path(place) for place in places]


def root_from(leaf: bytes, place: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a leaf at a place has by its path; None where no path is like that."""
    if not 0 <= place < size:
        return None
    found, left = leaf, list(path)
    while size > 1:
        if place ^ 1 < size:
            if not left:
                return None
            neighbour = left.pop(0)
            found = _node(neighbour, found) if place & 1 else _node(found, neighbour)
        place, size = place >> 1, (size + 1) >> 1
    return None if left else found


def _levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        above = [_node(below[at], below[at + 1]) for at in range(0, len(below) - 1, 2)]
        levels.append(above + below[len(above) * 2 :])
    return levels


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
