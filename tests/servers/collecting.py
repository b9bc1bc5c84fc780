"""Surveys and answers for tests of the collector."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from jrr.dealing.kinds import Dealers, Nobody
from jrr.planning.choice import cardless_words
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey

DEALERS = tuple(f"https://dealer{number}.example" for number in range(3))
REGIONS = ("north", "süd", "sea 𝛆")
REGION = {
    "name": "region",
    "kind": "choice",
    "labels": list(REGIONS),
    "text": "Where?",
    "sensitive": False,
}
JOBS = CollectorJobs()


def asking(
    questions: int = 1,
    mechanism: str = "rr",
    *,
    dealers: int = 1,
    only_if: Mapping[str, Any] | None = None,
    kind: Mapping[str, Any] | None = None,
    waves: int = 1,
    **more: Any,
) -> Survey:
    """So many questions q0, q1, … after the open question `region`; the last on a condition."""
    kind = kind or {"kind": "yes-no"}
    asked = [{"name": f"q{at}", "text": f"{at}?", **kind} for at in range(questions)]
    if only_if is not None:
        asked[-1]["only_if"] = dict(only_if)
    draft = {"title": "T", "epsilon": float(questions), "split": "even", "waves": waves}
    given: dict[str, Any] = {"people": 60, "min_cell": 1, "invitations": False}
    given |= {"dealing": Nobody()}
    if mechanism not in cardless_words():
        given |= {"colluders": 0, "dealing": Dealers(DEALERS[:dealers])}
        given |= {"verified": False}  # reports are made up
    return SurveyRequest(
        draft=Draft.from_dict(draft | {"questions": [REGION, *asked]}),
        collector="https://collector.example",
        mechanism=mechanism,
        **(given | more),
    ).survey()


def person(number: int) -> bytes:
    """Somebody's pseudonym."""
    return number.to_bytes(32, "big")


def body(
    survey: Survey, who: bytes, region: str = "north", *, carded: bool = True, value: int = 1
) -> bytes:
    """Somebody's answers, with made-up cards and serial numbers."""
    reports = {}
    for one in survey.asked({"region": region}):
        mechanism, has_card = one.mechanism, carded and one.deals
        serials = None
        if has_card and mechanism.announced:
            serials = [secrets.token_hex(16) for _ in survey.dealing.addresses]
        report = mechanism.respond_one(value, 0) if has_card else mechanism.respond_one(value)
        reports[one.name] = report_message(mechanism, report, has_card, serials)
    return upload(who, {"region": region}, reports)


def engine_in(folder: Path) -> Engine:
    """An empty database of a collector."""
    engine = connect(f"sqlite:///{folder}/collector.db")
    prepare(engine, "collector")
    return engine


def begin(connection: Connection, survey: Survey, n: int | None = None) -> None:
    """Install and open it."""
    JOBS.install(connection, survey)
    JOBS.open(connection, survey.hash, n)


def answer(
    connection: Connection, survey: Survey, numbers: range, region: str = "north", **more: Any
) -> None:
    """Let some people answer, "no" and "yes" in turns."""
    for number in numbers:
        sent = body(survey, person(number), region, value=number % 2, **more)
        assert JOBS.receive(connection, survey.hash, sent)


@contextmanager
def refusal(kind: str) -> Iterator[None]:
    """Something is refused with a problem of this kind."""
    with pytest.raises(Problem) as problem:
        yield
    assert problem.value.kind == kind, problem.value.detail
