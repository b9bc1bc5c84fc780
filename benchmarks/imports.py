"""How long `import jrr` takes beside `import numpy`, each in a fresh process."""

import subprocess
import sys

from benchmarks.child import ROOT
from benchmarks.timing import ratio

ROUNDS = 15


def import_time() -> list[dict[str, object]]:
    names = ("jrr", "numpy")
    best = dict.fromkeys(names, float("inf"))
    for _ in range(ROUNDS):
        for name in names:
            best[name] = min(best[name], _seconds(name))
    return [ratio("import jrr", "import numpy", _named(best), at_most=2.0)]


def _seconds(name: str) -> float:
    clock = "import time; start = time.perf_counter()"
    code = f"{clock}; import {name}; print(time.perf_counter() - start)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def _named(best: dict[str, float]) -> dict[str, float]:
    return {f"import {name}": seconds for name, seconds in best.items()}
