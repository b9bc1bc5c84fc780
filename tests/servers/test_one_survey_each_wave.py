"""People are asked once in each wave: the collector takes one survey of it, and no second."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.surveys import CollectorSurveyJobs
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.states import OPEN
from jrr.survey.survey_creation import SurveyRequest
from jrr.survey.surveys import Survey


def wave(after: Survey | None = None, waves: int = 2) -> Survey:
    item = {"name": "a", "kind": "yes-no", "text": "A?"}
    document = {"title": "T", "epsilon": 4.0, "waves": waves, "items": [item]}
    return SurveyRequest(
        questionnaire=Questionnaire.from_dict(document),
        people=40,
        collector="https://collector.example",
        mechanism="rr",
        after=after,
    ).survey()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path}/collector.db")
    prepare(made, "collector")
    yield made
    made.dispose()


def test_a_wave_is_one_survey_the_first_that_is_opened(engine: Engine) -> None:
    jobs = CollectorSurveyJobs(CollectorJobs())
    first, other = wave(), wave()
    second, again, late = (wave(first) for _ in range(3))
    with engine.begin() as connection:
        assert jobs.install(connection, first)
        assert jobs.open(connection, first.hash) == OPEN
        for survey in (second, again, other, wave(other)):  # nobody is asked before one is opened
            assert jobs.install(connection, survey)
        assert jobs.open(connection, second.hash) == OPEN
        for refused in (
            lambda: jobs.open(connection, again.hash),
            lambda: jobs.install(connection, again),  # before a dealer opens it
            lambda: jobs.install(connection, late),
        ):
            with pytest.raises(Problem, match="wave 2 of these people") as problem:
                refused()
            assert problem.value.status == 409
        for held in (first, second):  # the same again changes nothing
            assert not jobs.install(connection, held)
            assert jobs.open(connection, held.hash) == OPEN
        assert jobs.open(connection, other.hash) == OPEN  # another panel


def test_there_are_no_more_waves_than_the_first_told_of(engine: Engine) -> None:
    jobs = CollectorSurveyJobs(CollectorJobs())
    first = wave()
    second = wave(first, waves=3)
    third = wave(second, waves=3)
    with engine.begin() as connection:
        for survey in (first, second):
            jobs.install(connection, survey)
            jobs.open(connection, survey.hash)
        with pytest.raises(Problem, match="told of 2 waves"):
            jobs.install(connection, third)


def test_a_part_is_not_opened_by_itself(engine: Engine) -> None:
    """Or a second survey of a wave would take answers, part by part."""
    campaigns = CollectorJobs()
    survey = wave()
    with engine.begin() as connection:
        CollectorSurveyJobs(campaigns).install(connection, survey)
        (part,) = survey.campaigns.values()
        with pytest.raises(Problem, match="part of a survey: open that"):
            campaigns.open_alone(connection, part.hash, None)
