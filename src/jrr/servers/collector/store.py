"""What the collector stores: campaigns, and perturbed reports by the hash of a pseudonym."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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
)

from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.servers.common.store import (
    CampaignStore,
    HeldCampaign,
    campaigns_table,
    invited_table,
)
from jrr.survey.messages import StoredReport
from jrr.survey.states import Role

ROWS = 20_000  # reports read at a time


@dataclass(frozen=True, kw_only=True)
class CollectorCampaign(HeldCampaign):
    """A campaign as the collector holds it."""

    told_decks: int | None  # from how many decks was dealt, once the dealer has said so

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
    """Some reports of a round, in the order of their hashes, without them."""

    reports: Any  # as the mechanism's `tally` takes them
    carded: Any  # one flag per report
    covariates: list[str]  # canonical JSON, one per report


@dataclass(frozen=True, kw_only=True)
class FixedResults:
    """What is shown of a round before its end, where results must be some reports apart."""

    shown: Tally | None
    next: Tally  # shown when enough reports have come after it, or not at all


class CollectorStore(CampaignStore[CollectorCampaign]):
    """Queries of the collector within one transaction."""

    role = Role.COLLECTOR
    metadata = MetaData()
    campaigns = campaigns_table(metadata, Column("decks", BigInteger))
    invited = invited_table(metadata, Column("round", Integer, nullable=False))
    reports = Table(
        "reports",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        Column("round", Integer, nullable=False),
        Column("carded", Boolean, nullable=False),
        Column("report", LargeBinary, nullable=False),
        Column("covariates", Text, nullable=False),
        sqlite_with_rowid=False,
    )

    results = Table(
        "results",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("round", Integer, primary_key=True),
        Column("shown", Text),  # a tally in JSON
        Column("next", Text, nullable=False),  # a tally that is shown when enough came after it
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> CollectorCampaign:
        return CollectorCampaign(**facts, told_decks=row.decks)

    def report(self, name: str, who: bytes) -> StoredReport | None:
        """What somebody has sent; None where nothing."""
        table = self.reports
        query = select(table).where(table.c.campaign == name, table.c.pseudonym == who)
        row = self.connection.execute(query).one_or_none()
        if row is None:
            return None
        return StoredReport(
            name=who,
            round=row.round,
            carded=row.carded,
            report=bytes(row.report),
            covariates=row.covariates,
        )

    def add_report(self, name: str, report: StoredReport) -> None:
        """Keep a report."""
        self.connection.execute(
            insert(self.reports).values(
                campaign=name,
                pseudonym=report.name,
                round=report.round,
                carded=report.carded,
                report=report.report,
                covariates=report.covariates,
            )
        )

    def fixed_results(self, name: str, round_number: int) -> FixedResults | None:
        """The tallies of a round that are shown now and next; None where nobody asked yet."""
        table = self.results
        query = select(table).where(table.c.campaign == name, table.c.round == round_number)
        row = self.connection.execute(query).one_or_none()
        if row is None:
            return None
        shown = None if row.shown is None else Tally.from_json(row.shown)
        return FixedResults(shown=shown, next=Tally.from_json(row.next))

    def fix_results(self, name: str, round_number: int, fixed: FixedResults) -> None:
        """Keep the tallies of a round that are shown now and next."""
        table = self.results
        where = (table.c.campaign == name) & (table.c.round == round_number)
        self.connection.execute(delete(table).where(where))
        self.connection.execute(
            insert(table).values(
                campaign=name,
                round=round_number,
                shown=None if fixed.shown is None else fixed.shown.to_json(),
                next=fixed.next.to_json(),
            )
        )

    def reports_by_round(self, name: str, rounds: int) -> list[int]:
        """How many reports there are of each round."""
        table = self.reports
        query = (
            select(table.c.round, func.count())
            .where(table.c.campaign == name)
            .group_by(table.c.round)
        )
        counts = [0] * rounds
        for number, count in self.connection.execute(query):
            counts[number] = count
        return counts

    def report_blocks(
        self, name: str, round_number: int, mechanism: Mechanism
    ) -> Iterator[ReportBlock]:
        """Reports of a round by the order of their hashes, some at a time."""
        table = self.reports
        query = (
            select(table.c.report, table.c.carded, table.c.covariates)
            .where(table.c.campaign == name, table.c.round == round_number)
            .order_by(table.c.pseudonym)
        )
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
