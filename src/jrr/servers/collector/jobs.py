"""What the collector does to its database; each job checks first and writes last."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from jrr.protocol.states import CLOSED, NEW, OPEN, Act, State
from jrr.servers.collector import ending, intake, results
from jrr.servers.collector.change import ChangeWish, changes
from jrr.servers.collector.ending import ClosingChoices
from jrr.servers.collector.intake import IncomingAnswers
from jrr.servers.collector.store import CollectorStore, CollectorSurvey
from jrr.servers.collector.waves import check_wave
from jrr.servers.common.batch import in_groups
from jrr.servers.common.jobs import SurveyJobs, check_state
from jrr.servers.common.problems import Problem
from jrr.survey.messages import read_upload

if TYPE_CHECKING:
    from jrr.servers.collector.results import EstimateQuery
    from jrr.servers.common.store import HeldSurvey
    from jrr.survey.survey import Survey


class CollectorJobs(SurveyJobs[CollectorStore]):
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
        check_wave(connection, survey)
        return super().install(connection, survey)

    def used(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> list[bytes]:
        """Those whose answers are here."""
        store = CollectorStore(connection)
        return sorted(store.rows_of(store.people, store.find(name).name, hashes))

    def is_used(self, store: CollectorStore, held: "HeldSurvey") -> bool:
        """Whether anybody has answered; a survey with a slip of the pen may go before that."""
        return bool(held.arrivals)

    def by_day(self, connection: Connection, name: str) -> dict[str, int]:
        """Day in UTC -> people whose answers came."""
        store = CollectorStore(connection)
        return store.by_day(store.find(name).name)

    def open(self, connection: Connection, name: str, n: int | None = None) -> State:
        """Begin to take answers; n: how many people were dealt cards, after enrolment."""
        store = CollectorStore(connection)
        check_wave(connection, store.find(name).survey)
        held = store.find(name, lock=True)
        check_state(Act.OPEN, held)
        if held.state == OPEN:
            if n != held.n:
                raise Problem(409, "conflict", f"the survey is open for n={held.n}")
            return OPEN
        held.survey.dealing.check_people(held.survey.dealt, n)
        store.move(held, OPEN, n=n)
        return OPEN

    def read(self, held: CollectorSurvey, body: bytes) -> IncomingAnswers:
        """Answers that fit the survey, before the database is asked anything."""
        check_state(Act.REPORT_AGAIN, held)
        answers = read_upload(held.survey, body, held.n)
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
        receive = partial(intake.receive, CollectorStore(connection), self.clock())
        return in_groups(incoming, lambda one: one.survey, receive)

    def prospect(self, connection: Connection, name: str, wish: ClosingChoices) -> dict[str, Any]:
        """What closing would do; nothing is changed."""
        store = CollectorStore(connection)
        return ending.prospect(store, store.find(name), wish)

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
        store = CollectorStore(connection)
        return ending.closing_request(store, store.find(name), dealer, ahead).to_document()

    def discard(
        self, connection: Connection, name: str, serials: Mapping[str, Sequence[str]]
    ) -> int:
        """Delete all answers of people whose serial numbers their dealer does not know."""
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        ending.check_discarding(held)
        return store.discard(held, ending.read_serials(held.survey, serials))

    def keep_sums(self, connection: Connection, name: str, document: object) -> State:
        """Keep what dealers told of their cards: from now on there is a result."""
        store = CollectorStore(connection)
        held = store.find(name, lock=True)
        ending.keep_sums(store, held, document)
        return held.state

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store = CollectorStore(connection)
        held = store.find(name)
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
        store = CollectorStore(connection)
        held = store.find(name)
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
        store = CollectorStore(connection)
        return results.estimate(store, store.find(name), question, wish)

    def estimates(self, connection: Connection, name: str, wish: "EstimateQuery") -> dict[str, Any]:
        """Question -> its estimate, or why there is none."""
        store = CollectorStore(connection)
        return results.estimates(store, store.find(name), wish)

    def change(self, connection: Connection, name: str, wish: ChangeWish) -> dict[str, Any]:
        """How answers have changed since another wave, question by question."""
        store = CollectorStore(connection)
        found = changes(store, store.find(wish.since), store.find(name), wish)
        return {"survey": name, "since": wish.since, "paired": wish.paired, "changes": found}

    def export(self, connection: Connection, name: str, kind: str) -> bytes:
        """All answers as the bytes of a file."""
        store = CollectorStore(connection)
        held = store.find(name)
        results.check_export(held, store.people_count(held))
        from jrr.servers.collector.export import export_answers  # needs pyarrow

        return export_answers(held, store.answer_blocks(held), kind)
