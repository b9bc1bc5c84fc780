"""A smallest batch: no result of fewer reports is shown, nor two that differ by fewer."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from jrr import RR
from jrr.errors import JrrError
from jrr.estimation.groups import without_remainder
from jrr.servers.collector.jobs import CollectorJobs, EstimateWish
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.jobs import utc_now
from jrr.servers.common.problems import Problem
from jrr.survey.campaign import Campaign, read_campaign
from jrr.survey.documents import canonical_json, read_document
from jrr.survey.messages import report_request
from tests.survey.test_promises import campaign

MECHANISM = RR(2, 1.0)
REGIONS = ("north", "south", "sea")
JOBS = CollectorJobs(utc_now)


def asking(min_batch: int = 10, **more: Any) -> Campaign:
    settings = {"min_cell": 1, "invitations": False, "covariates": {"region": REGIONS}}
    return campaign(MECHANISM, **(settings | {"min_batch": min_batch} | more))


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    found = connect(f"sqlite:///{tmp_path / 'collector.db'}")
    prepare(found, "collector")
    return found


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as opened:
        yield opened


def begin(connection: Connection, asked: Campaign) -> None:
    JOBS.install(connection, asked)
    JOBS.open(connection, asked.hash, None)


def answer(connection: Connection, asked: Campaign, numbers: range, region: str = "north") -> None:
    for number in numbers:
        body = report_request(
            pseudonym=number.to_bytes(32, "big"),
            carded=False,
            mechanism=MECHANISM,
            report=number % 2,
            covariates={"region": region},
        )
        JOBS.receive(connection, asked.hash, body)


def result(connection: Connection, asked: Campaign, by: str | None = None) -> dict[str, Any] | str:
    """What is shown now, or the kind of the refusal."""
    JOBS.fix_results(connection, asked.hash)
    try:
        return JOBS.estimate(connection, asked.hash, EstimateWish(by=by))
    except Problem as problem:
        return problem.kind


def size(connection: Connection, asked: Campaign) -> int | None:
    """How many reports the result is of that is shown now."""
    found = result(connection, asked)
    return found["cardless"] if isinstance(found, dict) else None


def exported(connection: Connection, asked: Campaign) -> str:
    try:
        JOBS.export(connection, asked.hash, "csv")
    except Problem as problem:
        return problem.kind
    return "file"


@pytest.mark.parametrize("reports", [1, 9, 10, 11])
def test_the_final_result_needs_a_batch_too(connection: Connection, reports: int) -> None:
    asked = asking(10)
    begin(connection, asked)
    answer(connection, asked, range(reports))
    assert exported(connection, asked) == "results-wait"
    JOBS.close(connection, asked.hash, None)
    enough = reports >= 10
    assert size(connection, asked) == (reports if enough else None)
    assert enough or result(connection, asked) == "too-few"
    assert exported(connection, asked) == ("file" if enough else "too-few")


@pytest.mark.parametrize(("every", "batch"), [(1, 7), (5, 7), (7, 5)])
def test_results_are_a_batch_apart_also_after_restarts(
    engine: Engine, every: int, batch: int
) -> None:
    asked = asking(batch, results_every=every)
    with engine.begin() as connection:
        begin(connection, asked)
    seen = []
    for number in range(40):
        with engine.begin() as connection:  # nothing is kept but what the database holds
            answer(connection, asked, range(number, number + 1))
            seen.append(size(connection, asked))
    with engine.begin() as connection:
        JOBS.close(connection, asked.hash, None)
        seen.append(size(connection, asked))
    shown = sorted({one for one in seen if one is not None})
    assert shown[0] >= batch
    assert shown[-1] == 40
    assert len(shown) > 2
    assert all(later - earlier >= 7 for earlier, later in itertools.pairwise(shown))


def test_groups_are_batches_and_so_is_what_is_left_of_the_total(connection: Connection) -> None:
    asked = asking(10)
    begin(connection, asked)
    answer(connection, asked, range(30), "north")
    answer(connection, asked, range(30, 45), "south")
    answer(connection, asked, range(45, 49), "sea")
    assert result(connection, asked, "region") == "results-wait"
    JOBS.close(connection, asked.hash, None)
    found = result(connection, asked, "region")
    assert isinstance(found, dict)
    # Without "south" hidden too, the total less two groups would tell of four people.
    assert [group["name"] for group in found["groups"]] == ["north"]
    assert found["groups_too_small"] == 2


def test_what_is_left_of_the_total_is_never_a_small_group() -> None:
    for sizes in itertools.product(range(0, 8), repeat=4):
        tallies = {f"{at}": MECHANISM.tally([0] * one) for at, one in enumerate(sizes) if one}
        for fewest in (1, 2, 4, 7):
            kept = without_remainder(tallies, fewest)
            rest = sum(sizes) - sum(one.n for one in kept.values())
            assert all(one.n >= fewest for one in kept.values())
            assert rest == 0 or rest >= fewest or not kept
            hidden = [one.n for name, one in tallies.items() if name not in kept]
            # No more is hidden than is needed: without the largest of them it would not do.
            assert not hidden or max(hidden) < fewest or rest - max(hidden) < fewest


def test_it_is_part_of_the_document_where_it_says_something() -> None:
    assert b"min_batch" not in asking(1).to_bytes()
    with_batch = asking(10)
    assert read_campaign(with_batch.to_bytes()) == with_batch
    document = read_document("campaign", with_batch.to_bytes(), 1 << 20)
    assert document["min_batch"] == 10
    for wrong in (1, 0, True, "2", None, 10**7):
        with pytest.raises(JrrError):
            read_campaign(canonical_json(document | {"min_batch": wrong}))
    with pytest.raises(JrrError, match="min_batch"):
        asking(11, capacity=10)
