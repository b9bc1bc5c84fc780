"""What the collector does to its database; each job checks first and writes last."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from jrr.errors import ArgumentError
from jrr.protocol.documents import canonical_json, plain
from jrr.protocol.states import CLOSED, NEW, OPEN, Act, State
from jrr.servers.collector import ending, results, verified_ending
from jrr.servers.collector.change import ChangeWish, changes
from jrr.servers.collector.ending import ClosingChoices, check_wave, closed_wave_after
from jrr.servers.collector.store import CollectorStore, CollectorSurvey
from jrr.servers.common.batch import in_groups
from jrr.servers.common.jobs import SurveyJobs, check_invitation, check_state, check_times
from jrr.servers.common.problems import Problem, busy
from jrr.survey.messages import read_upload
from jrr.survey.other_waves import with_wave

if TYPE_CHECKING:
    from jrr.servers.collector.results import EstimateQuery
    from jrr.servers.collector.store import CardOf, CollectorStore, CollectorSurvey
    from jrr.servers.common.store import HeldSurvey
    from jrr.survey.messages import StoredAnswers
    from jrr.survey.survey import Survey

NEARLY_FULL = 8_192  # people: with less room, processes take turns, so that none is one too many


@dataclass(frozen=True)
class IncomingAnswers:
    """Answers that were read, for a survey of so many people."""

    survey: str
    n: int | None  # people who were dealt cards, where that was fixed when they were read
    capacity: int
    answers: "StoredAnswers"


def take_in(
    store: "CollectorStore", now: datetime, name: str, incoming: Sequence[IncomingAnswers]
) -> list[bool | Problem]:
    """Take answers to one survey; of each, False where they are here already, or why not.

    Everything is looked up at once, then written at once.
    """
    # Several processes may take answers at the same time, until few are still to come.
    near = incoming[0].capacity - len(incoming) - NEARLY_FULL
    almost = store.has_processes and store.find(name).arrivals >= near
    held = store.find(name, lock=almost, share=True)
    check_state(Act.REPORT_AGAIN, held)
    intake = Intake(store, held, now, [one.answers for one in incoming])
    outcomes: list[bool | Problem] = []
    for one in incoming:
        try:
            if one.n != held.n:  # it was read just before the number of people was fixed
                raise busy()
            outcomes.append(intake.take(one.answers))
        except Problem as problem:
            outcomes.append(problem)
    store.add_answers(held, _with_wave(store, held, intake.new), now.strftime("%Y-%m-%d"))
    return outcomes


def _with_wave(
    store: "CollectorStore", held: "CollectorSurvey", answers: Sequence["StoredAnswers"]
) -> list["StoredAnswers"]:
    """New answers, in a later wave with whether these people answered the wave before."""
    if not held.survey.earlier:
        return list(answers)
    before = store.who_answered(held.survey.earlier[-1].survey, [one.name for one in answers])
    return [
        replace(
            one,
            covariates=canonical_json(
                with_wave(json.loads(one.covariates), one.name in before)
            ).decode(),
        )
        for one in answers
    ]


class Intake:
    """Answers to one survey that are taken together."""

    def __init__(
        self,
        store: "CollectorStore",
        held: "CollectorSurvey",
        now: datetime,
        answers: Sequence["StoredAnswers"],
    ) -> None:
        names = {one.name for one in answers}
        self._held, self._now = held, now
        self._invited = store.invitations(held.name, names) if held.survey.invitations else None
        cards = [card for one in answers for card in self._cards(one)]
        self._owners = store.serial_owners(held.name, cards)
        # Whoever comes with somebody else's card is refused, and not even looked up: the time that
        # it takes would tell whether the owner of the name has answered.
        known = {one.name for one in answers if not self._has_others_card(one)}
        kept = store.stored_answers(held, known)  # and what was taken just now
        self._kept = {who: _without_serials(one) for who, one in kept.items()}
        self.new: list[StoredAnswers] = []

    def take(self, answers: "StoredAnswers") -> bool:
        """Take somebody's answers, or refuse them; False where the same ones are here already."""
        if self._invited is not None:
            check_invitation(self._invited.get(answers.name))
        if self._is_repeat(answers):
            return False
        check_state(Act.REPORT, self._held)
        check_times(self._held, self._now)
        if self._held.arrivals + len(self.new) >= self._held.survey.capacity:
            raise Problem(409, "full", "the survey has all the answers it can take")
        if self._has_others_card(answers):
            raise Problem(409, "serial-used", "another report came with the serial of this card")
        # Last: whoever could not have answered in this person's place learns nothing about them.
        if answers.name in self._kept:
            raise Problem(409, "conflict", "other answers were received under this pseudonym")
        self._owners |= dict.fromkeys(self._cards(answers), answers.name)
        self._kept[answers.name] = _without_serials(answers)
        self.new.append(answers)
        return True

    def _is_repeat(self, answers: "StoredAnswers") -> bool:
        """Whether the same answers were received before.

        A repeat is answered also after the end: its sender may not have heard the first answer.
        Serial numbers are those of the first one if all of them came from this person.
        """
        kept = self._kept.get(answers.name)
        owners = {self._owners.get(card) for card in self._cards(answers)}
        return kept == _without_serials(answers) and owners <= {answers.name}

    def _has_others_card(self, answers: "StoredAnswers") -> bool:
        owners = {self._owners.get(card) for card in self._cards(answers)}
        return not owners <= {None, answers.name}

    def _cards(self, answers: "StoredAnswers") -> Iterator["CardOf"]:
        """The cards that somebody came with; none where serial numbers are forgotten."""
        if self._held.sums is None:
            for question, report in answers.reports.items():
                for dealer, serial in enumerate(report.serials):
                    if serial is not None:
                        yield self._held.numbers[question], dealer, serial


