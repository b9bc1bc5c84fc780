"""Admin tokens: the operator keeps the token, the server is given its hash."""

import hashlib
import hmac
import secrets


def new_token() -> str:
    """A fresh token, secret."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What a server is given of a token: admin_token_sha256."""
    return hashlib.sha256(token.encode()).hexdigest()


def token_matches(token: str, digest: str) -> bool:
    """Whether this is the token of the digest; takes as long whatever differs."""
    return hmac.compare_digest(token_digest(token), digest)
