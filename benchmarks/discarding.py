"""`python -m benchmarks.discarding serve collector …`: reads every report and stores none.

What it takes is what HTTP, JSON and checks cost; the rest of a real collector's time is storing.
"""

from typing import Any

from jrr.cli import main
from jrr.servers.common.batch import Writer


async def _discard(self: Writer, job: Any, item: Any) -> bool:
    return True


if __name__ == "__main__":
    Writer.run_bulk = _discard  # type: ignore[method-assign, assignment]
    main()
