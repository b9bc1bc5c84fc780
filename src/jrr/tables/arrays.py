"""Columns as people have them, as Arrow arrays: lists, numpy, pandas, polars and Arrow itself.

Nothing of pandas or polars is imported: what they hand over is asked for by Arrow's own protocol.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jrr._base import checks


def arrow_array(column: Any, argument: str = "column") -> Any:
    """One column as an Arrow array.

    Args:
        column: a list of texts or numbers, a numpy array, a pandas Series or Categorical, a polars
            Series, an Arrow array or chunked array.
        argument: its name, for the refusal.

    Returns:
        An Arrow array; categories, enums and dictionaries stay dictionaries.

    Raises:
        ArgumentError: where it is none of these.

    Example:
        >>> arrow_array(["no", "yes", None]).null_count
        1
    """
    allowed = "a column of texts or numbers: a list, or one of numpy, pandas, polars or Arrow"
    if isinstance(column, pa.Array):
        return _usual(column)
    if isinstance(column, pa.ChunkedArray):
        return _usual(_joined(column))
    if isinstance(column, str | bytes):
        raise checks.refusal(argument, column, allowed)
    try:
        if hasattr(column, "__arrow_c_stream__"):
            return _usual(_joined(pa.chunked_array(column)))
        return _usual(pa.array(column))
    except (pa.ArrowException, TypeError, ValueError):
        raise checks.refusal(argument, column, allowed) from None


def declared_names(array: Any) -> tuple[str, ...] | None:
    """The categories of a dictionary, in their order; None where a column declares none.

    They are declared by whoever made the column, also those that nobody holds.
    """
    if not pa.types.is_dictionary(array.type):
        return None
    names = pc.cast(array.dictionary, pa.string()).to_pylist()
    return tuple(str(name) for name in names if name is not None)


def plain_column(array: Any) -> Any:
    """A column that every format can hold: no dictionaries."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _usual(array: Any) -> Any:
    """One kind of text and one of bytes, of the several that Arrow has; of reports, these alone."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        names = _usual(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, names, ordered=array.type.ordered)
    usual = {
        pa.large_string(): pa.string(),
        pa.string_view(): pa.string(),
        pa.large_binary(): pa.binary(),
        pa.binary_view(): pa.binary(),
    }.get(array.type)
    return array if usual is None else pc.cast(array, usual)


def _joined(column: Any) -> Any:
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):  # several chunks of dictionaries, or none
        joined = pa.concat_arrays(joined.chunks) if joined.num_chunks else pa.array([], column.type)
    return joined
