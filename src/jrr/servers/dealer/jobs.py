"""What the dealer does to its database; each job checks first and writes last."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection

from jrr._base.randomness import overwrite
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError
from jrr.protocol.states import OPEN, Act
from jrr.servers.common.batch import as_problem, in_groups
from jrr.servers.common.jobs import Clock, SurveyJobs, check_state, check_times, utc_now
from jrr.servers.common.problems import Problem, wrong_state
from jrr.servers.dealer.keyfiles import OpenDecks
from jrr.servers.dealer.seating import Seating, Visitor
from jrr.servers.dealer.store import DealerStore, HeldByDealer

if TYPE_CHECKING:
    from jrr.servers.common.store import HeldSurvey
    from jrr.servers.dealer.keyfiles import KeyFiles
    from jrr.survey.survey import Survey

T = TypeVar("T")
People = Sequence[Visitor]


class DealerJobs(SurveyJobs[DealerStore, HeldByDealer]):
    """The jobs, and the decks that are open."""

    title = "jrr dealer"
    store = DealerStore

    def __init__(self, keys: "KeyFiles", clock: Clock = utc_now) -> None:
        super().__init__(clock)
        self.keys = keys
        self.decks = OpenDecks(keys)

    def new_columns(self, survey: "Survey") -> dict[str, Any]:
        """A fresh key; refuses a survey whose cards nobody deals, or somebody else."""
        if not isinstance(survey.dealing, Dealers):
            raise Problem(422, "refused", "the survey's cards must be dealt by dealers")
        key, wrapped = self.keys.create(survey.hash)
        overwrite(key)  # it is unwrapped when the first card is dealt
        return {"wrapped_key": wrapped}

    def enrol_all(self, connection: Connection, people: People) -> list[bool | Problem]:
        """Take people in; of each, False where they are in already, or why they are refused."""
        return in_groups(people, _survey_of, partial(self._enrol_some, DealerStore(connection)))

    def _enrol_some(self, store: DealerStore, name: str, people: People) -> list[bool | Problem]:
        held = store.find(name, lock=True)
        _check_enrolment(held)
        check_state(Act.ENROL_AGAIN, held)
        check_times(held, self.clock())
        self.decks.check_backup(held)
        self.decks.check_not_ended(held)
        seating = self._seating(store, held, people)
        return self._seated(store, seating, people, seating.enrol)

    def deal(self, connection: Connection, name: str) -> int:
        """Deal to exactly those who enrolled, so many; again changes nothing."""
        store, held = self.found(connection, name, lock=True)
        _check_enrolment(held)
        if held.state == OPEN and held.n is not None:
            return held.n
        check_state(Act.DEAL, held)
        n = store.count(store.seats, name)
        for question in held.survey.dealt:
            question.for_people(n)  # too few people would break the guarantee: refused
        store.number_seats(name)
        store.move(held, OPEN, n=n)
        return n

    def cards_all(self, connection: Connection, people: People) -> list[dict[str, Any] | Problem]:
        """People's cards of all questions, the same ones however often they ask; or why not."""
        return in_groups(people, _survey_of, partial(self._cards_some, DealerStore(connection)))

    def cards(self, connection: Connection, visitor: Visitor) -> dict[str, Any]:
        """Somebody's cards of all questions; the same ones however often they ask."""
        (outcome,) = self.cards_all(connection, [visitor])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def _cards_some(
        self, store: DealerStore, name: str, people: People
    ) -> list[dict[str, Any] | Problem]:
        held = store.find(name, lock=True)
        check_state(Act.FETCH_CARDS, held)
        check_times(held, self.clock())
        self.decks.check_not_ended(held)
        decks = self.decks.of(held)
        seating = self._seating(store, held, people)

        def cards(visitor: Visitor) -> dict[str, Any]:
            return {"survey": name, "n": held.n, **seating.cards(visitor, decks)}

        return self._seated(store, seating, people, cards)

    def promise(self, connection: Connection, name: str) -> dict[str, Any]:
        """What this dealer promises of its verified cards; always the same."""
        held = DealerStore(connection).find(name)
        if not held.survey.dealing.is_verified:
            raise wrong_state("nothing is promised: the survey's cards are not verified")
        return self.decks.of(held).promise()

    def _seating(self, store: DealerStore, held: HeldByDealer, people: People) -> Seating:
        names = [visitor.who for visitor in people]
        invited = store.invitations(held.name, names) if held.survey.invitations else None
        asked = [one.asked.serial for one in people if one.asked is not None]
        return Seating(
            held, invited, store.seats_of(held.name, names), store.serial_owners(held.name, asked)
        )

    def _seated(
        self, store: DealerStore, seating: Seating, people: People, act: Callable[[Visitor], T]
    ) -> list[T | Problem]:
        """What an act finds for each; then their seats are written."""
        outcomes: list[T | Problem] = []
        for visitor in people:
            try:
                outcomes.append(act(visitor))
            except (Problem, JrrError) as error:
                outcomes.append(as_problem(error))
        seating.keep(store, self.keys)
        return outcomes

    def burn(self, name: str) -> None:
        """Forget a survey's key, in memory and for good."""
        self.decks.burn(name)

    def is_used(self, store: DealerStore, held: "HeldSurvey") -> bool:
        """Whether anybody has a seat."""
        return bool(store.count(store.seats, held.name))

    def forget(self, name: str) -> None:
        """Of a survey that was deleted before it was opened, the key."""
        self.burn(name)

    def finish_burning(self, connection: Connection) -> None:
        """Destroy the keys of surveys that are over: an end may have been interrupted."""
        for name in DealerStore(connection).burned():
            self.burn(name)

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store, held = self.found(connection, name)
        return {
            "survey": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "seats": store.count(store.seats, name),
            "closes": held.closes,
            "announced": len(held.announced),
            "burned": held.wrapped_key is None,
        }

    def check_ready(self, connection: Connection) -> None:
        """Refuse unless every survey that is open could be dealt."""
        self.decks.check_keys()
        store = DealerStore(connection)
        for name in store.open_ones():
            self.decks.of(store.find(name))


def _survey_of(visitor: Visitor) -> str:
    return visitor.survey


def _check_enrolment(held: HeldByDealer) -> None:
    if not held.survey.dealing.enrols:
        raise Problem(409, "no-enrolment", "cards are dealt on arrival: ask for cards")
