"""A party's deal with the others: several jobs, and between them the committee's protocol."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.dealing.committee.aborts import Abort, MissingPartyError
from jrr.dealing.committee.deals import DealingParty, DealOrder, Keeper, deal_together
from jrr.protocol.documents import Message
from jrr.protocol.steps import ABORTED_DEAL, MISSING_PARTY
from jrr.servers.common.problems import Problem

if TYPE_CHECKING:
    from jrr.servers.common.batch import Writer
    from jrr.servers.party.jobs import PartyJobs

LONGEST = 3600.0  # seconds that parties may wait for each other


class DealWish(Message):
    """How the operator wants a deal to be done."""

    patience: float  # seconds for each message
    join: float  # seconds until all parties are there
    again: bool  # discard a deal that not all parties have

    def __post_init__(self) -> None:
        for name in ("patience", "join"):
            value = getattr(self, name)
            checks.real(name, value, "seconds > 0", 0.0, LONGEST, open_low=True)


async def deal_with_others(
    writer: "Writer", jobs: "PartyJobs", name: str, wish: DealWish
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
        number=jobs.number(begun.survey),
        identity=jobs.identity,
        members=begun.roster,
        patience=wish.patience,
        join=wish.join,
        listen=jobs.listen(begun.survey),
        kept=begun.kept,
        again=wish.again,
    )
    order = DealOrder.of(begun.survey, jobs.committee(begun.survey))
    work = deal_together(order, party, keeper=keeper)
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
