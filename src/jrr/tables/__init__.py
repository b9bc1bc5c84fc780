"""Columns of labels in, reports and estimates out: CSV, Parquet and Arrow files.

Needs the extra [tables]. Each step reads and writes in batches, so that files larger than
memory work, and leaves either a whole file or none.

    deal      -> a file of secret cards
    perturb   a column of labels (and cards) -> a file of reports
    shuffle   files of reports -> one file without order or identifiers
    estimate  files of reports -> shares with error bars, by group, weighted
"""

from jrr.errors import MissingExtraError

try:
    import pyarrow as _  # noqa: F401 - the one place that says which extra is missing
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise MissingExtraError("report files need pyarrow: pip install 'jrr[tables]'") from None

from jrr.tables.convert import convert
from jrr.tables.deal import deal
from jrr.tables.estimate import Group, Result, estimate
from jrr.tables.header import Header
from jrr.tables.labels import Labels
from jrr.tables.perturb import perturb
from jrr.tables.reports import read_header, tally
from jrr.tables.shuffle import shuffle

__all__ = [
    "Group",
    "Header",
    "Labels",
    "Result",
    "convert",
    "deal",
    "estimate",
    "perturb",
    "read_header",
    "shuffle",
    "tally",
]
