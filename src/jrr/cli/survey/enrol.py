"""`jrr survey enrol`: a place in the next deal."""

from typing import Any

import click

from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.contributing import contributor_of, contributor_options


@click.command()
@contributor_options
@json_option
def enrol(**options: Any) -> None:
    """Take part in the next deal, where people enrol first.

    Answer when the cards are dealt.
    """
    person = contributor_of(**options)
    with waiting("reading the survey, and reckoning what it costs"):
        survey = person.survey
    with waiting("enrolling"):
        person.enrol()
    show(
        {"survey": survey.hash, "enrolled": True},
        "Enrolled. Come back and answer when the cards are dealt.",
    )
