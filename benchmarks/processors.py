"""Seconds of processor that the parts of a measurement took, and what a database waited for."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jrr.research.load.measure import processor_of

_EVERY = 0.01  # seconds between two looks at what a database waits for


def family_of(process: int) -> float:
    """Seconds of processor of a process and those that it started and that still run."""
    found = processor_of(process)
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == process:
            found += processor_of(int(entry.parent.name))
    return found


def database_processor(folder: Path) -> float:
    """Of all processes of a PostgreSQL that `jrr.research.processes` started in a folder."""
    first = (folder / "postgres" / "postmaster.pid").read_text().splitlines()[0]
    return family_of(int(first))


@contextmanager
def waits(address: str) -> Iterator[Counter[str]]:
    """What statements of a PostgreSQL database wait for meanwhile, in looks; "": they work."""
    import psycopg

    seen: Counter[str] = Counter()
    over = threading.Event()
    question = (
        "SELECT coalesce(wait_event_type || ': ' || wait_event, 'none: at work') "
        "FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() "
        "AND datname = current_database()"
    )

    def look() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            while not over.wait(_EVERY):
                seen.update(text for (text,) in connection.execute(question))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
