"""Time several functions in turn, so that whatever else the machine does hits all of them."""

import time
from collections.abc import Callable, Mapping


def alternate(
    functions: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Best seconds of each function over `rounds` turns."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            function()
            best[name] = min(best[name], clock() - start)
    return best


def ratio(of: str, to: str, best: Mapping[str, float], at_most: float) -> dict[str, object]:
    """One measured ratio beside the bound it is meant to keep."""
    value = best[of] / best[to]
    return {
        "what": f"{of} / {to}",
        "seconds": {of: best[of], to: best[to]},
        "ratio": value,
        "at_most": at_most,
        "kept": value <= at_most,
    }


def speedup(of: str, over: str, best: Mapping[str, float], at_least: float) -> dict[str, object]:
    """How many times faster, beside the bound it is meant to keep."""
    value = best[over] / best[of]
    return {
        "what": f"{over} / {of}",
        "seconds": {of: best[of], over: best[over]},
        "ratio": value,
        "at_least": at_least,
        "kept": value >= at_least,
    }
