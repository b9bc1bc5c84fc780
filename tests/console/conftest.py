"""Servers with a console, once per worker."""

from collections.abc import Iterator

import pytest

from jrr.research.processes import running
from tests.console import Servers, Visitor

pytestmark = pytest.mark.heavy  # the whole folder: tests/conftest.py reads it here

pytest.importorskip("jinja2", reason="no console here: pip install '.[console]'")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("console")
    with (
        running("dealer", folder, None, "--console") as dealer,
        running("collector", folder, None, "--console") as collector,
    ):
        yield Servers(dealer, collector)
    for role in ("dealer", "collector"):
        log = (folder / f"{role}.log").read_text().splitlines()
        assert [line for line in log if "wrong admin token" not in line] == []


@pytest.fixture
def visitor(servers: Servers) -> Visitor:
    return servers.visitor()
