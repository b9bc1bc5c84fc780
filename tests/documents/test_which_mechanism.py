"""Every figure of docs/which-mechanism.md, computed anew."""

import math
import re
from functools import cache
from pathlib import Path

import pytest

import jrr
from jrr._base.wording import show_epsilon
from jrr.planning.alternatives import FREQUENCIES, Alternative, alternatives

pytestmark = pytest.mark.heavy

PAGE = (Path(__file__).parents[2] / "docs" / "which-mechanism.md").read_text(encoding="utf-8")
N, DELTA, EPSILONS = 10_000, 1e-6, (0.1, 1.0)


@cache
def rows(epsilon: float) -> dict[str, Alternative]:
    """What `jrr plan -n 10000 -e EPSILON -M 5 --delta 1e-6 --compare` shows."""
    return {row.name: row for row in alternatives(N, epsilon, DELTA, 5, epsilon + 2)}


def table(heading: str) -> list[list[str]]:
    """The rows of the table whose first line has this heading."""
    lines = PAGE.splitlines()
    (start,) = [at for at, line in enumerate(lines) if line.startswith("|") and heading in line]
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 2 : end]
    ]


def points(variance: float) -> str:
    return f"{100 * math.sqrt(variance) / N:.3g}"


def errors(row: Alternative) -> str:
    return " / ".join(points(row.variance[frequency]) for frequency in FREQUENCIES)


def test_the_commands_are_those_that_were_computed() -> None:
    for epsilon in EPSILONS:
        assert f"$ jrr plan compare -n 10000 -e {epsilon:g} -M 5 --delta 1e-6\n" in PAGE


@pytest.mark.slow
def test_the_table_of_alternatives() -> None:
    shown = table("collusion, ε = 0.1")
    names = [name for name in rows(0.1) if "then shuffled" not in name]
    assert [row[0] for row in shown] == [name.replace("at 2.1", "at ε + 2") for name in names]
    for name, *cells in shown:
        made = [rows(e)[name.replace("ε + 2", f"{e + 2:g}")] for e in EPSILONS]
        expected = [*map(errors, made), *(show_epsilon(row.if_they_collude) for row in made)]
        assert cells == expected, name


@pytest.mark.slow
def test_the_table_of_cards_behind_a_shuffler() -> None:
    shown = table("shuffled ε")
    expected = []
    for epsilon in EPSILONS:
        for name, row in rows(epsilon).items():
            if "then shuffled" in name:
                assert row.shuffled_rr_variance is not None
                assert row.compositions == "all"
                expected.append(
                    [
                        f"{name}, ε = {epsilon:g}",
                        show_epsilon(row.epsilon),
                        errors(row),
                        points(row.shuffled_rr_variance),
                    ]
                )
    assert shown == expected


@pytest.mark.slow
def test_what_the_closed_form_would_promise_for_cards() -> None:
    mechanism = rows(0.1)["JRR, then shuffled"].mechanism
    assert mechanism is not None
    promised = jrr.amplified_epsilon(mechanism.epsilon("cards", 5), N, DELTA)
    true = rows(0.1)["JRR, then shuffled"].epsilon
    assert f"would promise {promised:.4f}, and the truth is {true:.4f}" in PAGE


@pytest.mark.slow
def test_the_conclusion_in_words() -> None:
    """A factor of eight and more; about a third, and five sixths, of RR's error."""
    for epsilon, share in zip(EPSILONS, (1 / 3, 5 / 6), strict=True):
        made = rows(epsilon)
        capped = made[f"DRR, dealer capped at {epsilon + 2:g}"]
        exact = made["shuffled RR, by the law of the count"]
        added = made["secure aggregation with geometric noise"]
        for frequency in FREQUENCIES:
            for dealt in (capped, made["DRR, no cap on the dealer"]):
                assert math.sqrt(dealt.variance[frequency] / exact.variance[frequency]) > 8
            assert added.variance[frequency] < exact.variance[frequency]
            assert math.sqrt(
                capped.variance[frequency] / made["RR"].variance[frequency]
            ) == pytest.approx(share, rel=0.05)


def test_the_example_runs_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "which-mechanism.md", "exec"), names)
    (promised,) = re.findall(r"# ([\d.]+)$", code, flags=re.MULTILINE)
    assert capsys.readouterr().out.strip() == promised
    local = names["local"]
    assert isinstance(local, jrr.RR)
    assert jrr.shuffled_epsilon(local, 1e-6, n=8_000) > 0.1
