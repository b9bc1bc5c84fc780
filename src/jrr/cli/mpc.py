"""`jrr mpc`: cards without a dealer."""

import asyncio
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr.cli.operators import FILE, operator_of, operator_options
from jrr.cli.options import console, json_option, print_json
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError


@click.group()
def mpc() -> None:
    """Deal cards by multi-party computation: nobody knows who holds which card.

    A committee of independent parties deals for a campaign (`deal`), or a small group of
    contributors deals among itself (`group`).
    """


@mpc.command()
@operator_options
@click.option("--patience", type=float, default=60.0, show_default=True, help="Seconds a step.")
@click.option("--join", type=float, default=60.0, show_default=True, help="Seconds to meet.")
@click.option("--again", is_flag=True, help="Discard a deal that not all parties have.")
@json_option
def deal(patience: float, join: float, again: bool, as_json: bool, **options: Any) -> None:
    """End enrolment and deal, together with the other parties of the committee.

    Acts on the parties whose tokens are given; the operators of the others run the same
    command within --join seconds.
    """
    operator = operator_of(**options)
    if not operator.parties:
        raise ArgumentError("party_token must be given for at least one party, got none")
    with waiting("dealing together with the other parties"):
        n = operator.deal(patience, join, again)
    if as_json:
        print_json({"campaign": operator.campaign.hash, "n": n})
    else:
        console().print(f"Dealt to {n:,} people; nobody knows who holds which card.")


@mpc.command()
@click.argument("file", type=FILE)
@click.option("--index", type=int, required=True, help="Which contributor you are, from 0.")
@click.option("--certificate", type=FILE, required=True, help="Your certificate, in PEM.")
@click.option("--key", type=FILE, required=True, help="Its key.")
@click.option("-o", "--out", type=FILE, help="For a campaign: where your card goes.")
@click.option("--patience", type=float, default=30.0, show_default=True, help="Seconds a step.")
@click.option("--join", type=float, default=60.0, show_default=True, help="Seconds to meet.")
@json_option
def group(
    *,
    file: Path,
    index: int,
    certificate: Path,
    key: Path,
    out: Path | None,
    patience: float,
    join: float,
    as_json: bool,
) -> None:
    """Deal among contributors only, as in the paper: each learns its own card and nothing else.

    FILE is the same for all: {"name": …, "threshold": …, "members": [{"link": "host:port",
    "certificate": "-----BEGIN…"}, …]}, 3 to 16 members; the name must be a new one each time. With
    "campaign": LINK in it the cards are for a campaign whose contributors deal among themselves
    (jrr campaign create --groups): write yours by -o and give it to jrr contribute --card.
    """
    from jrr.servers.common.certificates import check_pair
    from jrr.dealing.committee.group import deal_among
    from jrr.dealing.committee.meeting import Identity
    from jrr.dealing.group_file import read_group
    from jrr.dealing.group_place import GroupPlace

    members = read_group(file)
    index = checks.integer("index", index, 0, len(members.peers) - 1)
    check_pair("certificate and key", certificate, key)
    if (out is None) != (members.campaign is None):
        raise checks.refusal("out", out and str(out), "given exactly where FILE names a campaign")
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
    if out is not None and members.campaign is not None:
        place = GroupPlace(
            campaign=members.campaign,
            group=members.name,
            members=len(members.peers),
            threshold=members.effective_threshold,
            shuffled_id=own.shuffled_id,
        )
        place.write(out)
        if as_json:
            print_json({"card": str(out), "campaign": members.campaign})
        else:
            console().print(f"Your card is in {out}: jrr contribute LINK --card {out}")
        return
    if as_json:
        print_json(
            {
                "shuffled_id": own.shuffled_id,
                "pair": own.pair,
                "card": own.card,
                "bytes_sent": own.traffic.sent,
                "messages_sent": own.traffic.messages,
            }
        )
    else:
        console().print(f"Your card: {own.card:+d} (shuffled ID {own.shuffled_id}).")
