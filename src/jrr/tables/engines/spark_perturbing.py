"""Perturbing and dealing on Spark: a folder of true answers into a folder of reports.

A task may run twice: because a machine died, or because another one seemed slow. Its reports must
be the same both times, or somebody who sees both learns more than one report tells. So nothing is
drawn freely: cards and coins follow from a secret key and from the number of the row, and the key
is forgotten when the folder is written (docs/decisions/0039-perturbing-on-spark.md).
"""

import contextlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jrr._base import checks
from jrr._base.files import write_whole
from jrr._base.randomness import KeyedRandom
from jrr.dealing.permutation import KEY_BYTES
from jrr.dealing.split_deck import RowDecks
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.mechanisms.base import Mechanism
from jrr.tables.columns import report_fields, reports_to_arrow
from jrr.tables.engines.spark import open_session, quiet
from jrr.tables.folders import HEADER, ParquetFolder
from jrr.tables.header import Header
from jrr.tables.labels import Labels
from jrr.tables.names import CARDED, RESERVED

BLOCK = 1 << 16  # rows that are perturbed with the words of one purpose
_KINDS = ("string", "boolean", "tinyint", "smallint", "int", "bigint")  # alike as text everywhere
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # longer than a drive's letter
_FIXED = "spark.sql.files.minPartitionNum"
# Spark has no unsigned numbers: Arrow's type -> a type of Spark that holds all of it.
_SPARK_TYPES = {
    pa.uint8(): "smallint",
    pa.int16(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
}
_ARROW_TYPES = {
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "binary": pa.binary(),
}


def perturb_on_spark(
    data: str | Path,
    column: str,
    out: str | Path,
    mechanism: Mechanism,
    *,
    labels: Labels | Sequence[str],
    cards: bool | None = None,
    keep: Sequence[str] = (),
    colluders: int = 0,
    session: Any = None,
    key: bytes | None = None,
) -> Header:
    """Perturb every row of a column, and deal cards for it, on Spark's workers.

    Whoever runs this sees all true answers: it serves simulations, and holders of answers who
    publish reports only.

    Args:
        data: a Parquet file or a folder of them, which must not change meanwhile.
        column: the column with the true answers.
        out: the folder of reports, which must not exist: on this machine's disk, or on one that all
            workers share under this path; no address such as hdfs:// or s3://.
        mechanism: one for as many answers as there are labels; with cards, its decks are used one
            after another: make it for as many people as there are rows to have one.
        labels: the possible answers.
        cards: whether cards are dealt; None: where the mechanism has any.
        keep: columns to copy; they must be public.
        colluders: how many were planned for, for showing the guarantee later.
        session: of Spark; None: the one that runs, or a new one.
        key: 32 secret bytes, for tests; None: fresh ones that are forgotten afterwards.

    Returns:
        The header of the folder, which stands in it.

    Raises:
        ArgumentError: where a column is missing or holds numbers with a fraction, the labels do not
            fit, sums of cards would have to be announced, or the folder exists or is an address.
        DamagedError: where rows changed while they were read.
        MissingExtraError: where Spark or Java is not installed.
    """
    # Spark would write to an address, and nothing here would find it, nor take it away.
    if _ADDRESS.match(str(out)):
        raise checks.refusal("out", str(out), "a folder on a disk, not an address")
    if key is not None and len(key) != KEY_BYTES:
        raise ArgumentError(f"key must be {KEY_BYTES} bytes, got {len(key)}")  # never the key
    target = Path(out)
    if target.exists():
        raise checks.refusal("out", str(out), "a folder that does not exist yet")
    named = labels if isinstance(labels, Labels) else Labels(tuple(labels))
    if named.k != mechanism.k:
        raise checks.refusal("labels", named.names, f"{mechanism.k} labels, one per value")
    deals = mechanism.deals if cards is None else cards
    if deals and not mechanism.deals:
        raise checks.refusal("mechanism", mechanism, "one that deals cards, as JRR, DRR and MRR")
    if deals and mechanism.announced:
        allowed = "one with a closed deck: nobody names the reports here whose sum is announced"
        raise checks.refusal("mechanism", mechanism, allowed)
    spark = open_session() if session is None else session
    frame = spark.read.parquet(str(data))
    wanted = [column, *keep]
    for argument, name in zip(("column", *["keep"] * len(keep)), wanted, strict=True):
        if name not in frame.columns or (argument == "keep" and name in (column, *RESERVED)):
            raise checks.refusal(argument, name, f"one of {frame.columns}, but for {RESERVED}")
    kind = dict(frame.dtypes)[column]
    if kind not in _KINDS:  # 1.0 is "1" to one and "1.0" to another
        raise checks.refusal("column", column, f"one of texts, whole numbers or flags, not {kind}")
    frame = frame.select(*wanted)
    secret = secrets.token_bytes(KEY_BYTES) if key is None else key
    with quiet(), _same_partitions(spark):
        shares = _count_shares(frame, column, named)
        rows = sum(shares.values())
        if not rows:
            raise ArgumentError(f"{data} must have at least one row, got none")
        decks = -(-rows // (mechanism.moments.deck or rows)) if deals else 0
        name = secrets.token_hex(6)
        header = Header(
            "reports",
            mechanism,
            decks=tuple(f"{name}.{number}" for number in range(decks)),
            colluders=colluders,
            question=column,
            labels=named.names,
            other=named.other,
            declined=named.declined,
        )
        written, schema = _schema(mechanism, frame, keep)
        function = _respond(header, named, shares, secret, deals=deals, schema=written)
        partial = target.with_name(f".{target.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            frame.mapInArrow(function, schema).write.parquet(str(partial))
            found = ParquetFolder(partial).rows
            if found != rows:
                raise DamagedError(f"{data} must not change: it had {rows} rows, then {found}")
            if deals and mechanism.masked:
                header = replace(header, sums=_left_over(mechanism, secret, rows, decks))
            write_whole(partial / HEADER, replace(header, rows=rows).to_json() + "\n")
            partial.rename(target)
        except BaseException as error:
            with contextlib.suppress(OSError):
                shutil.rmtree(partial)
            if type(error).__module__.startswith("pyspark."):  # what a worker said, at its end
                raise DamagedError(f"{data}: {_reason(error)}") from None
            raise
    return header


@contextlib.contextmanager
def _same_partitions(spark: Any) -> Iterator[None]:
    """Machines may come and go between two passes; how files are cut must not follow them."""
    before = spark.conf.get(_FIXED, None)
    if before is None:
        spark.conf.set(_FIXED, str(spark.sparkContext.defaultParallelism))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FIXED)


def _left_over(mechanism: Mechanism, key: bytes, rows: int, decks: int) -> CardSums | None:
    """The sum of the last deck's cards that no row has: without it they would count as lost."""
    size = mechanism.moments.deck
    assert size is not None  # it deals
    left = decks * size - rows
    if not left:
        return None
    cards, total = RowDecks(mechanism, key), np.int64(0)
    for first in range(rows, decks * size, BLOCK):
        part = cards.cards(first, min(BLOCK, decks * size - first))
        total = total + part.sum(axis=0, dtype=np.int64)
    return CardSums(undealt=CardSum(left, total.tolist()))


def _reason(error: BaseException) -> str:
    """The line of a worker's error that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines()]
    ours = [line.partition(": ")[2] for line in lines if line.startswith("jrr.errors.")]
    return ours[-1] if ours else lines[0]


def _count_shares(frame: Any, column: str, labels: Labels) -> dict[int, int]:
    """Number of a partition -> its rows; empty cells and answers that are not listed are refused.

    One pass of Spark's own: partitions follow from the sizes of the files, not from the columns
    that are read, and whoever perturbs a partition checks that it has as many rows.
    """
    from pyspark.sql import functions

    answer = frame[column].cast("string")
    strange = answer.isNull()
    if labels.other is None:
        strange |= ~answer.isin(list(labels.names))
    marked = frame.select(
        functions.spark_partition_id().alias("part"), strange.cast("int").alias("strange")
    )
    wanted = functions.count("*"), functions.sum("strange")
    counted = marked.groupBy("part").agg(*wanted).toArrow()
    parts, rows, unlisted = (column.to_pylist() for column in counted.columns)
    if any(unlisted):  # it is not shown: it may be somebody's answer
        raise ArgumentError(
            f"column {column} must hold one of {list(labels.names)} in every row, got another"
        )
    return dict(sorted(zip(parts, rows, strict=True)))


def _part() -> int:
    """The number of the partition that this worker works at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None  # on a worker
    return int(context.partitionId())


def _schema(mechanism: Mechanism, frame: Any, keep: Sequence[str]) -> tuple[list[Any], str]:
    """Columns of the output, as Arrow and as Spark name their types."""
    kinds = dict(frame.dtypes)
    named = [
        (field.name, _SPARK_TYPES.get(field.type, "binary"))
        for field in report_fields(mechanism, text=False)
    ]
    fields = [pa.field(name, _ARROW_TYPES[kind]) for name, kind in named]
    named += [(CARDED, "boolean"), *((name, kinds[name]) for name in keep)]
    written = ", ".join(f"`{name}` {kind}" for name, kind in named)
    return [*fields, pa.field(CARDED, pa.bool_())], written


def _respond(
    header: Header,
    labels: Labels,
    shares: Mapping[int, int],
    key: bytes,
    *,
    deals: bool,
    schema: Sequence[Any],
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function of Arrow batches for Spark's workers: reports of a share of the rows."""

    def respond(batches: Iterable[Any]) -> Iterator[Any]:
        part = _part()
        first = sum(rows for other, rows in shares.items() if other < part)
        done = 0
        decks = RowDecks(header.mechanism, key) if deals else None
        for batch in _in_blocks(batches):
            values, _ = labels.encode(batch.column(0))
            start = first + done
            reports = reports_of(header.mechanism, values, start, key, decks)
            columns = [
                column.cast(field.type)
                for column, field in zip(
                    reports_to_arrow(header.mechanism, reports, text=False), schema, strict=False
                )
            ]
            carded = pa.array(np.full(len(values), deals))
            names = [field.name for field in schema]
            yield pa.record_batch(
                [*columns, carded, *batch.columns[1:]], [*names, *batch.schema.names[1:]]
            )
            done += batch.num_rows
        if done != shares.get(part, 0):
            raise DamagedError(f"data must not change: {shares.get(part)} rows were {done}")

    return respond


def reports_of(
    mechanism: Mechanism, values: Any, first: int, key: bytes, decks: RowDecks | None
) -> Any:
    """The reports of rows first, first + 1, …, which follow from the key and their numbers.

    Args:
        mechanism: of the reports.
        values: true ones, at most BLOCK of them.
        first: number of the first row; every block that is ever perturbed has another one.
        key: 32 secret bytes.
        decks: the cards, where every row has one.
    """
    coins = KeyedRandom(key, b"coins:" + first.to_bytes(8, "little"))
    cards = None if decks is None else decks.cards(first, len(values))
    return mechanism.respond(values, cards, coins)


def _in_blocks(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in blocks of BLOCK and a last one, however they come."""
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= BLOCK:
            whole = pa.Table.from_batches(waiting).combine_chunks()
            yield whole.slice(0, BLOCK).to_batches()[0]
            waiting = whole.slice(BLOCK).to_batches()
            count -= BLOCK
    if count:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
