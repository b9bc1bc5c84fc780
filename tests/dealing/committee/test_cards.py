"""Commitments to many messages, cards as elements, keys of cards, and what a party may serve."""

import hashlib
import hmac
import json
from collections import Counter
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from jrr import DRR, JRR, OLH, OUE, RR, SUE, Mechanism
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import (
    SEALED,
    Envelope,
    Record,
    card_key,
    card_of,
    committee_deck,
    deck_of,
    seal_shares,
)
from jrr.dealing.committee.field import (
    PRIME,
    add,
    expand,
    from_bytes,
    subtract,
    times,
    to_bytes,
    total,
)
from jrr.dealing.committee.merkle import Tree, belongs, leaf
from jrr.errors import JrrError
from jrr.protocol.documents import plain

# The tree ---------------------------------------------------------------------------------------


def messages(count: int) -> list[bytes]:
    return [f"message {at}".encode() for at in range(count)]


def root_by_rfc6962(given: list[bytes]) -> bytes:
    """The tree hash as RFC 6962 defines it: split at the largest power of two below the size."""
    if len(given) == 1:
        return leaf(given[0])
    split = 1 << (len(given) - 1).bit_length() - 1
    left, right = root_by_rfc6962(given[:split]), root_by_rfc6962(given[split:])
    return hashlib.sha256(b"\1" + left + right).digest()


@pytest.mark.parametrize("count", range(1, 41))
def test_every_message_belongs_in_its_place_and_in_no_other(count: int) -> None:
    given = messages(count)
    tree = Tree(given)
    assert tree.root == root_by_rfc6962(given)
    for index, message in enumerate(given):
        path = tree.path(index)
        assert belongs(message, index, count, path, tree.root)
        assert len(path) <= (count - 1).bit_length()
        assert not belongs(message + b"!", index, count, path, tree.root)
        assert not belongs(message, index, count, [*path, bytes(32)], tree.root)
        assert not belongs(message, index, count, path, bytes(32))
        for wrong in {-1, count, count + 1, index + count} - {index}:
            assert not belongs(message, wrong, count, path, tree.root)
        for wrong in set(range(count)) - {index}:
            assert not belongs(message, wrong, count, path, tree.root)
        if path:
            assert not belongs(message, index, count, path[:-1], tree.root)
            assert not belongs(message, index, count, [bytes(32), *path[1:]], tree.root)
            assert not belongs(message, index, count, [*path[::-1], b""], tree.root)
        if count > 1:
            other = given[(index + 1) % count]
            assert not belongs(other, index, count, path, tree.root)


@pytest.mark.parametrize("count", range(1, 20))
def test_a_path_for_another_size_is_refused_where_it_differs(count: int) -> None:
    tree = Tree(messages(count))
    for index, message in enumerate(messages(count)):
        path = tree.path(index)
        for size in {1, 2, 3, 2 * count, 4 * count + 1} - {count}:
            # Some places have the same way to the root in trees of different sizes; no message
            # but this one can be shown there, so nothing is gained.
            if belongs(message, index, size, path, tree.root):
                assert len(path) == len(Tree(messages(size)).path(index))
        assert not belongs(message, index, 4 * count + 1, path, tree.root)


def test_an_inner_node_is_no_message() -> None:
    tree = Tree(messages(4))
    left, right = leaf(messages(4)[0]), leaf(messages(4)[1])
    assert not belongs(left + right, 0, 2, tree.path(0)[1:], tree.root)


# Cards ------------------------------------------------------------------------------------------

DEALT: list[Mechanism] = [
    JRR(2, p=0.7, s=0.1),
    JRR(7, p=0.7, s=0.1),
    JRR(10, p=0.7, s=0.2, k=5),
    DRR(9, truth=0.4, own=0.1, k=4),
    DRR(5, truth=0.4, own=0.1, k=3, deck=[0, 4, 1]),
    OLH(100, g=4, p=0.7, coupling="joint", n=11, s=0.1),
]


@pytest.mark.parametrize("mechanism", DEALT, ids=repr)
def test_a_deck_of_elements_is_the_mechanism_s_deck(mechanism: Mechanism) -> None:
    deck = deck_of(mechanism)
    assert deck == sorted(deck)
    assert 0 not in deck
    cards = [card_of(mechanism, element) for element in deck]
    dealt = mechanism.deal()
    assert dealt is not None
    assert Counter(cards) == Counter(map(int, dealt))
    assert len({*deck}) == len({*cards})  # different cards are different elements
    for card in set(cards):
        assert mechanism.respond_one(0, card) is not None
    for wrong in {0, -1, PRIME - 1, PRIME, max(deck) + 1} | (set(range(1, 6)) - set(deck)):
        with pytest.raises(Abort, match="do not add up to a card"):
            card_of(mechanism, wrong)


