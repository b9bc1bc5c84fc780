"""`jrr survey`: a survey from its first word to its result."""

import click

from jrr.cli.lazy import LazyGroup

# Named, not imported, as in jrr.cli.app; in the order in which they are used.
COMMANDS = {
    "create": "Write a survey's document from a draft or a question.",
    "ethics": "Write the document for an ethics board or a data protection officer.",
    "invite": "Make one-time invitations, and tell the servers whom to accept.",
    "open": "Give the document to the servers and open it.",
    "enrol": "Take part in the next deal, where people enrol first.",
    "deal": "End enrolment and deal to exactly those who enrolled.",
    "deal-in-group": "Deal among contributors: each learns its own card and nothing else.",
    "answer": "Answer a survey; what is sensitive is perturbed here.",
    "ledger": "Show what your answers on this device have cost together.",
    "show": "Counts at the servers, and the results so far.",
    "extend": "Take answers until a later time, CLOSES, in UTC as 2026-01-31T12:00:00Z.",
    "close": "Close for good: cards are burned, and no more answers are taken.",
    "change": "How every question has changed since the wave before.",
    "export": "Write all answers as a table, with a codebook and an R script.",
    "report": "Write the results as one page for people: pictures, groups, method, guarantee, "
    "limits.",
    "delete": "Delete a survey's data at its servers, for good.",
}


MODULES = {
    **dict.fromkeys(("open", "deal", "extend", "delete"), "operating"),
    **dict.fromkeys(("ethics", "export", "report"), "documents"),
    **{"change": "show", "enrol": "answer", "ledger": "answer"},
}


@click.group(cls=LazyGroup, package=__name__, table=COMMANDS, modules=MODULES)
def survey() -> None:
    """Ask a survey: create, invite, open, answer, show, close, export, report.

    A survey is one JSON document that dealers, collector and contributors hold alike.
    """
