"""The noise of closing sums: drawn in many slots, all but one of which are opened afterwards.

Seeds are promised before the first card is dealt. At the end the collector says which cards it
means and a nonce, the dealer commits to the noise that follows in every slot of a sum, and only
then the collector draws the one slot that is used. A dealer that cheats in one slot passes with the
chance one in so many slots; one that cheats in two is always caught.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jrr.dealing.committee.merkle import Tree, belongs
from jrr.dealing.verified.group import IDENTITY, commit, digest, minus, plus, total
from jrr.dealing.verified.keys import Promise, Stream
from jrr.dealing.verified.laws import Law, Sums
from jrr.errors import IntegrityError

SLOTS = 256  # of each sum: a dealer that cheats in its noise passes with one chance in so many
SEED = 32  # bytes


@dataclass(frozen=True)
class NoiseRequest:
    """What fixes the noise of one sum, beside the seeds.

    Args:
        survey: Its hash.
        nonce: Of the collector, drawn when it names the cards.
        named: A hash of all lists of cards that it names.
        number: Of the sum (`Sums.number`).
    """

    survey: bytes
    nonce: bytes
    named: bytes
    number: int

    def noise(self, slot: int, seed: bytes, law: Law) -> "SlotNoise":
        """What is drawn in one slot."""
        stream = Stream(
            "noise", seed, self.survey, self.nonce, self.named, _eight(self.number), _eight(slot)
        )
        pairs = [(stream.laplace(law.rate), stream.number()) for _ in range(law.numbers)]
        return SlotNoise(tuple(value for value, _ in pairs), tuple(blind for _, blind in pairs))


@dataclass(frozen=True)
class SlotNoise:
    """Of one slot: a number to add to each sum, and what blinds the commitment to it."""

    values: tuple[int, ...]
    blindings: tuple[int, ...]

    @property
    def commitments(self) -> tuple[bytes, ...]:
        """To each number."""
        return tuple(map(commit, self.values, self.blindings))


@dataclass(frozen=True)
class Opening:
    """Of all slots of one sum but the one that is used.

    Args:
        seeds: Of the other slots, in order.
        kept: The hash of the seed that is used, which stays secret.
        path: From the hashes of this sum's seeds to the promised root.
        commitments: To the noise that is used.
    """

    seeds: tuple[bytes, ...]
    kept: bytes
    path: tuple[bytes, ...]
    commitments: tuple[bytes, ...]


class NoiseSeeds:
    """A dealer's noise seeds of one survey, which follow from its secret.

    Args:
        secret: `Secrets.noise`.
        survey: The survey's hash.
        sums: How many sums there can be.
    """

    def __init__(self, secret: bytes, survey: bytes, sums: Sums) -> None:
        self._secret, self._survey, self._sums = secret, survey, sums
        self._tree = Tree([b"".join(self._hashes(number)) for number in range(sums.count)])

    @property
    def slots(self) -> int:
        """How many there are of each sum."""
        return SLOTS

    @property
    def root(self) -> bytes:
        """What the dealer promises."""
        return self._tree.root

    def commit(self, request: NoiseRequest, law: Law) -> bytes:
        """A hash of the commitments of all slots."""
        slots = [self.noise(request, slot, law).commitments for slot in range(SLOTS)]
        return slots_hash(slots)

    def noise(self, request: NoiseRequest, slot: int, law: Law) -> SlotNoise:
        """Of one slot."""
        return request.noise(slot, self._seed(request.number, slot), law)

    def open(self, request: NoiseRequest, slot: int, law: Law) -> Opening:
        """What shows that all slots but this one were drawn as they must be."""
        return Opening(
            seeds=tuple(self._seed(request.number, one) for one in range(SLOTS) if one != slot),
            kept=self._hashes(request.number)[slot],
            path=tuple(self._tree.path(request.number)),
            commitments=self.noise(request, slot, law).commitments,
        )

    def _hashes(self, number: int) -> list[bytes]:
        return [
            _seed_hash(self._survey, number, slot, self._seed(number, slot))
            for slot in range(SLOTS)
        ]

    def _seed(self, number: int, slot: int) -> bytes:
        return digest("seed", self._secret, _eight(number), _eight(slot))[:SEED]


def check_opening(
    promise: Promise,
    sums: Sums,
    request: NoiseRequest,
    slot: int,
    law: Law,
    committed: bytes,
    opening: Opening,
) -> None:
    """Refuse noise that was not drawn as it must be.

    Args:
        promise: The dealer's.
        sums: How many there can be.
        request: Of this sum.
        slot: Which is used.
        law: Of the noise.
        committed: The hash that the dealer gave before it knew the slot.
        opening: What it gave afterwards.

    Raises:
        IntegrityError: It was not.
    """
    if type(slot) is not int or not 0 <= slot < SLOTS:  # beyond them any noise could be used
        raise IntegrityError("the slot that is used must be one of those that were committed to")
    others = [one for one in range(SLOTS) if one != slot]
    sizes = len(opening.seeds) == len(others) and len(opening.commitments) == law.numbers
    if not sizes:
        raise IntegrityError("the dealer has not opened all other slots of its noise")
    seeds = dict(zip(others, opening.seeds, strict=True))
    hashes = [
        opening.kept if one == slot else _seed_hash(request.survey, request.number, one, seeds[one])
        for one in range(SLOTS)
    ]
    root = bytes.fromhex(promise.noise)
    if not belongs(b"".join(hashes), request.number, sums.count, opening.path, root):
        raise IntegrityError("the dealer opens other noise seeds than it has promised")
    slots = [
        opening.commitments if one == slot else request.noise(one, seeds[one], law).commitments
        for one in range(SLOTS)
    ]
    if slots_hash(slots) != committed:
        raise IntegrityError("the dealer's noise is not what follows from its seeds")


def slots_hash(slots: Sequence[Sequence[bytes]]) -> bytes:
    """A hash of the commitments of all slots."""
    return digest("slots", *(b"".join(commitments) for commitments in slots))[:32]


def check_sum(told: int, blinding: int, cards: Sequence[bytes], noise: bytes) -> None:
    """Refuse a sum that is not that of the committed cards and the committed noise.

    Args:
        told: The sum, with noise.
        blinding: The sum of all blindings, modulo the group's order.
        cards: Commitments to the cards that were named.
        noise: Commitment to the noise.

    Raises:
        IntegrityError: It is not.
    """
    if minus(commit(told, blinding), plus(total(cards), noise)) != IDENTITY:
        raise IntegrityError("the sum is not that of the cards that the dealer has signed")


def _seed_hash(survey: bytes, number: int, slot: int, seed: bytes) -> bytes:
    return digest("seed hash", survey, _eight(number), _eight(slot), seed)[:32]


def _eight(number: int) -> bytes:
    return number.to_bytes(8, "little")
