"""The collector's part of surveys: everybody's answers to all items, taken together."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from jrr.errors import DamagedError
from jrr.estimation.differences import difference
from jrr.mechanisms.numbers import Numbers
from jrr.servers.collector.ending import EndWish, close_announced
from jrr.servers.collector.intake import NEARLY_FULL, Intake
from jrr.servers.collector.results import check_batch
from jrr.servers.collector.store import CollectorCampaign, CollectorStore
from jrr.servers.collector.survey_export import export_answers
from jrr.servers.collector.waves import check_wave
from jrr.servers.common.batch import in_groups
from jrr.servers.common.jobs import check_invitation, check_state
from jrr.servers.common.problems import Problem
from jrr.servers.common.surveys import SurveyJobs
from jrr.survey.campaign import Campaign
from jrr.survey.messages import StoredReport
from jrr.protocol.problems import RESULTS_WAIT
from jrr.protocol.states import CLOSED, Act, State
from jrr.survey.survey_messages import StoredAnswers, read_upload
from jrr.survey.surveys import Survey

if TYPE_CHECKING:
    from jrr.servers.collector.jobs import CollectorJobs

ROWS = 2_000  # people read at a time
PAIRED_MASKS = (
    "dealers announced one sum of the cards of everybody who answered a wave: it cannot be taken "
    "off the reports of some; ask without pairing, or by a mechanism without masks"
)


@dataclass(frozen=True, kw_only=True)
class ChangeWish:
    """What the operator wants to know of two waves."""

    since: str  # hash of the wave before
    paired: bool = False  # only among those who answered both
    level: float = 0.95
    simultaneous: bool = False
    population: str = "respondents"


def _asks_the_same(old: Campaign, new: Campaign) -> bool:
    """Whether two waves ask the same question, so that their answers can be compared."""
    return (old.question, old.labels, old.number) == (new.question, new.labels, new.number)


def _change_of_means(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Of two separate means and their intervals: distances of opposite ends, added as squares."""
    change = now["mean"] - before["mean"]
    (low, high), (low_before, high_before) = now["interval"], before["interval"]
    down = math.hypot(now["mean"] - low, high_before - before["mean"])
    up = math.hypot(high - now["mean"], before["mean"] - low_before)
    return {"change": change, "interval": [change - down, change + up]}


@dataclass(frozen=True)
class IncomingAnswers:
    """Answers that were read."""

    survey: Survey
    answers: StoredAnswers


class _SurveyIntake:
    """Answers to one survey that are taken together: those of one person all, or none."""

    def __init__(
        self,
        now: datetime,
        store: CollectorStore,
        survey: Survey,
        parts: Mapping[str, CollectorCampaign],
        incoming: Sequence[IncomingAnswers],
    ) -> None:
        names = [one.answers.name for one in incoming]
        self._survey, self._parts = survey, parts
        self._invited = store.invitations(survey.hash, names) if survey.invitations else None
        self._people = store.people_of(survey.hash, names)  # stored, or taken just now
        self._new: dict[bytes, str] = {}
        campaigns = {part: held.name for part, held in parts.items()}
        kept = store.all_stored_reports(list(campaigns.values()), self._people)
        owners = store.serial_owners(
            [
                (campaigns[part], report)
                for one in incoming
                for part, report in one.answers.reports.items()
            ]
        )
        self._intakes = {
            part: Intake(
                held=held, invited=None, kept=kept[held.name], owners=owners[held.name], now=now
            )
            for part, held in parts.items()
        }

    def take(self, answers: StoredAnswers) -> bool:
        """Take somebody's answers, or refuse them; False where the same ones are here already."""
        if self._invited is not None:
            check_invitation(self._invited.get(answers.name))
        known = self._people.get(answers.name)
        if known is None:  # also of parts that were not asked: the survey ends as a whole
            for held in self._parts.values():
                check_state(Act.REPORT, held)
        is_new = [
            self._intakes[part].is_new(self._as_kept(part, report))
            for part, report in answers.reports.items()
        ]
        if (known is not None) and (known != answers.open or any(is_new)):
            raise Problem(409, "conflict", "other answers were received under this pseudonym")
        if known is not None:
            return False
        for part, report in answers.reports.items():
            self._intakes[part].keep(report)
        self._people[answers.name] = self._new[answers.name] = answers.open
        return True

    def _as_kept(self, part: str, report: StoredReport) -> StoredReport:
        """Without serial numbers, where they are forgotten."""
        forgotten = self._parts[part].sums is not None
        return replace(report, serials=()) if forgotten else report

    def write(self, store: CollectorStore) -> None:
        """Write all that is new."""
        grown = [(intake.held, len(intake.new)) for intake in self._intakes.values()]
        total = max(held.arrivals + more for held, more in grown)
        store.add_people(self._survey.hash, self._new, total)
        store.add_all_reports(
            [
                (intake.held.name, report)
                for intake in self._intakes.values()
                for report in intake.new
            ]
        )
        store.count_all_arrivals(grown)


