"""`python -m benchmarks.refusing serve collector …`: refuses every upload, as in a crowd.

What it takes is what a refusal costs, which must be a small part of what storing costs.
"""

import math
from typing import Any

from jrr.cli import main
from jrr.servers.common import connections


class _AlwaysFull(connections.Door):
    def __setattr__(self, name: str, value: Any) -> None:
        fixed = {"is_full": lambda: True, "may_refuse": math.inf}
        super().__setattr__(name, fixed.get(name, value))


if __name__ == "__main__":
    import jrr.servers.run

    jrr.servers.run.Door = _AlwaysFull  # type: ignore[misc]
    main()
