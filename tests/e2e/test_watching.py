"""What whoever watches a server sees: figures on a port of their own, log lines, the API."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from jrr import RR
from jrr.errors import JrrError
from jrr.research.processes import free_port, running
from jrr.servers.common.safety import check_safety
from jrr.servers.common.settings import Settings
from tests.e2e import ask, ask_many, path_of, upload_body
from tests.e2e.test_processes import alone, installed

DIGEST = 64 * "0"


ALERTS = Path(__file__).parents[2] / "deploy" / "alerts.yml"


def told(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as reply:
        return str(reply.read().decode())


def figures(port: int) -> dict[str, float]:
    """Name and labels -> value."""
    lines = told(port).splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def test_figures_and_log_lines_tell_of_nobody(tmp_path: Path) -> None:
    port = free_port()
    options = ("--metrics-port", str(port), "--log-format", "json")
    with running("collector", tmp_path, None, *options) as server:
        survey = alone(RR(2, 1.0))
        people = installed(server, survey, 60)
        bodies = [upload_body(survey, secret, at % 2) for at, secret in enumerate(people)]
        path = path_of(survey, "reports")
        assert {reply.status for reply in ask_many(server.url, path, bodies[:25])} == {201}
        before = figures(port)
        for body in bodies[25:28]:  # single arrivals do not show
            assert ask(server.url, "POST", path, body).status == 201
        after = figures(port)
        ours = {name for name in after if name.startswith("jrr_")}
        asked = 'jrr_request_seconds_count{by="contributor"}'
        assert (before[asked], after[asked]) == (20, 20)  # of 25 and 28
        assert all(after[name] % 10 == 0 for name in ours)
        assert not any("_sum" in name or "_created" in name for name in ours)
        ask_many(server.url, path, [b"{}"] * 12)
        ask_many(server.url, f"/v1/admin/surveys/{survey.hash}/open", [b""] * 15)
        later = figures(port)
        assert later['jrr_refusals_total{reason="refused"}'] == 10
        assert later["jrr_batch_jobs_count"] >= 0
        assert {"jrr_jobs_waiting", "jrr_jobs_room", "jrr_connections"} <= set(later)
        assert "process_resident_memory_bytes" in later
        named = set(re.findall(r"jrr_\w+", ALERTS.read_text()))  # what rules look at
        assert len(named) == 4
        described = set(re.findall(r"^# TYPE (\w+)", told(port), re.MULTILINE))
        assert {name.removesuffix("_total") for name in named} <= {
            name.removesuffix("_total") for name in described
        }
        for name in later:
            assert survey.hash[:8] not in name
            assert not re.search(r"127\.0\.0\.1|[0-9a-f]{16}", name)
        assert ask(server.url, "GET", "/metrics").status == 404  # not where contributors come
    lines = (tmp_path / "collector.log").read_text().splitlines()
    assert any("wrong admin token" in json.loads(line)["message"] for line in lines)
    for line in lines:
        assert {"time", "level", "logger", "message"} <= set(json.loads(line))
        assert "127.0.0.1" not in line
        assert not re.search("[0-9a-f]{16}", line)


def test_figures_are_for_this_machine_unless_accepted() -> None:
    facts: dict[str, Any] = {
        "role": "collector",
        "database": "sqlite:///x.db",
        "admin_token_sha256": DIGEST,
        "metrics_port": 9000,
    }
    check_safety(Settings(**facts))
    check_safety(Settings(**facts, metrics_host="10.0.0.1", accept="open-metrics"))
    with pytest.raises(JrrError, match="metrics_host must be of this machine"):
        check_safety(Settings(**facts, metrics_host="10.0.0.1"))
    with pytest.raises(JrrError, match="log_format"):
        Settings(**facts, log_format="xml")


@pytest.mark.slow_variants("dealer]")
@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_the_api_names_who_may_ask_and_every_refusal(role: str, tmp_path: Path) -> None:
    with running(role, tmp_path) as server:
        document = ask(server.url, "GET", "/openapi.json").json
    assert document["components"]["securitySchemes"]["admin"] == {
        "type": "http",
        "scheme": "bearer",
    }
    for path, methods in document["paths"].items():
        for operation in methods.values():
            is_admin = path.startswith("/v1/admin/")
            assert ("security" in operation) == is_admin
            assert {"404", "413", "422", "503"} <= set(operation["responses"])
            assert ({"401"} <= set(operation["responses"])) == is_admin
    problem = document["components"]["responses"]["409"]["content"]
    assert list(problem) == ["application/problem+json"]
