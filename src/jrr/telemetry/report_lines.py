"""Files of reports to be searched: JSON lines, the first of which says what was asked.

{"jrr": "heavy-hitters", "question": {...}}
[0, ["c0ffee...", 3]]
...
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.errors import ArgumentError

Kind = Literal["heavy-hitters", "quantiles"]


def write_lines(path: Path, kind: Kind, question: dict[str, Any], reports: Iterable[Any]) -> int:
    """Write a file of reports and say how many there are."""
    lines = [json.dumps({"jrr": kind, "question": question}, sort_keys=True)]
    lines += [json.dumps(report) for report in reports]
    write_whole(path, "\n".join(lines) + "\n")
    return len(lines) - 1


def read_lines(paths: Sequence[Path], kind: Kind) -> tuple[Any, list[Any]]:
    """The question, and all reports of files that were asked the same one.

    Raises:
        ArgumentError: for a file that is something else, or of another question.
    """
    questions, reports = [], []
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        documents = [_read(path, number, line) for number, line in enumerate(lines, 1)]
        head = documents[0] if documents else None
        if not isinstance(head, dict) or set(head) != {"jrr", "question"} or head["jrr"] != kind:
            allowed = f"files that `jrr file {kind} perturb` wrote"
            raise checks.refusal("reports", str(path), allowed)
        questions.append(head["question"])
        reports += documents[1:]
    if any(question != questions[0] for question in questions):
        raise ArgumentError("reports must be of one question, got files of different ones")
    return questions[0], reports


def _read(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise ArgumentError(
            f"reports must be lines of JSON, got {line[:40]!r} in line {number} of {str(path)!r}"
        ) from None


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
