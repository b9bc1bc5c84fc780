"""Invitations and pseudonyms: one secret, two names that nobody can link.

An invitation is 20 random bytes, written as 32 letters and digits. From it the client derives
one pseudonym for the dealer and one for the collector in every round (HKDF-SHA256, the
campaign's hash as salt, the role in the label). A server is given the SHA-256 of each pseudonym
it should accept, and nothing else: a list of hashes opens no door.
"""

import base64
import hashlib
import secrets

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from jrr._base import checks

SECRET = 20  # bytes
DEALER = "dealer"


def party_role(number: int) -> str:
    """The role of a committee's party: parties must not know one's name at the others."""
    return f"party:{number}"


def collector_role(round_number: int) -> str:
    """A name of one's own in every round, so that rounds cannot be linked either."""
    return f"collector:{round_number}"


def new_invitation() -> str:
    """A fresh one-time invitation."""
    return base64.b32encode(secrets.token_bytes(SECRET)).decode().lower()


def invitation_secret(invitation: object) -> bytes:
    """The secret behind an invitation; blanks, hyphens and capitals do not matter."""
    allowed = "32 letters and digits (a-z, 2-7)"
    if not isinstance(invitation, str):
        raise checks.refusal("invitation", type(invitation).__name__, allowed)
    text = "".join(invitation.split()).replace("-", "").upper()
    try:
        secret = base64.b32decode(text)
    except ValueError:
        secret = b""
    if len(secret) != SECRET:
        # Not repeated in the message: it may be somebody's secret with a slip of the pen.
        raise checks.refusal("invitation", f"{len(text)} characters", allowed)
    return secret


def pseudonym(secret: bytes, campaign: str, role: str) -> bytes:
    """The name under which a role knows the holder of an invitation."""
    label = b"jrr pseudonym 1:" + role.encode()
    return HKDF(SHA256(), 32, bytes.fromhex(campaign), label).derive(secret)


def hashed(name: bytes) -> bytes:
    """What a server stores of a pseudonym."""
    return hashlib.sha256(name).digest()


def accepted(invitations: list[str], campaign: str, role: str) -> list[bytes]:
    """The hashes that a role should accept, sorted, so that their order tells nothing."""
    return sorted(
        hashed(pseudonym(invitation_secret(invitation), campaign, role))
        for invitation in invitations
    )
