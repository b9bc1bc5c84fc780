"""How many have answered; and what takes longer to count, once for all pages.

Reports have no times and no order, so that there is nothing to draw but how many there are.

What a dealer told one operator is shown to no other, who may have no token of that dealer: so there
is a snapshot for each survey and each set of dealers' tokens. Of each of these, one is taken at a
time and kept until more answers have come; taking them is at most a twentieth of the time, so that
uploads do not wait.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from jrr.client.report import ReportWish, survey_report
from jrr.console.operators import operator_of
from jrr.console.pages import read
from jrr.errors import JrrError
from jrr.protocol.states import OPEN, State
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.tokens import token_digest

if TYPE_CHECKING:
    from jrr.console.pages import Console
    from jrr.console.sessions import Session
    from jrr.reporting.report_facts import Participation, SurveyReport
    from jrr.survey.survey import Survey

SHARE = 20  # one that took a second is not repeated for so many
PAUSE = 10.0  # seconds between two of them, at least


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What the collector knows of a survey without counting its reports anew."""

    state: State
    answered: int  # people
    closes: "str | None" = None  # until when answers are taken, in UTC
    next_sums: "int | None" = None  # which announcement comes next; None: no more


def counts_of(connection: Connection, survey: "Survey") -> Counts:
    """The counts of this moment."""
    store = CollectorStore(connection)
    stored = store.find(survey.hash)
    people, next_sums = store.people_count(stored), stored.next_announcement
    return Counts(state=stored.state, answered=people, closes=stored.closes, next_sums=next_sums)


def by_day(connection: Connection, survey: "Survey") -> dict[str, int]:
    """Day in UTC -> people whose answers came."""
    return CollectorStore(connection).by_day(survey.hash)


def count_invited(connection: Connection, survey: "Survey") -> int:
    """How many are invited; takes longer the more there are."""
    store = CollectorStore(connection)
    return store.count(store.invited, survey.hash)


