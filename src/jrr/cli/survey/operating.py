"""`jrr survey open`, `deal`, `deal-in-group`, `extend`, `delete`: what operators do."""

import asyncio
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, show_servers, title_of
from jrr.cli.values import COUNT, FILE
from jrr.errors import ArgumentError


@click.command("open")
@operator_options
@click.option("-n", "n", type=COUNT, help="People dealt to: for a collector after enrolment.")
@json_option
def open_survey(n: int | None, **options: Any) -> None:
    """Give the document to the servers and open it.

    Where people enrol first, enrolment is opened.
    """
    operator = operator_of(**options)
    operator.install()
    show_servers(operator.survey, operator.open(n))


@click.command()
@operator_options
@click.option(
    "--patience", type=float, default=60.0, help="Seconds that a step of a committee may take."
)
@click.option(
    "--join",
    type=float,
    default=60.0,
    help="Seconds that parties of a committee wait for one another.",
)
@click.option("--again", is_flag=True, help="Discard a deal that not all parties have.")
@json_option
def deal(patience: float, join: float, again: bool, **options: Any) -> None:
    """End enrolment and deal to exactly those who enrolled.

    A committee deals together: this acts on the parties whose tokens are given, and the operators
    of the others run the same command within --join seconds.
    """
    operator = operator_of(**options)
    with waiting("dealing"):
        n = operator.deal(patience, join, again)
    show({"survey": operator.survey.hash, "n": n}, f"Dealt to {n:,} people.")


@click.command()
@operator_options
@click.argument("closes")
@json_option
def extend(closes: str, **options: Any) -> None:
    """Take answers until a later time, CLOSES, in UTC as 2026-01-31T12:00:00Z.

    At every server whose token is given; each keeps its own time, so the dealer has to be told,
    too: after its time nobody gets a card. People are shown both times.
    """
    operator = operator_of(**options)
    found = operator.extend(closes)
    show(
        {"survey": operator.survey.hash, "closes": found},
        *(f"{server}: answers are taken until {when}" for server, when in found.items()),
    )


@click.command()
@operator_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(yes: bool, **options: Any) -> None:
    """Delete a survey's data at its servers, for good.

    Answers, results, invitations and seats go, at every server whose token is given. The document
    stays, with the time of deletion. A survey that takes answers has to be closed first.
    """
    operator = operator_of(**options)
    servers = " and ".join(operator.servers)
    if not servers:
        raise ArgumentError("a token must be given: JRR_COLLECTOR_TOKEN, JRR_DEALER_TOKEN")
    question = f"Delete all data of {title_of(operator.survey)!r} at {servers}, for good?"
    if not yes and not click.confirm(question, err=True):
        raise click.Abort
    found = operator.delete()
    show(
        {"survey": operator.survey.hash, "deleted": found},
        *(f"{server}: deleted at {when}" for server, when in found.items()),
    )


@click.command("deal-in-group")
@click.argument("file", type=FILE)
@click.option("--index", type=int, required=True, help="Which contributor you are, from 0.")
@click.option("--certificate", type=FILE, required=True, help="Your certificate, in PEM.")
@click.option("--key", type=FILE, required=True, help="Its key.")
@click.option("-o", "--out", type=FILE, help="For a survey: where your card goes.")
@click.option("--patience", type=float, default=30.0, help="Seconds a step.")
@click.option("--join", type=float, default=60.0, help="Seconds to meet.")
@json_option
def deal_in_group(
    *,
    file: Path,
    index: int,
    certificate: Path,
    key: Path,
    out: Path | None,
    patience: float,
    join: float,
) -> None:
    """Deal among contributors: each learns its own card and nothing else.

    FILE is the same for all: {"name": …, "threshold": …, "members": [{"link": "host:port",
    "certificate": "-----BEGIN…"}, …]}, 3 to 16 members; the name must be a new one each time. With
    "survey": LINK in it the cards are for a survey whose contributors deal among themselves
    (jrr survey create --groups): write yours by -o and give it to jrr survey answer --card.
    """
    from jrr.dealing.committee.group import deal_among
    from jrr.dealing.committee.meeting import Identity
    from jrr.dealing.group_place import GroupPlace, read_group
    from jrr.servers.common.certificates import check_pair

    members = read_group(file)
    index = checks.integer("index", index, 0, len(members.peers) - 1)
    check_pair("certificate and key", certificate, key)
    if (out is None) != (members.survey is None):
        raise checks.refusal("out", out and str(out), "given exactly where FILE names a survey")
    if out is not None and out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet")
    with waiting("dealing together with the other members"):
        own = asyncio.run(
            deal_among(
                index,
                members.peers,
                Identity(str(certificate), str(key)),
                members.agreed_name,
                threshold=members.threshold,
                patience=checks.positive("patience", patience),
                join=checks.positive("join", join),
            )
        )
    if out is not None and members.survey is not None:
        GroupPlace(
            survey=members.survey,
            group=members.name,
            members=len(members.peers),
            threshold=members.effective_threshold,
            shuffled_id=own.shuffled_id,
        ).write(out)
        show(
            {"card": str(out), "survey": members.survey},
            f"Your card is in {out}: jrr survey answer LINK --card {out}",
        )
        return
    show(
        {
            "shuffled_id": own.shuffled_id,
            "pair": own.pair,
            "card": own.card,
            "bytes_sent": own.traffic.sent,
            "messages_sent": own.traffic.messages,
        },
        f"Your card: {own.card:+d} (shuffled ID {own.shuffled_id}).",
    )
