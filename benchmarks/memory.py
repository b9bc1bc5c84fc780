"""Peak memory of this process, in bytes.

Linux: the resident set's high-water mark, set back before each measurement. Elsewhere: the
maximum of getrusage, which cannot be set back and so may miss what an earlier peak hides.
"""

import sys
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
