"""`jrr invite`: one-time invitations, and who may use them."""

import csv
import io
import shlex
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.operators import FILE, operator_of, operator_options, say
from jrr.cli.options import json_option
from jrr.errors import ArgumentError, JrrError


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
    from jrr.client.operator import new_invitations

    operator = operator_of(**options)
    if (count is None) == (source is None):
        raise ArgumentError("exactly one of --count and --from must be given")
    if source is not None:
        made = _invitations(source)
        operator.install()
        operator.invite(made)
        say(as_json, {"invitations": len(made), "file": str(source)})
        return
    count = checks.integer("count", count, 1, 10_000_000)
    if out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet (or use --from)")
    operator.install()
    operator.check_inviting(count)
    made = new_invitations(count)
    link = f"{operator.campaign.collector}/v1/campaigns/{operator.campaign.hash}"
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["invitation", "link"])
    rows.writerows([entry, link] for entry in made)
    write_whole(out, text.getvalue(), private=True)
    try:
        operator.invite(made)
    except JrrError as error:
        again = shlex.join(["jrr", "invite", str(options["file"]), "--from", str(out)])
        raise ArgumentError(f"{error}; {out} is kept: when that is mended, {again}") from None
    say(as_json, {"invitations": count, "file": str(out)})


def _invitations(file: Path) -> list[str]:
    from jrr.survey.identity import invitation_secret

    if not file.is_file():
        raise checks.refusal("from", str(file), "a file that jrr invite wrote")
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            found = [str(row.get("invitation") or "") for row in csv.DictReader(lines)]
    except (UnicodeDecodeError, csv.Error):
        found = []
    if not found:
        raise checks.refusal("from", str(file), "a file that jrr invite wrote, with invitations")
    for entry in found:
        invitation_secret(entry)
    return found
