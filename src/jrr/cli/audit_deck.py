"""`jrr audit-deck`: anybody checks a dealer's decks from what it published."""

from pathlib import Path
from typing import Any

import click

from jrr._base.documents import read_json
from jrr.cli.options import console, json_option, print_json

CHEATED = 1  # exit code


@click.command("audit-deck")
@click.argument("published", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--notes",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What was noted in time: promises, beacon, commitment, coin; by lot: enrolment, lot.",
)
@click.option(
    "--card",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check your own card too: the file with its proof.",
)
@click.option("--mark", help="With --card: your mark, in hexadecimal digits.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    published: Path,
    notes: Path,
    card: Path | None,
    mark: str | None,
    as_json: bool,
) -> None:
    """Check from public data that a dealer dealt what it committed to.

    PUBLISHED is the dealer's document: it committed to several decks, a public coin picked the one
    that is dealt, the others were opened and are drawn again here. The notes hold what you wrote
    down when it was published, and beacon and coin as you looked them up at the sources that the
    document names: without them a dealer could have written everything in the end. Exit codes: 0
    no cheating found, 1 cheating found.

    \b
    jrr audit-deck published.json --notes notes.json
    jrr audit-deck published.json --notes notes.json --card proof.json --mark 5f0c…
    """  # noqa: D301 - click reads the \b
    from jrr._base import checks
    from jrr.survey.cut_and_choose import CardProof, Notes, Published, audit_decks, check_card
    from jrr.survey.cut_and_choose.leaves import BYTES

    document = Published.from_dict(_read("published", published))
    finding = audit_decks(document, Notes.from_dict(_read("notes", notes)))
    faults: list[str] = []
    if card is not None:
        own = None if mark is None else checks.from_hex("mark", mark, BYTES)
        faults = check_card(document, CardProof.from_dict(_read("card", card)), own)
    if as_json:
        facts: dict[str, Any] = finding.to_dict()
        if card is not None:
            facts["card_faults"] = faults
        print_json(facts)
    else:
        console().print(finding.sentence)
        if card is not None:
            console().print(f"Your card: {'; '.join(faults) or 'as committed'}.")
    if faults or not finding.passed:
        context.exit(CHEATED)


def _read(argument: str, path: Path) -> Any:
    return read_json(argument, path.read_text(encoding="utf-8"), "a JSON document")
