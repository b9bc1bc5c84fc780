"""How reports are written: as bytes of one length, as JSON, as columns of a table.

| encoding | bytes | JSON | columns |
|---|---|---|---|
| a value (RR, JRR, DRR) | 4, little-endian | whole number | report |
| a bit per value (SUE, OUE) | ceil(k/8), bit v of byte v div 8 | hexadecimal digits | report |
| a whole number, or one for each value (MRR) | 2 each, signed | number or list | report |
| a seed and a value (OLH) | seed 8, value 4, little-endian | [seed digits, value] | seed, report |
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jrr._base import checks

SEEDED_REPORT = np.dtype([("seed", "<u8"), ("value", "<u4")])
Rows = NDArray[np.uint8]  # one row of bytes per report


@dataclass(frozen=True)
class Column:
    """One column of a table: whole numbers, or rows of bytes of one width."""

    name: str
    stored: np.dtype[Any] | None = None  # numbers: the type that is written
    widest: np.dtype[Any] | None = None  # numbers: the widest type that is read
    width: int | None = None  # bytes: so many per row

    @classmethod
    def of_numbers(cls, name: str, stored: DTypeLike, widest: DTypeLike) -> "Column":
        """A column of whole numbers."""
        return cls(name, stored=np.dtype(stored), widest=np.dtype(widest))

    @classmethod
    def of_bytes(cls, name: str, width: int) -> "Column":
        """A column of rows of bytes."""
        return cls(name, width=width)


class ReportFormat(ABC):
    """How one kind of report is written; `Mechanism.report_format` names it."""

    width: int  # bytes of a report
    words: int  # random words that a report is made from, but for rare ties
    columns: tuple[Column, ...]

    @abstractmethod
    def pack(self, reports: NDArray[Any]) -> Rows:
        """Reports as rows of bytes."""

    @abstractmethod
    def unpack(self, rows: Rows) -> NDArray[Any]:
        """Rows of bytes as `Mechanism.tally` takes them, which checks the domain."""

    @abstractmethod
    def to_json(self, report: Any) -> Any:
        """One report, as `respond_one` makes it or as a row of an array, as a JSON value."""

    @abstractmethod
    def from_json(self, document: object) -> bytes:
        """The bytes of one report; anything that `to_json` does not write is refused."""

    def from_list(self, reports: Sequence[Any]) -> Any:
        """What `Mechanism.tally` takes, from a list of what `respond_one` returns."""
        return reports

    def to_columns(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """The arrays of the columns; one column has the reports as they are."""
        return [reports]

    def from_columns(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """What `Mechanism.tally` takes, from the arrays of the columns."""
        return arrays[0]


class NumberFormat(ReportFormat):
    """A whole number in 0..k-1."""

    width = 4
    words = 1

    def __init__(self, k: int) -> None:
        self.k = k
        self.columns = (Column.of_numbers("report", np.min_scalar_type(k - 1), np.uint32),)

    def pack(self, reports: NDArray[Any]) -> Rows:
        """Four bytes each, little-endian."""
        return _as_rows(reports.astype("<u4"))

    def unpack(self, rows: Rows) -> NDArray[Any]:
        """Whole numbers."""
        return np.ascontiguousarray(rows).view("<u4").reshape(-1)

    def to_json(self, report: Any) -> int:
        """A whole number."""
        return checks.integer("report", report, 0, self.k - 1)

    def from_json(self, document: object) -> bytes:
        """Four bytes."""
        return checks.integer("report", document, 0, self.k - 1).to_bytes(4, "little")


class BitsFormat(ReportFormat):
    """One bit per value, packed: bit v is bit v mod 8, least significant first, of byte v div 8."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.width = self.words = -(-k // 8)
        self.columns = (Column.of_bytes("report", self.width),)

    def pack(self, reports: NDArray[Any]) -> Rows:
        """They are rows of bytes already."""
        return reports

    def unpack(self, rows: Rows) -> NDArray[Any]:
        """Rows of bytes."""
        return np.ascontiguousarray(rows)

    def to_json(self, report: Any) -> str:
        """Hexadecimal digits."""
        digits = _row_bytes(report, self.width).hex()
        self.from_json(digits)
        return digits

    def from_json(self, document: object) -> bytes:
        """The bytes, without bits beyond the last value."""
        row = checks.from_hex("report", document, self.width)
        if self.k % 8 and row[-1] >> self.k % 8:
            raise checks.refusal("report", document, f"0 in the bits after bit {self.k - 1}")
        return row

    def from_list(self, reports: Sequence[Any]) -> Any:
        """Rows of bytes, from bytes; rows that are arrays stay what they are."""
        return _from_bytes(reports, self.width, np.uint8)


