"""Files of reports as devices send them: JSON lines, the first of which says what was asked.

{"holds": "reports", "jrr": 1, "mechanism": {"k": 2, "mechanism": "RR", "p": 0.75}}
1
0
...

Every further line is what `report_to_json` says of one report. Lines can be added as they come.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from jrr._base import checks
from jrr._base.files import replace_whole
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.numbers import Numbers
from jrr.telemetry.asked import Asked, asked_in, is_header

VERSION = 1
ENDINGS = (".jsonl", ".ndjson")


def header_of(asked: Asked) -> dict[str, Any]:
    """The first line of a file of reports, as plain JSON values.

    Args:
        asked: the mechanism, Numbers, Longitudinal, HeavyHitters or RangeTree.
    """
    header = {"jrr": VERSION, "holds": "reports", "mechanism": asked.to_dict()}
    if not isinstance(asked, Numbers):
        return header
    return header | {"mechanism": asked.mechanism.to_dict(), "number": asked.range._asdict()}


def write_reports(
    path: str | Path,
    asked: Asked,
    reports: Any,
    *,
    carded: ArrayLike | bool | None = None,
    force: bool = False,
) -> int:
    """Write reports as JSON lines, whole or not at all.

    Args:
        path: a name that ends in .jsonl or .ndjson.
        asked: the mechanism that made them, or the Numbers, Longitudinal, HeavyHitters or
            RangeTree.
        reports: what its `respond` returned, or a list of what `respond_one` did.
        carded: whether each was made with a card, where the reports do not remember it.
        force: overwrite an existing file.

    Returns:
        How many reports there are.

    Raises:
        ArgumentError: where the file exists, or something else made the reports.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "reports.jsonl")
        >>> m = jrr.RR(p=0.75)
        >>> jrr.write_reports(path, m, m.respond([0, 1, 1] * 100))
        300
        >>> asked, reports = jrr.read_reports(path)
        >>> asked == m, asked.estimate(reports).n
        (True, 300)
        >>> folder.cleanup()
    """
    out = Path(path)
    if not hasattr(asked, "reports_to_json"):
        raise checks.refusal("asked", asked, "what made the reports, which come after it")
    if out.suffix.lower() not in ENDINGS:
        raise checks.refusal("path", str(path), f"a name that ends in one of {list(ENDINGS)}")
    if out.exists() and not force:
        raise checks.refusal("path", str(path), "a file that does not exist yet (or give force)")
    return write_lines(out, asked, _as_json(asked, reports, carded))


def write_lines(out: Path, asked: Asked, documents: Iterable[Any]) -> int:
    """Write a header and the documents of reports, whole or not at all; how many there are."""
    written = 0

    def pour(partial: Path) -> None:
        nonlocal written
        with partial.open("w", encoding="utf-8") as file:
            file.write(json.dumps(header_of(asked), sort_keys=True) + "\n")
            for document in documents:
                file.write(json.dumps(document) + "\n")
                written += 1

    replace_whole(out, pour)
    return written


def _as_json(asked: Asked, reports: Any, carded: ArrayLike | bool | None) -> Iterable[Any]:
    if carded is None:
        return asked.reports_to_json(reports)
    if not hasattr(asked, "deals"):  # neither a mechanism nor its rounds
        raise checks.refusal("carded", carded, f"None for {type(asked).__name__}")
    with_cards: Any = asked.reports_to_json
    told: Iterable[Any] = with_cards(reports, carded)
    return told


def read_reports(*paths: str | Path) -> tuple[Any, Any]:
    """What was asked, and all reports of files of JSON lines that were asked the same.

    Args:
        paths: files as `write_reports` or a pipeline of your own wrote them.

    Returns:
        The mechanism, Numbers, Longitudinal, HeavyHitters or RangeTree; and the reports, as its
        `estimate` or `find` takes them.

    Raises:
        ArgumentError: where there is no such file, or they were not asked the same.
        DamagedError: where a file has no header, or a line is no report of what was asked.
    """
    if not paths:
        raise ArgumentError("paths must name at least one file, got none")
    first, _ = open_lines(Path(paths[0]))
    with damage_in(paths[:1]):
        asked = asked_in(first)
    documents: list[Any] = []
    for path in map(Path, paths):
        header, lines = open_lines(path)
        if any(header.get(name) != first.get(name) for name in ("mechanism", "number")):
            raise ArgumentError(f"paths must be of one question, got another in {str(path)!r}")
        with damage_in([path], asked):
            columns = header.get("columns", [])
            documents += [split_line(line, columns)[0] for line in lines] if columns else lines
    with damage_in(paths, asked):
        return asked, asked.reports_from_json(documents)


class damage_in:  # noqa: N801 - used like a function
    """Whatever is refused inside is damage of these files; of reports by `asked` of which line."""

    def __init__(self, paths: Sequence[str | Path], asked: Asked | None = None) -> None:
        self._paths = paths
        self._asked: Any = asked

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ArgumentError):
            for path in () if self._asked is None else self._paths:
                header, lines = open_lines(Path(path))
                for number, line in enumerate(lines, 2):
                    try:
                        self._asked.report_from_json(split_line(line, header.get("columns", []))[0])
                    except ArgumentError as refused:
                        raise DamagedError(f"{path}, line {number}: {refused}") from None
            raise DamagedError(f"{', '.join(map(str, self._paths))}: {error}") from None


def open_lines(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    """The header of a file of JSON lines, and the documents of its further lines, as they are read.

    Args:
        path: the file.

    Raises:
        ArgumentError: where there is no such file.
        DamagedError: where the first line is no header, or a line is no JSON.
    """
    if not path.is_file():
        raise checks.refusal("path", str(path), "a file that exists")
    with path.open(encoding="utf-8") as file:
        try:
            header = json.loads(file.readline())
        except ValueError:
            header = None
    if not is_header(header):
        example = '{"jrr": 1, "holds": "reports", "mechanism": {…}}'
        raise DamagedError(f"{path} must begin with a line that says what was asked: {example}")
    if header.get("jrr") != VERSION or isinstance(header["jrr"], bool):
        raise DamagedError(f"{path} must be of version {VERSION}, got jrr={header.get('jrr')!r}")
    columns = header.get("columns", [])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise DamagedError(f"{path} must name its columns in a list of texts, got {columns!r}")
    return header, _documents(path)


def split_line(line: object, columns: Sequence[str]) -> tuple[Any, list[Any]]:
    """The report of a line, as `report_from_json` takes it, and the values of public columns.

    Args:
        line: what a line says.
        columns: those that the header names.

    Raises:
        ArgumentError: for a line that is not of these.
    """
    if not columns:
        return line, []
    if not isinstance(line, dict) or set(line) - {"carded"} != {"report", *columns}:
        allowed = f"an object of report, {', '.join(columns)} and perhaps carded"
        raise checks.refusal("line", line, allowed)
    told = line["report"]
    if "carded" in line:
        told = {"carded": line["carded"], "report": told}
    return told, [line[name] for name in columns]


def _documents(path: Path) -> Iterator[Any]:
    try:
        with path.open(encoding="utf-8") as file:
            file.readline()
            for number, line in enumerate(file, 2):
                yield _value(path, number, line)
    except UnicodeDecodeError:
        raise DamagedError(f"{path} must be text in UTF-8") from None


def _value(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        shown = line.rstrip("\n")[:40]
        raise DamagedError(f"{path} must hold JSON in line {number}, got {shown!r}") from None


def list_of(argument: str, value: object) -> list[Any]:
    """A list, or a refusal."""
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list")
    return value


def level_and_report(document: object, levels: int) -> tuple[int, Any]:
    """The level of a report, one of so many, and what its mechanism wrote; or a refusal."""
    if not isinstance(document, list) or len(document) != 2:
        raise checks.refusal("document", document, "a list of a level and a report")
    return checks.integer("level", document[0], 0, levels - 1), document[1]
