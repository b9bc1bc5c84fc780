"""Reports as bytes of one length and as JSON: what is sealed, sent and stored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr.mechanisms.base import Mechanism


def width(mechanism: Mechanism) -> int:
    """Bytes of a report."""
    return mechanism.report_format.width


def pack(mechanism: Mechanism, reports: NDArray[Any]) -> NDArray[np.uint8]:
    """Reports as rows of bytes."""
    return mechanism.report_format.pack(reports)


def unpack(mechanism: Mechanism, rows: NDArray[np.uint8]) -> NDArray[Any]:
    """Rows of bytes as `Mechanism.tally` takes them, which checks the domain."""
    return mechanism.report_format.unpack(rows)


def to_json(mechanism: Mechanism, report: Any) -> Any:
    """One report, as `respond_one` makes it, in JSON."""
    return mechanism.report_to_json(report)


def bytes_from_json(mechanism: Mechanism, document: object) -> bytes:
    """One report in JSON as bytes; anything out of the domain is refused."""
    return mechanism.report_bytes(document)
