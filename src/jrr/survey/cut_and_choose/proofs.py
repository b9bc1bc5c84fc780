"""A card of a committed deck with what shows that it is the one that was committed to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.cut_and_choose.rules import BYTES


@dataclass(frozen=True)
class CardProof:
    """A card with what shows that it is under the root of the deck that is dealt.

    Keep it to yourself: whoever sees it knows your card, and is certain of it.
    """

    place: int
    card: Any  # as a JSON value
    salt: bytes
    path: tuple[bytes, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "place": self.place,
            "card": self.card,
            "salt": self.salt.hex(),
            "path": [node.hex() for node in self.path],
        }

    @classmethod
    def from_dict(cls, document: object) -> "CardProof":
        """What `to_dict` wrote.

        Raises:
            ArgumentError: for anything else; a salt that is too short among it.
        """
        names = {"place", "card", "salt", "path"}
        if not isinstance(document, Mapping) or set(document) != names:
            raise ArgumentError(f"proof must be an object of {sorted(names)}")
        if not isinstance(document["path"], list):
            raise checks.refusal("path", document["path"], "a list of hexadecimal digits")
        return cls(
            checks.integer("place", document["place"], 0),
            document["card"],
            checks.from_hex("salt", document["salt"], BYTES),
            tuple(checks.from_hex("path", node, BYTES) for node in document["path"]),
        )
