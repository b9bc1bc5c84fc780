"""A whole survey over HTTP: two servers as processes of their own, and every contributor."""

import asyncio
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from jrr.client.fleet import drive_all
from jrr.client.operator import Operator, new_invitations
from jrr.errors import ArgumentError
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.planning.plans import Plan
from jrr.research.demo import DemoRun
from jrr.research.processes import Running, committee_of, running
from jrr.survey import contributor
from jrr.survey.campaign import ARRIVAL, ENROL
from jrr.survey.contributor import Limits, Reply, Step
from jrr.survey.creation import campaign_from
from jrr.survey.identity import invitation_secret

PARTIES = 3
QUESTION = "Have you ever taken a bribe?"
T = TypeVar("T")
Progress = Callable[[str, int, int], None]  # what is being done, how much, of how much


@dataclass(frozen=True)
class Demonstration:
    """What came out, and where it was made."""

    outcome: DemoRun
    campaign: str
    received: int
    estimate: dict[str, Any]  # as the collector replied


def run(
    plan: Plan,
    values: np.ndarray[Any, Any],
    folder: Path,
    databases: dict[str, str] | None = None,
    progress: Progress = lambda step, done, total: None,
    committee: bool = False,
) -> Demonstration:
    """Ask everybody over HTTP, by the plan's mechanism; the servers stop whatever happens.

    committee: three parties deal the cards together, and there is no dealer.
    """
    n, databases = len(values), databases or {}
    with ExitStack() as stack:

        def start(role: str, name: str) -> Running:
            progress(f"starting {name}", 0, 1)
            own = folder / name.replace(" ", "-")
            return stack.enter_context(running(role, own, databases.get(name)))

        collector = start("collector", "collector")
        deals = plan.mechanism.deals
        parties = [start("party", f"party {at}") for at in range(PARTIES * (committee and deals))]
        dealer = start("dealer", "dealer") if deals and not committee else None
        who = dealer.url if dealer is not None else committee_of(parties, 1) if parties else None
        campaign = campaign_from(
            plan,
            QUESTION,
            ("no", "yes"),
            collector.url,
            who,
            ENROL if parties else ARRIVAL,
            capacity=n,
        )
        operator = Operator(
            campaign,
            None if dealer is None else dealer.admin,
            collector.admin,
            tuple(party.admin for party in parties),
        )
        operator.install()
        progress("inviting", 0, 1)
        invitations = new_invitations(n)
        operator.invite(invitations)
        operator.open()
        link = f"{campaign.collector}{contributor.campaign_path(campaign.hash)}"
        limits = Limits(campaign.guarantee("cards"), patience=30.0)
        secrets = [invitation_secret(invitation) for invitation in invitations]
        devices = [os.urandom(32) for _ in secrets]
        if parties:
            _all(
                (
                    contributor.enrol(campaign, secret, limits, device)
                    for secret, device in zip(secrets, devices, strict=True)
                ),
                lambda done: progress("enrolling over HTTP", done, n),
            )
            progress("three parties shuffle and seal", 0, 1)
            operator.deal()
        received = _all(
            (
                _whole(link, secret, int(value), limits, device)
                for secret, value, device in zip(secrets, values, devices, strict=True)
            ),
            lambda done: progress("answering over HTTP", done, n),
        )
        progress("closing and burning the cards", 0, 1)
        operator.close()
        reply = operator.estimate()
        exported = operator.export("parquet")
    dealt = campaign.for_people(n)
    return Demonstration(
        DemoRun(replace(plan, mechanism=dealt), dealt.estimate(_tally(dealt, exported, folder))),
        campaign.hash,
        received,
        reply,
    )


def _all(
    conversations: Iterable[Generator[Step, Reply | None, T]], progress: Callable[[int], None]
) -> int:
    """Run them all; how many there were. One that fails is one too many."""
    results = asyncio.run(drive_all(conversations, progress))
    failed = [result for result in results if isinstance(result, Exception)]
    if failed:
        raise ArgumentError(
            f"{len(failed)} of {len(results)} contributors failed, the first by: {failed[0]}"
        )
    return len(results)


def _whole(
    link: str, secret: bytes, value: int, limits: Limits, device: bytes
) -> contributor.Conversation:
    """A contributor who has only the link and the invitation."""
    campaign = yield from contributor.fetch(link, limits)
    return (yield from contributor.contribute(campaign, secret, value, limits, device=device))


def _tally(mechanism: Mechanism, exported: bytes, folder: Path) -> Tally:
    """Count the exported file once more: what is shown is what anybody can check."""
    from jrr import tables

    path = folder / "reports.parquet"
    path.write_bytes(exported)
    header, counted = tables.tally(path)
    if header.mechanism != mechanism:
        raise ArgumentError("the collector must export the mechanism that was planned")
    return counted
