"""Dealing with chosen coins: a seed is a label, and a table says what it stands for.

Between permutations the protocol is linear: for fixed permutations everything anybody sees is
an affine function of the random vectors. Running it with all of them zero and then with one
entry of one of them set gives that function from the code itself; from it follow exact laws
over all p^(number of entries) choices, which nobody could enumerate one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr.dealing.committee import dealing
from jrr.dealing.committee import field as arithmetic
from jrr.dealing.committee.dealing import Dealt, Kind
from jrr.dealing.committee.field import SEED, Vector
from tests.dealing.committee.memory import Mesh, Message, in_turn, step_by_step, succeeded

Label = tuple[int, int]  # party, how many seeds it drew before
Order = tuple[int, ...]
Residues = NDArray[np.int64]
Vectors = dict[Label, Vector]


def label_of(seed: bytes) -> Label:
    return seed[0], int.from_bytes(seed[1:5], "little")


@dataclass
class Coins:
    """What every seed stands for."""

    parts: Sequence[int]  # what the seeds of the parts of α expand to, one per party
    orders: Sequence[Order]  # one per group
    vectors: Vectors = field(default_factory=dict)  # zero where absent
    alias: Callable[[Label], Label] = lambda label: label
    below: int = 0  # what parts are drawn from, as the code has it


@dataclass
class Ran:
    """One run: what came out, what was sent, which vectors were drawn."""

    dealt: list[Dealt]
    log: list[Message]
    drawn: list[Label]


@contextmanager
def tabled(coins: Coins, groups: Sequence[tuple[int, ...]], drawn: list[Label]) -> Iterator[None]:
    """Replace expansion of seeds by looking them up."""
    named: dict[Label, int] = {}

    def expand(seed: bytes, shape: tuple[int, ...], prime: int = 0) -> Vector:
        label = label_of(seed)
        if shape == (1,):
            coins.below = prime
            return np.array([coins.parts[label[0]]], np.uint64)
        label = coins.alias(label)
        if label not in drawn:
            drawn.append(label)
        known = coins.vectors.get(label)
        return np.zeros(shape, np.uint64) if known is None else known.reshape(shape)

    def permutation(seed: bytes, size: int) -> NDArray[np.intp]:
        label = label_of(seed)
        if label not in named:
            led = [at for at, group in enumerate(groups) if group[0] == label[0]]
            named[label] = led[sum(known[0] == label[0] for known in named)]
        order = coins.orders[named[label]]
        assert len(order) == size
        return np.array(order, np.intp)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arithmetic, "expand", expand)
        patch.setattr(arithmetic, "permutation", permutation)
        patch.setattr(dealing, "groups", lambda parties, threshold: list(groups))
        yield


def labels(party: int) -> Callable[[], bytes]:
    count = iter(range(1 << 32))
    return lambda: (bytes([party]) + next(count).to_bytes(4, "little")).ljust(SEED, b"\0")


def run_with(
    coins: Coins, parties: int, groups: Sequence[tuple[int, ...]], deck: Sequence[int], prime: int
) -> Ran:
    """One run of all parties with these coins."""
    drawn: list[Label] = []
    mesh = Mesh(parties, record=True)
    seeds = [labels(party) for party in range(parties)]
    with tabled(coins, groups, drawn), in_turn():
        # The threshold does not matter: the groups are given.
        outcomes = step_by_step(mesh, deck, 0, prime, seeds)
    return Ran(succeeded(outcomes), mesh.log, drawn)


def draws(prime: int) -> range:
    """What a party draws its part of α from, each with the same chance."""
    coins = Coins([0] * 3, [(0, 1)])
    run_with(coins, 3, [(0, 1)], (1, 1), prime)
    return range(coins.below)


def view(ran: Ran, coins: Coins, corrupt: Sequence[int], prime: int) -> Residues:
    """Everything that these parties see or draw, as one vector over the field.

    Left out are permutations, which the caller fixes where they are seen, and the hashes:
    commitments hide what they are to until it is shown, the others are hashes of what is in here.
    """
    entries: list[Any] = []
    size = 2 * len(ran.dealt[0].cards)
    zero = np.zeros(size, np.uint64)
    for party in sorted(corrupt):
        for label in sorted(ran.drawn):
            if label[0] == party:
                entries.append(coins.vectors.get(label, zero))
        for _, _, kind, payload in sorted(
            (message for message in ran.log if message[1] == party), key=lambda m: (m[0], m[2])
        ):
            if kind == Kind.SEED:
                entries.append(coins.vectors.get(coins.alias(label_of(payload)), zero))
            elif kind == Kind.VECTOR:
                entries.append(np.frombuffer(payload, "<u4"))
            elif kind in (Kind.SUM, Kind.REVEAL):
                entries.append(np.frombuffer(payload[:4], "<u4"))
            elif kind == Kind.CHECK:
                entries.append(np.frombuffer(payload[:-SEED], "<u4"))
        entries += [ran.dealt[party].cards, ran.dealt[party].tags]
    return np.concatenate([np.ravel(entry).astype(np.int64) for entry in entries]) % prime


def echelon(rows: Residues, prime: int) -> Residues:
    """The reduced row echelon form without rows of zeros: one name for each subspace."""
    rows = rows.copy() % prime
    top = 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[top:, column])
        if not len(below):
            continue
        pivot = top + below[0]
        rows[[top, pivot]] = rows[[pivot, top]]
        rows[top] = rows[top] * pow(int(rows[top, column]), -1, prime) % prime
        for other in range(len(rows)):
            if other != top and rows[other, column]:
                rows[other] = (rows[other] - rows[other, column] * rows[top]) % prime
        top += 1
        if top == len(rows):
            break
    return rows[:top]


def reduced(point: Residues, basis: Residues, prime: int) -> tuple[int, ...]:
    """The same for all points that differ by the subspace only: one name for each coset."""
    point = point.copy() % prime
    for row in basis:
        pivot = int(np.flatnonzero(row)[0])
        point = (point - point[pivot] * row) % prime
    return tuple(map(int, point))
