"""How many cards a dealer says are lost: those of a branch that nobody was asked are not."""

from types import SimpleNamespace

import pytest

from jrr.console.status import _returned
from tests.servers.collecting import asking


@pytest.mark.parametrize(
    ("only_if", "counts", "expected"),
    [
        ({"region": ["north"]}, {"q0": 9, "q1": 4}, [9]),  # five were not asked q1
        (None, {"q0": 9, "q1": 9}, [9, 9]),
    ],
)
def test_a_branch_loses_no_card(
    only_if: dict[str, list[str]] | None, counts: dict[str, int], expected: list[int]
) -> None:
    survey = asking(2, "mrr", only_if=only_if)
    sums = {name: {"": {"cards": count}} for name, count in counts.items()}
    announced = [{"sums": {"questions": sums}}]
    assert _returned(SimpleNamespace(survey=survey, announced=announced)) == expected
    assert _returned(SimpleNamespace(survey=survey, announced=[])) == []
