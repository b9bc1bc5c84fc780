"""People are asked once in each wave: the collector takes one survey of it, and no second."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from jrr.protocol.states import OPEN
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.common.problems import Problem
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.study import EarlierWave, Study, WaveLoss
from jrr.survey.survey import Survey


def wave(after: Survey | None = None, waves: int = 2, epsilon: float = 4.0) -> Survey:
    item = {"name": "a", "kind": "yes-no", "text": "A?"}
    document = {"title": "T", "epsilon": epsilon, "waves": waves, "questions": [item]}
    return SurveyRequest(
        draft=Draft.from_dict(document),
        people=40,
        collector="https://collector.example",
        mechanism="rr",
        after=after,
    ).survey()


def test_a_wave_is_one_survey_the_first_that_is_opened(engine: Engine) -> None:
    jobs = CollectorJobs()
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
    jobs = CollectorJobs()
    first = wave()
    second = wave(first, waves=3, epsilon=2.0)
    third = wave(second, waves=3, epsilon=2.0)
    with engine.begin() as connection:
        for survey in (first, second):
            jobs.install(connection, survey)
            jobs.open(connection, survey.hash)
        with pytest.raises(Problem, match="told of 2 waves"):
            jobs.install(connection, third)


def test_the_collector_holds_a_wave_to_what_was_promised(engine: Engine) -> None:
    """Whoever wrote the document: what waves before lost, and what all may lose."""
    jobs = CollectorJobs()
    first = wave()
    second = wave(first)
    earlier = (EarlierWave(first.hash, WaveLoss(0.1, 0.0, 0.1)),)
    silent = replace(second, study=Study(second.whole_study.promised, earlier))
    more = WaveLoss(99.0, 0.0, 99.0)
    generous = replace(second, study=Study(more, second.earlier))
    with engine.begin() as connection:
        with pytest.raises(Problem, match="must be installed here first"):
            jobs.install(connection, second)
        jobs.install(connection, first)
        for refused, reason in ((silent, "with what they lose"), (generous, "promise no more")):
            with pytest.raises(Problem, match=reason) as problem:
                jobs.install(connection, refused)
            assert problem.value.status == 409
        assert jobs.install(connection, second)


def test_a_wave_that_people_answered_is_counted_by_every_later_one(engine: Engine) -> None:
    jobs = CollectorJobs()
    first = wave(waves=3)
    second, other = wave(first, 3), wave(first, 3)
    third = wave(other, 3)  # counts a second wave that nobody will have been asked
    with engine.begin() as connection:
        for survey in (first, second, other, third):
            jobs.install(connection, survey)
        jobs.open(connection, first.hash)
        jobs.open(connection, second.hash)
        with pytest.raises(Problem, match="does not count what wave 2"):
            jobs.open(connection, third.hash)
