"""deal: secret cards into a file; CardFile: the same, checked, taken in order, and used once."""

import contextlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import source
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.base import Mechanism, Rng
from jrr.tables.columns import card_field, cards_from_arrow, cards_to_arrow
from jrr.tables.formats import BATCH, Table, check_output, damage_of, format_of, write
from jrr.tables.header import Header
from jrr.tables.progress import Progress, silent


class CardFile:
    """The cards of a file, taken in order.

    Args:
        table: the file.
        header: what it says about itself.

    Raises:
        DamagedError: where it has no column of cards, or not as many as were dealt.
    """

    def __init__(self, table: Table, header: Header) -> None:
        self._table, self._header = table, header
        with damage_of(table.path):
            table.require("cards", "card")
        deck = header.mechanism.moments.deck
        self._rows = sum(batch.num_rows for batch in table.batches(["card"]))
        if deck is None or self._rows != deck * len(header.decks):
            raise DamagedError(
                f"cards must be whole decks of {deck}, {len(header.decks)} of them; got "
                f"{self._rows} rows in {table.path}"
            )
        self._deck = deck
        self._batches = table.batches(["card"])
        self._left: NDArray[Any] | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._table.path

    def header_for(self, answers: int, *, k: int, epsilon: float | None, cardless: bool) -> Header:
        """The cards' header with the decks that so many answers use.

        Args:
            answers: how many rows will answer.
            k: how many labels there are.
            epsilon: the most that the cards' mechanism may lose in the view "cards".
            cardless: whether rows beyond the last card answer without one.

        Raises:
            ArgumentError: where the cards are spent, too few, for another number of labels, or
                lose more than epsilon.
        """
        path, header = self.path, self._header
        mark = spent_mark(path)
        if mark.exists():
            use = mark.read_text("utf-8", errors="replace").strip() or "used"
            raise ArgumentError(
                f"cards must be fresh, but {path.name} was {use}: the same cards twice would "
                "expose answers; deal again"
            )
        if header.mechanism.k != k:
            allowed = f"dealt for {k} answers, but they are for {header.mechanism.k}"
            raise checks.refusal("cards", str(path), allowed)
        if answers > self._rows and not cardless:
            raise ArgumentError(
                f"cards must be enough for {answers} answers, got {self._rows} in {path}: deal "
                "more decks (--decks), or let the rest answer without a card (--cardless)"
            )
        if epsilon is not None:
            loss = header.mechanism.epsilon("cards", header.colluders)
            if loss > checks.epsilon("epsilon", epsilon):
                raise ArgumentError(
                    f"epsilon must be at least that of the cards in {path}, {loss:.6g} for one "
                    f"report beside the cards of {header.colluders} colluders (view: cards); got "
                    f"epsilon={epsilon}"
                )
        used = -(-min(answers, self._rows) // self._deck)
        return replace(header, decks=header.decks[:used])

    def take(self, count: int) -> NDArray[Any] | None:
        """The next cards, fewer at the end; None where there are none left."""
        parts, need = [], count
        while need:
            if self._left is None or not len(self._left):
                batch = next(self._batches, None)
                if batch is None:
                    break
                with damage_of(self.path):
                    self._left = cards_from_arrow(self._header.mechanism, batch.column(0))
            parts.append(self._left[:need])
            self._left = self._left[need:]
            need = count - sum(map(len, parts))
        return np.concatenate(parts) if parts else None


@contextmanager
def claimed(cards: str | Path | None, out: Path) -> Iterator[None]:
    """Mark cards as used before a word is drawn, so that no other run can use them too.

    Args:
        cards: the file of cards; None where there is none.
        out: where the reports go, which the mark names.

    Raises:
        ArgumentError: where another run has marked them.
    """
    if cards is None:
        yield
        return
    mark = spent_mark(Path(cards))
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        raise ArgumentError(
            f"cards must be fresh, but {cards} is being used by another run"
        ) from None
    try:
        yield
    except BaseException:
        mark.unlink(missing_ok=True)  # no report was published: the cards are still fresh
        raise
    with contextlib.suppress(OSError):  # the mark itself is what counts
        mark.write_text(f"used for {out.name}\n", "utf-8")


def spent_mark(cards: Path) -> Path:
    """The file that says that a file of cards has been used."""
    real = cards.resolve()  # the same cards under another name are the same cards
    return real.with_name(real.name + ".spent")


def deal(
    mechanism: Mechanism,
    out: str | Path,
    *,
    decks: int = 1,
    colluders: int = 0,
    rng: Rng = None,
    force: bool = False,
    progress: Progress = silent,
) -> Header:
    """Deal whole decks, one card per row in uniformly random order.

    The file is the dealer's secret: whoever has it and the reports has the view "dealer".

    Args:
        mechanism: one that deals cards.
        out: a Parquet, Arrow or CSV file, by the ending of its name.
        decks: how many decks of `mechanism.n` cards.
        colluders: how many were planned for, for showing the guarantee later.
        rng: where randomness comes from; secure by default.
        force: overwrite an existing file.
        progress: is told how many decks are done.

    Returns:
        The header of the file.

    Raises:
        ArgumentError: where the mechanism deals no cards or needs the sum of them announced, or
            the file exists.

    Example:
        >>> import jrr, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> mechanism = jrr.DRR(100, truth=0.3)
        >>> header = tables.deal(mechanism, f"{folder.name}/cards.parquet", decks=2)
        >>> len(header.decks)
        2
        >>> folder.cleanup()
    """
    path = check_output(out, force)
    if spent_mark(path).exists() and not force:
        raise checks.refusal("out", str(out), f"free of the mark {spent_mark(path).name}")
    decks = checks.integer("decks", decks, 1, 100_000)
    if not mechanism.deals:
        raise ArgumentError(f"mechanism must deal cards, got {mechanism.to_dict()}")
    if mechanism.announced:
        raise ArgumentError(
            "mechanism must have a closed deck (jrr file deal --closed-deck, "
            "jrr.plan(announced=False)) to deal into a file: nobody tells the dealer afterwards "
            "which cards of a file were used, so it cannot announce their sum; got "
            f"{mechanism.brief()}"
        )
    name = secrets.token_hex(6)
    names = (name,) if decks == 1 else tuple(f"{name}.{number}" for number in range(decks))
    header = Header("cards", mechanism, decks=names, colluders=colluders)
    text = format_of(path) == "csv"
    words = source(rng)
    schema = pa.schema([card_field(mechanism, text)])

    def batches() -> Iterator[Any]:
        for number in range(decks):
            cards = mechanism.deal(words)
            assert cards is not None  # there is a deck
            for start in range(0, len(cards), BATCH):
                column = cards_to_arrow(mechanism, cards[start : start + BATCH], text)
                yield pa.record_batch([column], schema=schema)
            progress(number + 1, decks)

    write(path, schema, header, batches())
    spent_mark(path).unlink(missing_ok=True)  # these are fresh cards
    return header
