"""`jrr survey deal-in-group`: contributors deal among themselves."""

import asyncio
from pathlib import Path

import click

from jrr._base import checks
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.values import FILE


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
