"""`python -m benchmarks`: run everything, print one JSON document, fail on a broken bound."""

import json
import platform
import sys

import numpy

from benchmarks import core


def main() -> int:
    results = [*core.respond_and_tally(), *core.search(), *core.planning()]
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "numpy": numpy.__version__,
                "machine": platform.machine(),
                "results": results,
            },
            indent=2,
        )
    )
    return 0 if all(result["kept"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
