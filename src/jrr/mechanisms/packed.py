"""Mechanisms whose report is a set of values, one bit for each: what SUE, OUE and SS share.

Reports are packed: bit v is bit v mod 8, least significant first, of byte v div 8.
"""

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Ints, Mechanism, Reports
from jrr.mechanisms.draws import PLANES
from jrr.mechanisms.report_formats import BitsFormat

_ALL_BITS = 12  # reports of at most so many bits are seen whole by an audit


class PackedBits(Mechanism):
    """One bit per value; a report supports every value whose bit is set."""

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return -(-self.k // 8)

    @property
    def report_format(self) -> BitsFormat:
        """A bit per value."""
        return BitsFormat(self.k)

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """The bits; of long reports the compared ones, and how many others are set."""
        bits = np.unpackbits(reports, axis=1, count=self.k, bitorder="little")
        if self.k <= _ALL_BITS:
            return bits.astype(np.int64)
        compared = bits[:, list(values)].astype(np.int64)
        others = bits.sum(axis=1, dtype=np.int64) - compared.sum(axis=1)
        return np.column_stack((compared, others))

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self._check_packed("reports", reports, None)

    def _check_packed(self, argument: str, packed: ArrayLike, length: int | None) -> Reports:
        array = checks.array_of(argument, packed, f"rows of {self.width} bytes")
        rows = "rows" if length is None else f"{length} rows"
        if (
            array.dtype != np.uint8
            or array.ndim != 2
            or array.shape[1] != self.width
            or (length is not None and len(array) != length)
        ):
            raise ArgumentError(
                f"{argument} must be {rows} of {self.width} bytes (uint8), "
                f"got dtype {array.dtype}, shape {array.shape}"
            )
        padding = 8 * self.width - self.k
        if padding and len(array) and int(array[:, -1].max()) >> (8 - padding):
            raise ArgumentError(
                f"{argument} must leave the {padding} bits after bit {self.k - 1} at 0, "
                "got some that are set"
            )
        return array

    def _support(self, reports: Reports) -> tuple[int, ...]:
        # How often each byte occurs in a column says how often each of its bits is set.
        columns = [np.bincount(column, minlength=256) @ PLANES for column in reports.T]
        return tuple(np.concatenate(columns)[: self.k].tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        columns = [np.bincount(column, weights, minlength=256) @ PLANES for column in reports.T]
        return np.concatenate(columns)[: self.k].astype(np.float64, copy=False)
