"""Peak memory of this process, in bytes.

Linux: the resident set's high-water mark, set back before each measurement. Elsewhere: the
maximum of getrusage, which cannot be set back and so may miss what an earlier peak hides.
"""

import os
import sys
import threading
from pathlib import Path

_STATUS = Path("/proc/self/status")


def reset() -> int:
    """Forget earlier peaks; what is resident now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return peak()


def peak() -> int:
    """The most that was ever resident since `reset`."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


class Watch:
    """What this process and all its children hold in memory and take of the processor (Linux).

    Memory is looked at ten times a second; pages that several of them share count several times,
    so that it is an upper bound.
    """

    def __init__(self) -> None:
        self.peak = 0  # bytes
        self.processor = 0.0  # seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._before = _tree(os.getpid())[1]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.processor = _tree(os.getpid())[1] - self._before

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, _tree(os.getpid())[0])


def _tree(root: int) -> tuple[int, float]:
    """Resident bytes and seconds of processor of a process and all that descend from it."""
    found: dict[int, tuple[int, int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        # Of the children that have ended too: they are in the third and fourth number.
        ticks = sum(map(int, words[11:15]))
        found[int(folder.name)] = int(words[1]), int(words[21]), ticks

    def descends(process: int) -> bool:
        while process and process != root:
            process = found[process][0] if process in found else 0
        return process == root

    mine = [numbers for process, numbers in found.items() if descends(process)]
    pages, ticks = sum(one[1] for one in mine), sum(one[2] for one in mine)
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK")
