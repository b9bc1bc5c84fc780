"""The mechanisms by name: the one place where a new one is announced.

Modules are named, not imported: whoever reads a document loads only the mechanism it names.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from jrr._base import checks, documents

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.mechanisms.request import Family, Request

BASELINE = "rr"  # the family that exists for every request

_MODULES = {  # name -> module whose class of that name it is; plans compare in this order
    "RR": "jrr.mechanisms.rr",
    "JRR": "jrr.mechanisms.joint",
    "DRR": "jrr.mechanisms.dealt",
    "MRR": "jrr.mechanisms.masked",
    "SS": "jrr.mechanisms.subsets",
    "SUE": "jrr.mechanisms.unary",
    "OUE": "jrr.mechanisms.unary",
    "OLH": "jrr.mechanisms.hashed",
    "Piecewise": "jrr.mechanisms.piecewise",
}


@cache
def _announced() -> dict[str, str]:
    """Mechanisms of other packages: their entry points in the group "jrr.mechanisms"."""
    return {point.name: point.value for point in entry_points(group="jrr.mechanisms")}


def names() -> tuple[str, ...]:
    """The names of all mechanisms."""
    return tuple(dict.fromkeys((*_MODULES, *_announced())))


def mechanism_class(name: str) -> "type[Mechanism]":
    """The class of a mechanism."""
    module = _MODULES.get(name) or _announced()[name]
    kind: type[Mechanism] = getattr(import_module(module), name)
    return kind


def register(name: str, module: str) -> None:
    """Announce a mechanism in this process: the class `name` of this module.

    A package does it for every process, servers and the command line included, by an entry point
    `Corner = "my_package.corner"` in the group "jrr.mechanisms".
    """
    _MODULES[name] = module
    families.cache_clear()


@cache
def families() -> "Mapping[str, Family]":
    """Every family by the word that a plan takes."""
    return {family.key: family for name in names() for family in mechanism_class(name).families()}


def baseline(request: "Request") -> "Mechanism":
    """Plain randomized response at the whole budget: no chosen mechanism may be worse."""
    return families()[BASELINE].best(request)


def from_dict(document: object) -> "Mechanism":
    """The mechanism that `Mechanism.to_dict` wrote.

    Args:
        document: a mapping with the mechanism's name and exactly its parameters.

    Returns:
        The mechanism.

    Raises:
        ArgumentError: if fields are missing, unknown or out of their range.

    Example:
        >>> from_dict({"mechanism": "RR", "k": 2, "p": 0.75})
        RR(k=2, p=0.75)
    """
    if not isinstance(document, Mapping) or "mechanism" not in document:
        raise checks.refusal("document", document, "an object that names a mechanism")
    name = document["mechanism"]
    if not isinstance(name, str) or name not in _MODULES:  # else see what packages announce
        name = checks.one_of("mechanism", name, names())
    kind = mechanism_class(name)
    arguments = {name: value for name, value in document.items() if name != "mechanism"}
    needed = set(kind.parameters) - set(kind.omitted_parameters)
    if not needed <= set(arguments) <= set(kind.parameters):
        given = sorted(map(str, arguments))
        may = f" and perhaps {omitted}" if (omitted := sorted(kind.omitted_parameters)) else ""
        raise checks.refusal("mechanism fields", given, f"exactly {sorted(needed)}{may}")
    for name, value in arguments.items():
        if value is None and name not in kind.optional_parameters:
            raise checks.refusal(name, None, "given")
    return kind(**arguments)


def from_json(text: str) -> "Mechanism":
    """The mechanism that `Mechanism.to_json` wrote.

    Args:
        text: one JSON object.

    Returns:
        The mechanism.

    Raises:
        ArgumentError: as `from_dict` does, or if the text is no JSON object.

    Example:
        >>> from_json('{"mechanism": "RR", "k": 2, "p": 0.75}')
        RR(k=2, p=0.75)
    """
    return from_dict(documents.read_json("text", text, "a mechanism in JSON"))
