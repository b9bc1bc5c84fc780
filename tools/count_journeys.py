"""Counts how many files of src/jrr two journeys run through, and fails where it has grown.

    one answer    a contributor's client fetches the survey and a card, perturbs and sends, and the
                  collector takes it in; what the dealer does is not counted
    a survey      from a draft in TOML to the page of results: plan, serve, invite, answer, close

Run by `make lint`. Everything happens in this process, servers without sockets. A file counts where
one of its functions runs; what runs while modules are imported does not.
"""

import importlib
import pkgutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for tests/

from check_structure import Count  # noqa: E402 - beside this file

import jrr  # noqa: E402
from jrr.client.contributor import Contributor  # noqa: E402
from jrr.client.operator import new_invitations  # noqa: E402
from jrr.client.report import ReportWish, survey_report  # noqa: E402
from jrr.dealing.kinds import Dealers  # noqa: E402
from jrr.protocol.steps import Call, Reply  # noqa: E402
from jrr.reporting.report_page import report_page  # noqa: E402
from jrr.survey.creation import SurveyRequest  # noqa: E402
from jrr.survey.draft import Draft  # noqa: E402
from jrr.survey.survey import Survey  # noqa: E402
from tests.client.in_process import House  # noqa: E402

MOST_ANSWER, MOST_SURVEY = 54, 131  # the goals are 40 and 110; ten belong to verified cards
PACKAGE = str(Path(jrr.__file__).parent)
ROOMS = ("_base", "client", "dealing", "estimation", "mechanisms", "planning", "privacy")
ROOMS += (
    "protocol",
    "reporting",
    "servers.collector",
    "servers.common",
    "servers.dealer",
    "survey",
)
IN_FUNCTION = 0x01  # CO_OPTIMIZED: neither the body of a module nor that of a class
PEOPLE = 20  # the fewest that a result is told of
DRAFT = """
title = "Health at work"
epsilon = 4.0

[[questions]]
name = "sector"
kind = "choice"
text = "Where do you work?"
labels = ["office", "field"]
sensitive = false

[[questions]]
name = "drinks"
kind = "yes-no"
text = "Did you drink at work last month?"

[[questions]]
name = "pain"
kind = "choice"
text = "How often does your back hurt?"
labels = ["never", "sometimes", "often"]
"""
ANSWERS = {"sector": "office", "drinks": "no", "pain": "often"}


def load_everything() -> None:
    """Import all modules first, so that none of them is imported on the way."""
    for room in ROOMS:
        package = importlib.import_module(f"jrr.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"jrr.{room}."):
            if module.name != "jrr.tables.engines.spark" and not module.name.endswith("__main__"):
                importlib.import_module(module.name)


class Recorder:
    """Notes files of the package in which a function runs, in every thread, while it is asked to.

    Threads that wait for work are begun earlier than they work, so they are watched from the start.
    """

    def __init__(self) -> None:
        self._seen: set[str] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and self._seen is not None:
            code = frame.f_code
            if code.co_flags & IN_FUNCTION and code.co_filename.startswith(PACKAGE):
                self._seen.add(code.co_filename)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens meanwhile is not noted."""
        kept, self._seen = self._seen, None
        try:
            yield
        finally:
            self._seen = kept

    @contextmanager
    def files_run(self) -> Iterator[set[str]]:
        """The files, as they are noted meanwhile."""
        self._seen = seen = set()
        try:
            yield seen
        finally:
            self._seen = None


def survey_of(folder: Path) -> Survey:
    """What the draft becomes."""
    file = folder / "draft.toml"
    file.write_text(DRAFT, encoding="utf-8")
    return SurveyRequest(
        draft=Draft.read(file),
        people=PEOPLE,
        dealing=Dealers(("https://dealer.example",)),
        collector="https://collector.example",
    ).survey()


def opened(folder: Path) -> tuple[House, list[str]]:
    """A survey at its servers, and invitations to it."""
    survey = survey_of(folder)
    house, invitations = House(survey, folder / "servers"), new_invitations(PEOPLE)
    house.everybody.install()
    house.everybody.invite(invitations)
    house.everybody.open()
    return house, invitations


def answer(house: House, invitation: str, state: Path, without: Recorder | None = None) -> None:
    """One person answers, from a device of its own; without: does not note what the dealer does."""

    def call(_: Any, asked: Call) -> Reply:
        if without is not None and asked.address.startswith(house.survey.dealing.addresses):
            with without.paused():
                return house.call(asked)
        return house.call(asked)

    with patch("jrr.client.contributor.Http.call", call):
        person = Contributor(house.survey.link, invitation, limit=9.0, patience=0.0, state=state)
        assert person.answer(ANSWERS).carded


def count_answer(recorder: Recorder, folder: Path) -> set[str]:
    """Files of one answer, at a survey that is open."""
    house, invitations = opened(folder)
    with recorder.files_run() as seen:
        answer(house, invitations[0], folder / "device", recorder)
    return seen


def count_survey(recorder: Recorder, folder: Path) -> set[str]:
    """Files from the draft to the page."""
    with recorder.files_run() as seen:
        house, invitations = opened(folder)
        for number, invitation in enumerate(invitations):
            answer(house, invitation, folder / f"device{number}")
        house.everybody.close()
        page = report_page(survey_report(house.everybody, ReportWish()))
    assert "Health at work" in page
    return seen


def main() -> int:
    """Print the counts; 1 where one is above its limit."""
    load_everything()
    recorder, kept = Recorder(), True
    with tempfile.TemporaryDirectory() as name:
        for what, count, most, goal in (
            ("files from a draft in TOML to the page of results", count_survey, MOST_SURVEY, 110),
            ("files that one answer runs through", count_answer, MOST_ANSWER, 40),
        ):
            folder = Path(name) / str(goal)
            folder.mkdir()
            seen = sorted(
                Path(file).relative_to(PACKAGE).as_posix() for file in count(recorder, folder)
            )
            found = Count(what, len(seen), most, seen)
            print(f"{found}; the goal is {goal}")
            if "--list" in sys.argv:
                print("  " + " ".join(seen))
            kept &= found.kept
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
