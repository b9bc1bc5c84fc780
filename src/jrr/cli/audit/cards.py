"""`jrr audit cards`: checks again what dealers told of verified cards."""

import json
from pathlib import Path
from typing import Any

import click

from jrr._base.wording import counted
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import read_survey_file
from jrr.cli.values import FILE
from jrr.errors import DamagedError


@click.command("cards")
@click.argument("survey", type=FILE)
@click.option(
    "--record", type=FILE, help="The public record in a file, instead of asking the collector."
)
@click.option("--keep", type=FILE, help="Write the record into this file.")
@click.option("--ca", type=FILE, help="File of certificates to trust, in PEM.")
@json_option
def cards(survey: Path, record: Path | None, keep: Path | None, ca: Path | None) -> None:
    """Check what dealers told of the verified cards of SURVEY, a survey's document.

    Anybody may: the record names cards and has no reports. Whoever keeps it can check it again
    when the servers are gone.

    \b
    jrr audit cards survey.json --keep record.json
    jrr audit cards survey.json --record record.json
    """  # noqa: D301 - click reads the \b
    from jrr.client.http import Admin
    from jrr.survey.card_record import check_record

    held = read_survey_file(survey)
    if record is None:
        with waiting("asking the collector"):
            read = Admin(held.collector, None, ca).get_bytes(f"{held.path}/record")
    else:
        read = record.read_bytes()
    with waiting("checking"):
        counts = check_record(held, _parsed(read))
    if keep is not None:
        keep.write_bytes(read)
    rounds = (divmod(at, len(held.dealing.addresses)) for at in range(len(counts)))
    names = [
        held.dealing.server_name(number) + (f", announcement {made + 1}" if made else "")
        for made, number in rounds
    ]
    by_name = dict(zip(names, counts, strict=True))
    facts: dict[str, Any] = {"survey": held.hash, "cards": by_name, "checked": True}
    show(
        facts,
        "Every sum is that of the cards that its dealer signed, with the noise that it promised."
        if any(counts)
        else "No card is in any sum: there was nothing to check.",
        (
            f"{name}: {counted(count, 'card', 'cards')}"
            for name, count in zip(names, counts, strict=True)
        ),
    )


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DamagedError("the record must be JSON, as a collector tells it")
    return found
