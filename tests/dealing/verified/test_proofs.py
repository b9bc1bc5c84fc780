"""Proofs: what is possible passes, nothing else, nothing for anybody else."""

import itertools
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import MRR, Bits, Block, Choice, SeededRandom, Subset, Window
from jrr.dealing.verified.group import (
    ORDER,
    OTHER_BASE,
    commit,
    number_bytes,
    plus,
    random_number,
    read_number,
)
from jrr.dealing.verified.proofs import Possible, Statement, prove, verify
from jrr.dealing.verified.questions import possible_numbers
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.coins.interface import Coin
from tests.golden import make_verified

SHAPES = make_verified.SHAPES


def stated(possible: Possible, said: list[int]) -> tuple[Statement, list[int]]:
    """A statement that is true, and the blindings."""
    blindings = [random_number() for _ in said]
    masks = [3 * number - 4 for number in range(len(said))]
    reports = [mask + one for mask, one in zip(masks, said, strict=True)]
    return Statement(b"b" * 64, possible, list(map(commit, masks, blindings)), reports), blindings


COINS: dict[str, tuple[Coin, list[Any]]] = {
    "yes or no": (Choice(2), [0, 1]),
    "one of three": (Choice(3), [0, 1, 2]),
    "bits": (Bits(3), [0, 1, 2]),
    "subset": (Subset(5, 2), [0, 1, 2, 3, 4]),
    "block": (Block((2, 3)), [[1, 0], [0, 2]]),
    "block of bits": (Block((2, 2, 2)), [[0, 1, 1]]),
    "window": (Window(4, 3), [0, 1]),
}


@pytest.mark.parametrize("name", list(COINS))
def test_what_is_possible_is_what_the_coin_says(name: str) -> None:
    """No number more, or somebody could claim it; none less, or somebody could not answer."""
    coin, values = COINS[name]
    mechanism = MRR(50, own=1.0, card_rate=0.5, announced_rate=0.5, coin=coin)
    possible, rng = possible_numbers(mechanism), SeededRandom(31)
    blank = 0 if possible.numbers == 1 else [0] * possible.numbers
    told = (mechanism.respond_one(value, blank, rng) for _ in range(1_000) for value in values)
    listed = [mechanism.report_format.to_json(report) for report in told]
    said = {tuple(one) if isinstance(one, list) else (one,) for one in listed}
    numbers = itertools.product(range(-1, possible.largest + 2), repeat=possible.numbers)
    assert said == {one for one in numbers if possible.allows(one)}


@pytest.mark.parametrize(("possible", "said"), SHAPES)
def test_what_is_possible_is_proved(possible: Possible, said: list[int]) -> None:
    statement, blindings = stated(possible, said)
    proof = prove(statement, said, blindings)
    assert len(proof) == possible.proof_size
    verify(statement, proof)
    changed = [
        replace(statement, binding=b"c" * 64),
        replace(statement, reports=[statement.reports[0] + 1, *statement.reports[1:]]),
        replace(statement, reports=[statement.reports[0] + 48, *statement.reports[1:]]),
        replace(
            statement,
            commitments=[plus(statement.commitments[0], OTHER_BASE), *statement.commitments[1:]],
        ),
        replace(statement, possible=replace(possible, largest=possible.largest + 1)),
    ]
    for other in changed:
        with pytest.raises(DamagedError):
            verify(other, proof)
    for at in range(0, len(proof), 32):
        with pytest.raises(DamagedError):
            verify(statement, proof[:at] + bytes([proof[at] ^ 1]) + proof[at + 1 :])
        more = int.from_bytes(proof[at : at + 32], "little") + ORDER  # the same number again
        with pytest.raises(DamagedError, match="canonical"):
            verify(statement, proof[:at] + more.to_bytes(32, "little") + proof[at + 32 :])
    for other_proof in (b"", proof[:-1], proof + b"\0"):
        with pytest.raises(DamagedError, match="bytes"):
            verify(statement, other_proof)


@pytest.mark.parametrize("said", [[0, 0, 0], [1, 1, 0], [2, -1, 0], [1, 0], [0, 0, ORDER + 1]])
def test_nothing_else_is_proved(said: list[int]) -> None:
    possible = Possible(3, 1, ((0, 3, 1),))
    statement, blindings = stated(possible, said)
    with pytest.raises(ArgumentError, match="coin can say"):
        prove(statement, said, blindings)


@pytest.mark.parametrize("said", [[2], [-1], [48], [ORDER - 1]])
def test_a_liar_who_proves_all_the_same_is_refused(said: list[int]) -> None:
    """The proof of a prover that claims to have said what is possible."""
    statement, blindings = stated(Possible(1), said)
    for claimed in (0, 1):
        with pytest.raises(DamagedError, match="possible one"):
            verify(statement, prove(statement, [claimed], blindings))


def test_a_wrong_sum_is_refused() -> None:
    """Every number is a bit, but there are two ones where one is possible."""
    loose, strict = Possible(3), Possible(3, 1, ((0, 3, 1),))
    statement, blindings = stated(loose, [1, 1, 0])
    proof = prove(statement, [1, 1, 0], blindings)
    verify(statement, proof)
    strictly = replace(statement, possible=strict)
    with pytest.raises(DamagedError):
        verify(strictly, proof + number_bytes(random_number()))
    with pytest.raises(DamagedError):
        verify(strictly, prove(strictly, [1, 0, 0], blindings))


def test_proofs_of_different_answers_have_one_law() -> None:
    """Every number of a proof is random whatever was said: the first bit of each is even."""
    ones = {}
    for said in (0, 1):
        statement, blindings = stated(Possible(1), [said])
        proofs = [prove(statement, [said], blindings) for _ in range(60)]
        ones[said] = [sum(proof[32 * at] & 1 for proof in proofs) for at in range(4)]
    for counted in ones.values():
        assert all(5 <= count <= 55 for count in counted)  # outside: less than 1e-11 each


def test_javascript_proves_to_python() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    vectors = make_verified.proof_vectors()
    script = Path(make_verified.__file__).with_name("verified.mjs")
    done = subprocess.run(
        [node, str(script)], input=json.dumps(vectors), capture_output=True, text=True, check=True
    )
    for vector, proof in zip(vectors, json.loads(done.stdout), strict=True):
        statement = Statement(
            bytes.fromhex(vector["binding"]),
            Possible(vector["numbers"], vector["largest"], tuple(map(tuple, vector["sums"]))),
            [bytes.fromhex(one) for one in vector["commitments"]],
            vector["reports"],
        )
        verify(statement, bytes.fromhex(proof))
        assert proof != vector["proof"]
        assert read_number(bytes.fromhex(proof)[:32]) < ORDER
