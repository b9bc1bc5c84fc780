"""Columns of numbers: from cells to numbers, or to the bins that they fall into."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr.errors import ArgumentError
from jrr.mechanisms.numbers import Bins, NumberRange
from jrr.tables.formats import Table
from jrr.tables.labels import missing_in


@dataclass(frozen=True, kw_only=True)
class NumberAnswers:
    """How a column of numbers is asked about; stands where labels do for other columns.

    Attributes:
        column: its name.
        number: the range of the number whose mean is asked for; None with bins.
        bins: for a histogram, the bins.
        skip_missing: leave empty cells out; then it shows who left them empty.
    """

    column: str
    number: NumberRange | None = None
    bins: Bins | None = None
    skip_missing: bool = False
    other: None = None
    declined: None = None

    @property
    def k(self) -> int:
        """How many values the mechanism has: the bins, or the two ends."""
        return 2 if self.bins is None else len(self.bins)

    @property
    def names(self) -> tuple[str, ...]:
        """What they mean, where they are bins."""
        return () if self.bins is None else self.bins.names

    def encode(self, array: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Numbers, or bins, of the rows that answer, and which those are.

        Raises:
            ArgumentError: for cells that are no numbers, or out of range.
        """
        numbers, answering = self._numbers(array)
        try:
            if self.bins is not None:
                return self.bins.values(numbers), answering
            assert self.number is not None  # one of the two is given
            return self.number.check(numbers), answering
        except ArgumentError as error:
            raise ArgumentError(f"column {self.column}: {error}") from None

    def count(self, table: Table) -> int:
        """How many rows answer; every refusal comes before anything is written."""
        answers = rows = 0
        for batch in table.batches([self.column]):
            _, answering = self.encode(batch.column(0))
            answers += int(np.count_nonzero(answering))
            rows += batch.num_rows
        if not answers:
            raise ArgumentError(f"column {self.column} must have at least one number, got none")
        if answers < rows and not self.skip_missing:
            raise ArgumentError(
                f"column {self.column} must have no missing values, got {rows - answers} in "
                f"{rows} rows: leave those rows out (skip_missing=, --skip-missing)"
            )
        return answers

    def _numbers(self, array: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        missing = missing_in(array)
        present = array.filter(pc.invert(missing))
        if pa.types.is_string(present.type) or pa.types.is_large_string(present.type):
            present = pc.utf8_trim_whitespace(present)
        try:
            cast = pc.cast(present, pa.float64())
        except pa.ArrowException as error:
            raise ArgumentError(f"column {self.column} must hold numbers: {error}") from None
        numbers: NDArray[np.float64] = cast.to_numpy(zero_copy_only=False)
        answering: NDArray[np.bool_] = ~missing.to_numpy(zero_copy_only=False)
        return numbers, answering
