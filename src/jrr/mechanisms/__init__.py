"""The mechanisms; each is an immutable value with the verbs of jrr.mechanisms.base."""

from collections.abc import Mapping

from jrr._base import checks
from jrr.mechanisms.base import Mechanism, fields
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import OUE, SUE

__all__ = ["DRR", "JRR", "OLH", "OUE", "RR", "SUE", "Mechanism", "from_dict"]

_FIELDS: dict[str, tuple[type[Mechanism], set[str]]] = {
    "RR": (RR, {"k", "p"}),
    "JRR": (JRR, {"n", "p", "s", "k"}),
    "DRR": (DRR, {"n", "truth", "own", "k", "deck"}),
    "SUE": (SUE, {"k", "q", "s", "coupling", "n"}),
    "OUE": (OUE, {"k", "q", "s", "coupling", "n"}),
    "OLH": (OLH, {"k", "g", "p", "s", "coupling", "n"}),
}


def from_dict(document: object) -> Mechanism:
    """The mechanism that `to_dict` wrote; unknown or missing fields are refused."""
    if not isinstance(document, Mapping) or "mechanism" not in document:
        raise checks.refusal("document", document, "an object that names a mechanism")
    if document.get("deck", ()) is None:
        raise checks.refusal("deck", None, "a list of counts")
    kind, names = _FIELDS[checks.one_of("mechanism", document["mechanism"], tuple(_FIELDS))]
    return kind(**fields(document, names))
