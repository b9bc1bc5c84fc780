"""jrr plan effect: the figures of the library, for a difference and for a coefficient."""

import json
import math
from typing import Any

import pytest

import jrr
from jrr.cli.app import run


def test_power_and_people_are_those_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["plan", "effect", "0.2", "0.26", "-n", "2000", "-e", "1", "--mechanism", "rr"]
    assert run([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for scale in ("difference", "log odds"):
        wish: dict[str, Any] = {"scale": scale, "mechanism": "rr"}
        power = jrr.power_of_effect(2_000, 1.0, 0.2, 0.26, **wish)
        assert found[scale]["power"] == pytest.approx(power)
        assert found[scale]["required_n"] == jrr.required_n_for_effect(1.0, 0.2, 0.26, **wish)
    assert run(given) == 0
    assert "difference: found with 2,000 people in 25% of surveys; 80% takes 9,664" in (
        capsys.readouterr().out
    )
    assert run([*given[:3], "0.2", *given[4:]]) == 2
    assert "power must be reachable" in capsys.readouterr().err


def test_without_a_cap_on_the_dealer_an_effect_is_looked_for_without_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["plan", "effect", "0.2", "0.3", "-n", "2000", "-e", "0.1", "--no-dealer-cap"]
    assert run([*given, "--mechanism", "mrr", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["difference"]["power"]
    uncapped, capped = (
        jrr.power_of_effect(2_000, 0.1, 0.2, 0.3, mechanism="mrr", dealer_epsilon=cap)
        for cap in (math.inf, None)
    )
    assert found == pytest.approx(uncapped)
    assert uncapped > capped + 0.05
