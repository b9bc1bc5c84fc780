"""Operations in any order, each with any fault, and what must be true of the servers after each.

The model knows at any time what each server has committed: a fault before a commit leaves what was,
a fault after it what was asked for. Every step compares all rows of both databases with the model,
so a report that is lost, doubled or changed, or a seat that is given away twice, cannot hide. The
deck has every card once: whoever holds somebody else's card is seen at once.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import select

from jrr import DRR
from jrr.dealing.kinds import Dealers
from jrr.protocol.documents import canonical_json
from jrr.protocol.identity import COLLECTOR, dealer_role, pseudonym
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.database import connect, prepare, scrub
from jrr.servers.dealer.store import DealerStore
from tests.faults.servers import AFTER, Fault, FaultyServer, Reply
from tests.survey import survey_by

DEALER = dealer_role(0)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
OPENS, CLOSES = BEGIN + timedelta(hours=1), BEGIN + timedelta(hours=9)
PEOPLE, FEWEST = 6, 3
# No real process dies here, so files need not reach a disk.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
NEW, ENROLLING, OPEN, CLOSED = "new", "enrolling", "open", "closed"
FAULTS = [fault for fault in Fault if fault is not Fault.ACKNOWLEDGES_FIRST]
faults = st.sampled_from([Fault.NONE] * len(FAULTS) + FAULTS)  # half of the time all goes well
people = st.sampled_from([0, 0, 1, 1, *range(PEOPLE)])  # so that some come again
ACTS = ("enrol", "fetch", "answer", "answer_differently", "send_nonsense")
acts = st.lists(st.tuples(st.sampled_from(ACTS), people, faults), min_size=12, max_size=24)
Databases = Callable[[Path], tuple[str, str]]


@cache
def empty_database(role: str) -> bytes:
    """A file with all tables and no rows: making them takes longer than a run."""
    with tempfile.TemporaryDirectory(prefix="jrr-faults-") as folder:
        path = Path(folder) / "empty.db"
        engine = connect(f"sqlite:///{path}")
        prepare(engine, role)
        scrub(engine)
        engine.dispose()
        return path.read_bytes()


def sqlite_files(folder: Path) -> tuple[str, str]:
    """A file for each server."""
    paths = []
    for role in ("dealer", "collector"):
        path = folder / f"{role}.db"
        path.write_bytes(empty_database(role))
        paths.append(f"sqlite:///{path}")
    return paths[0], paths[1]


def secret_of(person: int) -> bytes:
    return hashlib.sha256(b"%d" % person).digest()[:20]


class FaultMachine(RuleBasedStateMachine):
    """A dealer, a collector and six people."""

    databases: ClassVar[Databases] = staticmethod(sqlite_files)
    faults_seen: ClassVar[set[tuple[str, Fault]]] = set()  # over all runs: what was really tried

    @initialize(enrols=st.booleans(), begun=st.sampled_from([True, True, False]))
    def create(self, enrols: bool, begun: bool) -> None:
        """Both servers hold one survey, and everybody is invited; begun: it takes answers."""
        self.folder = tempfile.TemporaryDirectory(prefix="jrr-faults-", dir=MEMORY)
        dealer, collector = type(self).databases(Path(self.folder.name))
        self.now = OPENS + timedelta(hours=1)
        clock: Callable[[], datetime] = lambda: self.now  # noqa: E731
        place = Path(self.folder.name)
        self.dealer = FaultyServer("dealer", dealer, place, clock)
        self.collector = FaultyServer("collector", collector, place, clock)
        # One card of each face: a card that two people hold was dealt twice.
        self.enrols = enrols
        self.survey = survey_by(
            DRR(FEWEST if enrols else PEOPLE, truth=0.2, own=0.5, k=PEOPLE),
            dealing=Dealers(("http://127.0.0.1:1",), enrol_first=enrols),
            collector="http://127.0.0.1:2",
            capacity=PEOPLE,
            colluders=0,
            min_cell=2,
            opens=f"{OPENS:%Y-%m-%dT%H:%M:%SZ}",
            closes=f"{CLOSES:%Y-%m-%dT%H:%M:%SZ}",
        )
        self.dealer_state = self.collector_state = NEW
        self.burned = False
        self.n: int | None = None
        self.seats: set[int] = set()
        self.hands: dict[int, int] = {}  # cards that people were given
        self.reports: dict[int, bytes] = {}  # what the collector has committed
        for server, role in ((self.dealer, DEALER), (self.collector, COLLECTOR)):
            path = f"/v1/admin/surveys/{self.survey.hash}"
            assert server.ask("PUT", path, self.survey.to_bytes()).status == 201
            names = [
                hashlib.sha256(pseudonym(secret_of(person), self.survey.hash, role)).hexdigest()
                for person in range(PEOPLE)
            ]
            assert server.ask("POST", f"{path}/invitations", {"names": names}).status == 200
        if begun:
            self._open_dealer(fault=Fault.NONE)
            for person in range(PEOPLE - 1 if enrols else 0):  # one comes too late
                self.enrol(person=person, fault=Fault.NONE)
            self._deal(fault=Fault.NONE)
            self._open_collector(fault=Fault.NONE)

    def teardown(self) -> None:
        if hasattr(self, "survey"):
            self.dealer.close()
            self.collector.close()
            self.folder.cleanup()

    # What is asked -------------------------------------------------------------------------------

    def _admin(self, server: FaultyServer, act: str, document: Any, fault: Fault) -> Reply:
        path = f"/v1/admin/surveys/{self.survey.hash}/{act}"
        return server.ask("POST", path, document, fault)

    def _person(self, server: FaultyServer, act: str, body: Any, fault: Fault) -> Reply:
        return server.ask("POST", f"/v1/surveys/{self.survey.hash}/{act}", body, fault)

    def _check(self, server: FaultyServer, act: str, reply: Reply, fault: Fault, due: int) -> bool:
        """Whether what was asked for is done; the answer must be the one that is due, or none."""
        if server.fired:
            self.faults_seen.add((act, fault))
        kept = due < 300
        if not server.fired:  # nothing was committed at which it could break
            assert reply.status == due, (act, fault, reply, due)
            return kept
        if fault is Fault.LOST_REQUEST:
            return False
        if fault is Fault.LOST_ANSWER:
            return kept
        # A transaction of a refusal or a repeat is committed too, with nothing in it.
        assert reply.status in (0, 503) or fault is Fault.ACKNOWLEDGES_FIRST, (act, fault, reply)
        if fault is Fault.ACKNOWLEDGES_FIRST:
            return kept
        return kept and fault in AFTER

    def _refused_now(self) -> int | None:
        """What everybody is told outside the survey's times."""
        if self.now < OPENS:
            return 425
        return 410 if self.now >= CLOSES else None

    # Operators -----------------------------------------------------------------------------------

    @rule(act=st.sampled_from(["open dealer", "deal", "open collector"]), fault=faults)
    def begin(self, act: str, fault: Fault) -> None:
        """What operators do to begin, in any order and as often as they like."""
        acts = {
            "open dealer": self._open_dealer,
            "deal": self._deal,
            "open collector": self._open_collector,
        }
        acts[act](fault)

    @rule(act=st.sampled_from(["burn", "close collector"]), fault=faults, wait=st.integers(0, 3))
    def end(self, act: str, fault: Fault, wait: int) -> None:
        """It ends most of what can be tried, and so must not come too soon."""
        if not wait:
            {"burn": self._burn, "close collector": self._close_collector}[act](fault)

    def _open_dealer(self, fault: Fault) -> None:
        due = 410 if self.dealer_state == CLOSED else 200
        reply = self._admin(self.dealer, "open", None, fault)
        if self._check(self.dealer, "open dealer", reply, fault, due) and self.dealer_state == NEW:
            self.dealer_state = ENROLLING if self.enrols else OPEN

    def _open_collector(self, fault: Fault) -> None:
        n = self.n if self.enrols else None
        if self.enrols and n is None:
            return
        due = 410 if self.collector_state == CLOSED else 200
        reply = self._admin(self.collector, "open", {"n": n}, fault)
        if self._check(self.collector, "open collector", reply, fault, due):
            self.collector_state = OPEN

    def _deal(self, fault: Fault) -> None:
        if not self.enrols:
            return
        due = {NEW: 409, CLOSED: 409, OPEN: 200}.get(self.dealer_state)
        if due is None:
            due = 200 if len(self.seats) >= FEWEST else 422
        reply = self._admin(self.dealer, "deal", None, fault)
        if self._check(self.dealer, "deal", reply, fault, due):
            self.dealer_state = OPEN
            self.n = len(self.seats) if self.n is None else self.n

    def _burn(self, fault: Fault) -> None:
        reply = self._admin(self.dealer, "close", None, fault)
        done = self._check(self.dealer, "burn", reply, fault, 200)
        if done:
            self.dealer_state = CLOSED
            # The key goes after the commit; where that broke off, at the next start or close.
            self.burned |= not (self.dealer.fired and fault is Fault.ERROR_AFTER)

    def _close_collector(self, fault: Fault) -> None:
        reply = self._admin(self.collector, "close", {}, fault)
        if self._check(self.collector, "close collector", reply, fault, 200):
            self.collector_state = CLOSED

    @rule(which=st.booleans())
    def restart(self, which: bool) -> None:
        (self.dealer if which else self.collector).restart()
        self.burned |= which and self.dealer_state == CLOSED

    @rule(hours=st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    def jump(self, hours: int) -> None:
        """Clocks go forward and back."""
        self.now = BEGIN + timedelta(hours=hours)

    # People --------------------------------------------------------------------------------------

    @rule(acts=acts)
    def several_people(self, acts: list[tuple[str, int, Fault]]) -> None:
        """They come one after another; everything is compared after each."""
        for act, person, fault in acts:
            getattr(self, act)(person, fault)
            self.every_row_is_as_the_model_knows_it()

    def _name(self, person: int, role: str) -> str:
        return pseudonym(secret_of(person), self.survey.hash, role).hex()

    def enrol(self, person: int, fault: Fault) -> None:
        due = self._due_for_enrolment(person)
        body = {"pseudonym": self._name(person, DEALER)}
        reply = self._person(self.dealer, "seats", body, fault)
        if self._check(self.dealer, "enrol", reply, fault, due):
            self.seats.add(person)

    def _due_for_enrolment(self, person: int) -> int:
        if not self.enrols:
            return 409
        if self.dealer_state in (NEW, CLOSED):
            return 425 if self.dealer_state == NEW else 410
        refused = self._refused_now()
        if refused is not None:
            return refused
        if person in self.seats:
            return 200
        return 201 if self.dealer_state == ENROLLING else 410

    def fetch(self, person: int, fault: Fault) -> None:
        due = self._due_for_cards(person)
        body = {"pseudonym": self._name(person, DEALER)}
        reply = self._person(self.dealer, "cards", body, fault)
        if self._check(self.dealer, "fetch", reply, fault, due):
            self.seats.add(person)
        if reply.status == 200:
            card = reply.document["cards"]["answer"]["card"]
            assert self.hands.setdefault(person, card) == card, "a second card"
            held = list(self.hands.values())
            assert len(set(held)) == len(held), f"a card was dealt twice: {self.hands}"

    def _due_for_cards(self, person: int) -> int:
        if self.dealer_state == CLOSED:
            return 410
        if self.dealer_state in (NEW, ENROLLING):
            return 425
        refused = self._refused_now()
        if refused is not None:
            return refused
        return 404 if self.enrols and person not in self.seats else 200

    def _report(self, person: int, value: int) -> bytes:
        return canonical_json(
            {
                "pseudonym": self._name(person, COLLECTOR),
                "open": {},
                "reports": {"answer": {"carded": person in self.hands, "report": value}},
            }
        )

    def _send(self, act: str, person: int, body: bytes, fault: Fault) -> None:
        reply = self._person(self.collector, "reports", body, fault)
        due = self._due_for_report(person, body)
        if self._check(self.collector, act, reply, fault, due):
            self.reports.setdefault(person, body)

    def _due_for_report(self, person: int, body: bytes) -> int:
        if self.collector_state == NEW:
            return 425
        kept = self.reports.get(person)
        if kept == body:
            return 200
        if self.collector_state == CLOSED:
            return 410
        # Whoever comes too early or too late is not told whether somebody has answered.
        return self._refused_now() or (201 if kept is None else 409)

    def answer(self, person: int, fault: Fault) -> None:
        """A report, or the same again where there is one."""
        body = self.reports.get(person) or self._report(person, person)
        self._send("answer", person, body, fault)

    def answer_differently(self, person: int, fault: Fault) -> None:
        """Another report of the same person: there must never be two."""
        other = self._report(person, (person + 1) % PEOPLE)
        self._send("conflict", person, other, fault)

    def send_nonsense(self, person: int, fault: Fault) -> None:
        what = ("value", "stranger", "json")[person % 3]
        due = 422
        body = self._report(person, PEOPLE)
        if what == "json":
            body = b"{"
        elif what == "stranger":
            body, due = self._report(100 + person, 1), 404
        if self.collector_state == NEW:
            due = 425
        reply = self._person(self.collector, "reports", body, fault)
        assert not self._check(self.collector, "nonsense", reply, fault, due)

    # What must be true ---------------------------------------------------------------------------

    @invariant()
    def every_row_is_as_the_model_knows_it(self) -> None:
        """Straight from the tables: no lost or doubled report, no seat too many."""
        if not hasattr(self, "survey"):
            return
        self._check_collector()
        self._check_dealer()

    def _check_collector(self) -> None:
        with self.collector.engine.connect() as connection:
            rows = connection.execute(select(CollectorStore.reports)).all()
            people = connection.execute(select(CollectorStore.people)).all()
            counted = CollectorStore(connection).count_of_arrivals(self.survey.hash)
            state = CollectorStore(connection).find(self.survey.hash).state
        role = COLLECTOR
        expected = {}
        for person, body in self.reports.items():
            name = hashlib.sha256(bytes.fromhex(self._name(person, role))).digest()
            expected[name] = body
        assert {bytes(row.pseudonym) for row in rows} == set(expected), "lost or invented"
        assert {bytes(row.pseudonym) for row in people} == set(expected), "answers without reports"
        assert len(rows) == len(people) == len(expected) == counted, "doubled"
        for row in rows:
            kept = json.loads(expected[bytes(row.pseudonym)])["reports"]["answer"]
            report = self.survey.sensitive[0].mechanism.report_bytes(kept["report"])
            assert (report, kept["carded"]) == (bytes(row.report), bool(row.carded)), "changed"
        assert state == self.collector_state

    def _check_dealer(self) -> None:
        table = DealerStore.seats
        with self.dealer.engine.connect() as connection:
            rows = connection.execute(select(table)).all()
            held = DealerStore(connection).find(self.survey.hash)
        names = {
            hashlib.sha256(bytes.fromhex(self._name(person, DEALER))).digest()
            for person in self.seats
        }
        assert {bytes(row.pseudonym) for row in rows} == names
        assert len(rows) == len(names) == held.arrivals
        places = [(row.block, row.number) for row in rows if row.block is not None]
        assert len(set(places)) == len(places), "a seat was given away twice"
        assert held.state == self.dealer_state
        assert held.n == self.n
        if self.burned:
            assert not (self.dealer.keys / f"{self.survey.hash}.key").exists()
