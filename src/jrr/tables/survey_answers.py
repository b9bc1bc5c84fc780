"""A survey's exported answers: the reports of each question, as a table of their own.

A collector exports one row per person, with the reports of several questions (Parquet). Whatever
is needed to estimate from it stands in the file: the survey, and for each question the header
that a file of its reports alone would have, with what dealers told of the cards.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.survey.other_waves import wave_columns
from jrr.survey.question import as_covariates, is_asked
from jrr.survey.survey import Survey, read_survey
from jrr.tables.columns import report_fields, reports_to_arrow
from jrr.tables.engines import open_engine
from jrr.tables.estimating import estimate_opened
from jrr.tables.formats import WholeTable, damage_of, readable
from jrr.tables.header import Header
from jrr.tables.names import CARDED, HEADERS, RESERVED, SURVEY
from jrr.tables.reports import ReportFiles
from jrr.tables.result import Result

_ENGINES = (None, "duckdb")  # that can count rows which are in memory


def is_survey_answers(path: str | Path) -> bool:
    """Whether a file holds a survey's exported answers."""
    if not (str(path).lower().endswith((".parquet", ".pq")) and Path(path).is_file()):
        return False
    with readable(Path(path)):
        return SURVEY in (pq.read_schema(path).metadata or {})


def estimate_survey(
    path: str | Path, *, engine: str | None = None, **options: Any
) -> dict[str, Result]:
    """Estimate every perturbed answer of a survey, from its exported answers.

    Args:
        path: the Parquet file that a collector exported.
        engine: what counts the reports: "duckdb", or None for this process.
        options: as for `estimate`: by, min_cell, decks, population, population_size, progress;
            without min_cell, the smallest group that the survey's collector shows.

    Returns:
        Name of each question that somebody answered ("several": of each label) -> its result.

    Raises:
        ArgumentError: where the file is no such export, or an argument is refused.
        DamagedError: where it cannot be read as what it claims to be.
    """
    if engine not in _ENGINES:
        raise checks.refusal("engine", engine, "None or 'duckdb' for a survey's exported answers")
    if not is_survey_answers(path):
        raise checks.refusal("path", str(path), "a survey's answers, exported as Parquet")
    ready = None if engine is None else open_engine(engine)
    survey = survey_of(path)
    options = {"min_cell": survey.smallest_group} | options
    opened = open_survey_answers(Path(path))
    answered = {name: files for name, files in opened.items() if files.tables[0][0].rows}
    found = {}
    for name, files in (answered or opened).items():  # without any answer: refused as a file is
        result, question = estimate_opened(files, engine=ready, **options), survey.by_name[name]
        losses = {view: question.guarantee(view) for view in result.header.guarantees}
        found[name] = replace(result, losses=losses)
    return found


def survey_of(path: str | Path) -> Survey:
    """The survey whose answers a file holds."""
    path = Path(path)
    with readable(path), damage_of(path):
        return read_survey(pq.read_schema(path).metadata[SURVEY])


def open_survey_answers(path: Path) -> dict[str, ReportFiles]:
    """Question -> its reports, opened.

    Raises:
        DamagedError: where the file cannot be read as what it claims to be.
    """
    with readable(path):
        whole = pq.read_table(path)
    told = whole.schema.metadata or {}
    with damage_of(path):
        survey = read_survey(told.get(SURVEY, b""))
        headers = _headers(path, told.get(HEADERS, b""))
        if set(headers) != set(survey.by_name):
            raise DamagedError(f"headers must be of {sorted(survey.by_name)}")
        missing = {column for name in headers for column in (name, f"{name}_{CARDED}")}
        missing |= {question.name for question in survey.open} | set(wave_columns(survey))
        missing -= set(whole.column_names)
        if missing:
            raise DamagedError(f"columns must not be missing, got none of {sorted(missing)}")
        covariates = _covariate_columns(survey, whole)
        return {
            name: _reports_of(path, whole, name, headers[name], covariates)
            for name in survey.by_name
        }


def _headers(path: Path, text: bytes) -> dict[str, Header]:
    try:
        documents = json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedError(f"{path}: the headers of its questions cannot be read") from None
    if not isinstance(documents, Mapping):
        raise DamagedError(f"{path}: the headers of its questions must be an object")
    return {name: Header.from_dict(document) for name, document in documents.items()}


def _covariate_columns(survey: Survey, whole: Any) -> dict[str, Any]:
    """The columns by which results can be grouped, with the names that the collector gives."""
    columns = {question.name: whole[question.name].to_pylist() for question in survey.open}
    rows = []
    for row in range(whole.num_rows):
        answers: dict[str, Any] = {}
        for question in survey.open:
            if is_asked(question, answers):
                answers[question.name] = columns[question.name][row]
        rows.append(as_covariates(survey.open, answers))
    names = rows[0] if rows else ()
    found = {name: pa.array([row[name] for row in rows], pa.string()) for name in names}
    return found | {name: whole[name].combine_chunks() for name in wave_columns(survey)}


def _reports_of(
    path: Path, whole: Any, name: str, header: Header, covariates: Mapping[str, Any]
) -> ReportFiles:
    """The reports of those who were asked one question."""
    flags = whole[f"{name}_{CARDED}"].combine_chunks()
    asked = flags.is_valid()
    mechanism = header.mechanism
    width = mechanism.report_format.width
    sent = whole[name].filter(asked).to_pylist()
    packed = b"".join(mechanism.report_bytes(_as_json(mechanism, one)) for one in sent)
    rows = np.frombuffer(packed, np.uint8).reshape(len(sent), width)
    reports = mechanism.report_format.unpack(rows)
    fields = [field.name for field in report_fields(mechanism, text=False)]
    columns = dict(zip(fields, reports_to_arrow(mechanism, reports, text=False), strict=True))
    columns[CARDED] = flags.filter(asked)
    for covariate, column in covariates.items():
        if covariate not in RESERVED:
            columns[covariate] = column.filter(asked)
    table = WholeTable(pa.table(columns), path, text=False)
    return ReportFiles(header=header, tables=((table, header),))


def _as_json(mechanism: Mechanism, report: object) -> object:
    """A report as JSON has it; a seed and a number stand in one text, with a blank between."""
    if len(mechanism.report_format.columns) == 2 and isinstance(report, str):
        seed, _, value = report.partition(" ")
        return [seed, int(value)] if value.isdecimal() else report
    return report
