"""Reports and cards as Arrow columns and back, one codec per encoding.

A categorical report is a whole number, a unary one a row of bytes (hexadecimal in CSV), an OLH
one a seed and a number. Cards are as `Mechanism.deal` makes them.
"""

import binascii
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr.errors import JrrError
from jrr.mechanisms import DRR, OLH, Mechanism
from jrr.mechanisms.hashed import REPORT
from jrr.mechanisms.unary import Unary
from jrr.tables.names import CARDED


def report_fields(mechanism: Mechanism, text: bool) -> list[Any]:
    """The columns of a report; `text` for CSV."""
    if isinstance(mechanism, Unary):
        return [pa.field("report", _bytes_type(mechanism, text), nullable=False)]
    if isinstance(mechanism, OLH):
        return [
            pa.field("seed", pa.uint64(), nullable=False),
            pa.field("report", pa.uint32(), nullable=False),
        ]
    return [pa.field("report", _number_type(mechanism.k), nullable=False)]


def card_field(mechanism: Mechanism, text: bool) -> Any:
    """The column of a card."""
    if isinstance(mechanism, Unary):
        kind = _bytes_type(mechanism, text)
    elif isinstance(mechanism, DRR):
        kind = _number_type(mechanism.k)
    else:
        kind = pa.int8()
    return pa.field("card", kind, nullable=False)


def reports_to_arrow(mechanism: Mechanism, reports: NDArray[Any], text: bool) -> list[Any]:
    """The arrays of the fields above."""
    if isinstance(mechanism, Unary):
        return [_bytes_to_arrow(reports, text)]
    if isinstance(mechanism, OLH):
        return [
            pa.array(np.ascontiguousarray(reports["seed"])),
            pa.array(np.ascontiguousarray(reports["value"])),
        ]
    return [pa.array(reports)]


def cards_to_arrow(mechanism: Mechanism, cards: NDArray[Any], text: bool) -> Any:
    """The array of the card field."""
    if isinstance(mechanism, Unary):
        return _bytes_to_arrow(cards, text)
    return pa.array(cards)


def reports_from_arrow(mechanism: Mechanism, batch: Any) -> NDArray[Any]:
    """What `Mechanism.tally` takes, which checks the domain."""
    if isinstance(mechanism, Unary):
        return _bytes_from_arrow(batch.column("report"), "report", mechanism.width)
    numbers = _numbers(batch.column("report"), "report", pa.uint32())
    if not isinstance(mechanism, OLH):
        return numbers
    reports = np.empty(len(numbers), REPORT)
    reports["value"] = numbers
    reports["seed"] = _numbers(batch.column("seed"), "seed", pa.uint64())
    return reports


def cards_from_arrow(mechanism: Mechanism, array: Any) -> NDArray[Any]:
    """What `Mechanism.respond` takes, which checks the cards."""
    if isinstance(mechanism, Unary):
        return _bytes_from_arrow(array, "card", mechanism.width)
    return _numbers(array, "card", pa.uint32() if isinstance(mechanism, DRR) else pa.int8())


def carded_from_arrow(array: Any) -> bool | NDArray[np.bool_]:
    """Who held a card; one flag where all are alike, which saves unpacking them."""
    _no_nulls(array, CARDED)
    if pa.types.is_string(array.type):
        texts = array.to_numpy(zero_copy_only=False)
        strange = set(texts) - {"true", "false"}
        if strange:
            raise JrrError(f"column carded must hold true and false, got {min(strange)!r}")
        array = pa.array(texts == "true")
    if not pa.types.is_boolean(array.type):
        raise JrrError(f"column carded must be boolean, got {array.type}")
    held = array.true_count
    if held in (0, len(array)):
        return bool(held)
    packed = np.frombuffer(array.buffers()[1], np.uint8)  # ten times as fast as to_numpy
    first, end = array.offset, array.offset + len(array)
    return np.unpackbits(packed, count=end, bitorder="little")[first:].view(np.bool_)


def _number_type(k: int) -> Any:
    return pa.from_numpy_dtype(np.min_scalar_type(k - 1))


def _bytes_type(mechanism: Unary, text: bool) -> Any:
    return pa.string() if text else pa.binary(mechanism.width)


def _bytes_to_arrow(rows: NDArray[np.uint8], text: bool) -> Any:
    width = rows.shape[1]
    packed = np.ascontiguousarray(rows)
    if text:
        written = packed.tobytes().hex()
        step = 2 * width
        return pa.array([written[at : at + step] for at in range(0, len(written), step)])
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(rows), [None, pa.py_buffer(packed)]
    )


def _bytes_from_arrow(array: Any, name: str, width: int) -> NDArray[np.uint8]:
    _no_nulls(array, name)
    if pa.types.is_string(array.type):
        lengths = pc.unique(pc.binary_length(array)).to_pylist()
        if lengths not in ([], [2 * width]):
            raise JrrError(f"column {name} must hold {2 * width} hexadecimal digits per row")
        try:
            whole = binascii.unhexlify("".join(array.to_pylist()))
        except ValueError:  # a letter that is not one of them
            raise JrrError(f"column {name} must hold hexadecimal digits") from None
        return np.frombuffer(whole, np.uint8).reshape(-1, width)
    if array.type != pa.binary(width):
        raise JrrError(f"column {name} must hold {width} bytes per row, got {array.type}")
    flat = np.frombuffer(array.buffers()[1], np.uint8)
    return flat[: (array.offset + len(array)) * width].reshape(-1, width)[array.offset :]


def _numbers(array: Any, name: str, most: Any) -> NDArray[Any]:
    """Whole numbers of whatever width they were stored in."""
    _no_nulls(array, name)
    if pa.types.is_string(array.type):
        try:
            array = pc.cast(array, most)
        except pa.ArrowException as error:
            raise JrrError(f"column {name} must hold whole numbers: {error}") from None
    if not pa.types.is_integer(array.type):
        raise JrrError(f"column {name} must hold whole numbers, got {array.type}")
    if array.type.bit_width > most.bit_width:  # nothing may be cut off unseen
        try:
            array = pc.cast(array, most)
        except pa.ArrowException as error:
            raise JrrError(f"column {name} must hold whole numbers: {error}") from None
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def _no_nulls(array: Any, name: str) -> None:
    if array.null_count:
        raise JrrError(f"column {name} must have no gaps, got {array.null_count} missing values")
