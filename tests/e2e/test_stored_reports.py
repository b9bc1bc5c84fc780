"""PostgreSQL counts the collector's own reports: an analyst gets the collector's numbers."""

import json
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.cli.app import run
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.servers.collector.stored_reports import open_stored
from jrr.tables.engines.postgres import PostgreSQL
from tests.e2e import Pair, answer_all

pytestmark = pytest.mark.slow

KINDS: dict[str, Mechanism] = {
    "RR k=300": jrr.RR(300, epsilon=4.0),
    "DRR": jrr.DRR(30, 0.3, 0.1),
    "MRR closed": jrr.MRR.for_epsilon(1.0, n=30, announced=False),
    "MRR announced": jrr.MRR.for_epsilon(1.0, n=30, announced=True),
    "OUE": jrr.OUE(11, epsilon=1.0),
    "OLH": jrr.OLH(11, epsilon=1.0),
}
PEOPLE = 24


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run(["file", "database", *words, "--min-cell", "5", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["estimates"]


def test_the_database_says_what_the_collector_says(
    postgres_pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres_pair.databases["collector"]
    shifts = [{"shift": ("day's", "night")[at % 2]} for at in range(PEOPLE)]
    operators = {}
    for name, mechanism in KINDS.items():
        grouped = {} if name == "MRR announced" else {"covariates": {"shift": ("day's", "night")}}
        campaign = postgres_pair.campaign(mechanism, **grouped)
        operator, people = postgres_pair.begin(campaign, PEOPLE)
        values = [int(value) for value in np.arange(PEOPLE) % mechanism.k]
        answer_all(campaign, people, values, covariates=shifts if grouped else None)
        with pytest.raises(ArgumentError, match="must be closed"):
            next(open_stored(url, PostgreSQL(), [campaign.hash]))
        operator.close()
        operators[name] = operator
    found = said(capsys, url)
    for name, operator in operators.items():
        start = operator.campaign.hash[:12]
        expected = operator.estimate()
        assert found[start]["estimate"] == expected["estimate"], name
        assert found[start]["carded"] == expected["carded"], name
        if operator.campaign.covariates:
            groups = said(capsys, url, "--campaign", start, "--by", "shift")[start]["groups"]
            assert groups == operator.estimate(by="shift")["groups"], name


def test_what_is_refused(
    postgres_pair: Pair, new_postgres_database: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres_pair.databases["collector"]
    for words, code, text in (
        ((url, "--campaign", "zzz"), 2, "campaign must be the beginning of one"),
        ((new_postgres_database(),), 2, "table must be a table of this database"),
        (("postgresql://nobody:secret@127.0.0.1:1/x",), 5, "does not answer"),
        (("reports.parquet",), 2, "postgresql://"),
    ):
        assert run(["file", "database", *words]) == code
        shown = capsys.readouterr().err
        assert text in shown
        assert "secret" not in shown
