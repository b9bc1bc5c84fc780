"""Pages of an embedded database do not keep who came when, and other surveys cost nothing."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from sqlalchemy import Engine, event, select

from jrr.dealing.kinds import Nobody
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.batch import Writer
from jrr.servers.common.tidying import PART, housekeeping_of
from jrr.survey.survey import Survey
from tests.servers.surveys import survey_of
from tests.statistics_rules import P_VALUE

PAGE = 4096
ON_A_PAGE = 25


def opened(engine: Engine, capacity: int, questions: int = 1) -> Survey:
    made = survey_of(questions, people=capacity, mechanism="rr", dealing=Nobody())
    jobs = CollectorJobs()
    with engine.begin() as connection:
        jobs.install(connection, made)
        jobs.open(connection, made.hash, None)
    return made


def names_of(people: int, seed: int) -> list[bytes]:
    source = random.Random(seed)
    return [source.randbytes(32) for _ in range(people)]


def upload(engine: Engine, made: Survey, batches: Sequence[Sequence[bytes]], tidy: bool) -> None:
    """Each batch in a commit of its own; then the writer has time to tidy up."""

    async def run() -> None:
        keeping = housekeeping_of(engine, CollectorStore.metadata) if tidy else None
        writer = Writer(engine, keeping)
        for batch in batches:

            def add(connection: Any, batch: Sequence[bytes] = batch) -> None:
                store = CollectorStore(connection)
                held = store.find(made.hash)
                store._add(
                    store.reports,
                    [
                        {
                            "survey": made.hash,
                            "question": number,
                            "pseudonym": name,
                            "carded": False,
                            "report": bytes(4),
                        }
                        for name in batch
                        for number in range(len(made.sensitive))
                    ],
                )
                store.count_arrivals(held, len(batch))

            await writer.run(add)
        until = time.monotonic() + 60
        while keeping is not None and time.monotonic() < until:
            await asyncio.sleep(0.05)
            if not keeping._has_log and not any(one.is_due for one in keeping._sweeps.values()):
                break
        writer.close()

    asyncio.run(run())


def order_p_value(folder: Path, names: Sequence[bytes]) -> float:
    """How surprising it is that places within pages go with the order of arrival."""
    on_page: dict[int, list[tuple[int, int]]] = defaultdict(list)
    data = (folder / "collector.db").read_bytes()
    for arrival, name in enumerate(names):
        place = data.find(name)
        assert place >= 0, "every row is in the file"
        on_page[place // PAGE].append((place, arrival))
    first, second = [], []
    for rows in on_page.values():
        places = stats.rankdata([place for place, _ in rows])
        arrivals = stats.rankdata([arrival for _, arrival in rows])
        first += list(places - places.mean())
        second += list(arrivals - arrivals.mean())
    return float(stats.spearmanr(first, second).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("tidy", [True, False])
def test_a_page_does_not_keep_who_came_when(engine: Engine, tmp_path: Path, tidy: bool) -> None:
    """Without housekeeping it does: the negative control."""
    made = opened(engine, ON_A_PAGE)
    everybody = names_of(ON_A_PAGE, 1)
    upload(engine, made, [[name] for name in everybody], tidy)
    engine.dispose()
    found = order_p_value(tmp_path, everybody)
    assert (found > P_VALUE) == tidy
    assert not (tmp_path / "collector.db-wal").exists()


@pytest.mark.parametrize("questions", [1, 20])
def test_a_large_survey_is_rewritten_in_parts_and_stays_whole(
    engine: Engine, questions: int
) -> None:
    everybody = names_of(7_000 // questions, 3)
    made = opened(engine, len(everybody), questions)
    deleted: list[int] = []

    @event.listens_for(engine, "after_cursor_execute")
    def note(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        if statement.startswith("DELETE"):
            deleted.append(cursor.rowcount)

    size = 500 // questions
    batches = [everybody[at : at + size] for at in range(0, len(everybody), size)]
    upload(engine, made, batches, tidy=True)
    assert max(deleted) < 1.5 * PART
    assert sum(deleted) > 7_000  # all of them at least once
    with engine.connect() as connection:
        rows = connection.execute(select(CollectorStore.reports)).all()
    kept = {(row.question, bytes(row.pseudonym)) for row in rows}
    assert kept == {(number, name) for name in everybody for number in range(questions)}
    assert len(rows) == 7_000


def test_a_new_survey_beside_a_large_one_rewrites_only_itself(engine: Engine) -> None:
    large = opened(engine, 20_000)
    upload(engine, large, [names_of(20_000, 1)], tidy=False)
    small = opened(engine, 100)
    written: list[int] = []
    said: list[str] = []

    @event.listens_for(engine, "after_cursor_execute")
    def note(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        said.append(statement)
        if statement.startswith("DELETE"):
            written.append(cursor.rowcount)

    upload(engine, small, [[name] for name in names_of(100, 2)], tidy=True)
    assert not any("VACUUM" in statement for statement in said)
    assert 100 <= sum(written) <= 100 * 100  # its own rows, once or more often
    assert max(written) <= 100
