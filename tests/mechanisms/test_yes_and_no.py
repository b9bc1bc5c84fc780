"""True and False are answers to yes-or-no questions, one by one as in arrays."""

from typing import Any

import numpy as np
import pytest

from jrr import (
    DRR,
    JRR,
    MRR,
    OLH,
    OUE,
    RR,
    SS,
    SUE,
    Mechanism,
    Piecewise,
    SeededRandom,
    Window,
)

MECHANISMS: list[Mechanism] = [
    RR(2, 1.0),
    RR(3, 1.0),
    JRR(10, p=0.6, s=0.2),
    DRR(10, truth=0.4, own=0.1),
    SUE(2, 1.0),
    OUE(2, 1.0),
    SS(5, 1.0),
    OLH(2, 1.0),
    MRR(10, own=2.0, card_rate=0.5, announced_rate=0.4),
    MRR(10, own=3.0, card_rate=0.3, announced_rate=0.8, k=4),
    Piecewise(3.0, steps=4, width=2),
    MRR(10, own=3.0, card_rate=0.3, announced_rate=0.3, coin=Window(4, 2)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_true_is_1_and_false_is_0(mechanism: Mechanism, kind: Any) -> None:
    for number in (0, 1):
        answer = kind(number)
        one, other = (
            mechanism.respond_one(value, rng=SeededRandom(1)) for value in (answer, number)
        )
        assert one == other
        many, others = (
            mechanism.respond([value] * 5, rng=SeededRandom(1)) for value in (answer, number)
        )
        assert np.array_equal(np.asarray(many), np.asarray(others))
