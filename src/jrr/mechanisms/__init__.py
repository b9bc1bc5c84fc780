"""The mechanisms; each is an immutable value with the verbs of jrr.mechanisms.base."""

from typing import TYPE_CHECKING, Any

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.registry import from_dict, from_json, mechanism_class, names

if TYPE_CHECKING:
    from jrr.mechanisms.dealt import DRR
    from jrr.mechanisms.hashed import OLH
    from jrr.mechanisms.joint import JRR
    from jrr.mechanisms.masked import MRR
    from jrr.mechanisms.rr import RR
    from jrr.mechanisms.subsets import SS
    from jrr.mechanisms.unary import OUE, SUE

__all__ = [
    "DRR",
    "JRR",
    "MRR",
    "OLH",
    "OUE",
    "RR",
    "SS",
    "SUE",
    "Mechanism",
    "from_dict",
    "from_json",
]


def __getattr__(name: str) -> Any:
    """A mechanism is loaded when it is asked for."""
    if name in names():
        return mechanism_class(name)
    raise AttributeError(f"module 'jrr.mechanisms' has no attribute {name!r}")
