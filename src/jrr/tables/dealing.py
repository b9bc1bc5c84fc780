"""deal: secret cards into a file, one row per contributor."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr._base.randomness import source
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism, Rng
from jrr.tables.card_file import spent_mark
from jrr.tables.columns import card_field, cards_to_arrow
from jrr.tables.formats import BATCH, check_output, format_of, write
from jrr.tables.header import Header
from jrr.tables.progress import Progress, silent


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