def without_card(connection: Connection, survey: "Survey") -> int:
    """How many answered without a card; takes longer the more reports there are."""
    # Those questions first that everybody is asked.
    dealt = sorted(survey.dealt, key=lambda question: not question.is_for_everybody)
    if not dealt:
        return 0
    names = [question.name for question in survey.sensitive]
    some = dealt[:1] if dealt[0].is_for_everybody else dealt
    table = CollectorStore.reports
    query = (
        select(func.count(table.c.pseudonym.distinct()))
        .select_from(table)
        .where(
            table.c.survey == survey.hash,
            table.c.question.in_([names.index(question.name) for question in some]),
            table.c.carded.is_(False),
        )
    )
    return int(connection.execute(query).scalar_one())


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A survey at one moment."""

    counts: Counts
    report: "SurveyReport"  # without groups
    people: "Participation"  # as of this moment, results or none
    dealer_error: str = ""  # why a dealer's counts are not among them
    seconds: float = 0.0  # that it took
    number: int = 0  # of this snapshot: changes with each


@dataclass
class _KeptSnapshot:
    latest: Snapshot | None = None
    at: float = 0.0  # when it ended
    turn: threading.Lock = field(default_factory=threading.Lock)


Key = tuple[str, tuple[str, ...]]  # of a survey its hash, and hashes of dealers' tokens


def snapshot_key(survey: "Survey", session: "Session | None") -> Key:
    """What pages must have in common to share a snapshot."""
    tokens = {} if session is None else session.dealer_tokens
    known = [tokens[at] for at in survey.dealing.addresses if at in tokens]
    return survey.hash, tuple(map(token_digest, known))  # tokens themselves leave with the session


def report_of(
    console: "Console", survey: "Survey", session: "Session | None", wish: ReportWish
) -> "SurveyReport":
    """The facts of a report, as `jrr survey report` has them."""
    return survey_report(operator_of(console, survey, session), wish)


class Snapshots:
    """The latest snapshot of each survey."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._kept: dict[Key, _KeptSnapshot] = {}

    def latest(self, survey: "Survey", session: "Session | None" = None) -> Snapshot | None:
        """The last one, if there is any."""
        kept = self._kept.get(snapshot_key(survey, session))
        return None if kept is None else kept.latest

    def take(self, survey: "Survey", session: "Session | None" = None) -> Snapshot:
        """One of now, or of a moment ago."""
        key = snapshot_key(survey, session)
        kept = self._kept.setdefault(key, _KeptSnapshot())
        with kept.turn:
            has_dealer = bool(key[1])
            if kept.latest is not None and not self._is_due(survey, kept, has_dealer):
                return kept.latest
            begun = self._clock()
            number = 1 if kept.latest is None else kept.latest.number + 1
            found = self._taken(survey, session if has_dealer else None)
            kept.at = self._clock()
            kept.latest = replace(found, seconds=kept.at - begun, number=number)
            return kept.latest

    def is_due(self, survey: "Survey", session: "Session | None" = None) -> bool:
        """Whether another one would be taken now."""
        key = snapshot_key(survey, session)
        kept = self._kept.get(key)
        return kept is None or kept.latest is None or self._is_due(survey, kept, bool(key[1]))

    def forget(self, survey: "Survey") -> None:
        """Something was done to it: take another one at the next occasion."""
        for key in [key for key in list(self._kept) if key[0] == survey.hash]:
            self._kept.pop(key, None)

    def _is_due(self, survey: "Survey", kept: _KeptSnapshot, has_dealer: bool) -> bool:
        assert kept.latest is not None  # asked before
        rested = self._clock() - kept.at
        if rested < max(PAUSE, SHARE * kept.latest.seconds):
            return False
        is_live = has_dealer and kept.latest.counts.state == OPEN
        return is_live or read(self._console, counts_of, survey) != kept.latest.counts

    def _taken(self, survey: "Survey", session: "Session | None") -> Snapshot:
        console, error = self._console, ""
        counts = read(console, counts_of, survey)
        wish = ReportWish(by=())
        try:
            report = report_of(console, survey, session, wish)
        except JrrError as refused:
            if session is None:
                raise
            error = str(refused)  # a dealer's: the collector's own counts go without it
            report = report_of(console, survey, None, wish)
        people = report.participation
        if report.deals and people.carded is None:
            bare = read(console, without_card, survey)
            people = replace(people, carded=people.answered - bare, cardless=bare)
        return Snapshot(counts=counts, report=report, people=people, dealer_error=error)


def snapshots_of(console: "Console") -> Snapshots:
    """Those that all pages of a console share."""
    snapshots: Snapshots = console.more.setdefault("snapshots", Snapshots(console))
    return snapshots


def facts_of(survey: "Survey", counts: Counts, latest: Snapshot | None) -> dict[str, Any]:
    """What a page shows, in words and figures; the same on the page itself and in its events."""
    invited = None if latest is None else latest.people.invited
    answered = counts.answered
    facts: dict[str, Any] = {
        "state": str(counts.state),
        "answered": f"{answered:,}",
        "of": f"{survey.capacity:,}",
        "invited": "" if invited is None else f"{invited:,}",
        "rate": f"{100 * answered / invited:.1f}%" if invited else "",
        "share": round(100 * answered / max(1, invited or survey.capacity), 1),
        "dealt": "",
        "out": "",
        "began": "",
        "cardless": "",
        "snapshot": 0 if latest is None else latest.number,
    }
    if latest is not None:
        people = latest.people
        facts["cardless"] = "" if people.cardless is None else f"{people.cardless:,}"
        facts["dealt"] = "" if people.dealt is None else f"{people.dealt:,}"
        if people.dealt is not None and people.carded is not None:
            # Who answered since the dealers were asked has a card, too.
            carded = people.carded + max(0, answered - people.answered)
            people = replace(people, carded=carded, dealt=max(people.dealt, carded))
            facts["dealt"] = f"{people.dealt:,}"
            facts["began"] = facts["dealt"] if survey.announces else ""
        facts["out"] = "" if people.lost is None else f"{people.lost:,}"
    return facts
