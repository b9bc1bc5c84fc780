"""The mechanisms; each is an immutable value with the verbs of jrr.mechanisms.base."""

from collections.abc import Mapping
from typing import Any

from jrr import checks
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism, fields
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR

__all__ = ["DRR", "JRR", "RR", "Mechanism", "from_dict"]

_FIELDS: dict[str, tuple[type[Mechanism], set[str]]] = {
    "RR": (RR, {"k", "p"}),
    "JRR": (JRR, {"n", "p", "s", "k"}),
    "DRR": (DRR, {"n", "truth", "own", "k", "deck"}),
}


def from_dict(document: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `to_dict` wrote; unknown or missing fields are refused."""
    if not isinstance(document, Mapping) or "mechanism" not in document:
        raise JrrError(f"document must be an object with a mechanism, got {document!r}")
    kind, names = _FIELDS[checks.one_of("mechanism", document["mechanism"], tuple(_FIELDS))]
    return kind(**fields(document, names))
