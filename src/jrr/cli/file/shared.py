"""What commands on files share: options, and estimates of several files or questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.documents import read_json
from jrr.cli.options import all_of
from jrr.cli.values import COUNT, FILE, OLD_FILE
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.estimation.told_sums import CardSum
from jrr.mechanisms.marked_arrays import AnnouncedNumber, AnnouncedRow

if TYPE_CHECKING:
    from jrr.tables import Result
    from jrr.tables.progress import Progress


ENGINES = ("duckdb", "spark", "postgres")  # jrr.tables.engines, which needs an extra

force_option = click.option("--force", is_flag=True, help="Overwrite an existing output.")
seed_option = click.option(
    "--seed", type=int, help="For tests: reproducible, and so not private. Default: secure."
)
out_option = click.option(
    "-o", "--out", type=FILE, required=True, help="Parquet, Arrow, CSV, or JSON lines of reports."
)
by_option = click.option(
    "--by", help="A public column: one estimate per group, and their differences."
)
weight_option = click.option("--weight", help="A column of survey weights.")
min_cell_option = click.option(
    "--min-cell",
    type=COUNT,
    default=MIN_CELL,
    help="Smallest group that is shown; if left out, of a survey's answers as the survey says.",
)
decks_option = click.option(
    "--decks", type=COUNT, help="Decks dealt, where whole decks dropped out."
)
key_option = click.option("--key", type=FILE, help="The private key, for sealed reports.")
top_option = click.option(
    "--top",
    type=COUNT,
    default=20,
    callback=lambda _context, _option, top: checks.integer("top", top, 1),
    help="Answers shown.",
)
results_options = all_of(
    top_option,
    click.option("-o", "--out", type=FILE, help="Also: write the results as a .csv file."),
)
force_results_option = click.option(
    "--force", is_flag=True, help="Overwrite an existing file of results."
)


def _read_announced(_context: Any, _option: Any, path: Path | None) -> Any:
    """What dealers announced, of everybody, of groups, or of several decks or levels."""
    if path is None:
        return None
    document = read_json("announced", path.read_text("utf-8"), "sums of cards in JSON")
    try:
        return _sums(document)
    except ArgumentError as error:
        raise ArgumentError(f"announced: {error}") from None


def _sums(document: Any) -> Any:
    if isinstance(document, list):
        return [_sums(one) for one in document]
    if isinstance(document, dict) and document and set(document) != {"cards", "sum"}:
        return {name: _sums(one) for name, one in document.items()}
    total = document.get("sum") if isinstance(document, dict) else None
    width = len(total) if isinstance(total, list) else 1
    told = CardSum.from_document(document, width)
    if told.sum is None:
        raise checks.refusal("announced", document, "a sum of cards")
    if isinstance(told.sum, list):
        return AnnouncedRow(told.sum, told.cards)
    return AnnouncedNumber(told.sum, told.cards)


announced_option = click.option(
    "--announced",
    type=OLD_FILE,
    callback=_read_announced,
    help='What was announced (JSON): {"cards": 9, "sum": -4}, or such by deck, group or level.',
)
engine_options = all_of(
    click.option("--engine", type=click.Choice(ENGINES), help="What counts the reports."),
    click.option("--table", help="The table of reports in a database."),
    click.option(
        "--header", type=FILE, help="What the reports are (JSON), where they do not say so."
    ),
)


def is_survey(sources: Sequence[str], table: str | None) -> bool:
    """Whether some source holds a survey's answers to several questions."""
    from jrr.tables.survey_answers import is_survey_answers

    return table is None and any(is_survey_answers(source) for source in sources)


def estimate_each(
    sources: Sequence[str], options: dict[str, Any], progress: "Progress"
) -> "dict[str, Result]":
    """Source -> its own estimate; options are those of `jrr.tables.estimate`."""
    from jrr.tables.estimating import estimate

    return {source: estimate(source, **options, progress=progress) for source in sources}


def estimate_questions(
    sources: Sequence[str], options: dict[str, Any], progress: "Progress"
) -> "dict[str, Result | None]":
    """Question of a survey -> its estimate, None of nobody; of several files, file and question."""
    from jrr.tables.survey_answers import estimate_survey, survey_of

    for argument in ("weight", "key", "announced"):
        if options[argument] is not None:
            raise ArgumentError(f"{argument} must be left out for a survey's exported answers")
    if options["header"] is not None:
        raise checks.refusal("header", str(options["header"]), "left out: the survey says it")
    left_out = ("weight", "key", "announced", "header", "table")
    kept = {name: value for name, value in options.items() if name not in left_out}
    found: dict[str, Result | None] = {}
    for source in sources:
        start = "" if len(sources) == 1 else f"{source}: "
        results = estimate_survey(source, progress=progress, **kept)
        found |= {f"{start}{name}": results.get(name) for name in survey_of(source).by_name}
    return found
