"""`jrr survey`: a survey from its first word to its result."""

import click

from jrr.cli.lazy import LazyCommand, LazyGroup

# Named, not imported, as in jrr.cli.app; in the order in which they are used.
COMMANDS = {
    "create": LazyCommand(
        "jrr.cli.survey.create", "create", "Write a survey's document from a draft or a question."
    ),
    "invite": LazyCommand(
        "jrr.cli.survey.invite",
        "invite",
        "Make one-time invitations, and tell the servers whom to accept.",
    ),
    "open": LazyCommand(
        "jrr.cli.survey.opening", "open_survey", "Give the document to the servers and open it."
    ),
    "enrol": LazyCommand(
        "jrr.cli.survey.enrol", "enrol", "Take part in the next deal, where people enrol first."
    ),
    "deal": LazyCommand(
        "jrr.cli.survey.deal", "deal", "End enrolment and deal to exactly those who enrolled."
    ),
    "deal-in-group": LazyCommand(
        "jrr.cli.survey.deal_in_group",
        "deal_in_group",
        "Deal among contributors: each learns its own card and nothing else.",
    ),
    "answer": LazyCommand(
        "jrr.cli.survey.answer", "answer", "Answer a survey; what is sensitive is perturbed here."
    ),
    "ledger": LazyCommand(
        "jrr.cli.survey.ledger",
        "ledger",
        "Show what your answers on this device have cost together.",
    ),
    "show": LazyCommand(
        "jrr.cli.survey.show", "show", "Counts at the servers, and the results so far."
    ),
    "close": LazyCommand(
        "jrr.cli.survey.close",
        "close",
        "Close for good: cards are burned, and no more answers are taken.",
    ),
    "change": LazyCommand(
        "jrr.cli.survey.change", "change", "How every question has changed since the wave before."
    ),
    "export": LazyCommand(
        "jrr.cli.survey.export",
        "export",
        "Write all answers as a table, with a codebook and an R script.",
    ),
    "report": LazyCommand(
        "jrr.cli.survey.report",
        "report",
        "Write the results as one page for people: pictures, groups, method, guarantee, limits.",
    ),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def survey() -> None:
    """Ask a survey: create, invite, open, answer, show, close, export, report.

    A survey is one JSON document that dealers, collector and contributors hold alike.
    """
