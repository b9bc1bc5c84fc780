"""What devices are asked, by its document: a mechanism, or what is put together from several."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Protocol

from jrr._base import checks
from jrr.mechanisms.registry import from_dict

_MODULES = {
    "Numbers": "jrr.mechanisms.numbers",
    "Longitudinal": "jrr.telemetry.longitudinal",
    "HeavyHitters": "jrr.telemetry.heavy_hitters",
    "RangeTree": "jrr.telemetry.ranges",
}


class Asked(Protocol):
    """What all of them have in common: a document, and reports as JSON values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, under "mechanism" the name."""

    def report_from_json(self, document: object, /) -> Any:
        """The report that `report_to_json` wrote."""

    def report_to_json(self, report: Any, /) -> Any:
        """One report as a JSON value."""

    def reports_to_json(self, reports: Any, /) -> Iterable[Any]:
        """All reports as JSON values."""

    def reports_from_json(self, documents: list[Any], /) -> Any:
        """All reports, as `estimate` or `find` takes them."""


def is_header(document: object) -> bool:
    """Whether this is what `report_lines.header_of` makes, as far as one can see at once."""
    return (
        isinstance(document, dict)
        and document.get("holds") == "reports"
        and isinstance(document.get("mechanism"), dict)
    )


def asked_from_dict(document: object) -> Asked:
    """The mechanism, Numbers, Longitudinal, HeavyHitters or RangeTree that its `to_dict` wrote.

    Args:
        document: what `to_dict` wrote.

    Returns:
        The same again.

    Raises:
        ArgumentError: for anything else.

    Example:
        >>> import jrr
        >>> daily = jrr.Longitudinal(jrr.RR(p=0.75), jrr.RR(p=0.9))
        >>> asked_from_dict(daily.to_dict()) == daily
        True
    """
    name = document.get("mechanism") if isinstance(document, Mapping) else None
    if isinstance(name, Mapping):  # the mechanism of a number
        name = "Numbers"
    if not isinstance(name, str) or name not in _MODULES:
        return from_dict(document)
    made: Asked = getattr(import_module(_MODULES[name]), name).from_dict(document)
    return made


def asked_in(header: Mapping[str, Any]) -> Asked:
    """What the header of a file asked for; of a number's mean with its ends (`Numbers`)."""
    number = header.get("number")
    if number is not None and not isinstance(number, Mapping):
        raise checks.refusal("number", number, "an object of low, high and clip")
    mechanism = header["mechanism"]
    return asked_from_dict(mechanism if number is None else {**number, "mechanism": mechanism})


def named_fields(kind: type, document: object, names: set[str]) -> dict[str, Any]:
    """The fields of a document of one kind, without its name; or a refusal.

    Args:
        kind: the class that the document is of.
        document: what its `to_dict` wrote.
        names: the fields that it has beside the name.
    """
    fields = checks.exact_fields(document, names | {"mechanism"})
    checks.one_of("mechanism", fields.pop("mechanism"), (kind.__name__,))
    return fields