def _without_serials(answers: "StoredAnswers") -> "StoredAnswers":
    """As answers are compared: without what is not part of them."""
    reports = {name: replace(one, serials=(), signed=()) for name, one in answers.reports.items()}
    return replace(answers, reports=reports, covariates="")


class CollectorJobs(SurveyJobs[CollectorStore, CollectorSurvey]):
    """The jobs."""

    title = "jrr collector"
    store = CollectorStore

    def new_columns(self, survey: "Survey") -> dict[str, Any]:
        """Groups are chosen, and sums told, at the end."""
        return {"sums": None, "grouping": None}

    def told_state(self, held: "HeldSurvey") -> State:
        """As somebody finds it who wants to answer: by the survey's own times too."""
        opens, closes = held.times
        now = self.clock()
        if held.state is not OPEN:
            return held.state
        if closes is not None and now >= closes:
            return CLOSED
        return NEW if opens is not None and now < opens else OPEN

    def install(self, connection: Connection, survey: "Survey") -> bool:
        """Hold a survey; refuses a wave that another survey of its panel has been."""
        check_wave(CollectorStore(connection), survey)
        return super().install(connection, survey)

    def used(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> list[bytes]:
        """Those whose answers are here."""
        store = CollectorStore(connection)
        return sorted(store.rows_of(store.people, store.find(name).name, hashes))

    def accepted(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> list[bytes]:
        """Of some pseudonyms those that may answer, or have: nobody has revoked them."""
        store = CollectorStore(connection)
        return sorted(store.invitations(store.find(name).name, hashes))

    def is_used(self, store: CollectorStore, held: "HeldSurvey") -> bool:
        """Whether anybody has answered; a survey with a slip of the pen may go before that."""
        return bool(held.arrivals)

    def by_day(self, connection: Connection, name: str) -> dict[str, int]:
        """Day in UTC -> people whose answers came."""
        store = CollectorStore(connection)
        return store.by_day(store.find(name).name)

    def told_facts(self, held: "HeldSurvey") -> dict[str, Any]:
        """What dealers promise of verified cards."""
        assert isinstance(held, CollectorSurvey)
        return {} if held.promised is None else {"promises": json.loads(held.promised)}

    def open(
        self,
        connection: Connection,
        name: str,
        n: int | None = None,
        promises: Sequence[object] | None = None,
    ) -> State:
        """Begin to take answers.

        n: How many people were dealt cards, after enrolment. promises: Of verified cards, what each
        dealer promises: recorded once, before the first answer.
        """
        store = CollectorStore(connection)
        check_wave(store, store.find(name).survey)
        held = store.find(name, lock=True)
        check_state(Act.OPEN, held)
        recorded = _recorded(held.survey, promises)
        if held.state == OPEN:
            if n != held.n:
                raise Problem(409, "conflict", f"the survey is open for n={held.n}")
            if recorded != held.promised:
                raise Problem(409, "conflict", "the survey is open with other promises of dealers")
            return OPEN
        held.survey.dealing.check_people(held.survey.dealt, n)
        store.move(held, OPEN, n=n, promises=recorded)
        return OPEN

    def read(self, held: CollectorSurvey, body: bytes) -> IncomingAnswers:
        """Answers that fit the survey, before the database is asked anything."""
        check_state(Act.REPORT_AGAIN, held)
        answers = read_upload(held.survey, body, held.n, held.promises)
        return IncomingAnswers(held.name, held.n, held.survey.capacity, answers)

    def receive(self, connection: Connection, name: str, body: bytes) -> bool:
        """Take somebody's answers, all or none; False where the same ones are here already."""
        incoming = self.read(CollectorStore(connection).find(name), body)
        (outcome,) = self.receive_all(connection, [incoming])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def receive_all(
        self, connection: Connection, incoming: Sequence[IncomingAnswers]
    ) -> list[bool | Problem]:
        """Take people's answers; of each, False where they are here already, or why not."""
        take = partial(take_in, CollectorStore(connection), self.clock())
        return in_groups(incoming, lambda one: one.survey, take)

    def prospect(self, connection: Connection, name: str, wish: ClosingChoices) -> dict[str, Any]:
        """What closing would do; nothing is changed."""
        return ending.prospect(*self.found(connection, name), wish)

    def close(
        self, connection: Connection, name: str, wish: ClosingChoices | None = None
    ) -> dict[str, Any]:
        """Take no more answers."""
        store = CollectorStore(connection)
        wish = wish or ClosingChoices()
        discarded = ending.close(store, store.find(name, lock=True), wish)
        held = store.find(name)
        return {
            "state": held.state,
            "reports": store.people_count(held),
            "discarded": discarded,
            "settled": ending.is_done(held, wish.announcement),
        }

    def closing_request(
        self, connection: Connection, name: str, dealer: int, ahead: bool
    ) -> dict[str, Any]:
        """The serial numbers of one dealer's cards that are here; ahead: for a check only."""
        return ending.closing_request(*self.found(connection, name), dealer, ahead).to_document()

    def discard(
        self, connection: Connection, name: str, serials: Mapping[str, Sequence[str]]
    ) -> int:
        """Delete all answers of people whose serial numbers their dealer does not know."""
        store, held = self.found(connection, name, lock=True)
        ending.check_discarding(held)
        return store.discard(held, ending.read_serials(held.survey, serials))

    def record_of(
        self, connection: Connection, name: str, document: Mapping[str, Any], openings: object
    ) -> bytes | None:
        """Of verified cards the public record, if what dealers told is as it must be."""
        store, held = self.found(connection, name)
        if not held.survey.dealing.is_verified:
            return None
        told = held.told.adding(held.survey, document)
        if told == held.told:  # they are here
            return None
        record = verified_ending.record_of(store, held, document, openings)
        verified_ending.check_range(store, held, told)
        return record

    def keep_sums(
        self, connection: Connection, name: str, document: object, record: bytes | None = None
    ) -> State:
        """Keep what dealers told of their cards: from now on there is a result."""
        store, held = self.found(connection, name, lock=True)
        ending.keep_sums(store, held, document, record)
        return held.state

    def challenged(self, connection: Connection, name: str, dealer: int) -> dict[str, Any]:
        """Of verified cards, what is drawn already: the nonce, and perhaps a dealer's slots."""
        store, held = self.found(connection, name, lock=True)
        nonce = verified_ending.nonce(store, held)
        drawn = held.challenge["dealers"].get(str(dealer), {})
        return {"nonce": nonce, "slots": drawn.get("slots")}

    def challenge(
        self, connection: Connection, name: str, told: verified_ending.Commitments
    ) -> dict[str, Any]:
        """Of verified cards, which slot of noise is used of each sum; drawn once."""
        return verified_ending.challenge(*self.found(connection, name, lock=True), told)

    def public_record(self, connection: Connection, name: str) -> bytes:
        """Of verified cards, what anybody may check."""
        return verified_ending.public_record(*self.found(connection, name))

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store, held = self.found(connection, name)
        return {
            "survey": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "reports": store.people_count(held),
            "questions": store.report_counts(held),
            "settled": held.is_settled,
            "closes": held.closes,
            "announced": len(held.told.announced),
        }

    def fix_results(self, connection: Connection, name: str, question: str | None = None) -> None:
        """Where results must be some reports apart, go on to the next ones if it is time."""
        store, held = self.found(connection, name)
        if held.survey.results_apart == 1 or held.is_final:
            return
        held = store.find(name, lock=True)
        counts = store.report_counts(held)
        for one in counts if question is None else (results.find_question(held, question).name,):
            results.fix_results(store, held, one, counts[one])

    def estimate(
        self, connection: Connection, name: str, question: str, wish: "EstimateQuery"
    ) -> dict[str, Any]:
        """The estimate of one question so far, or the final one."""
        return results.estimate(*self.found(connection, name), question, wish)

    def estimates(self, connection: Connection, name: str, wish: "EstimateQuery") -> dict[str, Any]:
        """Question -> its estimate, or why there is none."""
        return results.estimates(*self.found(connection, name), wish)

    def change(self, connection: Connection, name: str, wish: ChangeWish) -> dict[str, Any]:
        """How answers have changed since another wave, question by question."""
        store = CollectorStore(connection)
        found = changes(store, store.find(wish.since), store.find(name), wish)
        return {"survey": name, "since": wish.since, "paired": wish.paired, "changes": found}

    def export(self, connection: Connection, name: str, kind: str) -> bytes:
        """All answers as the bytes of a file."""
        store, held = self.found(connection, name)
        results.check_export(held, store.people_count(held))
        from jrr.servers.collector.export import export_answers  # needs pyarrow

        after = closed_wave_after(store, held.survey)
        both = None if after is None else store.who_answered_both(held.name, after)
        return export_answers(held, store.answer_blocks(held), kind, both)


def _recorded(survey: "Survey", promises: Sequence[object] | None) -> str | None:
    """What dealers promise, as it is stored; None where cards are not verified."""
    if not survey.dealing.is_verified:
        if promises is not None:
            raise ArgumentError("promises must be left out where cards are not verified")
        return None
    from jrr.dealing.verified.keys import read_promises  # needs rbcl

    found = read_promises(promises, len(survey.dealing.addresses))
    return json.dumps([plain(one) for one in found])
