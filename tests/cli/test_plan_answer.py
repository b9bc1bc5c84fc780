"""`jrr plan` says first what somebody wants to know, and what was meant where it was mistyped."""

import subprocess
import sys
from collections.abc import Callable

import pytest

import jrr
from jrr.cli.app import run
from jrr.cli.plan.hints import meant


def test_the_answer_stands_first_and_tables_only_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["plan", "-n", "10000", "-e", "1"]) == 0
    answer = capsys.readouterr().out
    assert "MRR" in answer.splitlines()[0]
    assert "±0.468 percentage points" in answer
    assert len(answer.splitlines()) < 20
    assert "─" not in answer
    assert run(["plan", "-n", "10000", "-e", "1", "--details"]) == 0
    detailed = capsys.readouterr().out
    same = answer[: answer.index("Beside the other")]
    assert detailed.startswith(same.rstrip())
    assert "MRR (chosen)" in detailed


def test_the_answer_loads_nothing_that_takes_long() -> None:
    """Half of the time of an answer was loading scipy's optimisation."""
    asked = "from jrr.cli.app import run; import sys; assert run(['plan']) == 0; "
    slow = "('scipy.optimize', 'scipy.stats', 'scipy.signal', 'matplotlib', 'pyarrow', 'numba')"
    loaded = f"print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", asked + loaded], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["10000", "1"], "-n 10000 -e 1"),
        (["eps=1"], "-e 1"),
        (["n=500", "epsilon=.5", "--details"], "-n 500 -e .5 --details"),
        (["1", "10000"], "-e 1 -n 10000"),
        (["1"], "-e 1"),
        (["epsilon", "1", "n", "500"], "-e 1 -n 500"),
        (["1e4", "1"], "-n 10000 -e 1"),
        (["10,000", "-k", "3"], "-n 10,000 -k 3"),
        (["-n", "10000", "eps=1"], "-n 10000 -e 1"),
        (["-n", "10000", "1"], "-n 10000 -e 1"),
    ],
)
def test_what_was_meant(typed: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *typed]) == 2
    assert capsys.readouterr().err.rstrip().endswith(f"Did you mean: jrr plan {hint}")
    assert run(["plan", *hint.split()]) == 0


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("plna", "'plan'"),
        ("file estmate", "'estimate'"),
        ("plan explan", "jrr plan explain"),
        ("file frobnicate", "It has deal, perturb"),
        ("plan --n 10000", "'-n'"),
        ("plan -epsilon 1", "'--epsilon'"),
        ("plan --eps 1", "'--epsilon'"),
    ],
)
def test_what_else_was_meant(typed: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed.split()) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        lambda: jrr.plan(n=100, eps=1),  # type: ignore[call-arg]
        lambda: jrr.RR(eps=1),  # type: ignore[call-arg]
        lambda: jrr.MRR.for_epsilon(eps=1),  # type: ignore[call-arg]
        lambda: jrr.HeavyHitters(jrr.Words("ab", 2), eps=1),  # type: ignore[call-arg]
        lambda: jrr.perturb_frame(None, {}, eps=1),  # type: ignore[call-arg]
    ],
)
def test_names_that_python_does_not_know(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"no argument 'eps': did you mean epsilon=\?"):
        call()


def test_names_that_are_like_no_other_are_refused_with_all() -> None:
    with pytest.raises(TypeError, match="it has n, epsilon, colluders"):
        jrr.plan(people=100)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no argument 'epsilon': see MRR.for_epsilon\(\)"):
        jrr.MRR(n=100, epsilon=1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("words", [["survy"], ["1", "2", "3"], ["of=7"], ["eps="], ["n"]])
def test_nothing_is_guessed(words: list[str]) -> None:
    assert meant(words) is None
