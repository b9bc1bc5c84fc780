"""A collector's database, for tests of what it does within one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from tests.servers.collecting import engine_in


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = engine_in(tmp_path)
    yield made
    made.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as opened:
        yield opened
