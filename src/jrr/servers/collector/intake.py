"""Answers that come in together: each person's are checked against what is stored, and kept.

One person's answers are taken all or none.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from jrr.protocol.documents import canonical_json
from jrr.protocol.states import Act
from jrr.servers.common.jobs import check_invitation, check_state, check_times
from jrr.servers.common.problems import Problem, busy
from jrr.survey.other_waves import with_wave

if TYPE_CHECKING:
    from jrr.servers.collector.store import CardOf, CollectorStore, CollectorSurvey
    from jrr.survey.messages import StoredAnswers

NEARLY_FULL = 8_192  # people: with less room, processes take turns, so that none is one too many


@dataclass(frozen=True)
class IncomingAnswers:
    """Answers that were read, for a survey of so many people."""

    survey: str
    n: int | None  # people who were dealt cards, where that was fixed when they were read
    capacity: int
    answers: "StoredAnswers"


def receive(
    store: "CollectorStore", now: datetime, name: str, incoming: Sequence[IncomingAnswers]
) -> list[bool | Problem]:
    """Take answers to one survey; of each, False where they are here already, or why not.

    Everything is looked up at once, then written at once.
    """
    # Several processes may take answers at the same time, until few are still to come.
    near = incoming[0].capacity - len(incoming) - NEARLY_FULL
    almost = store.has_processes and store.find(name).arrivals >= near
    held = store.find(name, lock=almost, share=True)
    check_state(Act.REPORT_AGAIN, held)
    intake = Intake(store, held, now, [one.answers for one in incoming])
    outcomes: list[bool | Problem] = []
    for one in incoming:
        try:
            if one.n != held.n:  # it was read just before the number of people was fixed
                raise busy()
            outcomes.append(intake.take(one.answers))
        except Problem as problem:
            outcomes.append(problem)
    store.add_answers(held, _with_wave(store, held, intake.new), now.strftime("%Y-%m-%d"))
    return outcomes


def _with_wave(
    store: "CollectorStore", held: "CollectorSurvey", answers: Sequence["StoredAnswers"]
) -> list["StoredAnswers"]:
    """New answers, in a later wave with whether these people answered the wave before."""
    if not held.survey.earlier:
        return list(answers)
    before = store.who_answered(held.survey.earlier[-1].survey, [one.name for one in answers])
    return [
        replace(
            one,
            covariates=canonical_json(
                with_wave(json.loads(one.covariates), one.name in before)
            ).decode(),
        )
        for one in answers
    ]


class Intake:
    """Answers to one survey that are taken together."""

    def __init__(
        self,
        store: "CollectorStore",
        held: "CollectorSurvey",
        now: datetime,
        answers: Sequence["StoredAnswers"],
    ) -> None:
        names = {one.name for one in answers}
        self._held, self._now = held, now
        self._invited = store.invitations(held.name, names) if held.survey.invitations else None
        cards = [card for one in answers for card in self._cards(one)]
        self._owners = store.serial_owners(held.name, cards)
        # Whoever comes with somebody else's card is refused, and not even looked up: the time that
        # it takes would tell whether the owner of the name has answered.
        known = {one.name for one in answers if not self._has_others_card(one)}
        kept = store.stored_answers(held, known)  # and what was taken just now
        self._kept = {who: _without_serials(one) for who, one in kept.items()}
        self.new: list[StoredAnswers] = []

    def take(self, answers: "StoredAnswers") -> bool:
        """Take somebody's answers, or refuse them; False where the same ones are here already."""
        if self._invited is not None:
            check_invitation(self._invited.get(answers.name))
        if self._is_repeat(answers):
            return False
        check_state(Act.REPORT, self._held)
        check_times(self._held, self._now)
        if self._held.arrivals + len(self.new) >= self._held.survey.capacity:
            raise Problem(409, "full", "the survey has all the answers it can take")
        if self._has_others_card(answers):
            raise Problem(409, "serial-used", "another report came with the serial of this card")
        # Last: whoever could not have answered in this person's place learns nothing about them.
        if answers.name in self._kept:
            raise Problem(409, "conflict", "other answers were received under this pseudonym")
        self._owners |= dict.fromkeys(self._cards(answers), answers.name)
        self._kept[answers.name] = _without_serials(answers)
        self.new.append(answers)
        return True

    def _is_repeat(self, answers: "StoredAnswers") -> bool:
        """Whether the same answers were received before.

        A repeat is answered also after the end: its sender may not have heard the first answer.
        Serial numbers are those of the first one if all of them came from this person.
        """
        kept = self._kept.get(answers.name)
        owners = {self._owners.get(card) for card in self._cards(answers)}
        return kept == _without_serials(answers) and owners <= {answers.name}

    def _has_others_card(self, answers: "StoredAnswers") -> bool:
        owners = {self._owners.get(card) for card in self._cards(answers)}
        return not owners <= {None, answers.name}

    def _cards(self, answers: "StoredAnswers") -> Iterator["CardOf"]:
        """The cards that somebody came with; none where serial numbers are forgotten."""
        if self._held.sums is None:
            for question, report in answers.reports.items():
                for dealer, serial in enumerate(report.serials):
                    if serial is not None:
                        yield self._held.numbers[question], dealer, serial


def _without_serials(answers: "StoredAnswers") -> "StoredAnswers":
    """As answers are compared: without what is not part of them."""
    reports = {name: replace(one, serials=(), signed=()) for name, one in answers.reports.items()}
    return replace(answers, reports=reports, covariates="")
