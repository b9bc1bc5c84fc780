"""`python -m benchmarks.refusing serve collector …`: refuses every upload, for want of room."""

from jrr.cli import main
from jrr.servers.common.batch import Writer

if __name__ == "__main__":
    Writer.is_full = property(lambda _: True)  # type: ignore[assignment, method-assign]
    main()
