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
    """The most that this process and all its children held together, looked at ten times a second.

    Pages that several of them share count several times: it is an upper bound.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, _resident_tree(os.getpid()))


def _resident_tree(root: int) -> int:
    """Resident bytes of a process and all that descend from it (Linux)."""
    parents, resident = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(folder.name)] = int(words[1])
        resident[int(folder.name)] = int(words[21]) * os.sysconf("SC_PAGE_SIZE")

    def descends(process: int) -> bool:
        while process and process != root:
            process = parents.get(process, 0)
        return process == root

    return sum(size for process, size in resident.items() if descends(process))
