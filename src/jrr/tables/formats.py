"""Rows from and to CSV, Parquet and Arrow files, in batches; a file is whole or not there."""

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from jrr._base import checks
from jrr._base.files import replace_whole, synced, write_whole
from jrr.errors import ArgumentError, DamagedError, JrrError
from jrr.tables.arrays import arrow_array, declared_names, plain_column
from jrr.tables.foreign import find_writing, is_foreign, read_foreign
from jrr.tables.names import SURVEY
from jrr.telemetry.asked import is_header

NAME = "jrr.report"
KEY = "jrr"  # of pandas' attrs: column -> header
AGAIN = (
    "answers, not reports: a column that is perturbed twice, or later than others, makes the "
    "stated ε wrong; name all columns at once, of the frame of answers"
)
_TOO_EARLY = (
    "read after jrr.tables was imported: until then Arrow joins columns of different mechanisms; "
    "import it first, or give the name of the file"
)


class ReportType(pa.ExtensionType):  # type: ignore[misc] # pyarrow has no types
    """Reports with their header; two are alike where they say the same.

    Args:
        storage: of the reports themselves: texts, numbers or bytes.
        header: as `Header.to_json` writes it.
    """

    def __init__(self, storage: Any, header: str) -> None:
        self.header = header
        super().__init__(storage, NAME)

    def __arrow_ext_serialize__(self) -> bytes:
        return self.header.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> "ReportType":
        return cls(storage, serialized.decode("utf-8", "replace"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportType):
            return NotImplemented
        return (self.header, self.storage_type) == (other.header, other.storage_type)

    def __hash__(self) -> int:
        return hash((self.header, self.storage_type))


pa.register_extension_type(ReportType(pa.string(), ""))


def headers_told(schema: Any) -> dict[str, str]:
    """Column -> the header that it carries: by its type, or by what pandas says of it.

    Raises:
        ArgumentError: for a table that was read before Arrow knew the type.
        DamagedError: where pandas says something else.
    """
    for field in schema:
        if (field.metadata or {}).get(b"ARROW:extension:name") == NAME.encode():
            raise checks.refusal("frame", field.name, _TOO_EARLY)
    types = {field.name: field.type for field in schema}
    found = {name: of.header for name, of in types.items() if isinstance(of, ReportType)}
    documents = _told_by_pandas(schema)
    return {name: json.dumps(documents[name]) for name in types if name in documents} | found


def perturbed_columns(schema: Any) -> list[str]:
    """Columns of reports; of pandas also those that were renamed or left out since."""
    return list(headers_told(schema) | _told_by_pandas(schema))


def _told_by_pandas(schema: Any) -> dict[str, Any]:
    """What `attrs` of a frame of pandas say: column -> header."""
    try:
        attributes = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return dict(attributes.get("attributes", {}).get(KEY, {}))
    except (ValueError, TypeError, AttributeError):
        raise DamagedError(f"attrs[{KEY!r}] must be an object of columns and headers") from None


BATCH = 1 << 20  # rows at a time
META = b"jrr"  # the key of our header in a schema's metadata
_SUFFIXES = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
Batches = Iterator[Any]  # of pyarrow.RecordBatch
# Of formats that need to know the mechanism, whose modules stand above this one
# (jrr.tables.json_lines): ending -> what opens a table; format -> what opens a file to write.
OTHER_OPENERS: "dict[str, Callable[[str | Path], Table]]" = {}
OTHER_WRITERS: dict[str, Callable[[Path, Any, Any], Any]] = {}


class FileHeader(Protocol):
    """What is asked of a header when a file is written (jrr.tables.header)."""

    @property
    def holds(self) -> str:
        """What the rows are; "cards" are a secret."""

    def with_rows(self, rows: int) -> "FileHeader":
        """The same header, which says how many rows there are."""

    def to_json(self) -> str:
        """One line of JSON."""


def format_of(path: Path, argument: str = "path") -> str:
    """csv, parquet, arrow or jsonl, by the name."""
    for suffix, name in _SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return name
    raise checks.refusal(argument, str(path), f"a name that ends in one of {[*_SUFFIXES]}")


def sidecar(path: Path) -> Path:
    """The JSON file beside a CSV file of reports."""
    return path.with_name(path.name + ".json")


class Table:
    """A file of rows, opened for reading; columns of CSV files are all texts.

    Args:
        path: the file.
        delimiter: of a CSV file; None: found in its first line.
        encoding: of a CSV file; None: found.
    """

    declared: Mapping[str, tuple[str, ...]] = {}
    carried: Collection[str] = ()  # columns that were perturbed, of a frame of reports

    def __init__(
        self, path: str | Path, *, delimiter: str | None = None, encoding: str | None = None
    ) -> None:
        self.path = Path(path)
        self.format = format_of(self.path)
        if self.format == "jsonl":
            raise checks.refusal("path", str(path), "a table: JSON lines hold reports only")
        if not self.path.is_file():
            raise checks.refusal("path", str(path), "a file that exists")
        if self.format == "csv":
            with readable(self.path):
                self.writing = find_writing(self.path, delimiter, encoding)
        elif delimiter is not None or encoding is not None:
            given = "delimiter" if delimiter is not None else "encoding"
            raise ArgumentError(f"{given} must be left out: {self.path.name} is no CSV file")
        with readable(self.path):
            if self.format == "parquet":
                self._file: Any = pq.ParquetFile(self.path)
                schema, rows = self._file.schema_arrow, self._file.metadata.num_rows
            elif self.format == "arrow":
                self._file = pa.ipc.open_file(pa.memory_map(str(self.path)))
                schema, rows = self._file.schema, None
            else:
                with self._csv() as reader:
                    schema, rows = reader.schema, None
        with readable(self.path):
            self.columns: list[str] = schema.names
            self.types: dict[str, Any] = {field.name: field.type for field in schema}
        self.rows: int | None = rows  # where the file says so
        self._metadata = schema.metadata or {}
        self.carried = perturbed_columns(schema)

    @property
    def header_text(self) -> str | None:
        """Our header as JSON, where there is one."""
        if self.format == "csv":
            beside = sidecar(self.path)
            try:
                return beside.read_text("utf-8") if beside.is_file() else None
            except UnicodeDecodeError:
                raise DamagedError(f"{beside} must be JSON in UTF-8") from None
        text = self._metadata.get(META)
        return None if text is None else text.decode("utf-8", "replace")

    @property
    def holds_survey(self) -> bool:
        """Whether the rows are answers to several questions (jrr.tables.survey_answers)."""
        return SURVEY in getattr(self, "_metadata", {})

    def same_as(self, other: "Table") -> bool:
        """Whether both are the same file."""
        return self.path.samefile(other.path)

    def require(self, argument: str, column: str) -> str:
        """A column that exists, once.

        Args:
            argument: what the column was named by, for the refusal: "by".
            column: its name.

        Raises:
            ArgumentError: where there is none of that name, or there are two.
        """
        if self.columns.count(column) != 1:
            where = f"a column of {self.path.name}, which has {self.columns}"
            if column in self.columns:
                where = f"a column that {self.path.name} has only once"
            raise ArgumentError(f"{argument} must be {where}; got {argument}={column!r}")
        return column

    def batches(self, columns: Sequence[str], rows: int = BATCH) -> Batches:
        """The columns asked for, some rows at a time."""
        with readable(self.path):
            if self.format == "parquet":
                for batch in self._file.iter_batches(batch_size=rows, columns=list(columns)):
                    yield sound(batch)
            elif self.format == "arrow":
                for index in range(self._file.num_record_batches):
                    whole = sound(self._file.get_batch(index).select(list(columns)))
                    for start in range(0, whole.num_rows, rows):
                        yield whole.slice(start, rows)
            else:
                with self._csv(columns) as reader:
                    yield from reader

    def _csv(self, columns: Sequence[str] | None = None) -> Any:
        delimiter, encoding = self.writing
        convert = pa.csv.ConvertOptions()
        if columns is not None:
            convert = pa.csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
            )
        return pa.csv.open_csv(
            pa.input_stream(str(self.path), compression="detect"),
            read_options=pa.csv.ReadOptions(block_size=1 << 24, encoding=encoding),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, delimiter=delimiter),
            convert_options=convert,
        )


