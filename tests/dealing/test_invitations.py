"""Invitations with a check: every wrong letter and every swap is noticed; old ones still work."""

import base64
import itertools
import random
import secrets

import pytest

from jrr.errors import ArgumentError
from jrr.protocol.identity import LETTERS, PLAIN, check_letters, invitation_secret, new_invitation


def test_a_fresh_invitation_has_its_check() -> None:
    for _ in range(100):
        text = new_invitation()
        assert len(text) == 34
        assert text[PLAIN:] == check_letters(text[:PLAIN])
        secret = invitation_secret(text)
        assert base64.b32encode(secret).decode().lower() == text[:PLAIN]
        shown = "-".join(text[at : at + 4] for at in range(0, 34, 4)).upper()
        assert invitation_secret(f" {shown} ") == secret


def test_every_wrong_letter_is_noticed() -> None:
    text = new_invitation()
    for at, letter in itertools.product(range(34), LETTERS):
        wrong = text[:at] + letter + text[at + 1 :]
        if wrong == text:
            continue
        with pytest.raises(ArgumentError, match="a letter is wrong") as error:
            invitation_secret(wrong)
        assert wrong not in str(error.value)  # it may be somebody's secret


def test_every_two_letters_that_changed_places_are_noticed() -> None:
    source = random.Random(5)
    for _ in range(20):
        text = "".join(source.choices(LETTERS, k=PLAIN))
        text += check_letters(text)
        for one, two in itertools.combinations(range(PLAIN), 2):
            letters = list(text)
            letters[one], letters[two] = letters[two], letters[one]
            wrong = "".join(letters)
            if wrong != text:
                with pytest.raises(ArgumentError):
                    invitation_secret(wrong)


def test_old_invitations_without_a_check_are_taken() -> None:
    secret = secrets.token_bytes(20)
    old = base64.b32encode(secret).decode().lower()
    assert len(old) == PLAIN
    assert invitation_secret(old) == invitation_secret(old.upper()) == secret
    assert invitation_secret(old + check_letters(old)) == secret


@pytest.mark.parametrize("text", ["", "a", "a" * 31, "a" * 33, "a" * 35, "1" * 32, "ä" * 34, None])
def test_what_is_none(text: object) -> None:
    with pytest.raises(ArgumentError, match="invitation must be 34 letters and digits"):
        invitation_secret(text)
