"""What the mechanisms cost on this machine, beside bare numpy in the same run."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import OUE

_MOST = 100_000_000
_LARGE_K = 64
_ENCODED_SHARE = 20  # reports of an encoding are so many times larger
BARE = "numpy: coins thrown and counted"
Progress = Callable[[int, int], None]


class Cost(NamedTuple):
    """Best time over all rounds."""

    name: str
    reports: int
    nanoseconds: float  # per report
    ratio: float  # to bare numpy


def costs(
    reports: int = 1_000_000, rounds: int = 5, progress: Progress | None = None
) -> list[Cost]:
    """Respond with secure randomness and tally, in turn with bare numpy, `rounds` times.

    In turn, so that whatever else the machine does hits all of them.
    """
    reports = checks.integer("reports", reports, _ENCODED_SHARE, _MOST)
    rounds = checks.integer("rounds", rounds, 1, 1000)
    work = _work(reports)
    best = dict.fromkeys(work, float("inf"))
    for number in range(rounds):
        for place, (name, (_, once)) in enumerate(work.items(), 1):
            start = time.perf_counter()
            once()
            best[name] = min(best[name], time.perf_counter() - start)
            if progress is not None:
                progress(number * len(work) + place, rounds * len(work))
    each = {name: 1e9 * best[name] / count for name, (count, _) in work.items()}
    return [Cost(name, work[name][0], each[name], each[name] / each[BARE]) for name in work]


def _work(reports: int) -> Mapping[str, tuple[int, Callable[[], object]]]:
    generator = np.random.default_rng(1)
    values = (generator.random(reports) < 0.1).astype(np.int64)
    few = reports // _ENCODED_SHARE
    work: dict[str, tuple[int, Callable[[], object]]] = {
        BARE: (reports, lambda: np.bincount(generator.random(reports) < 0.525))
    }
    mechanisms: dict[str, tuple[Mechanism, int]] = {
        "RR": (RR(epsilon=0.1), reports),
        "JRR": (JRR(n=reports, p=0.525, s=0.4), reports),
        "DRR": (DRR(n=reports, truth=0.05, own=0.01), reports),
        "MRR": (MRR(reports, own=3.0, card_rate=0.8, total_rate=0.3), reports),
        f"GRR, k = {_LARGE_K}": (RR(k=_LARGE_K, epsilon=1.0), reports),
        f"OUE, k = {_LARGE_K}": (OUE(_LARGE_K, epsilon=1.0), few),
        f"OLH, k = {_LARGE_K}": (OLH(_LARGE_K, epsilon=1.0), few),
    }
    for name, (mechanism, count) in mechanisms.items():
        work[name] = (count, _answered(mechanism, values[:count]))
    return work


def _answered(mechanism: Mechanism, values: NDArray[np.int64]) -> Callable[[], object]:
    dealt = mechanism.deal()
    cards = None if dealt is None else np.asarray(dealt)  # used every time, as nobody else may
    return lambda: mechanism.tally(mechanism.respond(values, cards))
