"""Uploads are read before the writer, and taken together: few statements for many."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from jrr.dealing.kinds import Dealers
from jrr.errors import DamagedError, JrrError
from jrr.protocol.documents import hashed
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.problems import Problem
from jrr.servers.common.tidying import housekeeping_of
from jrr.survey.messages import upload_limit
from jrr.survey.survey import Survey
from tests.servers.collecting import JOBS, answer, asking, begin, body, person, refusal


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def received(connection: Connection, survey: Survey, bodies: list[bytes]) -> list[Any]:
    """True: new, False: here already, or the kind of the refusal."""
    held = CollectorStore(connection).find(survey.hash)
    found = JOBS.receive_all(connection, [JOBS.read(held, one) for one in bodies])
    return [one.kind if isinstance(one, Problem) else one for one in found]


def rows(connection: Connection, table: str) -> int:
    return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_statements_do_not_grow_with_questions_or_people(engine: Engine) -> None:
    counts = []
    for questions in (2, 30):
        survey = asking(questions, "mrr")
        with engine.begin() as connection:
            begin(connection, survey)
            held = CollectorStore(connection).find(survey.hash)
        for people in (1, 5):
            bodies = [body(survey, secrets.token_bytes(32)) for _ in range(people)]
            incoming = [JOBS.read(held, one) for one in bodies]
            with engine.begin() as connection, statements(engine) as seen:
                assert JOBS.receive_all(connection, incoming) == [True] * people
            counts.append(len(seen))
        with engine.begin() as connection:
            shown = JOBS.show(connection, survey.hash)
            assert shown["reports"] == 6
            assert shown["questions"] == {f"q{at}": 6 for at in range(questions)}
    assert len(set(counts)) == 1
    assert counts[0] < 15


def test_somebodys_answers_are_taken_all_or_none(engine: Engine) -> None:
    survey = asking(3, "mrr")
    first, second = person(1), person(2)
    sent = body(survey, first)
    stolen = json.loads(body(survey, second))
    stolen["reports"]["q2"]["serials"] = json.loads(sent)["reports"]["q2"]["serials"]
    with engine.begin() as connection:
        begin(connection, survey)
        bodies = [
            sent,
            sent,  # again, in the same batch
            body(survey, first),  # other cards
            json.dumps(stolen).encode(),  # a serial number that came before, in the last question
            body(survey, second),
        ]
        assert received(connection, survey, bodies) == [
            True,
            False,
            "conflict",
            "serial-used",
            True,
        ]
        assert JOBS.show(connection, survey.hash)["reports"] == 2
        changed = json.loads(sent) | {"open": {"region": "süd"}}
        others = [sent, json.dumps(changed).encode(), json.dumps(stolen).encode()]
        assert received(connection, survey, others) == [False, "conflict", "serial-used"]
    with engine.begin() as connection:  # nothing was written by halves
        assert [rows(connection, one) for one in ("people", "reports", "serials")] == [2, 6, 6]


def test_an_invitation_does_not_tell_whether_its_owner_has_answered(engine: Engine) -> None:
    """Whoever holds it could find out only by answering in the owner's place."""
    survey = asking(2, "mrr", invitations=True)
    prober, answered, absent = person(1), person(2), person(3)
    hashes = [hashed(who) for who in (prober, answered, absent)]
    with engine.begin() as connection:
        JOBS.install(connection, survey)
        JOBS.invite(connection, survey.hash, hashes)
        JOBS.open(connection, survey.hash)
        own = body(survey, prober)
        assert received(connection, survey, [own, body(survey, answered)]) == [True, True]

        def probe(who: bytes) -> list[dict[str, object]]:
            """The replies to answers that the survey cannot take: with a used card, or none."""
            used = json.loads(body(survey, who))
            used["reports"]["q0"]["serials"] = json.loads(own)["reports"]["q0"]["serials"]
            held = CollectorStore(connection).find(survey.hash)
            read = [JOBS.read(held, json.dumps(used).encode())]
            if held.is_final:
                read.append(JOBS.read(held, body(survey, who, carded=False)))
            refused = JOBS.receive_all(connection, read)
            return [one.document() for one in refused if isinstance(one, Problem)]

        assert probe(answered) == probe(absent) != []
        ending = JOBS.close(connection, survey.hash)
        assert ending["reports"] == 2
        assert probe(answered) == probe(absent) != []
        assert {str(one["type"]) for one in probe(absent)} == {"urn:jrr:problem:closed"}
        assert received(connection, survey, [own]) == [False]  # its sender may ask again


