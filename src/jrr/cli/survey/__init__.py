"""`jrr survey`: a survey from its first word to its result."""

import click

from jrr.cli.lazy import TABLES, LazyGroup

MODULES = {
    **dict.fromkeys(("open", "deal", "deal-in-group", "extend", "delete"), "operating"),
    **dict.fromkeys(("ethics", "export", "report"), "documents"),
    **{"change": "show", "enrol": "answer", "ledger": "answer"},
}


@click.group(cls=LazyGroup, package=__name__, table=TABLES["survey"], modules=MODULES)
def survey() -> None:
    """Ask a survey: create, invite, open, answer, show, close, export, report.

    A survey is one JSON document that dealers, collector and contributors hold alike.
    """
