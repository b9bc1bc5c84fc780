"""The group: its laws, and encodings of which there is only one."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jrr.dealing.verified import cards
from jrr.dealing.verified.group import (
    IDENTITY,
    ORDER,
    OTHER_BASE,
    base,
    commit,
    digest,
    minus,
    number_bytes,
    plus,
    point_of,
    read_number,
    read_point,
    times,
    total,
)
from jrr.errors import DamagedError

NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, ORDER - 1, ORDER, ORDER + 1]), st.integers(0, 1 << 260)
)
SEEDS = st.binary(min_size=64, max_size=64)


@given(NUMBERS, NUMBERS, SEEDS)
def test_the_laws_of_the_group(a: int, b: int, seed: bytes) -> None:
    point = point_of(seed)
    assert times(a + b, point) == plus(times(a, point), times(b, point))
    assert times(a * b, point) == times(a, times(b, point))
    assert plus(point, OTHER_BASE) == plus(OTHER_BASE, point)
    assert minus(plus(point, OTHER_BASE), OTHER_BASE) == point
    assert times(a, IDENTITY) == times(ORDER, point) == minus(point, point) == IDENTITY
    assert plus(point, IDENTITY) == point == times(1, point) == total([point])
    assert base(a) == times(a, base(1))


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_commitments_add_up(a: int, b: int, c: int, d: int) -> None:
    assert plus(commit(a, b), commit(c, d)) == commit(a + c, b + d)


@given(st.binary(min_size=32, max_size=32))
def test_a_point_has_one_encoding(encoded: bytes) -> None:
    try:
        point = read_point(encoded)
    except DamagedError:
        return
    assert minus(plus(point, OTHER_BASE), OTHER_BASE) == encoded


# RFC 9496, A.3: not canonical, negative field elements, non-square, negative xy, s = -1
BAD = [
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]

HIGH_BIT = (base(1)[:31] + bytes([base(1)[31] | 128])).hex()  # which libsodium overlooked


@pytest.mark.parametrize(
    "encoded", [*BAD, HIGH_BIT, "00" * 32, "", "00" * 31, base(1).hex() + "00"]
)
def test_what_is_no_point_is_refused(encoded: str) -> None:
    with pytest.raises(DamagedError, match="ristretto255, encoded canonically, not the identity"):
        read_point(bytes.fromhex(encoded))


def test_numbers_have_one_encoding() -> None:
    assert read_number(number_bytes(ORDER - 1)) == ORDER - 1
    assert number_bytes(ORDER) == bytes(32)
    for wrong in (ORDER.to_bytes(32, "little"), b"\xff" * 32, bytes(31), bytes(33)):
        with pytest.raises(DamagedError, match="canonical"):
            read_number(wrong)


def test_hashes_tell_parts_and_domains_apart() -> None:
    seen = [
        digest("a", b"", b"b"),
        digest("a", b"b"),
        digest("a", b"b", b""),
        digest("ab"),
        digest("a", b"bc", b"d"),
        digest("a", b"b", b"cd"),
        digest("ab", b"cd"),
    ]
    assert len(set(seen)) == len(seen)
    parts = (b"jrr verified 1 a", b"bc")
    told = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    assert digest("a", b"bc") == hashlib.sha512(told).digest()


def test_the_keyed_function_is_that_of_rfc_9497() -> None:
    """Appendix A.1.2, first vector."""
    h = bytes.fromhex
    secret = read_number(h("e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909"))
    public = h("c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e")
    assert base(secret) == public
    output = (
        "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
        "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c"
    )
    assert cards.evaluate_again(secret, b"\0").hex() == output
    blinded = h("863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945")
    element = h("aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e")
    assert times(secret, blinded) == element
    nonce = read_number(h("222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e"))
    proof = (
        "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06"
        "6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d"
    )
    left, right = cards._composites(public, blinded, element)
    challenge = cards._challenge(public, left, right, base(nonce), times(nonce, left))
    assert (number_bytes(challenge) + number_bytes(nonce - challenge * secret)).hex() == proof


def test_only_one_value_can_be_shown() -> None:
    value, shown = cards.evaluate(5, b"given")
    assert (
        cards.check_evaluation(base(5), b"given", shown)
        == value
        == cards.evaluate_again(5, b"given")
    )
    other = cards.evaluate(6, b"given")[1]
    wrong = [
        (base(6), b"given", shown),
        (base(5), b"another", shown),
        (base(5), b"given", other),
        (base(5), b"given", cards.Evaluation(other.element, shown.proof)),
        (base(5), b"given", cards.Evaluation(IDENTITY, shown.proof)),
        (IDENTITY, b"given", shown),
    ]
    for public, asked, told in wrong:
        with pytest.raises(DamagedError):
            cards.check_evaluation(public, asked, told)
