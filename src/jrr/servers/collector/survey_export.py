"""Answers to a survey as one table: a row per person, in the order of hashes, without them."""

import io
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from jrr.estimation.told_sums import CardSums
from jrr.mechanisms.base import Mechanism
from jrr.servers.collector.report_header import header_of
from jrr.servers.collector.store import CollectorCampaign
from jrr.survey.documents import canonical_json
from jrr.survey.surveys import Survey
from jrr.survey.told import ToldSums
from jrr.tables.header import Header
from jrr.tables.names import HEADERS, SUMS, SURVEY


def export_answers(
    survey: Survey,
    rows: list[dict[str, Any]],
    parts: Mapping[str, CollectorCampaign],
    kind: str,
) -> bytes:
    """The table as the bytes of a Parquet or CSV file.

    Args:
        survey: Which was answered.
        rows: As the collector's jobs give them, one per person.
        parts: Part -> what the collector holds of it, with what dealers told of their cards.
        kind: "parquet" or "csv".

    Open answers have their item's name. A perturbed part has its report under its own name (a
    number, or numbers one after another) and whether there was a card under NAME_carded; both are
    empty where it was not asked. In Parquet the survey's document, what dealers told of their
    cards and the header of each part's reports stand in the metadata, so that `jrr file estimate`
    needs nothing else.
    """
    columns = _open_columns(survey, rows) | _report_columns(survey, rows)
    sink = io.BytesIO()
    if kind == "csv":
        pa_csv.write_csv(pa.table(_as_texts(columns)), sink)
    else:
        table = pa.table(columns)
        headers = {name: _header(held).to_dict() for name, held in parts.items()}
        told = {
            SURVEY: survey.to_bytes(),
            SUMS: canonical_json({name: held.sums for name, held in parts.items()}),
            HEADERS: canonical_json(headers),
        }
        pq.write_table(table.replace_schema_metadata(told), sink)
    return sink.getvalue()


def _header(held: CollectorCampaign) -> Header:
    """What the reports of one part are, as a file of them alone would say it."""
    told: CardSums | None = None
    if held.sums is not None:
        told = ToldSums.from_document(held.campaign, held.sums).by_group
    return header_of(held, told)


def _open_columns(survey: Survey, rows: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = {"number": pa.float64(), "scale": pa.int64(), "several": pa.list_(pa.string())}
    return {
        item.name: pa.array(
            [row["open"].get(item.name) for row in rows], kinds.get(item.kind, pa.string())
        )
        for item in survey.questionnaire.open
    }


def _report_columns(survey: Survey, rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for part in survey.parts:
        sent = [row.get(part.name) for row in rows]
        mechanism = part.campaign.mechanism
        columns[part.name] = pa.array(
            [None if one is None else _numbers(mechanism, one[0]) for one in sent]
        )
        flags = [None if one is None else one[1] for one in sent]
        columns[f"{part.name}_carded"] = pa.array(flags, pa.bool_())
    return columns


def _numbers(mechanism: Mechanism, report: bytes) -> int | str | list[int]:
    """A report as JSON has it; what is a text and a number there is one text, with a blank."""
    found: Any = mechanism.report_format.to_json(mechanism.report_from_bytes(report))
    if isinstance(found, list) and any(isinstance(entry, str) for entry in found):
        return " ".join(map(str, found))
    return found  # type: ignore[no-any-return]


def _as_texts(columns: dict[str, Any]) -> dict[str, Any]:
    """CSV has no lists: their entries are written one after another, by blanks or semicolons."""
    found = {}
    for name, column in columns.items():
        if pa.types.is_list(column.type):
            blank = " " if not pa.types.is_string(column.type.value_type) else "; "
            texts = [
                None if row is None else blank.join(map(str, row)) for row in column.to_pylist()
            ]
            column = pa.array(texts, pa.string())
        found[name] = column
    return found
