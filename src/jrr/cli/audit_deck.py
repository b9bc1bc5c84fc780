"""`jrr audit-deck`: anybody checks a dealer's decks from what it published."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base.documents import read_json
from jrr.cli.options import console, json_option, print_json
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.client.deck_audits import PublishedDecks

CHEATED = 1  # exit code
ANY = 700.0  # ε, the most there is: an audit costs nothing


@click.command("audit-deck")
@click.argument(
    "published", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--notes",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What was noted in time: promises, beacon, commitment, coin; by lot: enrolment, lot.",
)
@click.option(
    "--card",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check your own card too: the file with its proof.",
)
@click.option("--mark", help="With --card: your mark, in hexadecimal digits.")
@click.option(
    "--campaign",
    help="Instead of files: the document of a campaign or survey, or its link; both servers are "
    "asked.",
)
@click.option(
    "--invitation",
    envvar="JRR_INVITATION",
    help="With --campaign: yours, to check the place of your own card.  [env: JRR_INVITATION]",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --invitation: the directory that you answered from.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --campaign: a directory for published.json and notes.json; of a survey one in it "
    "for each part.",
)
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificates to trust, in PEM.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    published: Path | None,
    notes: Path | None,
    card: Path | None,
    mark: str | None,
    campaign: str | None,
    invitation: str | None,
    state: Path | None,
    out: Path | None,
    ca: Path | None,
    as_json: bool,
) -> None:
    """Check from public data that a dealer dealt what it committed to.

    PUBLISHED is the dealer's document: it committed to several decks, a public coin picked the one
    that is dealt, the others were opened and are drawn again here. The notes hold what you wrote
    down when it was published, and beacon and coin as you looked them up at the sources that the
    document names: without them a dealer could have written everything in the end. Of a campaign
    with committed decks the collector has taken the notes, and --campaign asks both servers. Exit
    codes: 0 no cheating found, 1 cheating found.

    \b
    jrr audit-deck published.json --notes notes.json
    jrr audit-deck published.json --notes notes.json --card proof.json --mark 5f0c…
    jrr audit-deck --campaign campaign.json
    """  # noqa: D301 - click reads the \b
    if campaign is not None:
        if published is not None or notes is not None or card is not None:
            raise ArgumentError("PUBLISHED, --notes and --card must be left out with --campaign")
        if _is_survey(campaign):
            parts = _audited_parts(campaign, invitation, state, ca)
        else:
            parts = {"": _audited(campaign, invitation, state, ca)}
        _say_audited(parts, out, as_json)
        if any(found.faults for found in parts.values()):
            context.exit(CHEATED)
        return
    if published is None or notes is None:
        raise ArgumentError("PUBLISHED and --notes must be given, or --campaign")
    from jrr._base import checks
    from jrr.survey.cut_and_choose import CardProof, Notes, Published, audit_decks, check_card
    from jrr.survey.cut_and_choose.rules import BYTES

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


def _audited(
    campaign: str, invitation: str | None, state: Path | None, ca: Path | None
) -> "PublishedDecks":
    """What both servers show of a campaign's decks; with an invitation, one's own place too."""
    from jrr.client.contributor import Contributor
    from jrr.client.deck_audits import audit_campaign
    from jrr.survey.campaign import Campaign

    file = Path(campaign)
    asked = Campaign.from_bytes(file.read_bytes()) if file.is_file() else None
    if asked is not None and invitation is None:
        return audit_campaign(asked, ca)
    link = campaign if asked is None else asked.link
    person = Contributor(link, invitation, limit=ANY, state=state, ca=ca)
    if invitation is None:
        return audit_campaign(person.campaign, ca)
    return person.check_place()


def _is_survey(campaign: str) -> bool:
    """Whether a file or link is of a survey."""
    from jrr.protocol.addresses import survey_path
    from jrr.survey.surveys import is_survey

    file = Path(campaign)
    return is_survey(file.read_bytes()) if file.is_file() else survey_path("") in campaign


def _audited_parts(
    survey: str, invitation: str | None, state: Path | None, ca: Path | None
) -> "dict[str, PublishedDecks]":
    """As `_audited`, of every part of a survey whose decks are committed to."""
    from jrr.client.deck_audits import audit_survey
    from jrr.client.survey_contributor import SurveyContributor
    from jrr.survey.surveys import read_survey

    file = Path(survey)
    asked = read_survey(file.read_bytes()) if file.is_file() else None
    if asked is not None and invitation is None:
        return audit_survey(asked, ca)
    link = survey if asked is None else asked.link
    person = SurveyContributor(link, invitation, limit=ANY, state=state, ca=ca)
    return audit_survey(person.survey, ca) if invitation is None else person.check_places()


def _say_audited(parts: "dict[str, PublishedDecks]", out: Path | None, as_json: bool) -> None:
    """Write and print what was found: of a campaign, whose name is empty, or of every part."""
    for name, found in parts.items():
        if out is not None:
            found.write(out / name)
        if not as_json:
            console().print(f"{name}: {found.sentence}" if name else found.sentence)
    if as_json and "" in parts:
        print_json(parts[""].to_dict())
    elif as_json:
        passed = not any(found.faults for found in parts.values())
        found_of = {name: found.to_dict() for name, found in parts.items()}
        print_json({"passed": passed, "parts": found_of})


def _read(argument: str, path: Path) -> Any:
    return read_json(argument, path.read_text(encoding="utf-8"), "a JSON document")
