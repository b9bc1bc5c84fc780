"""Contributors of a committee's survey, and single requests over HTTP."""

import asyncio
import http.client
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jrr.client.fleet import drive_all
from jrr.protocol.addresses import survey_path
from jrr.survey import contributor
from jrr.survey.contributor import Receipt
from jrr.survey.limits import Limits
from jrr.survey.survey import Survey

PROBLEM = "application/problem+json"
LIMITS = Limits(700.0, patience=5.0)
QUICK = Limits(700.0, patience=1.0)


class Reply(NamedTuple):
    """What a server replied."""

    status: int
    body: bytes
    kind: str = ""  # the content type

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """One request on a connection of its own; nothing is repeated."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return Reply(response.status, response.read(), response.headers.get_content_type())
    finally:
        connection.close()


def path_of(survey: Survey, what: str) -> str:
    return f"{survey_path(survey.hash)}/{what}"


def is_problem(reply: Reply, *statuses: int) -> str:
    """A refusal as it should be; its kind."""
    assert reply.status in statuses, reply
    assert reply.kind == PROBLEM, reply
    return str(reply.json["type"]).removeprefix("urn:jrr:problem:")


def read_rows(path: object, query: str) -> list[tuple[Any, ...]]:
    """What lies in a server's database, read past the server."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
        return reader.execute(query).fetchall()


def enrol_all(survey: Survey, secrets: Sequence[bytes]) -> None:
    results = asyncio.run(drive_all(contributor.enrol(survey, one, LIMITS) for one in secrets))
    assert results == [None] * len(secrets), results


def answer_each(
    survey: Survey, secrets: Sequence[bytes], limits: Limits = QUICK, value: int = 1
) -> list[Receipt | Exception]:
    """Everybody contributes; failures are part of the answer."""
    answers = {"answer": f"answer {value}"}
    steps = (contributor.contribute(survey, one, answers, limits) for one in secrets)
    found: list[Receipt | Exception] = asyncio.run(drive_all(steps))
    return found


def answer_all(survey: Survey, secrets: Sequence[bytes], limits: Limits = QUICK) -> list[Receipt]:
    """Everybody contributes; nobody may fail."""
    results = answer_each(survey, secrets, limits)
    receipts = [result for result in results if isinstance(result, Receipt)]
    assert len(receipts) == len(results), results
    return receipts
