"""The collector as witness of committed decks: notes in time, draws after them, and audits."""

import json
import logging
from typing import Any

from sqlalchemy import Connection

from jrr.errors import DamagedError, IntegrityError
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.problems import Problem, no_decks, wrong_state
from jrr.survey.campaign import Campaign
from jrr.survey.cut_and_choose.published import Published
from jrr.protocol.problems import CHEATING
from jrr.protocol.states import CLOSED
from jrr.survey.told import ToldSums
from jrr.survey.witnessed import Witnessed
from jrr.survey.witnessing import checked, faults_of, noted

log = logging.getLogger("jrr.servers")


class Redrawing:
    """Opened decks that are to be drawn again, outside of any transaction: it takes seconds."""

    def __init__(
        self, campaign: Campaign, published: Published, notes: Witnessed, invited: int | None
    ) -> None:
        self.published = published
        self._facts = campaign, published, notes, invited

    def run(self) -> tuple[str, ...]:
        """What is wrong; nothing where all is as it should be."""
        return faults_of(*self._facts)


def read_published(body: bytes) -> Published:
    """What a dealer has published, in the body of a request."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise DamagedError("body must be JSON in UTF-8") from None
    return Published.from_dict(document)


def witness(connection: Connection, name: str, published: Published) -> Witnessed | Redrawing:
    """Write down what is new and draw what comes next; an audit where decks were opened."""
    store = CollectorStore(connection)
    held = store.find(name, lock=True)
    if not held.campaign.committed_decks:
        raise wrong_state("the campaign's dealer commits to no decks")
    before = held.witnessed
    if held.state == CLOSED and before.coin is None:
        raise wrong_state("the campaign is closed, and its decks were never opened")
    try:
        after = noted(before, held.campaign, published)
    except IntegrityError as error:
        log.error("the dealer of campaign %s: %s", name[:12], error)
        raise Problem(409, CHEATING, f"the dealer cheated: {error}") from None
    if after != before:
        store.keep_notes(name, after.to_document())
    if published.opened is None:
        return after
    if after.faults is not None and (published.marks is None or after.closing is not None):
        return after  # audited before
    # Of a part it is the survey that people are invited to.
    named = held.survey or name
    invited = store.count(store.invited, named) if held.campaign.invitations else None
    return Redrawing(held.campaign, published, after, invited)


def keep_faults(
    connection: Connection, name: str, published: Published, faults: tuple[str, ...]
) -> Witnessed:
    """Write down what an audit has found."""
    store = CollectorStore(connection)
    held = store.find(name, lock=True)
    after = checked(held.witnessed, published, faults)
    if after != held.witnessed:
        if faults:
            log.error("the dealer of campaign %s: %s", name[:12], "; ".join(faults))
        store.keep_notes(name, after.to_document())
        if after.passed and after.undealt is not None and held.sums is None:
            # The cards themselves were seen: no other sum is taken for theirs.
            told = {"announced": [], "undealt": dict(after.undealt)}
            store.keep_sums(name, ToldSums.from_document(held.campaign, told).to_document())
    return after


def shown(held: Any) -> dict[str, Any]:
    """What was written down, for everybody."""
    if not held.campaign.committed_decks:
        raise no_decks()
    document: dict[str, Any] = held.witnessed.to_document()
    return document
