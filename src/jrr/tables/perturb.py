"""From a column of labels to a file of reports."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import source
from jrr.errors import JrrError
from jrr.mechanisms import OLH, OUE, RR, SUE
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.request import Request, least
from jrr.tables import seal as sealing
from jrr.tables.columns import CARDED, RESERVED, cards_from_arrow, report_fields, reports_to_arrow
from jrr.tables.deal import spent_mark
from jrr.tables.formats import Table, check_output, format_of, write
from jrr.tables.header import Header
from jrr.tables.labels import Found, Labels
from jrr.tables.reports import Progress, open_reports, silent

ALONE: dict[str, Callable[[int, float], Mechanism]] = {  # mechanisms that need no cards
    "rr": RR,
    "sue": SUE,
    "oue": OUE,
    "olh": OLH,
}


def perturb(
    data: str | Path,
    column: str,
    out: str | Path,
    *,
    epsilon: float | None = None,
    labels: Labels | Sequence[str] | None = None,
    mechanism: str = "auto",
    cards: str | Path | None = None,
    cardless: bool = False,
    keep: Sequence[str] = (),
    seal: str | Path | None = None,
    rng: Rng = None,
    force: bool = False,
    progress: Progress = silent,
) -> Header:
    """Perturb every row of a column, with the cards of a file or, without one, by plain RR.

    labels: the possible answers; without them those found in the column, which then are not
    protected. epsilon: with cards, the most that their mechanism may lose in the view "cards".
    cardless: rows beyond the last card answer without one. keep: columns to copy, for groups
    and weights; they must be public. seal: the collector's public key.
    """
    path = check_output(out, force, data, *([] if cards is None else [cards]))
    if len(set(keep)) < len(keep):
        raise checks.refusal("keep", list(keep), "all different")
    if cards is not None and mechanism != "auto":
        raise checks.refusal("mechanism", mechanism, "auto: cards bring their mechanism")
    if seal is not None and not Path(seal).is_file():
        raise checks.refusal("seal", str(seal), "a public key that exists")
    table = Table(data)
    table.require("column", column)
    for name in keep:
        table.require("keep", name)
        if name in (column, *RESERVED):
            raise checks.refusal("keep", name, f"another column than {(column, *RESERVED)}")
    if seal is not None and keep:
        raise JrrError("keep must be empty for sealed reports: it would tell them apart")
    answers, rows = _first_pass(table, column, labels)
    header, hand = _dealt(cards, answers, rows, epsilon, cardless)
    if header is None:
        header = Header("reports", alone(mechanism, answers.k, epsilon, rows))
    header = replace(
        header,
        holds="reports" if seal is None else "sealed reports",
        question=column,
        labels=answers.names,
        other=answers.other,
        declined=answers.declined,
        rows=None,
    )
    text = format_of(path) == "csv"
    if seal is None:
        fields = [*report_fields(header.mechanism, text), pa.field(CARDED, pa.bool_(), False)]
    elif text:
        raise checks.refusal("out", str(out), "a Parquet or Arrow file for sealed reports")
    else:
        fields = [sealing.sealed_field(header.mechanism)]
    copied = [pa.field(name, table.types[name]) for name in keep]
    if table.format == "csv":
        copied = [pa.field(name, pa.string()) for name in keep]
    schema = pa.schema([*fields, *copied])
    made = _reports(table, column, keep, answers, header, hand, text, seal, source(rng))

    def watched() -> Iterator[Any]:
        done = 0
        for batch, seen in made:
            done += seen
            yield pa.record_batch(batch, schema=schema)
            progress(done, rows)

    with _claimed(cards, path):
        write(path, schema, header, watched())
    return header


@contextmanager
def _claimed(cards: str | Path | None, out: Path) -> Iterator[None]:
    """Mark cards as used before a word is drawn, so that no other run can use them too."""
    if cards is None:
        yield
        return
    mark = spent_mark(Path(cards))
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        raise JrrError(f"cards must be fresh, but {cards} is being used by another run") from None
    try:
        yield
    except BaseException:
        mark.unlink(missing_ok=True)  # no report was published: the cards are still fresh
        raise
    with contextlib.suppress(OSError):  # the mark itself is what counts
        mark.write_text(f"used for {out.name}\n", "utf-8")


def alone(kind: str, k: int, epsilon: float | None, n: int) -> Mechanism:
    """A mechanism without cards; "auto" takes the most accurate."""
    checks.one_of("mechanism", kind, ("auto", *ALONE))
    if epsilon is None:
        raise JrrError("epsilon must be given where there are no cards")
    request = Request(max(n, 2), epsilon, 0, k, None, None)
    if kind != "auto":
        return ALONE[kind](k, epsilon)
    tried = ("rr",) if k == 2 else ("rr", "oue", "olh")
    made = [ALONE[name](k, epsilon) for name in tried if name != "oue" or k <= 1 << 10]
    return least(made, request)


def _first_pass(
    table: Table, column: str, given: Labels | Sequence[str] | None
) -> tuple[Labels, int]:
    """The labels, and how many rows will answer; every refusal comes before anything is written."""
    if given is not None and not isinstance(given, Labels):
        given = Labels(tuple(given))
    found = Found(given.names if given else ())
    for batch in table.batches([column]):
        found.add(batch.column(0))
    if not found.rows:
        raise JrrError(f"{table.path} must have at least one row, got none")
    labels = given or Labels(found.labels(column))
    if given is not None:
        labels.check(found, column)
    else:
        labels.check(Found(labels.names, found.rows, found.missing), column)
    answering = found.rows - found.missing * labels.skip_missing
    if not answering:
        raise JrrError(f"column {column} must have at least one answer, got none")
    return labels, answering


class _Hand:
    """The cards of a file, taken in order."""

    def __init__(self, table: Table, header: Header) -> None:
        self._mechanism = header.mechanism
        self._batches = table.batches(["card"])
        self._left: NDArray[Any] | None = None

    def take(self, count: int) -> NDArray[Any] | None:
        """The next cards, fewer at the end; None where there are none left."""
        parts, need = [], count
        while need:
            if self._left is None or not len(self._left):
                batch = next(self._batches, None)
                if batch is None:
                    break
                self._left = cards_from_arrow(self._mechanism, batch.column(0))
            parts.append(self._left[:need])
            self._left = self._left[need:]
            need = count - sum(map(len, parts))
        return np.concatenate(parts) if parts else None


def _dealt(
    path: str | Path | None, labels: Labels, rows: int, epsilon: float | None, cardless: bool
) -> tuple[Header | None, _Hand | None]:
    """The cards' header and the cards, or a refusal where they do not match the answers."""
    if path is None:
        return None, None
    table, header = open_reports(path, "cards")
    table.require("cards", "card")
    mechanism, deck = header.mechanism, header.mechanism.moments.deck
    mark = spent_mark(table.path)
    if mark.exists():
        said = mark.read_text("utf-8", errors="replace").strip() or "used"
        raise JrrError(
            f"cards must be fresh, but {table.path.name} was {said}: the same cards twice would "
            "expose answers; deal again"
        )
    if mechanism.k != labels.k:
        raise checks.refusal(
            "cards", str(path), f"dealt for {labels.k} answers, but they are for {mechanism.k}"
        )
    found = sum(batch.num_rows for batch in table.batches(["card"]))
    if deck is None or found != deck * len(header.decks):
        raise JrrError(
            f"cards must be whole decks of {deck}, {len(header.decks)} of them; got {found} "
            f"rows in {path}"
        )
    held = deck * len(header.decks)
    if rows > held and not cardless:
        raise JrrError(
            f"cards must be enough for {rows} answers, got {held} in {path}: deal more decks "
            "(--decks), or let the rest answer without a card (--cardless)"
        )
    if epsilon is not None:
        loss = mechanism.epsilon("cards", header.colluders)
        if loss > checks.epsilon("epsilon", epsilon):
            raise JrrError(
                f"epsilon must be at least that of the cards in {path}, {loss:.6g} against the "
                f"collector and {header.colluders} colluders (view: cards); got epsilon={epsilon}"
            )
    used = -(-min(rows, held) // deck)
    return replace(header, decks=header.decks[:used]), _Hand(table, header)


def _reports(
    table: Table,
    column: str,
    keep: Sequence[str],
    labels: Labels,
    header: Header,
    hand: _Hand | None,
    text: bool,
    seal: str | Path | None,
    rng: Any,
) -> Iterator[tuple[list[Any], int]]:
    """Columns of the output, batch by batch, and how many rows each has."""
    mechanism = header.mechanism
    close = None if seal is None else sealing.sealer(seal, header)
    for batch in table.batches([column, *keep]):
        values, kept = labels.encode(batch.column(0))
        if not len(values):
            continue
        cards = None if hand is None else hand.take(len(values))
        held = 0 if cards is None else len(cards)
        reports = np.concatenate(
            (
                mechanism.respond(values[:held], cards, rng),
                mechanism.respond(values[held:], None, rng),
            )
        )
        carded = np.arange(len(values)) < held
        if close is not None:
            yield [close(reports, carded)], len(values)
            continue
        mask = pa.array(kept)
        yield (
            [
                *reports_to_arrow(mechanism, reports, text),
                pa.array(carded),
                *(batch.column(1 + at).filter(mask) for at in range(len(keep))),
            ],
            len(values),
        )
