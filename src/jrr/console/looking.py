"""What takes longer the more reports there are, computed once for everybody who looks.

Of a survey there is one look at a time, kept until more answers have come; and looks take at most
a twentieth of the time, so that uploads do not wait for them.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from jrr.client.operator import Operator
from jrr.client.report import ReportWish, campaign_report, survey_report
from jrr.console.counts import Counts, counts_of, without_card
from jrr.console.desk import Desk
from jrr.console.held import HeldDocument, operator_of, read
from jrr.console.sessions import Session
from jrr.errors import JrrError
from jrr.reporting.report_facts import CampaignReport, Participation

SHARE = 20  # a look that took a second is not repeated for so many
PAUSE = 10.0  # seconds between two looks, at least


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen."""

    counts: Counts
    report: CampaignReport  # without groups
    people: Participation  # as of this moment, results or none
    dealer_error: str = ""  # why a dealer's counts are not among them
    seconds: float = 0.0  # that it took
    number: int = 0  # of this look: changes with each

    @property
    def cards_out(self) -> int | None:
        """Cards that were dealt and with which no answer has come; None: not known here."""
        return self.people.lost


@dataclass
class _KeptLook:
    look: Look | None = None
    at: float = 0.0  # when it ended
    with_dealer: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)


def report_of(
    desk: Desk, held: HeldDocument, session: Session | None, wish: ReportWish
) -> CampaignReport:
    """The facts of a report, as `jrr campaign report` has them."""
    operator = operator_of(desk, held, session)
    if isinstance(operator, Operator):
        return campaign_report(operator, wish)
    return survey_report(operator, wish)


class Looks:
    """The latest look at each survey."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._clock = desk, clock
        self._kept: dict[str, _KeptLook] = {}

    def latest(self, held: HeldDocument) -> Look | None:
        """What was seen last, if anything was."""
        kept = self._kept.get(held.name)
        return None if kept is None else kept.look

    def look(self, held: HeldDocument, session: Session | None = None) -> Look:
        """What is seen now, or was seen a moment ago."""
        kept = self._kept.setdefault(held.name, _KeptLook())
        with kept.turn:
            has_dealer = _has_dealer(held, session)
            if kept.look is not None and not self._is_due(held, kept, has_dealer):
                return kept.look
            begun = self._clock()
            number = 1 if kept.look is None else kept.look.number + 1
            found = self._seen(held, session if has_dealer else None)
            kept.at = self._clock()
            kept.look = replace(found, seconds=kept.at - begun, number=number)
            kept.with_dealer = has_dealer
            return kept.look

    def is_due(self, held: HeldDocument, session: Session | None = None) -> bool:
        """Whether another look would be taken now."""
        kept = self._kept.get(held.name)
        if kept is None or kept.look is None:
            return True
        return self._is_due(held, kept, _has_dealer(held, session))

    def forget(self, held: HeldDocument) -> None:
        """Something was done to it: look again at the next occasion."""
        self._kept.pop(held.name, None)

    def _is_due(self, held: HeldDocument, kept: _KeptLook, has_dealer: bool) -> bool:
        assert kept.look is not None  # asked before
        if has_dealer and not kept.with_dealer:
            return True
        rested = self._clock() - kept.at
        if rested < max(PAUSE, SHARE * kept.look.seconds):
            return False
        is_live = has_dealer and kept.look.counts.state == "open"
        return is_live or read(self._desk, counts_of, held.document) != kept.look.counts

    def _seen(self, held: HeldDocument, session: Session | None) -> Look:
        desk, error = self._desk, ""
        counts = read(desk, counts_of, held.document)
        wish = ReportWish(by=())
        try:
            report = report_of(desk, held, session, wish)
        except JrrError as refused:
            if session is None:
                raise
            error = str(refused)  # a dealer's: the collector's own counts go without it
            report = report_of(desk, held, None, wish)
        people = report.participation
        if report.deals and people.carded is None:
            bare = read(desk, without_card, held.document)
            people = replace(people, carded=people.answered - bare, cardless=bare)
        return Look(counts=counts, report=report, people=people, dealer_error=error)


def _has_dealer(held: HeldDocument, session: Session | None) -> bool:
    return session is not None and any(at in session.dealer_tokens for at in held.dealers)


def looks_of(desk: Desk) -> Looks:
    """Those that all pages of a console share."""
    looks: Looks = desk.more.setdefault("looks", Looks(desk))
    return looks


def facts_of(held: HeldDocument, counts: Counts, look: Look | None) -> dict[str, Any]:
    """What a page shows, in words and figures; the same on the page itself and in its events."""
    invited = None if look is None else look.people.invited
    answered = counts.answered
    facts: dict[str, Any] = {
        "state": str(counts.state),
        "answered": f"{answered:,}",
        "of": f"{held.first.capacity:,}",
        "invited": "" if invited is None else f"{invited:,}",
        "rate": f"{100 * answered / invited:.1f}%" if invited else "",
        "share": round(100 * answered / max(1, invited or held.first.capacity), 1),
        "dealt": "",
        "out": "",
        "cardless": "",
        "look": 0 if look is None else look.number,
    }
    if look is not None:
        people = look.people
        facts["cardless"] = "" if people.cardless is None else f"{people.cardless:,}"
        facts["dealt"] = "" if people.dealt is None else f"{people.dealt:,}"
        facts["out"] = "" if look.cards_out is None else f"{look.cards_out:,}"
    return facts
