"""Results of several estimates in one CSV file."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from jrr._base.files import write_whole
from jrr.tables.estimating import Result


def write_several(found: Mapping[str, Result], out: Path, level: float) -> None:
    """Write the rows of all results, each with the name of its source, whole or not at all.

    Args:
        found: source -> its result.
        out: a .csv file that may be written.
        level: of the intervals.
    """
    rows = [
        {"source": name, "question": result.header.question, **row}
        for name, result in found.items()
        for row in result.to_rows(level)
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(out, text.getvalue())
