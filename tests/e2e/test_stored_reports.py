"""A collector on PostgreSQL: its own database counts the reports, and processes share it."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from jrr.errors import ArgumentError, UnreachableError
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.collector.store import CollectorStore
from jrr.servers.collector.stored_reports import open_stored
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.tables.engines.postgres import PostgreSQL
from jrr.tables.estimating import estimate_opened
from tests.servers.collecting import JOBS, REGIONS, answer, asking, begin, body, person

pytestmark = pytest.mark.slow

LABELS = {"kind": "choice", "labels": list("abcdefghi")}
KINDS: dict[str, dict[str, Any]] = {
    "RR": {"mechanism": "rr"},
    "DRR": {"mechanism": "drr"},
    "MRR closed": {"mechanism": "mrr", "closed_deck": True},
    "OUE": {"mechanism": "oue", "kind": LABELS},
    "OLH": {"mechanism": "olh", "kind": LABELS},
}


@pytest.fixture
def url(new_postgres_database: Any) -> str:
    made: str = new_postgres_database()
    return made


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect(url)
    prepare(made, "collector")
    yield made
    made.dispose()


def test_the_database_says_what_the_collector_says(url: str, engine: Engine) -> None:
    for kind, given in KINDS.items():
        survey = asking(2, only_if={"region": list(REGIONS[:2])}, **given)
        with engine.begin() as connection:
            begin(connection, survey)
            for at, region in enumerate(REGIONS):
                answer(connection, survey, range(10 * at, 10 * at + 10), region)
        counting = PostgreSQL()
        with pytest.raises(ArgumentError, match="must be closed"):
            next(open_stored(url, counting, [survey.hash]))
        with engine.begin() as connection:
            JOBS.close(connection, survey.hash)
            shown = JOBS.estimates(connection, survey.hash, EstimateQuery(by=("region",)))
        found = list(open_stored(url, counting, [survey.hash[:12]]))
        assert [(one.survey, one.question) for one in found] == [
            (survey.hash, name) for name in ("q0", "q1")
        ]
        for one in found:
            told = estimate_opened(one.files, by="region", min_cell=1, engine=counting).to_dict()
            assert told["estimate"] == shown[one.question]["estimate"], kind
            assert told["groups"] == shown[one.question]["groups"], kind


def test_what_is_refused(url: str, engine: Engine, new_postgres_database: Any) -> None:
    with pytest.raises(ArgumentError, match="survey must be the beginning of one"):
        next(open_stored(url, PostgreSQL(), ["zzz"]))
    with pytest.raises(ArgumentError, match="table must be a table of this database"):
        next(open_stored(new_postgres_database(), PostgreSQL()))
    with pytest.raises(UnreachableError, match="does not answer") as error:
        next(open_stored("postgresql://nobody:secret@127.0.0.1:1/x", PostgreSQL()))
    assert "secret" not in str(error.value)


def test_processes_that_take_answers_at_once_take_none_too_many(engine: Engine) -> None:
    survey = asking(3, "mrr", people=40)
    with engine.begin() as connection:
        begin(connection, survey)
    with engine.begin() as connection:
        held = CollectorStore(connection).find(survey.hash)
    bodies = [body(survey, person(number)) for number in range(60)]
    outcomes: list[Any] = []

    def take(some: list[bytes]) -> None:
        for one in some:
            with engine.begin() as connection:
                outcomes.extend(JOBS.receive_all(connection, [JOBS.read(held, one)]))

    threads = [threading.Thread(target=take, args=(bodies[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kinds = Counter(one.kind if isinstance(one, Problem) else one for one in outcomes)
    assert kinds == {True: 40, "full": 20}
    with engine.begin() as connection:
        assert JOBS.show(connection, survey.hash)["questions"] == {"q0": 40, "q1": 40, "q2": 40}


def test_results_are_fixed_by_who_also_writes(engine: Engine) -> None:
    """Reports are read by a cursor of the server; what is written after that is not."""
    survey = asking(2, results_every=3)
    with engine.connect() as connection:
        with connection.begin():
            begin(connection, survey)
        for number in range(7):
            with connection.begin():
                answer(connection, survey, range(number, number + 1))
                JOBS.fix_results(connection, survey.hash)
        with connection.begin():
            found = JOBS.estimates(connection, survey.hash, EstimateQuery())
    assert [one["cardless"] for one in found.values()] == [3, 3]
