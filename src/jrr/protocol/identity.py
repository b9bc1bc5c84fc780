"""Invitations and pseudonyms: one secret, two names that nobody can link.

An invitation is 20 random bytes, written as 32 letters and digits, and two more that check them:
a letter that is wrong, or two that changed places, are noticed before anything is asked. From it
the client derives one pseudonym for each dealer and one for the collector (HKDF-SHA256, the
survey's hash as salt, the role in the label). A server is given the SHA-256 of each pseudonym that
it should accept, and nothing else: nobody can answer with a hash.
"""

import base64
import secrets

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.protocol.documents import hashed

SECRET = 20  # bytes
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
PLAIN, CHECK = 32, 2  # letters of the secret, and of the check
_PRIME = 1021  # the largest below 32²
COLLECTOR = "collector:0"  # the number keeps names as they were derived before


def dealer_role(number: int) -> str:
    """The role of one of several dealers: they must not know one's name at the others."""
    return f"dealer:{number}"


def party_role(number: int) -> str:
    """The role of a committee's party: parties must not know one's name at the others."""
    return f"party:{number}"


def new_invitation() -> str:
    """A fresh one-time invitation."""
    plain = base64.b32encode(secrets.token_bytes(SECRET)).decode().lower()
    return plain + check_letters(plain)


def check_letters(plain: str) -> str:
    """The two letters that check an invitation's 32.

    A sum of letter times place modulo a prime. A wrong letter changes it by less than 32·32, two
    that change places by (difference of places)·(difference of letters), less than 32·32 too and
    never by 0: neither is a multiple of the prime 1021, so both are always noticed.

    Example:
        >>> check_letters("a" * 31 + "b")
        'ba'
    """
    numbers = (LETTERS.index(letter) for letter in plain)
    high, low = divmod(sum(at * number for at, number in enumerate(numbers, 1)) % _PRIME, 32)
    return LETTERS[high] + LETTERS[low]


def invitation_secret(invitation: object) -> bytes:
    """The secret behind an invitation; blanks, hyphens and capitals do not matter.

    Raises:
        ArgumentError: It is none, or has a slip of the pen.
    """
    allowed = f"{PLAIN + CHECK} letters and digits (a-z, 2-7)"
    if not isinstance(invitation, str):
        raise checks.refusal("invitation", type(invitation).__name__, allowed)
    text = "".join(invitation.split()).replace("-", "").lower()
    # Not repeated in a message: it may be somebody's secret with a slip of the pen.
    if len(text) not in (PLAIN, PLAIN + CHECK) or not set(text) <= set(LETTERS):
        raise checks.refusal("invitation", f"{len(text)} characters", allowed)
    plain, check = text[:PLAIN], text[PLAIN:]
    if check and check != check_letters(plain):
        raise ArgumentError(
            "invitation must be exactly as it was sent: a letter is wrong, or two changed places"
        )
    return base64.b32decode(plain.upper())


def pseudonym(secret: bytes, survey: str, role: str) -> bytes:
    """The name under which a role knows the holder of an invitation."""
    return _derived(secret, survey, f"jrr pseudonym 1:{role}")


def device_name(secret: bytes, survey: str, role: str) -> bytes:
    """What a dealer is shown of the device's secret: another at each, so that none can compare.

    Args:
        secret: Of the device.
        survey: The survey's hash.
        role: The dealer's, as for a pseudonym.
    """
    return _derived(secret, survey, f"jrr device 1:{role}")


def _derived(secret: bytes, survey: str, label: str) -> bytes:
    return HKDF(SHA256(), 32, bytes.fromhex(survey), label.encode()).derive(secret)


def accepted(invitations: list[str], survey: str, role: str) -> list[bytes]:
    """The hashes that a role should accept, sorted, so that their order tells nothing."""
    return sorted(
        hashed(pseudonym(invitation_secret(invitation), survey, role)) for invitation in invitations
    )
