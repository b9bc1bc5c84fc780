"""A whole survey over HTTP: two servers as processes of their own, and every contributor."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jrr.demo import Outcome
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism
from jrr.plan import Plan
from jrr.protocol import contributor
from jrr.protocol.contributor import Limits, Receipt
from jrr.protocol.creation import campaign_from
from jrr.protocol.identity import invitation_secret
from jrr.services.fleet import drive_all
from jrr.services.operator import Operator, new_invitations
from jrr.services.processes import Running, running
from jrr.tally import Tally

QUESTION = "Have you ever taken a bribe?"
Progress = Callable[[str, int, int], None]  # what is being done, how much, of how much


@dataclass(frozen=True)
class Demonstration:
    """What came out, and where it was made."""

    outcome: Outcome
    campaign: str
    received: int
    estimate: dict[str, Any]  # as the collector replied


def run(
    plan: Plan,
    values: np.ndarray[Any, Any],
    folder: Path,
    databases: dict[str, str] | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Demonstration:
    """Ask everybody over HTTP, by the plan's mechanism; the servers stop whatever happens."""
    n, databases = len(values), databases or {}
    with ExitStack() as stack:
        servers: dict[str, Running] = {}
        deals = plan.mechanism.moments.deck is not None
        for role in ("dealer", "collector") if deals else ("collector",):
            progress(f"starting the {role}", 0, 1)
            servers[role] = stack.enter_context(running(role, folder, databases.get(role)))
        dealer = servers.get("dealer")
        campaign = campaign_from(
            plan,
            QUESTION,
            ("no", "yes"),
            servers["collector"].url,
            None if dealer is None else dealer.url,
            capacity=n,
        )
        operator = Operator(
            campaign, None if dealer is None else dealer.admin, servers["collector"].admin
        )
        operator.install()
        progress("inviting", 0, 1)
        invitations = new_invitations(n)
        operator.invite(invitations)
        operator.open()
        link = f"{campaign.collector}{contributor.campaign_path(campaign.hash)}"
        limits = Limits(campaign.guarantee("cards"), patience=30.0)
        conversations = (
            _whole(link, invitation_secret(invitation), int(value), limits)
            for invitation, value in zip(invitations, values, strict=True)
        )
        results = asyncio.run(
            drive_all(conversations, lambda done: progress("answering over HTTP", done, n))
        )
        failed = [result for result in results if isinstance(result, Exception)]
        if failed:
            raise JrrError(f"{len(failed)} of {n} contributors failed, the first by: {failed[0]}")
        progress("closing and burning the cards", 0, 1)
        operator.close()
        reply = operator.estimate()
        exported = operator.export("parquet")
    return Demonstration(
        Outcome(plan, plan.mechanism.estimate(_tally(plan.mechanism, exported, folder))),
        campaign.hash,
        len(results),
        reply,
    )


def _whole(link: str, secret: bytes, value: int, limits: Limits) -> contributor.Conversation:
    """A contributor who has only the link and the invitation."""
    campaign = yield from contributor.fetch(link, limits)
    return (yield from contributor.contribute(campaign, secret, value, limits))


def _tally(mechanism: Mechanism, exported: bytes, folder: Path) -> Tally:
    """Count the exported file once more: what is shown is what anybody can check."""
    from jrr import tables

    path = folder / "reports.parquet"
    path.write_bytes(exported)
    header, counted = tables.tally(path)
    if header.mechanism != mechanism:
        raise JrrError("the collector must export the mechanism that was planned")
    return counted


def receipts(results: list[Receipt | Exception]) -> int:
    """How many were received with a card."""
    return sum(isinstance(result, Receipt) and result.carded for result in results)
