"""Uploads to surveys are read before the writer, and taken together: few statements for many."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.store import CollectorStore
from jrr.servers.collector.surveys import CollectorSurveyJobs
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.seating import Visitor
from jrr.servers.dealer.surveys import DealerSurveyJobs
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.survey_creation import SurveyRequest
from jrr.survey.survey_messages import part_report, upload, upload_limit
from jrr.survey.surveys import Survey

SECTOR = {
    "name": "sector",
    "kind": "choice",
    "labels": ["öffice", "workshop 𝛆"],
    "text": "Where?",
    "sensitive": False,
}


def survey_of(items: int, mechanism: str, **more: Any) -> Survey:
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"{at}?"} for at in range(items)]
    document = {"title": "T", "epsilon": float(items), "items": [SECTOR, *asked]}
    return SurveyRequest(
        questionnaire=Questionnaire.from_dict(document),
        people=40,
        collector="https://collector.example",
        dealers=("https://dealer.example",) if mechanism != "rr" else (),
        mechanism=mechanism,
        invitations=False,
        **more,
    ).survey()


def body(survey: Survey, who: bytes, serials: bool = True, sector: str = "öffice") -> bytes:
    reports = {}
    for part in survey.parts:
        mechanism = part.campaign.mechanism
        told = [secrets.token_hex(16)] if part.campaign.announces and serials else None
        report = mechanism.respond_one(1, 0) if mechanism.deals else mechanism.respond_one(1)
        reports[part.name] = part_report(mechanism, report, mechanism.deals, told)
    return upload(who, {"sector": sector}, reports)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path}/collector.db")
    prepare(made, "collector")
    yield made
    made.dispose()


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


def begun(connection: Connection, survey: Survey) -> CollectorSurveyJobs:
    jobs = CollectorSurveyJobs(CollectorJobs())
    jobs.install(connection, survey)
    jobs.open(connection, survey.hash)
    return jobs


def test_statements_do_not_grow_with_items_or_people(engine: Engine) -> None:
    counts = []
    for items in (2, 30):
        survey = survey_of(items, "mrr")
        with engine.begin() as connection:
            jobs = begun(connection, survey)
        for people in (1, 5):
            incoming = [
                jobs.read(survey, body(survey, secrets.token_bytes(32))) for _ in range(people)
            ]
            with engine.begin() as connection, statements(engine) as seen:
                assert jobs.receive_all(connection, incoming) == [True] * people
            counts.append(len(seen))
        with engine.begin() as connection:
            assert jobs.show(connection, survey.hash)["reports"] == 6
            assert set(jobs.show(connection, survey.hash)["parts"].values()) == {6}
    assert len(set(counts)) == 1
    assert counts[0] < 15


def test_the_dealer_deals_all_parts_at_once(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    engine = connect(f"sqlite:///{tmp_path}/dealer.db")
    prepare(engine, "dealer")
    survey = survey_of(20, "mrr")
    jobs = DealerSurveyJobs(DealerJobs(KeyFiles(str(keys))))
    with engine.begin() as connection:
        jobs.install(connection, survey)
        jobs.open(connection, survey.hash)
    people = [Visitor(survey.hash, secrets.token_bytes(32), None) for _ in range(3)]
    with engine.connect() as connection:
        with connection.begin(), statements(engine) as seen:
            hands = jobs.cards_all(connection, [*people, people[0]])
        committed = connection.info["committed"]
        assert len(committed) == 1  # one file beside the keys, not one per part
        committed[0]()
        assert len(seen) < 15
        with connection.begin():
            again = jobs.cards_all(connection, people)
    told = [one for one in hands if not isinstance(one, Problem)]
    assert [set(one["hands"]) for one in told] == [{part.name for part in survey.parts}] * 4
    assert hands[3] == hands[0]
    assert again == hands[:3]
    assert [path.name for path in keys.glob("*.seats")] == [f"{survey.hash}.seats"]
    # A database from before those three were seated is noticed.
    with engine.begin() as connection:
        connection.execute(text("UPDATE arrivals SET arrivals = 2"))
    old = DealerSurveyJobs(DealerJobs(KeyFiles(str(keys))))
    with engine.begin() as connection:
        (refused,) = old.cards_all(connection, people[:1])
    assert isinstance(refused, Problem)
    assert (refused.status, refused.kind) == (503, "no-key")


def test_somebodys_answers_are_taken_all_or_none(engine: Engine) -> None:
    survey = survey_of(3, "mrr")
    first, second = secrets.token_bytes(32), secrets.token_bytes(32)
    sent = body(survey, first)
    stolen = json.loads(body(survey, second))
    last = survey.parts[-1].name
    stolen["reports"][last]["serials"] = json.loads(sent)["reports"][last]["serials"]
    with engine.begin() as connection:
        jobs = begun(connection, survey)
        bodies = [
            sent,
            sent,  # again, in the same batch
            body(survey, first),  # other cards
            json.dumps(stolen).encode(),  # a serial number that came before, in the last part
            body(survey, second),
        ]
        found = jobs.receive_all(connection, [jobs.read(survey, one) for one in bodies])
        kinds = [one.kind if isinstance(one, Problem) else one for one in found]
        assert kinds == [True, False, "conflict", "serial-used", True]
        shown = jobs.show(connection, survey.hash)
        assert shown["reports"] == 2
        assert set(shown["parts"].values()) == {2}
        changed = json.loads(sent) | {"open": {"sector": "workshop 𝛆"}}
        other = [sent, json.dumps(changed).encode()]
        found = jobs.receive_all(connection, [jobs.read(survey, one) for one in other])
        kinds = [one.kind if isinstance(one, Problem) else one for one in found]
        assert kinds == [False, "conflict"]
    with engine.begin() as connection:  # nothing was written by halves
        for table in (CollectorStore.reports, CollectorStore.serials):
            count = connection.execute(text(f"SELECT count(*) FROM {table.name}")).scalar_one()
            assert count == 6


@pytest.mark.parametrize("mechanism", ["rr", "mrr", "drr"])
def test_the_limit_of_an_upload_is_above_any_spelling_and_far_below_two_megabytes(
    mechanism: str,
) -> None:
    survey = survey_of(20, mechanism)
    sent = body(survey, secrets.token_bytes(32), sector="workshop 𝛆")
    spelled = json.dumps(json.loads(sent), ensure_ascii=True, indent=1).encode()
    assert len(spelled) < upload_limit(survey) < 16_000


def test_rows_of_people_are_tidied_too(engine: Engine) -> None:
    survey = survey_of(2, "rr")
    keeping = housekeeping_of(engine, CollectorStore.metadata)
    assert keeping is not None
    with engine.connect() as connection:
        with connection.begin():
            jobs = begun(connection, survey)
            connection.info.update(arrivals={})
            incoming = [jobs.read(survey, body(survey, secrets.token_bytes(32))) for _ in range(9)]
            jobs.receive_all(connection, incoming)
        keeping.note(connection.info["arrivals"])
        with statements(engine) as seen:
            while keeping.when_quiet(connection):
                pass
        rewritten = [one for one in seen if one.startswith("INSERT INTO")]
        assert sorted(one.split()[2] for one in rewritten) == ["people", "reports", "reports"]
        assert sum("BEGIN" in one for one in seen) == 1
        with connection.begin():
            assert jobs.show(connection, survey.hash)["reports"] == 9
