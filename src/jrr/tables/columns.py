"""Reports and cards as Arrow columns and back.

A categorical report is a whole number, a unary one a row of bytes (hexadecimal in CSV), an OLH
one a seed and a number. Cards are as `Mechanism.deal` makes them.
"""

import binascii
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import MaskCards
from jrr.mechanisms.report_formats import Column
from jrr.tables.names import CARDED


def report_fields(mechanism: Mechanism, text: bool) -> list[Any]:
    """The columns of a report; `text` for CSV."""
    return [_field(column, text) for column in mechanism.report_format.columns]


def report_schema(mechanism: Mechanism, text: bool, *more: Any) -> Any:
    """The columns of a file of reports: the report, whether there was a card, and others."""
    return pa.schema([*report_fields(mechanism, text), pa.field(CARDED, pa.bool_(), False), *more])


def report_batch(
    schema: Any,
    mechanism: Mechanism,
    reports: NDArray[Any],
    carded: bool | NDArray[np.bool_],
    *more: Any,
    text: bool,
) -> Any:
    """Some rows of such a file; more: the other columns."""
    flags = pa.array(np.broadcast_to(carded, len(reports)))
    columns = [*reports_to_arrow(mechanism, reports, text), flags, *more]
    cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(cast, schema=schema)


def card_field(mechanism: Mechanism, text: bool) -> Any:
    """The column of a card."""
    return _field(_card_column(mechanism), text)


def reports_to_arrow(mechanism: Mechanism, reports: NDArray[Any], text: bool) -> list[Any]:
    """The arrays of the fields above."""
    form = mechanism.report_format
    arrays = zip(form.columns, form.to_columns(reports), strict=True)
    return [_to_arrow(column, array, text) for column, array in arrays]


def cards_to_arrow(mechanism: Mechanism, cards: NDArray[Any], text: bool) -> Any:
    """The array of the card field."""
    form = mechanism.card_format
    rows = form.to_column(cards) if isinstance(form, MaskCards) else cards
    return _to_arrow(_card_column(mechanism), rows, text)


def reports_from_arrow(mechanism: Mechanism, batch: Any) -> NDArray[Any]:
    """What `Mechanism.tally` takes, which checks the domain."""
    form = mechanism.report_format
    return form.from_columns([_from_arrow(c, batch.column(c.name)) for c in form.columns])


def cards_from_arrow(mechanism: Mechanism, array: Any) -> NDArray[Any]:
    """What `Mechanism.respond` takes, which checks the cards."""
    form, rows = mechanism.card_format, _from_arrow(_card_column(mechanism), array)
    return form.from_column(rows) if isinstance(form, MaskCards) else rows


def carded_from_arrow(array: Any) -> bool | NDArray[np.bool_]:
    """Who held a card; one flag where all are alike, which saves unpacking them."""
    _no_nulls(array, CARDED)
    if pa.types.is_string(array.type):
        texts = array.to_numpy(zero_copy_only=False)
        strange = set(texts) - {"true", "false"}
        if strange:
            raise DamagedError(f"column carded must hold true and false, got {min(strange)!r}")
        array = pa.array(texts == "true")
    if not pa.types.is_boolean(array.type):
        raise DamagedError(f"column carded must be boolean, got {array.type}")
    held = array.true_count
    if held in (0, len(array)):
        return bool(held)
    packed = np.frombuffer(array.buffers()[1], np.uint8)  # ten times as fast as to_numpy
    first, end = array.offset, array.offset + len(array)
    return np.unpackbits(packed, count=end, bitorder="little")[first:].view(np.bool_)


def _card_column(mechanism: Mechanism) -> Column:
    deck = mechanism.card_format
    if deck is None:
        raise checks.refusal("mechanism", mechanism, "one that deals cards")
    if isinstance(deck, MaskCards):
        if deck.numbers_per_card == 1:
            return Column.of_numbers("card", np.int16, np.int16)
        return Column.of_bytes("card", deck.width)
    if deck.bits is not None:
        return Column.of_bytes("card", deck.width)
    widest = np.int8 if deck.faces.dtype.kind == "i" else np.uint32
    return Column.of_numbers("card", deck.faces.dtype, widest)


def _field(column: Column, text: bool) -> Any:
    if column.width is None:
        kind = pa.from_numpy_dtype(column.stored)
    else:
        kind = pa.string() if text else pa.binary(column.width)
    return pa.field(column.name, kind, nullable=False)


def _to_arrow(column: Column, array: NDArray[Any], text: bool) -> Any:
    return pa.array(array) if column.width is None else bytes_to_arrow(array, text)


def _from_arrow(column: Column, array: Any) -> NDArray[Any]:
    if column.width is not None:
        return bytes_from_arrow(array, column.name, column.width)
    return _numbers(array, column.name, pa.from_numpy_dtype(column.widest))


def bytes_to_arrow(rows: NDArray[np.uint8], text: bool) -> Any:
    """A column of rows of bytes; `text`: as hexadecimal digits."""
    width = rows.shape[1]
    packed = np.ascontiguousarray(rows)
    if text:
        written = packed.tobytes().hex()
        step = 2 * width
        return pa.array([written[at : at + step] for at in range(0, len(written), step)])
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(rows), [None, pa.py_buffer(packed)]
    )


def bytes_from_arrow(array: Any, name: str, width: int) -> NDArray[np.uint8]:
    """The rows of bytes of such a column."""
    _no_nulls(array, name)
    if pa.types.is_string(array.type):
        lengths = pc.unique(pc.binary_length(array)).to_pylist()
        if lengths not in ([], [2 * width]):
            raise DamagedError(f"column {name} must hold {2 * width} hexadecimal digits per row")
        try:
            whole = binascii.unhexlify("".join(array.to_pylist()))
        except ValueError:  # a letter that is not one of them
            raise DamagedError(f"column {name} must hold hexadecimal digits") from None
        return np.frombuffer(whole, np.uint8).reshape(-1, width)
    if array.type == pa.binary():  # as databases and data frames tell of such columns
        try:
            array = pc.cast(array, pa.binary(width))
        except pa.ArrowException:
            raise DamagedError(f"column {name} must hold {width} bytes per row") from None
    if array.type != pa.binary(width):
        raise DamagedError(f"column {name} must hold {width} bytes per row, got {array.type}")
    flat = np.frombuffer(array.buffers()[1], np.uint8)
    return flat[: (array.offset + len(array)) * width].reshape(-1, width)[array.offset :]


def _numbers(array: Any, name: str, most: Any) -> NDArray[Any]:
    """Whole numbers of whatever width they were stored in."""
    _no_nulls(array, name)
    kind = array.type
    # Spark has no unsigned numbers and reads the longest of them as decimals.
    written = pa.types.is_string(kind) or pa.types.is_decimal(kind)
    if not written and not pa.types.is_integer(kind):
        raise DamagedError(f"column {name} must hold whole numbers, got {kind}")
    if written or kind.bit_width > most.bit_width:  # nothing may be cut off unseen
        try:
            array = pc.cast(array, most)
        except pa.ArrowException as error:
            raise DamagedError(f"column {name} must hold whole numbers: {error}") from None
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def _no_nulls(array: Any, name: str) -> None:
    if array.null_count:
        raise DamagedError(
            f"column {name} must have no gaps, got {array.null_count} missing values"
        )
