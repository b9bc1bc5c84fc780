"""Labels: from texts to the values 0..k-1, with "other" and "prefer not to say"; and numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.wording import ShortRepr
from jrr.errors import ArgumentError
from jrr.mechanisms.numbers import Bins, NumberRange
from jrr.tables.arrays import arrow_array, declared_names
from jrr.tables.formats import Table
from jrr.tables.grouping import texts

MOST_TAKEN = 1000  # labels that are taken from the data where none are listed


@dataclass(frozen=True, repr=False)
class Labels(ShortRepr):
    """The possible answers in order; they are public, so they should not come from the data.

    Attributes:
        names: the answers; `other` and `declined` are added where they are not among them.
        other: the label that stands for every text that is not listed.
        declined: the label that stands for an empty cell: "prefer not to say".
        skip_missing: leave empty cells out; then it shows who left them empty.

    Raises:
        ArgumentError: where labels are empty, fewer than 2 or not all different, or empty cells
            are both declined and skipped.

    Example:
        >>> Labels(("never", "often"), declined="no answer").names
        ('never', 'often', 'no answer')
    """

    names: tuple[str, ...]
    _: KW_ONLY
    other: str | None = None
    declined: str | None = None
    skip_missing: bool = False

    def __post_init__(self) -> None:
        given: Sequence[Any] = self.names
        # What is no text is written as a column's cells are: true, 1.
        names = tuple(
            name if isinstance(name, str) else texts(arrow_array([name], "labels"))[0].as_py() or ""
            for name in given
        )
        for name in (self.other, self.declined):
            if name is not None and name not in names:
                names += (name,)
        object.__setattr__(self, "names", names)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise checks.refusal("labels", list(names), f"all different, but {twice[0]!r} is not")
        try:
            "".join(names).encode()
        except UnicodeEncodeError:
            raise checks.refusal("labels", list(names), "texts that UTF-8 can say") from None
        if "" in names:
            raise checks.refusal("labels", list(names), "texts that are not empty")
        if len(names) < 2:
            raise checks.refusal("labels", list(names), "at least 2")
        if self.declined is not None and self.skip_missing:
            raise ArgumentError("missing values must be either declined or skipped, got both")

    @classmethod
    def read_names(cls, path: str | Path) -> tuple[str, ...]:
        """The labels of a text file, one per line; empty lines are left out.

        Args:
            path: the file.

        Raises:
            ArgumentError: where the file cannot be read or is not UTF-8.
        """
        try:
            lines = Path(path).read_text("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise ArgumentError(f"labels_file must be a text in UTF-8, got {path}") from None
        except OSError as error:
            allowed = f"readable ({error.strerror})"
            raise checks.refusal("labels_file", str(path), allowed) from None
        return tuple(line.strip() for line in lines if line.strip())

    @property
    def k(self) -> int:
        """How many values there are."""
        return len(self.names)

    @classmethod
    def of(cls, column: Any, **options: Any) -> "Labels":
        """The labels of a column.

        Args:
            column: a list, or a column of numpy, pandas, polars or Arrow.
            **options: `other`, `declined` and `skip_missing`.

        Returns:
            The categories that the column declares (pandas categories, polars enums, Arrow
            dictionaries), in their order; otherwise the different texts in it, sorted, which then
            are not protected.

        Example:
            >>> Labels.of(["yes", "no", "no"]).names
            ('no', 'yes')
        """
        array = arrow_array(column)
        names = declared_names(array)
        if names is None:
            contents = ColumnContents()
            contents.add(array)
            names = contents.labels("column")
        return cls(names, **options)

    def values(self, column: Any) -> NDArray[np.uint32]:
        """The values 0..k-1 of a column of labels, as `Mechanism.respond` takes them.

        Args:
            column: a list, or a column of numpy, pandas, polars or Arrow.

        Returns:
            One value for each row that has one.

        Raises:
            ArgumentError: where cells are empty, or not listed, and no label stands for them.

        Example:
            >>> Labels(("no", "yes")).values(["yes", "no", "yes"]).tolist()
            [1, 0, 1]
        """
        array = arrow_array(column)
        contents = ColumnContents(listed=self.names)
        contents.add(array)
        self.check(contents, "column")
        return self.encode(array)[0]

    def encode(self, array: Any) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """Values of the rows, and which rows have one (all, unless missing ones are skipped).

        Args:
            array: cells of a column, as Arrow has them.
        """
        codes = pc.index_in(texts(array), pa.array(self.names, pa.string()))
        missing = missing_in(array)
        if self.other is not None:
            codes = pc.fill_null(codes, self.names.index(self.other))
        if self.declined is not None:
            codes = pc.if_else(missing, self.names.index(self.declined), codes)
        answering = np.ones(len(array), np.bool_)
        if self.skip_missing:
            answering = ~missing.to_numpy(zero_copy_only=False)
        values = pc.cast(codes, pa.uint32()).to_numpy(zero_copy_only=False)
        return values[answering].astype(np.uint32, copy=False), answering

    def check(self, contents: "ColumnContents", column: str) -> None:
        """Refuse a column with cells that mean nothing, naming how many.

        Args:
            contents: what was counted in the column.
            column: its name, for the refusal.

        Raises:
            ArgumentError: where cells are empty, or not listed, and no label stands for them.
        """
        if contents.missing and self.declined is None and not self.skip_missing:
            raise ArgumentError(
                f"column {column} must have no missing values, got {contents.missing} in "
                f'{contents.rows} rows: give them a label of their own, as "prefer not to say" '
                "(Labels(…, declined=), --missing), or leave those rows out (skip_missing=, "
                "--skip-missing)"
            )
        if contents.unlisted_rows and self.other is None:
            examples = ", ".join(repr(text) for text in sorted(contents.unlisted)[:5])
            raise ArgumentError(
                f"column {column} must hold only the labels {list(self.names)!r:.200}, got others "
                f"in {contents.unlisted_rows} rows, such as {examples:.200} (Labels(…, other=), "
                "--other, puts them together)"
            )


@dataclass(kw_only=True)
class ColumnContents:
    """What a first pass over a column of answers counts, before anything is written."""

    listed: Sequence[str] = ()  # labels that were given
    rows: int = 0
    missing: int = 0
    unlisted_rows: int = 0  # rows with texts that are no given label
    unlisted: set[str] = field(default_factory=set)  # some of those texts

    def add(self, array: Any) -> None:
        """Count one batch."""
        missing = missing_in(array)
        self.rows += len(array)
        self.missing += missing.true_count
        others = texts(array).filter(pc.invert(missing))
        others = others.filter(pc.invert(pc.is_in(others, pa.array(self.listed, pa.string()))))
        self.unlisted_rows += len(others)
        if len(self.unlisted) <= MOST_TAKEN:
            self.unlisted.update(pc.unique(others).to_pylist())

    def labels(self, column: str) -> tuple[str, ...]:
        """All texts there are, in an order that people expect: numbers by size, texts by letter.

        Raises:
            ArgumentError: where there are too many to be meant as labels.
        """
        if len(self.unlisted) > MOST_TAKEN:
            raise ArgumentError(
                f"labels must be given for column {column}, which has more than {MOST_TAKEN} "
                "different texts (--labels or --labels-file, and --other for the rest)"
            )
        names = list(self.unlisted)
        if all(name.removeprefix("-").isdecimal() for name in names):
            return tuple(sorted(names, key=int))
        return tuple(sorted(names))


def missing_in(array: Any) -> Any:
    """Which cells are empty."""
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(texts(array)), ""), True)


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
