"""Answers to a survey as one table: a row per person, ordered by hashes that are left out.

Open answers have their question's name. A perturbed answer has its report under its own name (a
number, or numbers one after another) and whether there was a card under NAME_carded; both are
empty where it was not asked. The survey's document and the header of each question's reports, with
what dealers told of their cards, stand in Parquet's metadata: so nothing else is needed to estimate
from it. CSV files are for other programs.
"""

import io
import json
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from jrr.mechanisms.numbers import NumberRange
from jrr.protocol.documents import canonical_json
from jrr.survey.other_waves import AFTER, NO, YES, wave_columns
from jrr.tables.header import Header
from jrr.tables.names import CARDED, HEADERS, SURVEY

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.servers.collector.store import CollectorSurvey
    from jrr.survey.messages import StoredAnswers
    from jrr.survey.survey import Survey


_OPEN_TYPES = {"number": pa.float64(), "scale": pa.int64(), "several": pa.list_(pa.string())}


def export_answers(
    held: "CollectorSurvey",
    blocks: Iterable[Sequence["StoredAnswers"]],
    kind: str,
    after: Set[bytes] | None,
) -> bytes:
    """The bytes of a file.

    Args:
        held: Which survey was answered, and what dealers told.
        blocks: Everybody's answers, some people at a time.
        kind: "parquet" or "csv".
        after: Who answered the next wave too; None: there is none, or it is not closed.
    """
    headers = {name: header_of(held, name).to_dict() for name in held.numbers}
    survey = held.survey
    metadata = {SURVEY: survey.to_bytes(), HEADERS: canonical_json(headers)}
    schema = pa.schema(_fields(held), metadata)
    sink = io.BytesIO()
    if kind == "parquet":
        writer = pq.ParquetWriter(sink, schema, compression="zstd")
    else:
        schema = pa.schema([(one.name, _text_type(one.type)) for one in schema])
        options = pa_csv.WriteOptions(quoting_style="needed")
        writer = pa_csv.CSVWriter(sink, schema, write_options=options)
    with writer:
        for block in blocks:
            columns = _columns(held, survey, block, after)
            arrays = [_array(columns[one.name], one.type) for one in schema]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return sink.getvalue()


def _fields(held: "CollectorSurvey") -> list[Any]:
    """Names and types of the columns."""
    fields = [(one.name, _OPEN_TYPES.get(one.kind, pa.string())) for one in held.survey.open]
    fields += [(name, pa.string()) for name in wave_columns(held.survey)]
    for name in held.numbers:
        mechanism = held.mechanism(name)
        shown = _as_json(mechanism, bytes(mechanism.report_format.width))
        fields += [(name, pa.infer_type([shown])), (f"{name}_{CARDED}", pa.bool_())]
    return fields


def _columns(
    held: "CollectorSurvey",
    survey: "Survey",
    people: Sequence["StoredAnswers"],
    after: Set[bytes] | None,
) -> dict[str, list[Any]]:
    """The values of some people, by column."""
    answers = [json.loads(one.open) for one in people]
    columns = {one.name: [mine.get(one.name) for mine in answers] for one in survey.open}
    for name in wave_columns(survey):
        columns[name] = [json.loads(one.covariates).get(name) for one in people]
    if AFTER in columns and after is not None:
        columns[AFTER] = [YES if one.name in after else NO for one in people]
    for name in held.numbers:
        mechanism = held.mechanism(name)
        sent = [one.reports.get(name) for one in people]
        columns[name] = [None if one is None else _as_json(mechanism, one.report) for one in sent]
        columns[f"{name}_{CARDED}"] = [None if one is None else one.carded for one in sent]
    return columns


def _as_json(mechanism: "Mechanism", report: bytes) -> int | str | list[int]:
    """A report as JSON has it; what is a text and a number there is one text, with a blank."""
    found: Any = mechanism.report_format.to_json(mechanism.report_from_bytes(report))
    if isinstance(found, list) and any(isinstance(entry, str) for entry in found):
        return " ".join(map(str, found))
    return found  # type: ignore[no-any-return]


def _text_type(kind: Any) -> Any:
    """CSV has no lists: their entries are written one after another."""
    return pa.string() if pa.types.is_list(kind) else kind


def _array(values: list[Any], kind: Any) -> Any:
    if pa.types.is_string(kind):
        values = [_joined(one) if isinstance(one, list) else one for one in values]
    return pa.array(values, kind)


def _joined(entries: list[Any]) -> str:
    """By semicolons, numbers by blanks."""
    return ("; " if any(isinstance(one, str) for one in entries) else " ").join(map(str, entries))


def header_of(held: "CollectorSurvey", name: str) -> Header:
    """What the reports to a question are, and what dealers told of their cards."""
    question = held.survey.by_name[name]
    decks = tuple(f"{question.salt[:12]}.{number}" for number in range(held.decks(name)))
    return Header(
        "reports",
        held.mechanism(name),
        decks=decks if question.deals else (),
        colluders=question.colluders,
        question=question.text,
        labels=question.labels if question.number is None else (),
        number=None if question.number is None else NumberRange.checked(*question.number),
        share_asked=held.survey.share_asked(name),
        sums=held.told_of(name) if question.mechanism.masked and held.sums is not None else None,
        later_sums=tuple(
            held.told.of(name, number)
            for number in range(2, len(held.told.announced) + 1)
            if question.mechanism.announced
        ),
    )