@pytest.mark.parametrize(
    "mechanism",
    [RR(2, 1.0), OUE(5, 1.0), SUE(5, 1.0), OUE(5, 1.0, coupling="joint", n=10), OLH(100, 1.0)],
    ids=repr,
)
def test_what_has_no_deck_of_single_cards_is_refused(mechanism: Mechanism) -> None:
    for use in (deck_of, committee_deck):
        with pytest.raises(JrrError, match="mechanism must be JRR, DRR or OLH"):
            use(mechanism)


def test_a_key_follows_from_the_invitation_and_differs_between_surveys() -> None:
    secret, other = bytes(20), bytes(19) + b"\1"
    names = ["00" * 32, "01" * 32]
    keys = {
        (who, name): card_key(who, name).private_bytes_raw()
        for who in (secret, other)
        for name in names
    }
    assert len(set(keys.values())) == 4
    assert card_key(secret, names[0]).private_bytes_raw() == keys[secret, names[0]]
    # HKDF by hand: whoever enrolled with one version opens the card with another.
    extracted = hmac.digest(bytes.fromhex(names[1]), other, "sha256")
    derived = hmac.digest(extracted, b"jrr card key 1" + b"\1", "sha256")
    expected = X25519PrivateKey.from_private_bytes(derived)
    assert keys[other, names[1]] == expected.private_bytes_raw()


def test_sealed_shares_have_one_length_and_are_new_each_time() -> None:
    key = card_key(bytes(20), "00" * 32).public_key().public_bytes_raw()
    shares = expand(bytes(32), (2, 3))
    first, second = (seal_shares([key] * 3, shares[0], shares[1], "ab" * 32, 1) for _ in range(2))
    assert {len(sealed) for sealed in first + second} == {SEALED}
    assert len({*first, *second}) == 6


# The field --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prime", [3, 5, PRIME])
def test_arithmetic_agrees_with_python_s(prime: int) -> None:
    first, second = expand(bytes(32), (200,), prime), expand(b"\1" * 32, (200,), prime)
    extreme = [0, 1, prime - 1]
    first[:3], second[:3] = extreme, extreme[::-1]
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    assert add(first, second, prime).tolist() == [(a + b) % prime for a, b in pairs]
    assert subtract(first, second, prime).tolist() == [(a - b) % prime for a, b in pairs]
    assert times(first, prime - 1, prime).tolist() == [a * (prime - 1) % prime for a, _ in pairs]
    assert total(first, prime) == sum(first.tolist()) % prime
    assert from_bytes(to_bytes(first), (200,), prime).tolist() == first.tolist()


def test_bytes_that_are_no_vector_are_refused() -> None:
    with pytest.raises(ValueError, match="must have 16 bytes"):
        from_bytes(bytes(12), (2, 2))
    with pytest.raises(ValueError, match="elements of the field"):
        from_bytes(PRIME.to_bytes(4, "little"), (1,))
    assert from_bytes((PRIME - 1).to_bytes(4, "little"), (1,)).tolist() == [PRIME - 1]


# What a party serves ----------------------------------------------------------------------------

RECORD = Record("ab" * 32, 5, 7, ("00" * 32, "11" * 32, "22" * 32), "33" * 32, "44" * 32, "55" * 32)
ENVELOPE = Envelope(3, bytes(56), (bytes(32), b"\1" * 32), bytes(12), (b"\2" * 32, bytes(32)))


def test_records_and_envelopes_survive_json() -> None:
    assert Record.from_document(json.loads(json.dumps(plain(RECORD)))) == RECORD
    assert Envelope.from_document(json.loads(json.dumps(ENVELOPE.to_document()))) == ENVELOPE


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": PRIME},
        {"alpha": -1},
        {"alpha": "7"},
        {"alpha": True},
        {"n": 1},
        {"n": None},
        {"roots": "00"},
        {"roots": [1, 2, 3]},
        {"roots": None},
        {"roots": ["zz" * 32] * 3},
        {"checks": "zz"},
        {"more": 1},
    ],
    ids=str,
)
def test_a_record_that_is_none_is_refused(change: dict[str, Any]) -> None:
    document = json.loads(json.dumps(plain(RECORD))) | change
    with pytest.raises(Abort):
        Record.from_document(document)


@pytest.mark.parametrize("given", [None, 1, "x", [], {}, {"survey": 1}], ids=str)
def test_what_is_no_record_or_envelope_at_all_is_refused(given: object) -> None:
    with pytest.raises(Abort):
        Record.from_document(given)
    with pytest.raises(Abort):
        Envelope.from_document(given)


@pytest.mark.parametrize(
    "change",
    [
        {"slot": -1},
        {"slot": "1"},
        {"sealed": "%"},
        {"sealed": 5},
        {"sealed": None},
        {"path": ["zz"]},
        {"path": [5]},
        {"path": None},
        {"path": 7},
    ],
    ids=str,
)
def test_an_envelope_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Abort, match="a slot, a sealed share and a path"):
        Envelope.from_document(ENVELOPE.to_document() | change)
