"""The console on PostgreSQL: the same pages, from the other kind of database."""

import json
from pathlib import Path

import pytest

from jrr.research.processes import running
from tests.console import WORK, Servers, Visitor, answer_work
from tests.e2e.conftest import (  # noqa: F401 - fixtures
    NewDatabase,
    new_postgres_database,
    postgres_server,
)


@pytest.mark.slow
def test_pages_on_postgresql(
    tmp_path: Path,
    new_postgres_database: NewDatabase,  # noqa: F811 - the fixture
) -> None:
    with (
        running("dealer", tmp_path, new_postgres_database(), "--console") as dealer,
        running("collector", tmp_path, new_postgres_database(), "--console") as collector,
    ):
        servers = Servers(dealer, collector)
        visitor = servers.visitor()
        draft = visitor.post("/drafts/import", text=json.dumps(WORK))
        assert "iframe" in draft.body
        survey = servers.survey()
        answer_work(survey, servers.begin(survey, 6)[:5])
        base = f"/surveys/{survey.hash}"
        visitor.post(f"{base}/dealers", token0=dealer.token)
        visitor.get(f"{base}/results")
        words = visitor.get(base).words
        assert "5 answered" in words
        assert "0 began and left, or not done yet: cards lost so far" in words
        assert "Closed for good." in visitor.post(f"{base}/close", sure="yes").words
        assert "95% interval" in visitor.get(base).words
        operator = Visitor(dealer.url)
        operator.sign_in(dealer.token)
        assert "closed burned 6 invited 5 enrolled 5 dealt to" in operator.get("/").words
    for role in ("dealer", "collector"):
        assert (tmp_path / f"{role}.log").read_text() == ""
