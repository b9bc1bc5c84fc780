"""The command line. Needs the extra [cli]."""

import sys

from jrr.errors import MissingExtraError


def main() -> int:
    """Run `jrr`; its exit code (jrr.errors)."""
    try:
        from jrr.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        print(
            f"jrr: error: the command line needs {error.name}: pip install 'jrr[cli]'",
            file=sys.stderr,
        )
        return MissingExtraError.exit_code
    return run(sys.argv[1:])
