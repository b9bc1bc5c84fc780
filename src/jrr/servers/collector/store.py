"""What the collector stores: campaigns, and perturbed reports by the hash of a pseudonym.

Where card sums are announced it also stores the serial numbers that came with reports, until they
have been named to the dealer and the sum is here.
"""

import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    tuple_,
)

from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.servers.common.bulk import find_rows
from jrr.servers.common.store import (
    CampaignStore,
    HeldCampaign,
    arrivals_table,
    campaigns_table,
    invited_table,
    survey_column,
    surveys_table,
)
from jrr.survey.messages import StoredReport, report_limit
from jrr.survey.states import Role

ROWS = 20_000  # reports read at a time
LOOKED_UP = 2_000  # serial numbers in one query
SLOTS = 64  # counters of one campaign's reports

METADATA = MetaData()  # the tables of this server


@dataclass(frozen=True, kw_only=True)
class CollectorCampaign(HeldCampaign):
    """A campaign as the collector holds it."""

    told_decks: int | None  # from how many decks was dealt, once the dealer has said so
    sums: (
        dict[str, Any] | None
    )  # what dealers told of their cards (jrr.survey.told), once they have
    grouping: dict[str, Any] | None = (
        None  # in which groups sums are asked for (jrr.survey.grouping)
    )

    @cached_property
    def report_limit(self) -> int:
        """Bytes that no report exceeds."""
        return report_limit(self.campaign)

    @property
    def decks(self) -> int:
        """From how many decks was dealt; until it is told, the most there can be."""
        if self.told_decks is not None:
            return self.told_decks
        if self.campaign.enrols:
            return 1
        return self.campaign.mechanism.fewest_decks(self.campaign.capacity)


@dataclass(frozen=True, kw_only=True)
class ReportBlock:
    """Some reports, in the order of their hashes, without them."""

    reports: Any  # as the mechanism's `tally` takes them
    carded: Any  # one flag per report
    covariates: list[str]  # canonical JSON, one per report


@dataclass(frozen=True, kw_only=True)
class FixedResults:
    """What is shown before the end, where results must be some reports apart."""

    shown: Tally | None
    next: Tally  # shown when enough reports have come after it, or not at all


