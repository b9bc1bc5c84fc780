"""Proofs that the answer behind a mask is a possible one, which tell nothing else of it.

The report r and the commitment C to the mask leave D = rG - C, a commitment to what the coin said.
For every number the device proves that D holds one of 0..largest (one of several discrete
logarithms is known, and which one does not show: Cramer, Damgård, Schoenmakers 1994), and where
the coin says a fixed number of ones, that sums are those. One challenge binds all of it
(Fiat-Shamir).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

from jrr.dealing.verified.group import (
    ORDER,
    OTHER_BASE,
    SIZE,
    as_number,
    base,
    digest,
    minus,
    number_bytes,
    plus,
    random_number,
    read_number,
    times,
    total,
)
from jrr.errors import ArgumentError, DamagedError


@dataclass(frozen=True)
class Possible:
    """Which numbers a coin can say.

    Args:
        numbers: How many.
        largest: Each is one of 0 to this.
        sums: Of neighbours that have a fixed sum: the first, one behind the last, and the sum.
    """

    numbers: int
    largest: int = 1
    sums: tuple[tuple[int, int, int], ...] = ()

    @property
    def proof_size(self) -> int:
        """Bytes of a proof."""
        return SIZE * (1 + self.numbers * (2 * self.largest + 1) + len(self.sums))

    def allows(self, said: Sequence[int]) -> bool:
        """Whether a coin can say so."""
        return (
            len(said) == self.numbers
            and all(0 <= one <= self.largest for one in said)
            and all(sum(said[start:end]) == whole for start, end, whole in self.sums)
        )

    def to_bytes(self) -> bytes:
        """For the hash of a proof."""
        listed = (self.numbers, self.largest, *(part for one in self.sums for part in one))
        return b"".join(number.to_bytes(4, "little") for number in listed)


@dataclass(frozen=True)
class Statement:
    """What is proved, of one question.

    Args:
        binding: A hash of everything that the proof is good for: survey, dealers' keys, question,
            person, serial numbers. With another one it is worth nothing.
        possible: Which numbers the coin can say.
        commitments: To the mask of each number, of all dealers together.
        reports: The number that is reported, of each.
    """

    binding: bytes
    possible: Possible
    commitments: Sequence[bytes]
    reports: Sequence[int]

    def left(self) -> list[bytes]:
        """What is left of each report without its mask: a commitment to what the coin said."""
        pairs = zip(self.reports, self.commitments, strict=True)
        return [minus(base(report), one) for report, one in pairs]

    def challenge(self, firsts: Sequence[bytes]) -> int:
        """The number that a proof must answer, from everything it is about."""
        return as_number(
            digest(
                "proof",
                self.binding,
                self.possible.to_bytes(),
                b"".join(self.commitments),
                b"".join(map(number_bytes, self.reports)),
                b"".join(firsts),
            )
        )


def prove(statement: Statement, said: Sequence[int], blindings: Sequence[int]) -> bytes:
    """A proof.

    Args:
        statement: What is proved.
        said: What the coin said.
        blindings: Of the commitments, of all dealers together.

    Raises:
        ArgumentError: The coin cannot say so.
    """
    possible = statement.possible
    if not possible.allows(said):  # the value is somebody's answer: not repeated
        raise ArgumentError("said must be numbers that the coin can say")
    left = statement.left()
    values = range(possible.largest + 1)
    firsts: list[bytes] = []
    challenges: list[list[int]] = []
    answers: list[list[int]] = []
    for point, true in zip(left, said, strict=True):
        asked = [random_number() for _ in values]
        given = [random_number() for _ in values]
        branches = _branches(point, possible.largest)
        for value in values:
            if value == true:
                firsts.append(times(given[value], OTHER_BASE))  # `given` is the nonce until below
            else:
                firsts.append(_first(branches[value], asked[value], given[value]))
        challenges.append(asked)
        answers.append(given)
    nonces = [random_number() for _ in possible.sums]
    firsts += [times(nonce, OTHER_BASE) for nonce in nonces]
    challenge = statement.challenge(firsts)
    for asked, given, true, blinding in zip(challenges, answers, said, blindings, strict=True):
        others = sum(asked) - asked[true]
        asked[true] = (challenge - others) % ORDER
        given[true] = (given[true] - asked[true] * blinding) % ORDER
    parts = [challenge]
    for asked, given in zip(challenges, answers, strict=True):
        parts += asked[:-1] + given
    for (start, end, _), nonce in zip(possible.sums, nonces, strict=True):
        parts.append((nonce - challenge * sum(blindings[start:end])) % ORDER)
    return b"".join(map(number_bytes, parts))


def verify(statement: Statement, proof: bytes) -> None:
    """Refuse a proof that does not prove the statement.

    Raises:
        DamagedError: It does not; nothing is repeated of it.
    """
    possible = statement.possible
    if len(proof) != possible.proof_size:
        raise DamagedError(f"a proof must be of {possible.proof_size} bytes, got {len(proof)}")
    numbers = iter(
        [read_number(proof[start : start + SIZE]) for start in range(0, len(proof), SIZE)]
    )
    challenge = next(numbers)
    left = statement.left()
    firsts: list[bytes] = []
    for point in left:
        asked = [next(numbers) for _ in range(possible.largest)]
        asked.append((challenge - sum(asked)) % ORDER)
        given = [next(numbers) for _ in asked]
        firsts += starmap(
            _first, zip(_branches(point, possible.largest), asked, given, strict=True)
        )
    for start, end, whole in possible.sums:
        point = minus(total(left[start:end]), base(whole))
        firsts.append(_first(point, challenge, next(numbers)))
    if statement.challenge(firsts) != challenge:
        raise DamagedError("the proof must show that the answer behind the mask is a possible one")


def _branches(point: bytes, largest: int) -> list[bytes]:
    """What must be a multiple of the second base if the commitment holds 0, 1, and so on."""
    return [minus(point, base(value)) if value else point for value in range(largest + 1)]


def _first(point: bytes, challenge: int, answer: int) -> bytes:
    """The first move that fits a challenge and its answer.

    The secret is the blinding with its sign turned: D = uG - ρH.
    """
    return plus(times(answer, OTHER_BASE), times(-challenge, point))
