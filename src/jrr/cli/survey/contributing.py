"""What commands of contributors share: the link, the invitation, limits and files."""

import sys
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.options import all_of
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.values import FILE, FOLDER
from jrr.errors import ArgumentError
from jrr.survey.promises import DELTA

if TYPE_CHECKING:
    from jrr.client.contributor import Contributor


contributor_options = all_of(
    click.argument("link"),
    click.option(
        "--invitation",
        envvar="JRR_INVITATION",
        help="Your invitation; asked for if not given.  [env: JRR_INVITATION]",
    ),
    click.option("--public", is_flag=True, help="The survey needs no invitation."),
    click.option(
        "--limit",
        type=float,
        required=True,
        help="Most ε at δ you accept against the collector (view: everything), over all your "
        "answers.",
    ),
    click.option(
        "--dealer-limit",
        type=float,
        help="Most ε you accept against dealer and collector together (view: dealer), over all.",
    ),
    click.option("--delta", type=float, default=DELTA, help="The δ of --limit, over all."),
    click.option("--patience", type=float, default=30.0, help="Seconds to wait."),
    click.option("--state", type=FOLDER, help="Directory where answers wait to be received."),
    click.option(
        "--ledger", type=FILE, help="File that adds up your costs.  [default: in --state]"
    ),
    click.option("--ca", type=FILE, help="Certificates to trust, in PEM."),
)


def contributor_of(
    *, link: str, invitation: str | None, public: bool, **options: Any
) -> "Contributor":
    """The contributor on this device; asks for the invitation where one is needed."""
    from jrr.client.contributor import Contributor
    from jrr.protocol.texts import split_link

    split_link(link)  # before anything is asked
    if invitation is None and not public:
        invitation = _ask_invitation()
    return Contributor(link, invitation, **options)


def _ask_invitation() -> str:
    """Asked for until it has no slip of the pen: before anything else is asked."""
    from jrr.protocol.identity import invitation_secret

    while True:
        text: str = click.prompt("Your invitation", hide_input=True, err=True)
        try:
            invitation_secret(text)
        except ArgumentError as error:
            if not sys.stdin.isatty():
                raise
            click.echo(str(error), err=True)
        else:
            return text


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
