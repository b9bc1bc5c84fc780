"""`jrr mpc`: cards without a dealer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr.cli.operators import FILE, operator_of, operator_options
from jrr.cli.options import console, json_option, print_json
from jrr.errors import ArgumentError, JrrError


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
@click.option("--patience", type=float, default=30.0, show_default=True, help="Seconds a step.")
@click.option("--join", type=float, default=60.0, show_default=True, help="Seconds to meet.")
@json_option
def group(
    file: Path,
    index: int,
    certificate: Path,
    key: Path,
    patience: float,
    join: float,
    as_json: bool,
) -> None:
    """Deal among contributors only, as in the paper: each learns its own card and nothing else.

    FILE is the same for all: {"name": …, "threshold": …, "members": [{"link": "host:port",
    "certificate": "-----BEGIN…"}, …]}, up to 16 members; the name must be a new one each time.
    """
    from jrr.servers.common.certificates import check_pair
    from jrr.survey.committee.group import deal_among
    from jrr.survey.committee.link import Identity

    name, threshold, peers = _members(file)
    index = checks.integer("index", index, 0, len(peers) - 1)
    check_pair("certificate and key", certificate, key)
    place = asyncio.run(
        deal_among(
            index,
            peers,
            Identity(str(certificate), str(key)),
            name,
            threshold,
            checks.positive("patience", patience),
            checks.positive("join", join),
        )
    )
    facts = {
        "shuffled_id": place.shuffled_id,
        "pair": place.pair,
        "card": place.card,
        "bytes_sent": place.traffic.sent,
        "messages_sent": place.traffic.messages,
    }
    if as_json:
        print_json(facts)
    else:
        console().print(f"Your card: {place.card:+d} (shuffled ID {place.shuffled_id}).")


def _members(file: Path) -> tuple[str, int | None, list[Any]]:
    from jrr.survey.campaign import check_link
    from jrr.survey.committee.link import Peer

    try:
        document = json.loads(file.read_text("utf-8"))
        members = document["members"]
        peers = [Peer(*check_link(one["link"]), str(one["certificate"])) for one in members]
        name, threshold = str(document["name"]), document.get("threshold")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, JrrError):
            raise
        raise ArgumentError(
            f"file must name the group's members, {file} does not: {error!r}"
        ) from None
    except OSError:
        raise checks.refusal("file", str(file), "a file that exists") from None
    checks.integer("members", len(peers), 3, 16)
    if len({peer.certificate for peer in peers}) != len(peers):
        raise ArgumentError("members must have certificates of their own, got one twice")
    if threshold is not None:
        threshold = checks.integer("threshold", threshold, 1, (len(peers) - 1) // 2)
    return name, threshold, peers
