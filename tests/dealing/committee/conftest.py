"""A committee's servers: started once per worker."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from jrr.research.processes import running
from tests.dealing.committee.mortal import mortal_parties
from tests.dealing.committee.servers import Committee
from tests.dealing.committee.stage import Stage

pytestmark = pytest.mark.heavy  # the whole folder: tests/conftest.py reads it here


@pytest.fixture(scope="session")
def committee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Committee]:
    folder = tmp_path_factory.mktemp("committee")
    with ExitStack() as stack:
        servers = [("party", folder / f"party{at}") for at in range(3)]
        waiting = [running(*server) for server in (*servers, ("collector", folder / "collector"))]
        with ThreadPoolExecutor(4) as pool:  # each takes a second or two to start
            *parties, collector = pool.map(stack.enter_context, waiting)
        yield Committee(tuple(parties), collector)


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Parties that can be killed or made to cheat; every test leaves them alive and honest."""
    folder = tmp_path_factory.mktemp("mortal")
    with running("collector", folder / "collector") as collector, mortal_parties(folder) as parties:
        yield Stage(parties, collector)
