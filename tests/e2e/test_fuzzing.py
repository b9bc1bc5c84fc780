"""Servers are asked whatever their API allows, and much that it does not: no answer is a 5xx.

Requests are drawn by schemathesis from the OpenAPI document that the server itself serves, with
the name of a survey that is there; then come bytes that are no HTTP, or barely.
"""

import random
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from jrr import DRR, RR
from jrr.research.processes import Running, running
from jrr.survey.survey import Survey
from tests.e2e import ask, raw, survey_of, upload_body

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    status_code_conformance,
)

QUICK = settings(
    max_examples=4,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=150)
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance)


def held(server: Running) -> Survey:
    """A survey that the server holds and has opened."""
    deals = server.role == "dealer"
    survey = survey_of(
        DRR(20, truth=0.5, own=0.1) if deals else RR(2, 1.0),
        server.url if deals else "",
        "https://collector.example" if deals else server.url,
        invitations=False,
    )
    path = f"/v1/admin/surveys/{survey.hash}"
    server.admin.put(path, survey.to_bytes())
    server.admin.post(f"{path}/open", {} if deals else {"n": None})
    return survey


def drawn_requests(server: Running, profile: settings) -> None:
    """Every operation of the API, with and without a token, with a known and an unknown name."""
    survey = held(server)
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    tokens = {"Authorization": f"Bearer {server.token}"}
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy(), number=_numbers())
        @profile
        def send(case: Any, number: int) -> None:
            nonlocal asked
            if number % 4:  # mostly the survey that is there, and mostly by an operator
                case.path_parameters = {"name": survey.hash} if case.path_parameters else {}
            headers = tokens if number % 3 else {}
            asked += 1
            case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)

        if not operation.path.endswith("/close"):  # the survey should stay open
            send()
    assert asked > 30
    assert ask(server.url, "GET", "/readyz").status == 200


def _numbers() -> Any:
    from hypothesis import strategies

    return strategies.integers(0, 11)


@pytest.mark.slow_variants("dealer]")
@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_nothing_that_the_api_allows_is_a_server_error(role: str, tmp_path: Path) -> None:
    with running(role, tmp_path) as server:
        drawn_requests(server, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["dealer", "collector", "party"])
def test_nothing_of_much_that_the_api_allows_is_a_server_error(role: str, tmp_path: Path) -> None:
    with running(role, tmp_path) as server:
        if role == "party":
            schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
            for result in schema.get_all_operations():
                operation = result.ok()

                @given(case=operation.as_strategy())
                @settings(LONG, max_examples=30)
                def send(case: Any) -> None:
                    headers = {"Authorization": f"Bearer {server.token}"}
                    case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)

                send()
            return
        drawn_requests(server, LONG)


def bent_requests(survey: Survey, seed: int, count: int) -> list[bytes]:
    """Requests with bytes changed, left out, doubled or cut off."""
    source = random.Random(seed)
    body = upload_body(survey, b"0" * 20, 1)
    path = f"/v1/surveys/{survey.hash}/reports".encode()
    whole = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path, len(body), body)
    bent = []
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(source.randint(1, 8)):
            at = source.randrange(len(data))
            act = source.randrange(4)
            if act == 0:
                data[at] = source.randrange(256)
            elif act == 1:
                del data[at : at + source.randint(1, 40)]
            elif act == 2:
                data[at:at] = source.randbytes(source.randint(1, 40))
            else:
                data[at:at] = data[at : at + source.randint(1, 40)]
            if not data:
                data = bytearray(b"\r\n")
        bent.append(bytes(data))
    return bent


@pytest.mark.slow_variants("dealer]")
@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_bytes_that_are_barely_http_do_no_harm(role: str, tmp_path: Path) -> None:
    with running(role, tmp_path) as server:
        survey = held(server)
        for data in bent_requests(survey, 7, 100):
            reply = raw(server.url, data, wait=0.02, half_close=True)
            assert reply[:9] in (b"", b"HTTP/1.1 ")
            assert reply[9:10] != b"5", (data, reply[:80])
        assert ask(server.url, "GET", "/readyz").status == 200
        assert urlsplit(server.url).port
    log = (tmp_path / f"{role}.log").read_text()
    assert "Traceback" not in log
    assert "unexpected" not in log
