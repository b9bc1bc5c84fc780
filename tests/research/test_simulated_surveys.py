"""Many simulated surveys summed up, and the true counts they start from."""

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.mechanisms.simulation import simulate
from jrr.research import simulated_surveys
from jrr.research.simulated_surveys import (
    counts_of_question,
    counts_with_share,
    simulate_surveys,
)

MECHANISM = jrr.DRR(1000, truth=0.3, own=0.1, k=3)
COUNTS = [600, 300, 100]


def test_the_summary_is_that_of_the_estimates() -> None:
    result = simulate_surveys(MECHANISM, COUNTS, 500, rng=np.random.default_rng(1))
    shares = simulate(MECHANISM, COUNTS, 500, np.random.default_rng(1))[:, 1] / 1000
    assert (result.runs, result.people, result.truth) == (500, 1000, 0.3)
    assert result.mean == pytest.approx(shares.mean())
    assert result.stderr_simulated == pytest.approx(np.sqrt(np.mean((shares - 0.3) ** 2)))
    assert result.stderr_theory == pytest.approx(np.sqrt(MECHANISM.variance(COUNTS)[1]) / 1000)
    assert list(result.quantiles.values()) == pytest.approx(
        np.quantile(shares, list(result.quantiles)).tolist()
    )
    assert result.to_dict()["quantiles"] == {
        str(level): value for level, value in result.quantiles.items()
    }


def test_work_in_parts_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_surveys, "CELLS", 300)
    told: list[tuple[int, int | None]] = []
    result = simulate_surveys(MECHANISM, COUNTS, 250, progress=lambda *done: told.append(done))
    assert told == [(100, 250), (200, 250), (250, 250)]
    assert result.runs == 250


def test_true_counts() -> None:
    assert counts_with_share(0.25, 1000, 2) == [750, 250]
    assert counts_with_share(0.1, 10, 4) == [3, 1, 3, 3]
    assert sum(counts_of_question("HIV")) > 0
    with pytest.raises(ArgumentError, match="question must be one of"):
        counts_of_question("nothing")
    with pytest.raises(ArgumentError, match=r"yes must be in 0\.\.1"):
        counts_with_share(1.5, 10, 2)
    with pytest.raises(ArgumentError, match="runs must be"):
        simulate_surveys(MECHANISM, COUNTS, 0)