class SeededFormat(ReportFormat):
    """A seed of 64 bits and a whole number in 0..g-1."""

    width = SEEDED_REPORT.itemsize
    words = 2
    columns = (
        Column.of_numbers("seed", np.uint64, np.uint64),
        Column.of_numbers("report", np.uint32, np.uint32),
    )

    def __init__(self, g: int) -> None:
        self.g = g

    def pack(self, reports: NDArray[Any]) -> Rows:
        """Eight bytes of seed, four of value."""
        return _as_rows(reports.astype(SEEDED_REPORT, copy=False))

    def unpack(self, rows: Rows) -> NDArray[Any]:
        """A structured array."""
        return np.ascontiguousarray(rows).view(SEEDED_REPORT).reshape(-1)

    def to_json(self, report: Any) -> list[Any]:
        """The seed as digits, since JavaScript's numbers have 53 bits, and the value."""
        try:
            seed, value = report
        except (TypeError, ValueError):
            raise checks.refusal("report", report, "a seed and a number") from None
        seed = checks.integer("report", seed, 0, (1 << 64) - 1)
        return [str(seed), checks.integer("report", value, 0, self.g - 1)]

    def from_json(self, document: object) -> bytes:
        """Twelve bytes."""
        allowed = "a list of a seed (decimal digits) and a number"
        if not isinstance(document, list) or len(document) != 2:
            raise checks.refusal("report", document, allowed)
        digits, value = document
        if not isinstance(digits, str) or not digits.isascii() or not digits.isdecimal():
            raise checks.refusal("report", document, allowed)
        if len(digits) > 20 or str(int(digits)) != digits or int(digits) >= 1 << 64:
            raise checks.refusal("report", document, allowed)
        bucket = checks.integer("report", value, 0, self.g - 1)
        return int(digits).to_bytes(8, "little") + bucket.to_bytes(4, "little")

    def from_list(self, reports: Sequence[Any]) -> Any:
        """A structured array, from pairs of seed and value, also in lists as JSON has them."""
        if not reports:
            return np.empty(0, SEEDED_REPORT)
        allowed = "pairs of a seed (a whole number below 2**64) and a value"
        try:
            pairs = [(int(seed), int(value)) for seed, value in reports]
            return np.array(pairs, SEEDED_REPORT)
        except (TypeError, ValueError, OverflowError):
            raise checks.refusal("reports", reports, allowed) from None

    def to_columns(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """Seeds and values."""
        return [np.ascontiguousarray(reports[name]) for name in ("seed", "value")]

    def from_columns(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """A structured array."""
        seeds, values = arrays
        reports = np.empty(len(values), SEEDED_REPORT)
        reports["seed"], reports["value"] = seeds, values
        return reports


class MaskedFormat(ReportFormat):
    """Whole numbers of 16 bits in a range about 0: one, or one for every value."""

    def __init__(self, numbers: int, low: int, high: int, words: int) -> None:
        self.numbers, self.low, self.high, self.words = numbers, low, high, words
        self.width = 2 * numbers
        self.columns = (
            Column.of_numbers("report", np.int16, np.int32)
            if numbers == 1
            else Column.of_bytes("report", self.width),
        )

    def check(self, reports: ArrayLike) -> NDArray[Any]:
        """Reports as an array of 16 bits, or a refusal."""
        allowed = f"whole numbers in {self.low}..{self.high}"
        array = checks.array_of("reports", reports, allowed)
        fits = array.ndim == 1 if self.numbers == 1 else array.shape[1:] == (self.numbers,)
        if not fits or array.dtype.kind not in "iu":
            if array.size == 0:
                return np.empty((0,) if self.numbers == 1 else (0, self.numbers), np.int16)
            raise checks.refusal("reports", reports, f"{allowed}, {self.numbers} a report")
        if array.size and (array.min() < self.low or array.max() > self.high):
            raise checks.refusal("reports", reports, allowed)
        return array.astype(np.int16, copy=False)

    def pack(self, reports: NDArray[Any]) -> Rows:
        """Two bytes for each number, little-endian."""
        return _as_rows(np.ascontiguousarray(reports.astype("<i2", copy=False)))

    def unpack(self, rows: Rows) -> NDArray[Any]:
        """Whole numbers."""
        numbers = np.ascontiguousarray(rows).view("<i2")
        return numbers.reshape(-1) if self.numbers == 1 else numbers.reshape(-1, self.numbers)

    def to_json(self, report: Any) -> Any:
        """A whole number, or a list of them."""
        if self.numbers == 1:
            return checks.integer("report", report, self.low, self.high)
        told = np.frombuffer(_row_bytes(report, self.width), "<i2").tolist()
        self.from_json(told)
        return told

    def from_json(self, document: object) -> bytes:
        """Two bytes for each number."""
        numbers = [document] if self.numbers == 1 else document
        if not isinstance(numbers, list) or len(numbers) != self.numbers:
            raise checks.refusal("report", document, f"a list of {self.numbers} whole numbers")
        whole = [checks.integer("report", number, self.low, self.high) for number in numbers]
        return np.array(whole, "<i2").tobytes()

    def from_list(self, reports: Sequence[Any]) -> Any:
        """Rows of numbers, from bytes as `respond_one` makes them."""
        return reports if self.numbers == 1 else _from_bytes(reports, self.width, "<i2")

    def to_columns(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """The numbers, or rows of bytes."""
        return [np.asarray(reports) if self.numbers == 1 else self.pack(np.asarray(reports))]

    def from_columns(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The numbers."""
        return arrays[0] if self.numbers == 1 else self.unpack(arrays[0])


def _as_rows(reports: NDArray[Any]) -> Rows:
    width = reports.itemsize * math.prod(reports.shape[1:])
    return np.frombuffer(reports.tobytes(), np.uint8).reshape(len(reports), width)


def _row_bytes(report: Any, width: int) -> bytes:
    """The bytes of a report that is bytes already, or the row of an array."""
    row = report.tobytes() if isinstance(report, np.ndarray) else report
    if not isinstance(row, bytes) or len(row) != width:
        raise checks.refusal("report", report, f"{width} bytes, or a row of what `respond` made")
    return row


def _from_bytes(reports: Sequence[Any], width: int, dtype: DTypeLike) -> Any:
    """Rows of numbers, from bytes of one width; what is no list of bytes stays what it is."""
    if not reports or not all(isinstance(report, bytes) for report in reports):
        return reports
    if any(len(report) != width for report in reports):
        raise checks.refusal("reports", reports, f"reports of {width} bytes each")
    return np.frombuffer(b"".join(reports), dtype).reshape(len(reports), -1)
