"""Columns of labels in, reports and estimates out: CSV, Parquet and Arrow files.

Needs the extra [tables]. Each step reads and writes in batches, so that files larger than
memory work, and leaves either a whole file or none.

    deal      -> a file of secret cards
    perturb   a column of labels (and cards) -> a file of reports
    shuffle   files of reports -> one file without order or identifiers
    estimate  files of reports -> shares with error bars, by group, weighted
    estimate_survey  a survey's exported answers -> the estimate of each question
    headers_of   what reports in a data frame say of themselves (jrr.perturb_frame)
    items_of     questions of a data frame as jrr.analysis takes them
    convert   a file of reports -> the same in another format

What goes wrong is of two kinds (jrr.errors):

    DamagedError    the bytes of a file are at fault: it is cut off, not in the format of its
                    name, has no header of jrr or one that cannot be used, or holds rows that no
                    jrr could have written. A whole copy of the file would help.
    ArgumentError   the files are whole and do not fit what was asked: another kind of file, a
                    column that does not exist, labels that are not listed, cards that are spent
                    or too few, files that do not belong together, an output that exists.
"""

from jrr.errors import MissingExtraError

try:
    import pyarrow as _
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise MissingExtraError("frames and files of reports need pyarrow", "tables") from None

from jrr.estimation.groups import GroupDifference, GroupEstimate, GroupEstimates
from jrr.tables.card_file import deal
from jrr.tables.estimating import estimate, tally
from jrr.tables.frame_regression import items_of
from jrr.tables.frames import headers_of
from jrr.tables.header import Header
from jrr.tables.json_lines import JsonLines as _  # noqa: F401 - a format more
from jrr.tables.labels import Labels
from jrr.tables.levels import distribution, find, write_level_reports
from jrr.tables.margins import read_margins
from jrr.tables.perturbing import perturb
from jrr.tables.reports import read_header
from jrr.tables.result import Result
from jrr.tables.shuffling import convert, shuffle
from jrr.tables.survey_answers import estimate_survey

__all__ = [
    "GroupDifference",
    "GroupEstimate",
    "GroupEstimates",
    "Header",
    "Labels",
    "Result",
    "convert",
    "deal",
    "distribution",
    "estimate",
    "estimate_survey",
    "find",
    "headers_of",
    "items_of",
    "perturb",
    "read_header",
    "read_margins",
    "shuffle",
    "tally",
    "write_level_reports",
]