class WholeTable(Table):
    """Rows that are in memory: a data frame, or a file that can only be read whole.

    Args:
        whole: an Arrow table.
        path: the file that they came from, or a name for refusals.
        text: whether all columns are texts, as those of a CSV file.
    """

    def __init__(self, whole: Any, path: Path, *, text: bool) -> None:
        self.path, self.format = path, "csv" if text else "memory"
        arrays = {
            name: arrow_array(column, name)
            for name, column in zip(whole.column_names, whole.columns, strict=True)
        }
        names = {name: declared_names(array) for name, array in arrays.items()}
        self.declared = {name: labels for name, labels in names.items() if labels is not None}
        self.whole = pa.table(
            [plain_column(arrow_array(column)) for column in whole.columns],
            names=whole.column_names,
        )
        self.columns = list(whole.column_names)
        self.types = {field.name: field.type for field in self.whole.schema}
        self.rows = self.whole.num_rows
        self._metadata = {}

    @property
    def header_text(self) -> str | None:
        """There is none."""
        return None

    def with_crossing(self, columns: Sequence[str], between: str) -> "WholeTable":
        """The same with a column more: of several columns the texts, with a sign between."""
        texts = [pc.fill_null(self.whole[name].cast(pa.string()), "") for name in columns]
        crossing = pc.binary_join_element_wise(*texts, between)
        whole = self.whole.append_column(between.join(columns), crossing)
        return WholeTable(whole, self.path, text=self.format == "csv")

    def batches(self, columns: Sequence[str], rows: int = BATCH) -> Batches:
        """The columns asked for, some rows at a time."""
        chosen = self.whole.select(list(columns)).combine_chunks()
        yield from chosen.to_batches(max_chunksize=rows)


