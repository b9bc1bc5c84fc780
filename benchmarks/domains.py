"""Ours against bare numpy and the peers: GRR, OUE and OLH, time, memory, size and error.

Every contender runs in a fresh process for each case and number of people; the processes take
turns. Seconds are of the processor: everybody uses one core, and so a busy machine counts
against nobody, however long their turn. Where it still does: peers work person by person, in
time proportional to their number, so one that had few turns at the larger number is compared
by ten times its time at the smaller one, if that is less. A peer that would take too long at
the larger number runs there only if it is the fastest.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.accuracy import accuracy, agreement
from benchmarks.cases import CASES, EPSILON, SIZES, Case
from benchmarks.child import Child, ChildFailedError
from benchmarks.timing import ratio, speedup

SECONDS = 3.0  # a contender takes turns until it has spent so long,
TURNS = 100  # or has had so many,
LEAST_TURNS = 2  # but at the smaller number of people at least so many
FEW_TURNS = 3  # fewer than these are few
PATIENCE = 10.0  # a slower peer that would take longer than this is not run
AT_LEAST = {"GRR-2": 80.0, "GRR-64": 40.0, "OUE-64": 12.0, "OLH-64": 100.0}
COMPILED_AT_LEAST = 500.0

Rows = dict[tuple[str, int], dict[str, dict[str, Any]]]  # (case, n) -> contender -> measured


def measure() -> dict[str, Any]:
    """Everything, as one JSON document."""
    python, reason = _peers()
    rows: Rows = {}
    notes = [reason] if reason else []
    errors = []
    versions: dict[str, str] = {}
    for case in CASES.values():
        for n in SIZES:
            names = _contenders(case, python is not None)
            names, skipped = _patient(case, n, names, rows)
            notes += skipped
            with _children(case, names, python) as (children, failed):
                notes += failed
                _say(f"{case.name}, n = {n:,}: {', '.join(children)}")
                rows[case.name, n] = _take_turns(children, n)
                for child in children.values():
                    versions |= child.about["versions"]
                if n == SIZES[0]:
                    errors.append(accuracy(case, children))
    for note in notes:
        _say(f"NOTE: {note}")
    compared = _compared(rows)
    oue_bytes = rows["OUE-64", SIZES[-1]]["ours"]["bytes_per_report"]
    return {
        "epsilon": EPSILON,
        "peers": versions,
        "notes": notes,
        "measurements": [
            {"case": case, "n": n, "contender": name, **measured}
            for (case, n), found in rows.items()
            for name, measured in found.items()
        ],
        "compared": compared,
        "accuracy": errors,
        "results": [
            *_bounds(compared, oue_bytes),
            *(result for found in errors for result in agreement(found)),
        ],
    }


def _peers() -> tuple[Path | None, str]:
    try:
        return peers.python(), ""
    except peers.NoPeersError as error:
        return None, f"SKIPPED the peers: {error}"


def _contenders(case: Case, with_peers: bool) -> list[str]:
    compiled = ["ours compiled"] if case.kind == "OLH" else []
    return ["floor", "ours", *compiled, *(peers.NAMES if with_peers else ())]


def _patient(case: Case, n: int, names: list[str], rows: Rows) -> tuple[list[str], list[str]]:
    """Leave out peers that are neither quick enough nor the fastest, by the smaller n."""
    earlier = rows.get((case.name, SIZES[0]), {})
    expected = {
        name: earlier[name]["seconds"] * n / SIZES[0] for name in peers.NAMES if name in earlier
    }
    slow = [
        name
        for name, seconds in expected.items()
        if seconds > PATIENCE and seconds > min(expected.values())
    ]
    notes = [
        f"{name} is not run on {case.name} at n = {n:,}: its time at n = {SIZES[0]:,} "
        f"promises {expected[name]:.0f} s, and it is not the fastest peer"
        for name in slow
    ]
    return [name for name in names if name not in slow], notes


@contextmanager
def _children(
    case: Case, names: list[str], python: Path | None
) -> Iterator[tuple[dict[str, Child], list[str]]]:
    children: dict[str, Child] = {}
    failed: list[str] = []
    with ExitStack() as stack:
        for name in names:
            theirs = name in peers.NAMES and python is not None
            try:
                child = Child(
                    python if theirs and python else Path(sys.executable),
                    "peers_worker" if theirs else "own_worker",
                    name,
                    case.name,
                )
            except ChildFailedError as error:
                if name in ("floor", "ours"):
                    raise
                failed.append(f"SKIPPED {error}")
            else:
                children[name] = stack.enter_context(child)
        yield children, failed


def _take_turns(children: dict[str, Child], n: int) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        name: {
            "seconds": float("inf"),
            "wall_seconds": float("inf"),
            "peak_bytes": 0,
            "bytes_per_report": child.about["report_bytes"],
            "turns": 0,
        }
        for name, child in children.items()
    }
    spent = dict.fromkeys(children, 0.0)
    for _ in range(TURNS):
        for name, child in children.items():
            if spent[name] < SECONDS or (n == SIZES[0] and found[name]["turns"] < LEAST_TURNS):
                answer = child.ask("run", n)
                row = found[name]
                spent[name] += answer["wall_seconds"]
                row["seconds"] = min(row["seconds"], answer["cpu_seconds"])
                row["wall_seconds"] = min(row["wall_seconds"], answer["wall_seconds"])
                row["peak_bytes"] = max(row["peak_bytes"], answer["peak_bytes"])
                row["turns"] += 1
    return found


def _compared(rows: Rows) -> dict[str, dict[str, dict[str, Any]]]:
    """By case and contender: seconds at the larger number, and whether they are scaled up."""
    small, large = SIZES
    compared: dict[str, dict[str, dict[str, Any]]] = {}
    for case in CASES:
        compared[case] = {}
        for name, row in rows[case, small].items():
            there = rows[case, large].get(name, {"seconds": float("inf"), "turns": 0})
            seconds, promised = there["seconds"], row["seconds"] * large / small
            few = name in peers.NAMES and there["turns"] < FEW_TURNS
            scaled = few and promised < seconds
            compared[case][name] = {"seconds": promised if scaled else seconds, "scaled": scaled}
    return compared


def _bounds(
    compared: dict[str, dict[str, dict[str, Any]]], oue_bytes: float
) -> list[dict[str, object]]:
    """The promises, at the larger number of people."""
    results: list[dict[str, object]] = []
    for case, found in compared.items():
        best = {f"{case} {name}": row["seconds"] for name, row in found.items()}
        results.append(ratio(f"{case} ours", f"{case} floor", best, at_most=1.0))
        theirs = [f"{case} {name}" for name in peers.NAMES if name in found]
        if theirs:
            fastest = min(theirs, key=lambda name: best[name])
            results.append(speedup(f"{case} ours", fastest, best, AT_LEAST[case]))
            if "ours compiled" in found:
                results.append(speedup(f"{case} ours compiled", fastest, best, COMPILED_AT_LEAST))
    most = CASES["OUE-64"].k / 8
    results.append(
        {
            "what": "OUE-64 ours, bytes per report",
            "bytes": oue_bytes,
            "at_most": most,
            "kept": oue_bytes <= most,
        }
    )
    return results


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