class CollectorStore(CampaignStore[CollectorCampaign]):
    """Queries of the collector within one transaction."""

    role = Role.COLLECTOR
    metadata = METADATA
    campaigns = campaigns_table(
        metadata,
        Column("decks", BigInteger),
        Column("sums", Text),  # JSON: what dealers told of their cards at the end
        Column("grouping", Text),  # JSON: in which groups sums are asked for, once it is closed
        survey_column(),
    )
    surveys = surveys_table(metadata)
    people = Table(
        "people",
        metadata,
        Column("survey", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        Column("open", Text, nullable=False),  # canonical JSON: open answers, as they are
        sqlite_with_rowid=False,
    )
    invited = invited_table(metadata)
    arrivals = arrivals_table(metadata)
    slot = secrets.randbelow(SLOTS)  # of several processes on one database each has its own
    reports = Table(
        "reports",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        Column("carded", Boolean, nullable=False),
        Column("report", LargeBinary, nullable=False),
        Column("covariates", Text, nullable=False),
        sqlite_with_rowid=False,
    )

    serials = Table(
        "serials",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("dealer", Integer, primary_key=True),  # its number in the campaign
        Column("serial", LargeBinary(16), primary_key=True),  # each once
        Column("pseudonym", LargeBinary(32), nullable=False),  # of the report
        Index("serials_by_report", "campaign", "pseudonym"),
        sqlite_with_rowid=False,
    )

    results = Table(
        "results",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("shown", Text),  # a tally in JSON
        Column("next", Text, nullable=False),  # a tally that is shown when enough came after it
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> CollectorCampaign:
        sums = None if row.sums is None else json.loads(row.sums)
        grouping = None if row.grouping is None else json.loads(row.grouping)
        return CollectorCampaign(**facts, told_decks=row.decks, sums=sums, grouping=grouping)

    def stored_reports(
        self, name: str, reports: Sequence[StoredReport]
    ) -> dict[bytes, StoredReport]:
        """What the senders of some reports have sent before, by hash of the pseudonym."""
        return self.all_stored_reports([name], {report.name for report in reports})[name]

    def all_stored_reports(
        self, names: Sequence[str], people: Iterable[bytes]
    ) -> dict[str, dict[bytes, StoredReport]]:
        """What some people have sent to each campaign, without serial numbers."""
        found: dict[str, dict[bytes, StoredReport]] = {name: {} for name in names}
        rows = find_rows(self.connection, self.reports, campaign=names, pseudonym=set(people))
        for row in rows:
            found[row.campaign][bytes(row.pseudonym)] = StoredReport(
                name=bytes(row.pseudonym),
                carded=bool(row.carded),
                report=bytes(row.report),
                covariates=row.covariates,
            )
        return found

    def add_reports(self, name: str, reports: Sequence[StoredReport]) -> None:
        """Keep reports, in random order."""
        self.add_all_reports([(name, report) for report in reports])

    def add_all_reports(self, reports: Sequence[tuple[str, StoredReport]]) -> None:
        """Keep reports of any campaigns, in random order."""
        self._add(
            self.reports,
            [
                {
                    "campaign": name,
                    "pseudonym": report.name,
                    "carded": report.carded,
                    "report": report.report,
                    "covariates": report.covariates,
                }
                for name, report in reports
            ],
        )
        self._add(
            self.serials,
            [
                {"campaign": name, "dealer": at, "serial": serial, "pseudonym": report.name}
                for name, report in reports
                for at, serial in enumerate(report.serials)
                if serial is not None
            ],
        )

    def serial_owners(
        self, reports: Iterable[tuple[str, StoredReport]]
    ) -> dict[str, dict[tuple[int, bytes], bytes]]:
        """Who came with the serial numbers in some reports before: by campaign, dealer, serial."""
        table = self.serials
        key = tuple_(table.c.campaign, table.c.dealer, table.c.serial)
        wanted = [
            (name, at, serial)
            for name, report in reports
            for at, serial in enumerate(report.serials)
            if serial is not None
        ]
        found: dict[str, dict[tuple[int, bytes], bytes]] = defaultdict(dict)
        for start in range(0, len(wanted), LOOKED_UP):
            some = wanted[start : start + LOOKED_UP]
            for row in self.connection.execute(select(table).where(key.in_(some))):
                found[row.campaign][row.dealer, bytes(row.serial)] = bytes(row.pseudonym)
        return found

    def people_of(self, survey: str, who: Iterable[bytes]) -> dict[bytes, str]:
        """The open answers of those of some people who have answered a survey."""
        table = self.people
        query = select(table.c.pseudonym, table.c.open).where(
            table.c.survey == survey, table.c.pseudonym.in_(set(who))
        )
        return {bytes(name): text for name, text in self.connection.execute(query)}

    def add_people(self, survey: str, answers: Mapping[bytes, str], total: int) -> None:
        """Keep open answers, in random order; total: about how many there are then."""
        rows = [{"survey": survey, "pseudonym": who, "open": text} for who, text in answers.items()]
        self._add(self.people, rows)
        if rows:
            self.connection.info.setdefault("arrivals", {})[survey] = total

    def named(self, name: str, dealer: int) -> Iterator[tuple[bytes, str]]:
        """Serial numbers of one dealer, with the covariates of the report of each."""
        table, reports = self.serials, self.reports
        query = (
            select(table.c.serial, reports.c.covariates)
            .join(
                reports,
                (reports.c.campaign == table.c.campaign)
                & (reports.c.pseudonym == table.c.pseudonym),
            )
            .where(table.c.campaign == name, table.c.dealer == dealer)
            .order_by(table.c.serial)
        )
        for serial, covariates in self.connection.execute(query):
            yield bytes(serial), covariates

    def card_counts(self, name: str) -> Iterator[tuple[int, str, int]]:
        """How many cards came back: number of the dealer, covariates, count."""
        table, reports = self.serials, self.reports
        columns = (table.c.dealer, reports.c.covariates)
        query = (
            select(*columns, func.count().label("cards"))
            .join(
                reports,
                (reports.c.campaign == table.c.campaign)
                & (reports.c.pseudonym == table.c.pseudonym),
            )
            .where(table.c.campaign == name)
            .group_by(*columns)
        )
        for row in self.connection.execute(query):
            yield row.dealer, row.covariates, row.cards

    def keep_grouping(self, held: CollectorCampaign, grouping: dict[str, Any]) -> None:
        """Keep in which groups dealers are asked for sums."""
        self._set(held.name, grouping=json.dumps(grouping))

    def discard(self, name: str, serials: Iterable[bytes]) -> int:
        """Delete the reports that came with these serial numbers; how many."""
        table, gone = self.serials, set()
        for serial in serials:
            query = select(table.c.pseudonym).where(
                table.c.campaign == name, table.c.serial == serial
            )
            gone |= {bytes(who) for (who,) in self.connection.execute(query)}
        for who in gone:
            for one in (table, self.reports):
                where = (one.c.campaign == name) & (one.c.pseudonym == who)
                self.connection.execute(delete(one).where(where))
        return len(gone)

    def keep_sums(self, name: str, sums: dict[str, Any]) -> None:
        """Keep what dealers told, and forget the serial numbers: nobody needs them any more."""
        self._set(name, sums=json.dumps(sums))
        self.connection.execute(delete(self.serials).where(self.serials.c.campaign == name))

    def fixed_results(self, name: str) -> FixedResults | None:
        """The tallies that are shown now and next; None where nobody asked yet."""
        table = self.results
        query = select(table).where(table.c.campaign == name)
        row = self.connection.execute(query).one_or_none()
        if row is None:
            return None
        shown = None if row.shown is None else Tally.from_json(row.shown)
        return FixedResults(shown=shown, next=Tally.from_json(row.next))

    def fix_results(self, name: str, fixed: FixedResults) -> None:
        """Keep the tallies that are shown now and next."""
        table = self.results
        self.connection.execute(delete(table).where(table.c.campaign == name))
        self.connection.execute(
            insert(table).values(
                campaign=name,
                shown=None if fixed.shown is None else fixed.shown.to_json(),
                next=fixed.next.to_json(),
            )
        )

    def report_blocks(
        self, name: str, mechanism: Mechanism, *, also_in: str | None = None
    ) -> Iterator[ReportBlock]:
        """Reports by the order of their hashes, some at a time.

        also_in: Only of people who have a report in this campaign too.
        """
        table = self.reports
        query = (
            select(table.c.report, table.c.carded, table.c.covariates)
            .where(table.c.campaign == name)
            .order_by(table.c.pseudonym)
        )
        if also_in is not None:
            others = select(table.c.pseudonym).where(table.c.campaign == also_in)
            query = query.where(table.c.pseudonym.in_(others))
        streaming = self.connection.execution_options(stream_results=True, yield_per=ROWS)
        for rows in streaming.execute(query).partitions(ROWS):
            joined = b"".join(bytes(report) for report, _, _ in rows)
            packed = np.frombuffer(joined, np.uint8).reshape(
                len(rows), mechanism.report_format.width
            )
            yield ReportBlock(
                reports=mechanism.report_format.unpack(packed),
                carded=np.array([flag for _, flag, _ in rows], np.bool_),
                covariates=[text for _, _, text in rows],
            )
