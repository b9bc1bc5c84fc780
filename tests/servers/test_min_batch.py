"""A smallest batch: no result of fewer reports is shown, nor two that differ by fewer."""

import itertools
import json
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from jrr import RR
from jrr.errors import JrrError
from jrr.estimation.groups import without_remainder
from jrr.protocol.documents import canonical_json
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.common.problems import Problem
from jrr.survey.survey import Survey, read_survey
from tests.servers.collecting import JOBS, answer, asking, begin

MECHANISM = RR(2, 1.0)


def result(
    connection: Connection, asked: Survey, by: tuple[str, ...] | None = None
) -> dict[str, Any] | str:
    """What is shown now, or the kind of the refusal."""
    JOBS.fix_results(connection, asked.hash, "q0")
    try:
        return JOBS.estimate(connection, asked.hash, "q0", EstimateQuery(by=by))
    except Problem as problem:
        return problem.kind


def size(connection: Connection, asked: Survey) -> int | None:
    """How many reports the result is of that is shown now."""
    found = result(connection, asked)
    return found["cardless"] if isinstance(found, dict) else None


def exported(connection: Connection, asked: Survey) -> str:
    try:
        JOBS.export(connection, asked.hash, "csv")
    except Problem as problem:
        return problem.kind
    return "file"


@pytest.mark.parametrize("reports", [1, 9, 10, 11])
def test_the_final_result_needs_a_batch_too(connection: Connection, reports: int) -> None:
    asked = asking(min_batch=10)
    begin(connection, asked)
    answer(connection, asked, range(reports))
    assert exported(connection, asked) == "results-wait"
    JOBS.close(connection, asked.hash)
    enough = reports >= 10
    assert size(connection, asked) == (reports if enough else None)
    assert enough or result(connection, asked) == "too-few"
    assert exported(connection, asked) == ("file" if enough else "too-few")


@pytest.mark.parametrize(("every", "batch"), [(1, 7), (5, 7), (7, 5)])
def test_results_are_a_batch_apart_also_after_restarts(
    engine: Engine, every: int, batch: int
) -> None:
    asked = asking(min_batch=batch, results_every=every)
    with engine.begin() as connection:
        begin(connection, asked)
    seen = []
    for number in range(40):
        with engine.begin() as connection:  # nothing is kept but what the database holds
            answer(connection, asked, range(number, number + 1))
            seen.append(size(connection, asked))
    with engine.begin() as connection:
        JOBS.close(connection, asked.hash)
        seen.append(size(connection, asked))
    shown = sorted({one for one in seen if one is not None})
    assert shown[0] >= batch
    assert shown[-1] == 40
    assert len(shown) > 2
    assert all(later - earlier >= 7 for earlier, later in itertools.pairwise(shown))


def test_groups_are_batches_and_so_is_what_is_left_of_the_total(connection: Connection) -> None:
    asked = asking(min_batch=10)
    begin(connection, asked)
    answer(connection, asked, range(30), "north")
    answer(connection, asked, range(30, 45), "süd")
    answer(connection, asked, range(45, 49), "sea 𝛆")
    assert result(connection, asked, ("region",)) == "results-wait"
    JOBS.close(connection, asked.hash)
    found = result(connection, asked, ("region",))
    assert isinstance(found, dict)
    # Without "süd" hidden too, the total less two groups would tell of four people.
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


def test_it_is_part_of_the_document() -> None:
    with_batch = asking(min_batch=10)
    assert read_survey(with_batch.to_bytes()).min_batch == 10
    document = json.loads(with_batch.to_bytes())
    for wrong in (0, True, "2", None, 10**7):
        with pytest.raises(JrrError):
            read_survey(canonical_json(document | {"min_batch": wrong}))
    with pytest.raises(JrrError, match="min_batch"):
        asking(min_batch=11, capacity=10)
