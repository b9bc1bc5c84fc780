"""The library and the floor, in a process of their own like the peers."""

from benchmarks import floor, ours
from benchmarks.cases import Case
from benchmarks.contender import Contender
from benchmarks.worker import serve


def contender(name: str, case: Case) -> Contender:
    if name == "floor":
        return floor.contender(case)
    return ours.contender(case, with_numba=name == "ours compiled")


if __name__ == "__main__":
    serve(contender, {})
