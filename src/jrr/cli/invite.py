"""`jrr invite`: one-time invitations, and who may use them."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.operators import FILE, any_operator_of, operator_options, say
from jrr.cli.options import json_option
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError


@click.command()
@operator_options
@click.option("--count", type=int, help="How many.")
@click.option("-o", "--out", type=FILE, default=Path("invitations.csv"), show_default=True)
@click.option("--from", "source", type=FILE, help="Tell servers of invitations made before.")
@json_option
def invite(
    count: int | None, out: Path, source: Path | None, as_json: bool, **options: Any
) -> None:
    """Make one-time invitations, and tell the servers whom to accept.

    The file is secret: whoever has an invitation can answer with it, or take its card, until its
    owner does, and whoever has the file can link what dealer and collector know of one person.
    Send the invitations out, then delete it. Where two operators hold a token each, one makes
    the file and both run this: --count N with one token, --from FILE with the other.
    """
    from jrr.client.invitations import make_invitations, tell_invitations

    operator = any_operator_of(**options)
    if source is not None and count is None:
        with waiting("telling the servers"):
            told = tell_invitations(operator, source)
        say(as_json, {"invitations": len(told), "file": str(source)})
    elif count is not None and source is None:
        again = ["jrr", "invite", str(options["file"]), "--from"]
        with waiting("making invitations"):
            fresh = make_invitations(operator, count, out, again)
        say(as_json, {"invitations": len(fresh), "file": str(out)})
    else:
        raise ArgumentError("exactly one of --count and --from must be given")
