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
        missing = MissingExtraError(f"the command line needs {error.name}", "cli")
        print(f"jrr: error: {missing}", file=sys.stderr)
        return missing.exit_code
    return run(sys.argv[1:])
