"""The command line. Needs the extra [cli]."""

import sys


def main() -> int:
    """Run `jrr`; the exit code is 0, 1 (failed), 2 (refused) or 130 (interrupted)."""
    try:
        from jrr.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        print(
            f"jrr: error: the command line needs {error.name}: pip install 'jrr[cli]'",
            file=sys.stderr,
        )
        return 1
    return run(sys.argv[1:])
