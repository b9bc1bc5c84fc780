"""A committee of parties that may die or cheat, with a collector, and what happens on it."""

from jrr import JRR
from jrr.errors import JrrError
from jrr.survey.survey import Survey
from tests.dealing.committee.mortal import MortalParty
from tests.dealing.committee.servers import Committee
from tests.e2e import enrol_all

PEOPLE = 5
CARDS = {1: 2, -1: 2, 0: 1}
SOON = 8.0  # seconds for each message


class Stage:
    """Mortal parties, and a collector that survives."""

    def __init__(self, parties: list[MortalParty], collector: object) -> None:
        self.parties = parties
        self._collector = collector

    @property
    def committee(self) -> Committee:
        parties = tuple(party.running() for party in self.parties)
        return Committee(parties, self._collector)  # type: ignore[arg-type]

    def enrolled(self) -> tuple[Survey, list[bytes]]:
        survey = self.committee.survey(JRR(PEOPLE, p=0.7, s=0.2))
        _, people = self.committee.begin(survey, PEOPLE)
        enrol_all(survey, people)
        return survey, people

    def deal(self, survey: Survey, patience: float = SOON, join: float = SOON) -> str:
        """What the operators are told, who all deal at once."""
        for party in self.parties:
            party.sent()  # a full pipe would hold it up
        try:
            return str(self.committee.operator(survey).deal(patience, join))
        except JrrError as error:
            return str(error)
