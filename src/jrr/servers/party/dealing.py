"""A party's deal with the others: several jobs, and between them the committee's protocol."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.servers.common.batch import Writer
from jrr.servers.common.problems import Problem
from jrr.servers.party.jobs import PartyJobs
from jrr.survey.committee.dealing import Abort, MissingPartyError
from jrr.survey.committee.party_deal import DealingParty, Keeper, deal_shares
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
    loop = asyncio.get_running_loop()

    def by_writer(job: Callable[..., None]) -> Callable[..., None]:
        """The job on the database, called in the thread of the meeting, which waits for it."""

        def call(*arguments: Any) -> None:
            work = writer.run(job, name, *arguments)
            asyncio.run_coroutine_threadsafe(work, loop).result()

        return call

    keeper = Keeper(
        keep=by_writer(jobs.keep_deal),
        discard=by_writer(jobs.discard_deal),
        publish=by_writer(jobs.publish_deal),
        settle=by_writer(jobs.settle_deal),
    )
    party = DealingParty(
        number=jobs.number(begun.campaign),
        identity=jobs.identity,
        members=begun.roster,
        patience=wish.patience,
        join=wish.join,
        listen=jobs.listen(begun.campaign),
        kept=begun.kept,
        again=wish.again,
    )
    work = deal_shares(deal_order(begun.campaign), party, keeper=keeper)
    try:
        # In a thread with a loop of its own: arithmetic must not keep contributors waiting.
        dealt = await asyncio.to_thread(asyncio.run, work)
    except (Abort, OSError) as error:
        # What is kept stays: another party may have heard that all keep it, and serve it.
        missing = isinstance(error, MissingPartyError | OSError)
        if missing and begun.kept is not None and begun.kept.published:
            return await writer.run(jobs.deal_facts, name)  # done here, and the others do not ask
        kind = MISSING_PARTY if missing else ABORTED_DEAL
        raise Problem(409, kind, f"no cards were dealt: {error}") from None
    facts = await writer.run(jobs.deal_facts, name)
    if dealt is None:
        return facts
    return facts | {"bytes_sent": dealt.traffic.sent, "messages_sent": dealt.traffic.messages}
