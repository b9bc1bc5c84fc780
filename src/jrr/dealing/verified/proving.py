"""What a device keeps of a verified card, to answer with it: from fetching until it is sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jrr.dealing.verified.cards import VerifiedCard, report_binding
from jrr.dealing.verified.group import number_bytes, read_number, read_point, total
from jrr.dealing.verified.keys import hex_bytes
from jrr.dealing.verified.proofs import Possible, Statement, prove


@dataclass(frozen=True)
class SignedCommitments:
    """What one dealer committed to, and signed."""

    commitments: tuple[bytes, ...]
    signature: bytes

    def to_document(self) -> dict[str, Any]:
        """As it travels."""
        return {
            "commitments": [one.hex() for one in self.commitments],
            "signature": self.signature.hex(),
        }

    @classmethod
    def from_document(cls, document: Any, numbers: int) -> "SignedCommitments":
        """The same from JSON values.

        Raises:
            DamagedError: They are none, or not of so many numbers.
        """
        listed = document["commitments"][: numbers + 1]
        points = tuple(read_point(hex_bytes("commitments", one, 32)) for one in listed)
        return cls(points, hex_bytes("signature", document["signature"], 64))

    def to_bytes(self) -> bytes:
        """As the collector stores it."""
        return self.signature + b"".join(self.commitments)

    @classmethod
    def from_bytes(cls, stored: bytes) -> "SignedCommitments":
        """What `to_bytes` made, perhaps read from somebody else's record.

        Raises:
            DamagedError: It is something else; libsodium would take what is no point for nothing.
        """
        points = tuple(read_point(stored[at : at + 32]) for at in range(64, len(stored), 32))
        return cls(points, stored[:64])


@dataclass(frozen=True)
class Proving:
    """A card of all dealers together.

    Args:
        context: Of the survey and the promises of its dealers.
        card: Masks and blindings, added up.
        signed: By each dealer; None by one that was left out.
    """

    context: bytes
    card: VerifiedCard
    signed: tuple[SignedCommitments | None, ...]

    def answer(
        self,
        question: str,
        pseudonym: bytes,
        serials: Sequence[str | None],
        possible: Possible,
        said: Sequence[int],
    ) -> dict[str, Any]:
        """The report of what the coin said, with its proof, as it travels."""
        named = [None if one is None else bytes.fromhex(one) for one in serials]
        reports = [mask + one for mask, one in zip(self.card.masks, said, strict=True)]
        statement = Statement(
            report_binding(self.context, question, pseudonym, named),
            possible,
            all_commitments([one for one in self.signed if one is not None]),
            reports,
        )
        proof = prove(statement, said, self.card.blindings)
        return {
            "report": reports[0] if len(reports) == 1 else reports,
            "commitments": [None if one is None else one.to_document() for one in self.signed],
            "proof": proof.hex(),
        }

    def to_document(self) -> dict[str, Any]:
        """For a private file."""
        return {
            "context": self.context.hex(),
            "masks": list(self.card.masks),
            "blindings": [number_bytes(one).hex() for one in self.card.blindings],
            "signed": [None if one is None else one.to_document() for one in self.signed],
        }

    @classmethod
    def from_document(cls, document: Any) -> "Proving":
        """What `to_document` wrote."""
        masks = tuple(map(int, document["masks"]))
        blindings = tuple(
            read_number(hex_bytes("blindings", one, 32)) for one in document["blindings"]
        )
        signed = tuple(
            None if one is None else SignedCommitments.from_document(one, len(masks))
            for one in document["signed"]
        )
        context = hex_bytes("context", document["context"], 64)
        return cls(context, VerifiedCard(masks, blindings), signed)


def all_commitments(signed: Sequence[SignedCommitments]) -> list[bytes]:
    """To the masks of all dealers together."""
    return [total(points) for points in zip(*(one.commitments for one in signed), strict=True)]
