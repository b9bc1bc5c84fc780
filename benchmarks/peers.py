"""The peers' virtual environment: their own, in build/, never a dependency of the library."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.child import ROOT

NAMES = ("pure-ldp", "multi-freq-ldpy")
REQUIREMENTS = (
    "pure-ldp==1.2.0",
    "multi-freq-ldpy==0.2.5",
    "xxhash<4",
    "scikit-learn<1.8",
    "statsmodels",
)
_HOME = ROOT / "build" / "peers-venv"
_READY = _HOME / ".ready"


class NoPeersError(Exception):
    """Why the peers cannot take part."""


def python() -> Path:
    """The interpreter of the peers' environment, which is made when it is missing."""
    found = _HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "\n".join((sys.version, *REQUIREMENTS))
    if _READY.exists() and _READY.read_text() == wanted:
        return found
    print("installing the peers into an environment of their own", file=sys.stderr, flush=True)
    shutil.rmtree(_HOME, ignore_errors=True)
    try:
        venv.create(_HOME, with_pip=True)
        subprocess.run(
            [*_installer(found), *REQUIREMENTS], check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "").strip().splitlines() or ["no message"]
        raise NoPeersError(f"they could not be installed: {said[-1].strip()}") from None
    _READY.write_text(wanted)
    return found


def _installer(python: Path) -> list[str]:
    """uv where `make` has put it beside our own interpreter, else pip."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", str(python)]
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