def test_a_question_that_is_not_asked_has_no_report(engine: Engine) -> None:
    survey = asking(2, "mrr", only_if={"region": "süd"})
    with engine.begin() as connection:
        begin(connection, survey)
        answer(connection, survey, range(3))
        answer(connection, survey, range(3, 5), "süd")
        assert JOBS.show(connection, survey.hash)["questions"] == {"q0": 5, "q1": 2}
        more = json.loads(body(survey, person(9), "süd")) | {"open": {"region": "north"}}
        with pytest.raises(DamagedError, match="exactly the questions"):
            JOBS.receive(connection, survey.hash, json.dumps(more).encode())


def test_a_repeat_is_answered_after_the_end_and_others_are_refused(engine: Engine) -> None:
    survey = asking(2, "rr", people=3)
    with engine.begin() as connection:
        JOBS.install(connection, survey)
        sent = [body(survey, person(at)) for at in range(5)]
        with refusal("too-early"):
            JOBS.receive(connection, survey.hash, sent[0])
        JOBS.open(connection, survey.hash)
        assert received(connection, survey, sent[:4]) == [True, True, True, "full"]
        assert received(connection, survey, sent[1:4]) == [False, False, "full"]
        JOBS.close(connection, survey.hash)
        assert received(connection, survey, sent[2:4]) == [False, "closed"]


def test_times_and_invitations(engine: Engine) -> None:
    times: dict[str, Any] = {"opens": "2026-01-02T00:00:00Z", "closes": "2026-01-03T00:00:00Z"}
    survey = asking(1, "rr", invitations=True, **times)
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    jobs = CollectorJobs(lambda: now[0])
    with engine.begin() as connection:
        jobs.install(connection, survey)
        jobs.open(connection, survey.hash)
        answers = CollectorStore(connection).find(survey.hash)
        guest, stranger = body(survey, person(1)), body(survey, person(2))
        jobs.invite(connection, survey.hash, [jobs.read(answers, guest).answers.name])
        with refusal("too-early"):
            jobs.receive(connection, survey.hash, guest)
        assert jobs.told_state(answers) == "new"
        now[0] = datetime(2026, 1, 2, tzinfo=UTC)
        with refusal("unknown-pseudonym"):
            jobs.receive(connection, survey.hash, stranger)
        assert jobs.told_state(answers) == "open"
        assert jobs.receive(connection, survey.hash, guest)
        now[0] = datetime(2026, 1, 3, tzinfo=UTC)
        assert jobs.told_state(answers) == "closed"
        assert not jobs.receive(connection, survey.hash, guest)


@pytest.mark.parametrize("mechanism", ["rr", "mrr", "drr"])
def test_the_limit_of_an_upload_is_above_any_spelling_and_far_below_two_megabytes(
    mechanism: str,
) -> None:
    survey = asking(25, mechanism)
    sent = json.loads(body(survey, person(1), "sea 𝛆"))
    spelled = json.dumps(sent, indent=1)  # \uXXXX for everything beyond ASCII
    assert len(spelled) < upload_limit(survey) < 60_000


@pytest.mark.parametrize("questions", [1, 3])
def test_everything_of_a_survey_is_rewritten_in_one_transaction(
    engine: Engine, questions: int
) -> None:
    survey = asking(questions, "rr")
    keeping = housekeeping_of(engine, CollectorStore.metadata)
    assert keeping is not None
    with engine.connect() as connection:
        with connection.begin():
            begin(connection, survey)
            connection.info.update(arrivals={})
            bodies = [body(survey, secrets.token_bytes(32)) for _ in range(9)]
            assert received(connection, survey, bodies) == [True] * 9
        keeping.note(connection.info["arrivals"])
        with statements(engine) as seen:
            while keeping.when_quiet(connection):
                pass
        rewritten = [one for one in seen if one.startswith("INSERT INTO")]
        assert sorted(one.split()[2] for one in rewritten) == ["people", "reports"]
        assert sum("BEGIN" in one for one in seen) == 1
        with connection.begin():
            assert rows(connection, "reports") == 9 * questions


def test_who_enrolled_is_told_when_it_opens(engine: Engine) -> None:
    survey = asking(1, "drr", dealing=Dealers(("https://dealer0.example",), enrol_first=True))
    plain = asking(1, "rr")
    with engine.begin() as connection:
        for one in (survey, plain):
            JOBS.install(connection, one)
        for wrong in (None, 1, "60"):
            with pytest.raises(JrrError):
                JOBS.open(connection, survey.hash, wrong)  # type: ignore[arg-type]
        assert JOBS.open(connection, survey.hash, 80) == "open"
        with refusal("conflict"):
            JOBS.open(connection, survey.hash, 81)
        with pytest.raises(JrrError, match="n must be null"):
            JOBS.open(connection, plain.hash, 80)
        assert CollectorStore(connection).find(survey.hash).n == 80
        assert CollectorStore(connection).find(survey.hash).decks("q0") == 1
