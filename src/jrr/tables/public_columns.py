"""Columns that a person chose, as labels, groups or weights: texts and numbers from Arrow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr.errors import ArgumentError


def texts(array: Any) -> Any:
    """A column as texts, gaps kept.

    Raises:
        ArgumentError: where the column holds something that has no text, such as lists.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):  # a column with gaps may say them as "not a number"
        array = pc.cast(array, pa.float64())
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)
    try:
        return pc.cast(array, pa.string())
    except pa.ArrowException as error:
        raise ArgumentError(f"a column of labels must hold texts or numbers: {error}") from None


def numbers(batch: Any, name: str) -> NDArray[np.float64]:
    """A column as numbers.

    Raises:
        ArgumentError: where a cell is empty or no number.
    """
    array = batch.column(name)
    if array.null_count:
        raise ArgumentError(
            f"column {name} must have no gaps, got {array.null_count} missing values"
        )
    try:
        cast = pc.cast(array, pa.float64())
    except pa.ArrowException as error:
        raise ArgumentError(f"column {name} must hold numbers: {error}") from None
    values: NDArray[np.float64] = cast.to_numpy(zero_copy_only=False)
    return values