def open_data(data: Any, *, delimiter: str | None = None, encoding: str | None = None) -> Table:
    """What answers are read from: a file by its name, or a data frame.

    Args:
        data: a path, or a data frame of pandas, polars or Arrow, or a mapping of columns.
        delimiter: of a CSV file; None: found.
        encoding: of a CSV file; None: found.

    Returns:
        The rows, opened.

    Raises:
        ArgumentError: where there is no such file, or it is neither.
        MissingExtraError: where a package that reads such files is not installed.
        DamagedError: where it cannot be read.
    """
    if not isinstance(data, str | os.PathLike):
        if delimiter is not None or encoding is not None:
            raise ArgumentError("delimiter and encoding must be left out for a data frame")
        whole = data_frame(data, "data")
        _refuse_reports(perturbed_columns(whole.schema))
        return WholeTable(whole, Path("data frame"), text=False)
    path = Path(data)
    if not is_foreign(path):
        table = Table(path, delimiter=delimiter, encoding=encoding)
        _refuse_reports(table.carried or (table.columns if _says_reports(table) else ()))
        return table
    if not path.is_file():
        raise checks.refusal("path", str(data), "a file that exists")
    if delimiter is not None or encoding is not None:
        raise ArgumentError(f"delimiter and encoding must be left out: {path.name} is no CSV file")
    return WholeTable(read_foreign(path), path, text=True)


def _refuse_reports(columns: Collection[str]) -> None:
    """Refuse what was perturbed already: such columns of a frame, or of a file of reports."""
    if columns:
        raise checks.refusal("data", list(columns), AGAIN)


def _says_reports(table: Table) -> bool:
    """Whether a file's own header says so; beside a CSV file may stand anybody's JSON."""
    try:
        return is_header(json.loads(table.header_text or "null"))
    except (ValueError, RecursionError):
        return False


