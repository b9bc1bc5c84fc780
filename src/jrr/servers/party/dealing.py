"""A party's deal with the others: several jobs, and between them the committee's protocol."""

import asyncio
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.servers.common.batch import Writer
from jrr.servers.common.problems import Problem
from jrr.servers.party.jobs import PartyJobs
from jrr.survey.committee.dealing import Abort, MissingPartyError
from jrr.survey.committee.rounds import DealingParty, DealtRounds, deal_rounds
from jrr.survey.committee_order import deal_order
from jrr.survey.problems import ABORTED_DEAL, MISSING_PARTY

LONGEST = 3600.0  # seconds that parties may wait for each other


@dataclass(frozen=True, kw_only=True)
class DealWish:
    """How the operator wants a deal to be done."""

    patience: float  # seconds for each message
    join: float  # seconds until all parties are there
    again: bool  # discard a deal that not all parties have

    def __post_init__(self) -> None:
        for name in ("patience", "join"):
            value = getattr(self, name)
            checks.real(name, value, "seconds > 0", 0.0, LONGEST, open_low=True)
        if not isinstance(self.again, bool):
            raise checks.refusal("again", self.again, "true or false")


async def deal_together(
    writer: Writer, jobs: PartyJobs, name: str, wish: DealWish
) -> dict[str, Any]:
    """Deal with the other parties; what the operator is told of it."""
    begun = await writer.run(jobs.begin_deal, name, wish.again)
    if begun is None:
        return await writer.run(jobs.deal_facts, name)
    campaign, roster = begun
    loop = asyncio.get_running_loop()

    def confirm(dealt: DealtRounds) -> None:
        job = writer.run(jobs.keep_deal, name, dealt)
        asyncio.run_coroutine_threadsafe(job, loop).result()

    party = DealingParty(
        number=jobs.number(campaign),
        identity=jobs.identity,
        members=roster,
        patience=wish.patience,
        join=wish.join,
        listen=jobs.listen(campaign),
    )
    work = deal_rounds(deal_order(campaign), party, confirm=confirm)
    try:
        # In a thread with a loop of its own: arithmetic must not keep contributors waiting.
        dealt = await asyncio.to_thread(asyncio.run, work)
    except (Abort, OSError) as error:
        await writer.run(jobs.discard_deal, name)
        missing = isinstance(error, MissingPartyError | OSError)
        kind = MISSING_PARTY if missing else ABORTED_DEAL
        raise Problem(409, kind, f"no cards were dealt: {error}") from None
    except Exception:
        await writer.run(jobs.discard_deal, name)
        raise
    try:
        await writer.run(jobs.publish_deal, name, len(dealt.members))
    except Problem:  # it was closed meanwhile
        await writer.run(jobs.discard_deal, name)
        raise
    traffic = {"bytes_sent": dealt.traffic.sent, "messages_sent": dealt.traffic.messages}
    return await writer.run(jobs.deal_facts, name) | traffic
