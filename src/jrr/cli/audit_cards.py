"""`jrr audit-cards`: an auditor takes cards as contributors do, and counts their faces."""

from pathlib import Path

import click

from jrr.cli.options import console, json_option, print_json

CHEATED = 1  # exit code
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("audit-cards")
@click.argument("campaign", type=FILE)
@click.option(
    "--from",
    "source",
    type=FILE,
    required=True,
    help="Invitations that nobody answers by: a file that jrr invite wrote.",
)
@json_option
@click.pass_context
def command(context: click.Context, campaign: Path, source: Path, as_json: bool) -> None:
    """Take cards as any contributor would, and hold their faces against the deck.

    CAMPAIGN is its document. The dealer must not know which invitations are the auditor's. Cards
    that were taken are lost for answers, and count as colluders' cards: the auditor must not be
    the collector, or the campaign must allow for so many colluders. `jrr campaign show --audited`
    then says which swaps would have been noticed with which chance. Exit codes: 0 no fault found,
    1 the faces are not those of an honest deck (an honest dealer meets that once in 1,000 audits).

    \b
    jrr invite campaign.json --count 200 -o auditors.csv
    jrr audit-cards campaign.json --from auditors.csv
    """  # noqa: D301 - click reads the \b
    from jrr.client.card_audits import audit_dealer
    from jrr.client.invitations import read_invitations
    from jrr.survey.campaign import Campaign
    from jrr.protocol.identity import invitation_secret

    asked = Campaign.from_bytes(campaign.read_bytes())
    secrets = [invitation_secret(text) for text in read_invitations(source)]
    found = audit_dealer(asked, secrets)
    if as_json:
        print_json(found.to_dict())
    else:
        for face, cards in found.faces.items():
            low, high = found.expected[face]
            console().print(f"Face {face}: {cards} of {found.audited} cards; {low} to {high} fit.")
        console().print("No fault found." if found.passed else "The deck is not what it should be.")
    if not found.passed:
        context.exit(CHEATED)
