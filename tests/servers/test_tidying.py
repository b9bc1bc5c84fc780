"""Pages of an embedded database do not keep who came when, and other campaigns cost nothing."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from sqlalchemy import Engine, event

from jrr import RR
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.tidying import PART, housekeeping_of
from jrr.survey.campaign import Campaign
from jrr.survey.messages import StoredReport
from tests.statistics_rules import P_VALUE
from tests.survey.test_promises import campaign

PAGE = 4096
ON_A_PAGE = 25


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path}/collector.db")
    prepare(made, "collector")
    yield made
    made.dispose()


def opened(engine: Engine, capacity: int) -> Campaign:
    made = campaign(mechanism=RR(2, 1.0), capacity=capacity, invitations=False)
    jobs = CollectorJobs()
    with engine.begin() as connection:
        jobs.install(connection, made)
        jobs.open(connection, made.hash, None)
    return made


def reports(people: int, seed: int) -> list[StoredReport]:
    source = random.Random(seed)
    return [
        StoredReport(name=source.randbytes(32), carded=False, report=bytes(4), covariates="{}")
        for _ in range(people)
    ]


def upload(engine: Engine, made: Campaign, batches: Sequence[Sequence[Any]], tidy: bool) -> None:
    """Each batch in a commit of its own; then the writer has time to tidy up."""

    async def run() -> None:
        keeping = housekeeping_of(engine, CollectorStore.metadata) if tidy else None
        writer = Writer(engine, keeping)
        for batch in batches:

            def add(connection: Any, batch: Sequence[StoredReport] = batch) -> None:
                store = CollectorStore(connection)
                held = store.find(made.hash)
                store.add_reports(made.hash, batch)
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
    everybody = reports(ON_A_PAGE, 1)
    upload(engine, made, [[report] for report in everybody], tidy)
    engine.dispose()
    found = order_p_value(tmp_path, [report.name for report in everybody])
    assert (found > P_VALUE) == tidy
    assert not (tmp_path / "collector.db-wal").exists()


def test_a_large_campaign_is_rewritten_in_parts_and_stays_whole(engine: Engine) -> None:
    everybody = reports(7_000, 3)
    made = opened(engine, len(everybody))
    deleted: list[int] = []

    @event.listens_for(engine, "after_cursor_execute")
    def note(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        if statement.startswith("DELETE"):
            deleted.append(cursor.rowcount)

    batches = [everybody[at : at + 500] for at in range(0, len(everybody), 500)]
    upload(engine, made, batches, tidy=True)
    assert max(deleted) < 1.2 * PART
    assert sum(deleted) > len(everybody)  # all of them at least once
    with engine.connect() as connection:
        kept = CollectorStore(connection).stored_reports(made.hash, everybody)
        assert CollectorStore(connection).count(CollectorStore.reports, made.hash) == 7_000
    assert kept == {report.name: report for report in everybody}


def test_a_new_campaign_beside_a_large_one_rewrites_only_itself(engine: Engine) -> None:
    large = opened(engine, 20_000)
    upload(engine, large, [reports(20_000, 1)], tidy=False)
    small = opened(engine, 100)
    written: list[int] = []
    said: list[str] = []

    @event.listens_for(engine, "after_cursor_execute")
    def note(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        said.append(statement)
        if statement.startswith("DELETE"):
            written.append(cursor.rowcount)

    upload(engine, small, [[report] for report in reports(100, 2)], tidy=True)
    assert not any("VACUUM" in statement for statement in said)
    assert 100 <= sum(written) <= 100 * 100  # its own rows, once or more often
    assert max(written) <= 100
