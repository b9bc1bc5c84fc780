"""What the collector stores: surveys, and people's answers by the hash of a pseudonym.

Where card sums are announced it also stores the serial numbers that came with reports, until they
have been named to the dealers and the sums are here.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from jrr.estimation.tally import Tally
from jrr.protocol.states import CLOSED, Role, State, read_state
from jrr.servers.common.database import find_keys, find_rows
from jrr.servers.common.store import (
    HeldSurvey,
    SurveyStore,
    arrivals_table,
    invited_table,
    surveys_table,
    table_by_survey,
)
from jrr.survey.closing import ToldSums, closed_decks
from jrr.survey.grouping import CardGrouping
from jrr.survey.messages import StoredAnswers, StoredReport, upload_limit
from jrr.survey.other_waves import BEFORE, YES
from jrr.survey.survey import Survey, read_survey

if TYPE_CHECKING:
    from jrr.dealing.verified.keys import Promise
    from jrr.estimation.told_sums import CardSums

ROWS = 20_000  # reports read at a time
PEOPLE = 2_000  # people read at a time, with all their reports
SLOTS = 64  # counters of one survey's uploads

METADATA = sa.MetaData()  # the tables of this server
CardOf = tuple[int, int, bytes]  # number of a question, number of a dealer, serial number


@dataclass(frozen=True, kw_only=True)
class CollectorSurvey(HeldSurvey):
    """A survey as the collector holds it."""

    sums: dict[str, Any] | None  # what dealers told of their cards, once they have
    grouping: CardGrouping  # in which cells sums are asked for; chosen at the end
    chosen_for: int  # for which announcement they were chosen; 0 before the end
    gave_up: bool  # whether no more sums are asked for: serial numbers are forgotten
    promised: str | None = None  # JSON: what dealers promise of verified cards, once it is open
    drawn: str | None = None  # JSON: of each announcement, nonce and slots

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Question -> its number in the tables."""
        return {one.name: at for at, one in enumerate(self.survey.sensitive)}

    @cached_property
    def upload_limit(self) -> int:
        """Bytes that no upload exceeds."""
        return upload_limit(self.survey)

    @cached_property
    def promises(self) -> "Sequence[Promise]":
        """What dealers promise of verified cards; nothing where they are not."""
        if self.promised is None:
            return ()
        from jrr.dealing.verified.keys import read_promises  # needs rbcl

        return read_promises(json.loads(self.promised), len(self.survey.dealing.addresses))

    @cached_property
    def challenge(self) -> dict[str, Any]:
        """Nonce and slots of the next closing sums of verified cards, as far as they are drawn."""
        found: dict[str, Any] = json.loads(self.drawn or "{}").get(str(self.next_announcement), {})
        return found

    @cached_property
    def told(self) -> ToldSums:
        """What dealers have told of their cards so far."""
        return ToldSums() if self.sums is None else ToldSums.from_document(self.survey, self.sums)

    def told_of(self, question: str, by: Sequence[str] = ()) -> "CardSums":
        """What dealers have told of one question, for groups by some open ones if they did."""
        return self.told.for_groups(question, by)

    @property
    def next_announcement(self) -> int | None:
        """Which announcement is asked for next; None: no more, or no more serial numbers."""
        number = len(self.told.announced) + 1
        if self.gave_up or number > self.survey.announcements:
            return None
        return number

    @property
    def is_final(self) -> bool:
        """Whether no more answers come."""
        return self.state == CLOSED

    @property
    def is_settled(self) -> bool:
        """Whether no result waits for what dealers tell."""
        return self.sums is not None or not (self.survey.announces or closed_decks(self.survey))

    def decks(self, question: str) -> int:
        """From how many decks was dealt; until it is told, the most there can be."""
        if self.told.decks is not None:
            return self.told.decks
        people = self.survey.capacity if self.n is None else self.n
        return self.mechanism(question).fewest_decks(people)


@dataclass(frozen=True, kw_only=True)
class ReportBlock:
    """Some reports to a question, in the order of their hashes, without them."""

    reports: Any  # as the mechanism's `tally` takes them
    carded: Any  # one flag per report
    covariates: list[str]  # canonical JSON, one per report


@dataclass(frozen=True, kw_only=True)
class FixedResults:
    """What is shown of a question before the end, where results must be some reports apart."""

    shown: Tally | None
    next: Tally  # shown when enough reports have come after it, or not at all