class CollectorSurveyJobs(SurveyJobs[Any]):
    """Jobs of surveys at the collector."""

    campaigns: "CollectorJobs"

    def install(self, connection: Connection, survey: Survey) -> bool:
        """Hold a survey; refuses a wave that another survey of its panel has been."""
        check_wave(connection, survey)
        return super().install(connection, survey)

    def open(self, connection: Connection, name: str) -> State:
        """Begin to take answers, unless another survey has been this wave of the panel."""
        check_wave(connection, self.find(connection, name))
        return super().open(connection, name)

    def open_part(self, connection: Connection, name: str) -> None:
        """Begin to take reports."""
        self.campaigns.open(connection, name, None)

    def read(self, survey: Survey, body: bytes) -> IncomingAnswers:
        """Answers that fit the survey, before the database is asked anything."""
        return IncomingAnswers(survey, read_upload(survey, body))

    def receive(self, connection: Connection, name: str, body: bytes) -> bool:
        """Take somebody's answers, all or none; False where the same ones are here already."""
        incoming = self.read(self.find(connection, name), body)
        (outcome,) = self.receive_all(connection, [incoming])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def receive_all(
        self, connection: Connection, incoming: Sequence[IncomingAnswers]
    ) -> list[bool | Problem]:
        """Take people's answers; of each, False where they are here already, or why not."""
        receive = partial(self._receive_some, CollectorStore(connection))
        return in_groups(incoming, lambda one: one.survey.hash, receive)

    def _receive_some(
        self, store: CollectorStore, name: str, incoming: Sequence[IncomingAnswers]
    ) -> list[bool | Problem]:
        """Answers to one survey: everything is looked up at once, then written at once."""
        survey = incoming[0].survey
        # As for single campaigns, processes take turns only when few are still to come.
        near = survey.first.capacity - len(incoming) - NEARLY_FULL
        parts = self.held_parts(store.connection, survey)
        almost = any(one.arrivals >= near for one in parts.values())
        parts = self.held_parts(store.connection, survey, lock=almost, share=True)
        for held in parts.values():
            check_state(Act.REPORT_AGAIN, held)
        intake = _SurveyIntake(self.campaigns.clock(), store, survey, parts, incoming)
        outcomes: list[bool | Problem] = []
        for one in incoming:
            try:
                outcomes.append(intake.take(one.answers))
            except Problem as problem:
                outcomes.append(problem)
        intake.write(store)
        return outcomes

    def close_announced(
        self, connection: Connection, name: str, document: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Close all parts whose card sums are announced, each in its groups, or none of them.

        document: As for one campaign, but for `discard`: part -> serial numbers.
        """
        survey, store = self.find(connection, name), CollectorStore(connection)
        discard = document.get("discard", {})
        if not isinstance(discard, Mapping):
            raise DamagedError("discard must be lists of serials, by part")
        held_parts = self.held_parts(connection, survey, lock=True)
        discarded = {}
        with connection.begin_nested():  # other jobs share this transaction
            for part, held in held_parts.items():
                if not held.campaign.announces:
                    continue
                mine = {**document, "discard": discard.get(part, [])}
                try:
                    count = close_announced(store, held, EndWish.from_document(mine))
                except Problem as problem:
                    words = f"{part}: {problem.detail}"
                    raise Problem(problem.status, problem.kind, words) from None
                if count:
                    discarded[part] = count
        return {"state": CLOSED, "discarded": discarded}

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        return super().show(connection, name) | {"reports": self._people(connection, name)}

    @staticmethod
    def _people(connection: Connection, name: str) -> int:
        """How many have answered."""
        table = CollectorStore.people
        query = select(func.count()).select_from(table).where(table.c.survey == name)
        return int(connection.execute(query).scalar_one())

    def rows(self, connection: Connection, name: str) -> Iterator[dict[str, Any]]:
        """One row per person, in the order of hashes, without them, for an export.

        Open answers under "open", and for each part that was asked the bytes of the report and
        whether it was made with a card.
        """
        survey = self.find(connection, name)
        people, reports = CollectorStore.people, CollectorStore.reports
        parts = {part.campaign.hash: part.name for part in survey.parts}
        query = select(people).where(people.c.survey == name).order_by(people.c.pseudonym)
        for block in connection.execute(query).partitions(ROWS):
            first, last = block[0].pseudonym, block[-1].pseudonym
            found: dict[bytes, dict[str, Any]] = {
                bytes(row.pseudonym): {"open": json.loads(row.open)} for row in block
            }
            sent = select(
                reports.c.campaign, reports.c.pseudonym, reports.c.report, reports.c.carded
            ).where(reports.c.campaign.in_(parts), reports.c.pseudonym.between(first, last))
            for row in connection.execute(sent):
                part = parts[row.campaign]
                found[bytes(row.pseudonym)][part] = (bytes(row.report), bool(row.carded))
            yield from found.values()

    def export(self, connection: Connection, name: str, kind: str) -> bytes:
        """All answers as the bytes of a file."""
        survey, store = self.find(connection, name), CollectorStore(connection)
        people = self._people(connection, name)
        for held in self.held_parts(connection, survey).values():
            check_batch(held, people)
        parts = {part.name: store.find(part.campaign.hash) for part in survey.parts}
        return export_answers(survey, list(self.rows(connection, name)), parts, kind)

    def change(self, connection: Connection, name: str, wish: ChangeWish) -> dict[str, Any]:
        """How shares and means have changed since another wave, part by part.

        Paired: among those who answered both. Where cards are numbers, dealers told one sum for
        everybody, which cannot be taken off the reports of some.
        """
        now, before = self.find(connection, name), self.find(connection, wish.since)
        if now.collector_salt != before.collector_salt:
            raise Problem(409, "other-panel", "the surveys must be waves of the same people")
        found: dict[str, Any] = {}
        for part in now.parts:
            old = before.campaigns.get(part.name)
            if old is None or not _asks_the_same(old, part.campaign):
                found[part.name] = {"refused": "the wave before did not ask the same"}
                continue
            try:
                found[part.name] = self._change_of(connection, old, part.campaign, wish)
            except Problem as problem:
                found[part.name] = {"refused": problem.detail}
        return {"survey": name, "since": wish.since, "paired": wish.paired, "changes": found}

    def _change_of(
        self, connection: Connection, old: Campaign, new: Campaign, wish: ChangeWish
    ) -> dict[str, Any]:
        """The change of one part; a Problem where it may not be shown."""
        store = CollectorStore(connection)
        first, second = store.find(old.hash), store.find(new.hash)
        if first.state != CLOSED or second.state != CLOSED:
            raise Problem(409, RESULTS_WAIT, "changes are shown when both waves are closed")
        if wish.paired and (first.mechanism.masked or second.mechanism.masked):
            raise Problem(409, "paired-masks", PAIRED_MASKS)
        estimates = [
            self.campaigns.final_estimate(
                store,
                one,
                also_in=other.name if wish.paired else None,
                population=wish.population,
            )
            for one, other in ((first, second), (second, first))
        ]
        fewest = max(old.smallest_group, new.smallest_group)
        if min(estimate.n for estimate in estimates) < fewest:
            raise Problem(409, "too-few", f"fewer than {fewest} people are not shown")
        if wish.paired:
            # Those who answered one wave only follow from the waves' own results.
            for one, estimate in zip((first, second), estimates, strict=True):
                if 0 < one.arrivals - estimate.n < one.campaign.min_batch:
                    raise Problem(
                        409,
                        "too-few",
                        f"fewer than {one.campaign.min_batch} people answered only one of the "
                        "waves: ask without pairing",
                    )
        moved = difference(estimates[1], estimates[0], same_deck=False)
        facts = moved.to_dict(wish.level, simultaneous=wish.simultaneous)
        facts |= {
            "n_before": estimates[0].n,
            "n_now": estimates[1].n,
            "labels": list(new.labels),
        }
        if new.number is not None:
            means = [
                Numbers(*new.number, one.mechanism).estimate_from(estimate).to_dict(wish.level)
                for one, estimate in zip((first, second), estimates, strict=True)
            ]
            facts["mean"] = _change_of_means(*means)
        return facts
