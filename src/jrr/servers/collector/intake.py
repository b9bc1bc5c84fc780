"""Reports that come in together: each is checked against what is stored and all before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from jrr.servers.collector.store import CollectorCampaign
from jrr.servers.common.jobs import check_invitation, check_state, check_times
from jrr.servers.common.problems import Problem, busy
from jrr.survey.messages import StoredReport
from jrr.survey.states import Act

NEARLY_FULL = 8_192  # reports: with less room, processes take turns, so that none is one too many
Serials = dict[tuple[int, bytes], bytes]  # dealer and serial number -> who came with it


@dataclass(frozen=True)
class IncomingReport:
    """A report that was read, for a campaign of so many people."""

    campaign: str
    n: int | None
    most: int  # reports that the campaign can take
    report: StoredReport

    def without_serials(self) -> "IncomingReport":
        """The same, as it is compared when serial numbers are forgotten."""
        return replace(self, report=_without_serials(self.report))


@dataclass
class Intake:
    """Reports of one campaign that are taken together."""

    held: CollectorCampaign
    invited: Mapping[bytes, Any] | None  # None: anybody may answer, or it was checked before
    kept: dict[bytes, StoredReport]  # stored, or taken just now; without serial numbers
    owners: Serials
    now: datetime
    new: list[StoredReport] = field(default_factory=list)

    def take(self, incoming: IncomingReport) -> bool:
        """Take one, or refuse it; False where the same one is here already."""
        if incoming.n != self.held.n:  # it was read just before the number of people was fixed
            raise busy()
        if not self.is_new(incoming.report):
            return False
        self.keep(incoming.report)
        return True

    def is_new(self, report: StoredReport) -> bool:
        """Whether it must be kept, or is here already; refuses any other."""
        if self.invited is not None:
            check_invitation(self.invited.get(report.name))
        if self._is_repeat(report):
            return False
        check_state(Act.REPORT, self.held)
        check_times(self.held.campaign, self.now)
        if self.held.arrivals + len(self.new) >= self.held.campaign.capacity:
            raise Problem(409, "full", "the campaign has all the reports it can take")
        if any(serial in self.owners for serial in _serials(report)):
            raise Problem(409, "serial-used", "another report came with the serial of this card")
        return True

    def keep(self, report: StoredReport) -> None:
        """Take one that is new."""
        self.owners |= dict.fromkeys(_serials(report), report.name)
        self.kept[report.name] = _without_serials(report)
        self.new.append(report)

    def _is_repeat(self, report: StoredReport) -> bool:
        """Whether the same report was received before; refuses another one by the same person.

        A repeat is answered also after the end: its sender may not have heard the first answer.
        Serial numbers are those of the first one if all of them came from this person.
        """
        kept = self.kept.get(report.name)
        if kept is None:
            return False
        owners = {self.owners.get(serial) for serial in _serials(report)}
        if kept != _without_serials(report) or not owners <= {report.name}:
            raise Problem(409, "conflict", "another report was received under this pseudonym")
        return True


def _without_serials(report: StoredReport) -> StoredReport:
    return replace(report, serials=()) if report.serials else report


def _serials(report: StoredReport) -> list[tuple[int, bytes]]:
    """Dealer and serial number of its cards."""
    return [(at, serial) for at, serial in enumerate(report.serials) if serial is not None]
