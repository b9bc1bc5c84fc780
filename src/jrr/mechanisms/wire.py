"""Reports as bytes of one length and as JSON: what is sealed, sent and stored.

| encoding | bytes | JSON |
|---|---|---|
| identity (RR, JRR, DRR) | 4, little-endian | whole number |
| unary (SUE, OUE) | ceil(k/8), bit v of byte v div 8 | hexadecimal digits of the bytes |
| hashed (OLH) | seed 8, value 4, little-endian | [seed as decimal digits, value] |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.mechanisms import OLH, Mechanism
from jrr.mechanisms.hashed import REPORT
from jrr.mechanisms.unary import Unary


def width(mechanism: Mechanism) -> int:
    """Bytes of a report."""
    if isinstance(mechanism, Unary):
        return mechanism.width
    return REPORT.itemsize if isinstance(mechanism, OLH) else 4


def pack(mechanism: Mechanism, reports: NDArray[Any]) -> NDArray[np.uint8]:
    """Reports as rows of bytes."""
    if isinstance(mechanism, Unary):
        return reports
    exact = reports if isinstance(mechanism, OLH) else reports.astype("<u4")
    return np.frombuffer(exact.tobytes(), np.uint8).reshape(len(reports), width(mechanism))


def unpack(mechanism: Mechanism, rows: NDArray[np.uint8]) -> NDArray[Any]:
    """Rows of bytes as `Mechanism.tally` takes them, which checks the domain."""
    whole = np.ascontiguousarray(rows)
    if isinstance(mechanism, Unary):
        return whole
    return whole.view(REPORT if isinstance(mechanism, OLH) else "<u4").reshape(-1)


def to_json(mechanism: Mechanism, report: Any) -> Any:
    """One report, as `respond_one` makes it, in JSON."""
    if isinstance(mechanism, Unary):
        return report.hex()
    if isinstance(mechanism, OLH):
        seed, value = report
        return [str(seed), value]
    return int(report)


def bytes_from_json(mechanism: Mechanism, document: object) -> bytes:
    """One report in JSON as bytes; anything out of the domain is refused."""
    if isinstance(mechanism, Unary):
        row = _from_hex(document, mechanism.width)
    elif isinstance(mechanism, OLH):
        row = _seeded(document, mechanism.g)
    else:
        row = checks.integer("report", document, 0, mechanism.k - 1).to_bytes(4, "little")
    one = unpack(mechanism, np.frombuffer(row, np.uint8)[None, :])
    mechanism._check_reports(one)
    return row


def _from_hex(document: object, size: int) -> bytes:
    allowed = f"{2 * size} hexadecimal digits"
    if not isinstance(document, str) or len(document) != 2 * size:
        raise checks.refusal("report", document, allowed)
    try:
        row = bytes.fromhex(document)
    except ValueError:
        raise checks.refusal("report", document, allowed) from None
    if row.hex() != document:  # one report, one way to write it
        raise checks.refusal("report", document, allowed)
    return row


def _seeded(document: object, g: int) -> bytes:
    allowed = "a list of a seed (decimal digits) and a number"
    if not isinstance(document, list) or len(document) != 2:
        raise checks.refusal("report", document, allowed)
    seed, value = document
    if not isinstance(seed, str) or not seed.isascii() or not seed.isdecimal() or len(seed) > 20:
        raise checks.refusal("report", document, allowed)
    number = int(seed)
    if str(number) != seed or number >= 1 << 64:
        raise checks.refusal("report", document, allowed)
    bucket = checks.integer("report", value, 0, g - 1)
    return number.to_bytes(8, "little") + bucket.to_bytes(4, "little")
