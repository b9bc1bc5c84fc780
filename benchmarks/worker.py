"""The child's side: one contender, one case; JSON lines in, JSON lines out.

    {"do": "run", "n": 1000}                 -> {"cpu_seconds": ..., "wall_seconds": ...,
                                                 "peak_bytes": ...}
    {"do": "errors", "n": 1000, "runs": 9}   -> {"errors": [...]}, mean squared errors of counts

Nothing here needs more than numpy: it also runs in the peers' environment.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import memory
from benchmarks.cases import CASES, Case, true_counts, values
from benchmarks.contender import Contender

_WARM_UP = 1_000  # people in a run before the first measured one: compiles, fills tables


def serve(contender: Callable[[str, Case], Contender], versions: dict[str, str]) -> None:
    """Answer requests until standard input ends; arguments are the contender and the case."""
    replies, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is no reply

    def reply(document: dict[str, Any]) -> None:
        print(json.dumps(document), file=replies, flush=True)

    case = CASES[sys.argv[2]]
    subject = contender(sys.argv[1], case)
    subject.run(subject.prepare(values(_WARM_UP, case.k)))
    reply({"report_bytes": subject.report_bytes(), "versions": versions})
    n, people = 0, None
    for line in sys.stdin:
        request = json.loads(line)
        if request["n"] != n:
            n = request["n"]
            people = subject.prepare(values(n, case.k))
        if request["do"] == "run":
            reply(_measure(subject, people))
        else:
            reply({"errors": _errors(subject, people, true_counts(n, case.k), request["runs"])})


def _measure(subject: Contender, people: Any) -> dict[str, float]:
    gc.collect()
    before = memory.reset()
    wall, cpu = time.perf_counter(), time.process_time()
    subject.run(people)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu_seconds": cpu, "wall_seconds": wall, "peak_bytes": memory.peak() - before}


def _errors(subject: Contender, people: Any, truth: Any, runs: int) -> list[float]:
    estimate = subject.unbiased or subject.run
    return [float(np.mean((estimate(people) - truth) ** 2)) for _ in range(runs)]