def data_frame(data: Any, argument: str = "frame") -> Any:
    """A data frame of any kind as an Arrow table, with its metadata, or a refusal."""
    files = "the name of a file, or " if argument == "data" else ""
    allowed = f"{files}a data frame of pandas, polars or Arrow"
    try:
        whole = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        if hasattr(data, "collect"):  # a lazy frame of polars
            allowed += "; call its collect() first"
        elif hasattr(data, "columns"):
            allowed += f" ({error})"
        # Not the data: they are answers.
        raise checks.refusal(argument, type(data).__name__, allowed) from None
    # An index that is only numbers is no column.
    return whole.select([name for name in whole.column_names if name != "__index_level_0__"])


def sound(batch: Any) -> Any:
    """The batch, if its offsets stay inside it: a damaged file must not end the process."""
    batch.validate(full=True)
    return batch


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file's bytes is one refusal that names the file."""
    try:
        yield
    except JrrError:
        raise
    except (pa.ArrowException, ValueError, EOFError) as error:
        raise _unreadable(path, error) from None
    except OSError as error:
        if error.errno is not None:  # the disk, not the bytes
            raise
        raise _unreadable(path, error) from None


@contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """Whatever is refused inside is not an argument's fault but damage of this file."""
    try:
        yield
    except DamagedError:
        raise
    except JrrError as error:
        raise DamagedError(f"{path}: {error}") from None


def _unreadable(path: Path, error: Exception) -> DamagedError:
    return DamagedError(f"{path} cannot be read, it may be cut off or damaged: {error}")


def check_output(path: str | Path, force: bool, *inputs: str | Path) -> Path:
    """Where to write; an existing file is kept unless `force` says otherwise.

    Raises:
        ArgumentError: where the name has no known ending, or is taken, or is one of the inputs.
    """
    out = Path(path)
    format_of(out, "out")
    for source in inputs:
        if out.exists() and Path(source).exists() and out.samefile(source):
            raise checks.refusal("out", str(path), "another file than the input")
    if out.exists() and not out.is_file():
        raise checks.refusal("out", str(path), "a file, not a directory")
    if out.exists() and not force:
        raise checks.refusal("out", str(path), "a file that does not exist yet (or give --force)")
    if format_of(out) == "csv" and sidecar(out).exists() and not force:
        beside = f"without a file {sidecar(out).name} beside it (or give --force)"
        raise checks.refusal("out", str(path), beside)
    return out


def write(path: Path, schema: Any, header: FileHeader, batches: Iterable[Any]) -> int:
    """Write all batches under another name and rename it; the number of rows."""
    rows = 0

    def pour(partial: Path) -> None:
        nonlocal rows
        if header.holds == "cards":  # a secret: only its owner may read it
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with _writer(partial, format_of(path), schema, header) as writer:
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(batch)
        with synced(partial, os.O_RDONLY):
            pass
        if format_of(path) == "csv":
            # CSV has no other place that says how many rows were meant.
            write_whole(sidecar(path), header.with_rows(rows).to_json() + "\n")

    replace_whole(path, pour)
    return rows


@contextmanager
def _writer(partial: Path, form: str, schema: Any, header: FileHeader) -> Iterator[Any]:
    schema = schema.with_metadata({META: header.to_json().encode()})
    with contextlib.ExitStack() as stack:
        if form == "parquet":
            yield stack.enter_context(pq.ParquetWriter(partial, schema, compression="zstd"))
        elif form == "arrow":
            yield stack.enter_context(pa.ipc.new_file(str(partial), schema))
        elif form in OTHER_WRITERS:
            yield stack.enter_context(OTHER_WRITERS[form](partial, schema, header))
        else:
            stream = stack.enter_context(pa.output_stream(str(partial), compression="detect"))
            yield stack.enter_context(
                pa.csv.CSVWriter(
                    stream, schema, write_options=pa.csv.WriteOptions(quoting_style="needed")
                )
            )