class CollectorStore(SurveyStore[CollectorSurvey]):
    """Queries of the collector within one transaction."""

    role = Role.COLLECTOR
    metadata = METADATA
    surveys = surveys_table(
        metadata,
        sa.Column("sums", sa.Text),  # JSON: what dealers told of their cards at the end
        # JSON: in which cells sums are asked for, once it is closed.
        sa.Column("grouping", sa.Text),
        sa.Column("gave_up", sa.Boolean),  # no more sums are asked for
        # JSON: what dealers promise of verified cards, once it is open.
        sa.Column("promises", sa.Text),
        sa.Column("challenge", sa.Text),  # JSON: nonce and slots of their closing sums, drawn once
        # Compressed: what everybody may check of those cards.
        sa.Column("record", sa.LargeBinary, info={"apart": True}),
    )
    invited = invited_table(metadata)
    revoked = table_by_survey(  # whom no list brings back, here or in a later wave
        "revoked", metadata, sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True)
    )
    arrivals = arrivals_table(metadata)
    slot = secrets.randbelow(SLOTS)  # of several processes on one database each has its own
    people = table_by_survey(
        "people",
        metadata,
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("open", sa.Text, nullable=False),  # canonical JSON: open answers, as they are
        sa.Column("covariates", sa.Text, nullable=False),  # canonical JSON: those that make groups
    )
    reports = table_by_survey(
        "reports",
        metadata,
        sa.Column("question", sa.Integer, primary_key=True),  # its number in the survey
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("carded", sa.Boolean, nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
    )
    serials = table_by_survey(
        "serials",
        metadata,
        sa.Column("question", sa.Integer, primary_key=True),
        sa.Column("dealer", sa.Integer, primary_key=True),  # its number in the survey
        sa.Column("serial", sa.LargeBinary(16), primary_key=True),  # each once
        sa.Column("pseudonym", sa.LargeBinary(32), nullable=False),  # who came with it
        # Of a verified card: commitments and the dealer's signature.
        sa.Column("signed", sa.LargeBinary),
        sa.Index("serials_by_person", "survey", "pseudonym"),
    )
    days = table_by_survey(  # how many came: of nobody it is known when
        "days",
        metadata,
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("slot", sa.Integer, primary_key=True),
        sa.Column("people", sa.BigInteger, nullable=False),
    )
    results = sa.Table(
        "results",
        metadata,
        sa.Column("survey", sa.String(64), primary_key=True),
        sa.Column("question", sa.Integer, primary_key=True),
        sa.Column("shown", sa.Text),  # a tally in JSON
        # A tally that is shown when enough came after it.
        sa.Column("next", sa.Text, nullable=False),
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> CollectorSurvey:
        grouping, chosen_for = CardGrouping(), 0
        if row.grouping is not None:
            document = json.loads(row.grouping)
            chosen_for = document["announcement"]
            grouping = CardGrouping.from_document(facts["survey"], document)
        sums = None if row.sums is None else json.loads(row.sums)
        return CollectorSurvey(
            **facts,
            sums=sums,
            grouping=grouping,
            chosen_for=chosen_for,
            gave_up=bool(row.gave_up),
            promised=row.promises,
            drawn=row.challenge,
        )

    def stored_answers(
        self, held: CollectorSurvey, who: Iterable[bytes]
    ) -> dict[bytes, StoredAnswers]:
        """What those of some people have sent who have answered, without serial numbers.

        The same is asked for whoever has not: the time of a reply must not tell.
        """
        who = set(who)
        rows = self.rows_of(self.people, held.name, who)
        names = list(held.numbers)
        sent: dict[bytes, dict[str, StoredReport]] = {name: {} for name in rows}
        for row in find_rows(
            self.connection,
            self.reports,
            survey=[held.name],
            question=range(len(names)),
            pseudonym=who,
        ):
            report = StoredReport(carded=bool(row.carded), report=bytes(row.report))
            sent[bytes(row.pseudonym)][names[row.question]] = report
        return {
            name: StoredAnswers(
                name=name, open=row.open, covariates=row.covariates, reports=sent[name]
            )
            for name, row in rows.items()
        }

    def add_answers(
        self, held: CollectorSurvey, answers: Sequence[StoredAnswers], day: str
    ) -> None:
        """Keep people's answers, which came on a day."""
        survey, numbers = held.name, held.numbers
        sent = [
            (numbers[question], one.name, report)
            for one in answers
            for question, report in one.reports.items()
        ]
        self._add(
            self.people,
            [
                {
                    "survey": survey,
                    "pseudonym": one.name,
                    "open": one.open,
                    "covariates": one.covariates,
                }
                for one in answers
            ],
        )
        self._add(
            self.reports,
            [
                {
                    "survey": survey,
                    "question": question,
                    "pseudonym": who,
                    "carded": report.carded,
                    "report": report.report,
                }
                for question, who, report in sent
            ],
        )
        self._add(
            self.serials,
            [
                {
                    "survey": survey,
                    "question": question,
                    "dealer": dealer,
                    "serial": serial,
                    "pseudonym": who,
                    "signed": signed,
                }
                for question, who, report in sent
                for dealer, (serial, signed) in enumerate(
                    zip(report.serials, report.signed or repeat(None), strict=False)
                )
                if serial is not None
            ],
        )
        self.count_arrivals(held, len(answers))
        if answers:
            row = {"survey": survey, "day": day, "slot": self.slot, "people": len(answers)}
            self._add_up(self.days, "people", [row])

    def add_invited(self, name: str, hashes: Iterable[bytes]) -> None:
        """Accept these pseudonyms too, but none that was revoked, here or in an earlier wave."""
        wanted, waves = set(hashes), (one.survey for one in self.find(name).survey.earlier)
        for wave in (name, *waves):
            wanted -= set(self.rows_of(self.revoked, wave, wanted))
        super().add_invited(name, wanted)

    def remove_invited(self, name: str, hashes: Iterable[bytes]) -> int:
        """Accept some pseudonyms no longer, and never again; how many of them were."""
        self._add_names(self.revoked, name, hashes)
        return super().remove_invited(name, hashes)

    def by_day(self, name: str) -> dict[str, int]:
        """Day -> people whose answers came, in order."""
        table = self.days
        query = (
            sa.select(table.c.day, sa.func.sum(table.c.people))
            .where(table.c.survey == name)
            .group_by(table.c.day)
            .order_by(table.c.day)
        )
        return {day: int(count) for day, count in self.connection.execute(query)}

    def serial_owners(self, name: str, cards: Sequence[CardOf]) -> dict[CardOf, bytes]:
        """Who came with some serial numbers before."""
        names = ("survey", "question", "dealer", "serial")
        keys = [(name, *card) for card in cards]
        return {
            (row.question, row.dealer, bytes(row.serial)): bytes(row.pseudonym)
            for row in find_keys(self.connection, self.serials, names, keys)
        }

    def named(
        self, name: str, dealer: int, *, also_in: str | None = None
    ) -> Iterator[tuple[int, bytes, str]]:
        """Serial numbers of one dealer: number of the question, serial, the person's covariates.

        also_in: Only of people who answered that next wave too.
        """
        table, people = self.serials, self.people
        query = (
            sa.select(table.c.question, table.c.serial, people.c.covariates)
            .join(people, _same_person(table, people))
            .where(table.c.survey == name, table.c.dealer == dealer, *self._also_in(table, also_in))
            .order_by(table.c.question, table.c.serial)
        )
        for question, serial, covariates in self.connection.execute(query):
            yield question, bytes(serial), covariates

    def card_counts(
        self, name: str, *, also_in: str | None = None
    ) -> Iterator[tuple[int, int, str, int]]:
        """How many cards came back: numbers of question and dealer, covariates, count."""
        table, people = self.serials, self.people
        columns = (table.c.question, table.c.dealer, people.c.covariates)
        query = (
            sa.select(*columns, sa.func.count().label("cards"))
            .join(people, _same_person(table, people))
            .where(table.c.survey == name, *self._also_in(table, also_in))
            .group_by(*columns)
        )
        for row in self.connection.execute(query):
            yield row.question, row.dealer, row.covariates, row.cards

    def _also_in(self, table: sa.Table, wave: str | None) -> tuple[Any, ...]:
        """That somebody answered a later wave too, who was known there to have answered before."""
        if wave is None:
            return ()
        people = self.people
        # Documents are in canonical form: what stands in somebody's words has its quotes escaped.
        both = people.c.covariates.contains(f'"{BEFORE}":"{YES}"', autoescape=True)
        names = sa.select(people.c.pseudonym).where(people.c.survey == wave, both)
        return (table.c.pseudonym.in_(names),)

    def who_answered_both(self, name: str, wave: str) -> set[bytes]:
        """The people who answered that next wave too."""
        table = self.people
        query = sa.select(table.c.pseudonym).where(
            table.c.survey == name, *self._also_in(table, wave)
        )
        return {bytes(who) for who in self.connection.execute(query).scalars()}

    def panel(self, first: str, *, lock: bool = False) -> list[tuple[Survey, State]]:
        """The surveys here of the people of a first wave, with their states.

        lock: In one order, so that nobody waits in a circle.
        """
        table = self.surveys
        query = sa.select(table).order_by(table.c.survey)
        query = query.with_for_update() if lock else query
        # Documents are in canonical form: what stands in somebody's words has its quotes escaped.
        named = f'"panel":"{first}"'.encode()
        return [
            (read_survey(bytes(row.document)), read_state(row.state))
            for row in self.connection.execute(query)
            if row.survey == first or named in bytes(row.document)
        ]

    def who_answered(self, name: str, who: Iterable[bytes]) -> set[bytes]:
        """Those of some people who answered a survey."""
        return set(self.rows_of(self.people, name, set(who)))

    def keep_grouping(
        self, held: CollectorSurvey, grouping: CardGrouping, announcement: int
    ) -> None:
        """Keep in which cells dealers are asked for sums."""
        document = {"announcement": announcement, **grouping.to_document()}
        self._set(held.name, grouping=json.dumps(document))

    def discard(self, held: CollectorSurvey, serials: Mapping[str, Iterable[bytes]]) -> int:
        """Delete all answers of the people who came with some serial numbers; how many people.

        serials: By question, of any dealer.
        """
        gone = set()
        for question, wanted in serials.items():
            found = find_rows(
                self.connection,
                self.serials,
                survey=[held.name],
                question=[held.numbers[question]],
                dealer=range(len(held.survey.dealing.addresses)),
                serial=set(wanted),
            )
            gone |= {bytes(row.pseudonym) for row in found}
        for table in (self.serials, self.reports, self.people):
            for who in gone:
                one = sa.delete(table).where(table.c.survey == held.name, table.c.pseudonym == who)
                if table is self.reports:  # found by its key
                    one = one.where(table.c.question.in_(held.numbers.values()))
                self.connection.execute(one)
        return len(gone)

    def keep_challenge(self, held: CollectorSurvey, drawn: Mapping[str, Any]) -> None:
        """Keep nonce and slots of the next closing sums of verified cards."""
        every = json.loads(held.drawn or "{}") | {str(held.next_announcement): drawn}
        self._set(held.name, challenge=json.dumps(every))

    def signed(self, held: CollectorSurvey, dealer: int) -> Iterator[tuple[str, bytes, bytes]]:
        """Verified cards of one dealer: question, serial number, what the dealer signed."""
        table, names = self.serials, list(held.numbers)
        query = (
            sa.select(table.c.question, table.c.serial, table.c.signed)
            .where(table.c.survey == held.name, table.c.dealer == dealer)
            .order_by(table.c.question, table.c.serial)
        )
        for question, serial, signed in self.connection.execute(query):
            yield names[question], bytes(serial), bytes(signed)

    def record(self, name: str) -> bytes | None:
        """The public record of verified cards, once there is one."""
        query = sa.select(self.surveys.c.record).where(self.surveys.c.survey == name)
        found = self.connection.execute(query).scalar_one()
        return None if found is None else bytes(found)

    def keep_sums(self, held: CollectorSurvey, sums: ToldSums, record: bytes | None = None) -> None:
        """Keep what dealers told; with the last announcement serial numbers are forgotten.

        record: Of verified cards, for everybody; it has serial numbers, but nobody's report.
        """
        self._set(held.name, sums=json.dumps(sums.to_document()), record=record)
        if len(sums.announced) >= held.survey.announcements:
            self.forget_serials(held.name)

    def forget_serials(self, name: str) -> None:
        """Forget which cards came back: no more sums are asked for."""
        self._set(name, gave_up=True)
        self.connection.execute(sa.delete(self.serials).where(self.serials.c.survey == name))

    def fixed_results(self, name: str, question: int) -> FixedResults | None:
        """The tallies of a question that are shown now and next; None where nobody asked yet."""
        table = self.results
        query = sa.select(table).where(table.c.survey == name, table.c.question == question)
        row = self.connection.execute(query).one_or_none()
        if row is None:
            return None
        shown = None if row.shown is None else Tally.from_json(row.shown)
        return FixedResults(shown=shown, next=Tally.from_json(row.next))

    def fix_results(
        self, name: str, question: int, *, shown: Tally | None, following: Tally
    ) -> None:
        """Keep the tallies of a question that are shown now and next."""
        table = self.results
        where = (table.c.survey == name) & (table.c.question == question)
        self.connection.execute(sa.delete(table).where(where))
        self.connection.execute(
            sa.insert(table).values(
                survey=name,
                question=question,
                shown=None if shown is None else shown.to_json(),
                next=following.to_json(),
            )
        )

    def people_count(self, held: CollectorSurvey) -> int:
        """How many have answered: counted as they come; at the end some may be discarded."""
        return self.count(self.people, held.name) if held.is_final else held.arrivals

    def report_counts(self, held: CollectorSurvey) -> dict[str, int]:
        """Question -> how many reports there are; only those that not all are asked are counted."""
        people = self.people_count(held)
        counts = {one.name: people for one in held.survey.sensitive if one.is_for_everybody}
        others = [number for name, number in held.numbers.items() if name not in counts]
        table, names = self.reports, list(held.numbers)
        query = (
            sa.select(table.c.question, sa.func.count())
            .where(table.c.survey == held.name, table.c.question.in_(others))
            .group_by(table.c.question)
        )
        if others:
            counts |= dict.fromkeys((names[number] for number in others), 0)
            counts |= {names[at]: count for at, count in self.connection.execute(query)}
        return {name: counts[name] for name in names}

    def count_both(self, held: CollectorSurvey, question: str, other: tuple[str, int]) -> int:
        """How many people have a report to this question and to one of another survey."""
        table, (survey, number) = self.reports, other
        others = sa.select(table.c.pseudonym).where(
            table.c.survey == survey, table.c.question == number
        )
        query = (
            sa.select(sa.func.count())
            .select_from(table)
            .where(
                table.c.survey == held.name,
                table.c.question == held.numbers[question],
                table.c.pseudonym.in_(others),
            )
        )
        return int(self.connection.execute(query).scalar_one())

    def report_blocks(
        self,
        held: CollectorSurvey,
        question: str,
        *,
        also_in: tuple[str, int] | None = None,
        next_wave: str | None = None,
    ) -> Iterator[ReportBlock]:
        """Reports to a question by the order of their hashes, some at a time.

        also_in: Only of people who have a report in this survey to the question of this number.
        next_wave: Only of people who answered that next wave too.
        """
        table, people = self.reports, self.people
        form = held.mechanism(question).report_format
        query = (
            sa.select(table.c.report, table.c.carded, people.c.covariates)
            .join(people, _same_person(table, people))
            .where(table.c.survey == held.name, table.c.question == held.numbers[question])
            .order_by(table.c.pseudonym)
        )
        query = query.where(*self._also_in(table, next_wave))
        if also_in is not None:
            survey, number = also_in
            others = sa.select(table.c.pseudonym).where(
                table.c.survey == survey, table.c.question == number
            )
            query = query.where(table.c.pseudonym.in_(others))
        # Of this query only: on the connection, the option would hold for what is written later.
        streaming = {"stream_results": True, "yield_per": ROWS}
        for rows in self.connection.execute(query, execution_options=streaming).partitions(ROWS):
            joined = b"".join(bytes(report) for report, _, _ in rows)
            packed = np.frombuffer(joined, np.uint8).reshape(len(rows), form.width)
            yield ReportBlock(
                reports=form.unpack(packed),
                carded=np.array([flag for _, flag, _ in rows], np.bool_),
                covariates=[text for _, _, text in rows],
            )

    def answer_blocks(self, held: CollectorSurvey) -> Iterator[list[StoredAnswers]]:
        """Everybody's answers by the order of hashes, some people at a time."""
        people, last = self.people, b""
        while True:
            query = (
                sa.select(people.c.pseudonym)
                .where(people.c.survey == held.name, people.c.pseudonym > last)
                .order_by(people.c.pseudonym)
                .limit(PEOPLE)
            )
            names = [bytes(who) for (who,) in self.connection.execute(query)]
            if not names:
                return
            found = self.stored_answers(held, names)
            yield [found[name] for name in names if name in found]
            last = names[-1]


def _same_person(table: sa.Table, people: sa.Table) -> Any:
    return (people.c.survey == table.c.survey) & (people.c.pseudonym == table.c.pseudonym)
