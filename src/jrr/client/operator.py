"""What the operators of a survey's servers do; each step may be repeated.

Different people run the servers. Each step works for one of them alone; whoever holds all tokens,
as in a demonstration, does everything at once.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jrr._base import checks
from jrr.client.closing import Closing
from jrr.client.ending import Ending, Prospect
from jrr.client.http import Admin
from jrr.errors import ArgumentError, IntegrityError, ProtocolError, UnreachableError
from jrr.estimation.estimates import POPULATIONS, Population
from jrr.protocol import identity
from jrr.protocol.states import CLOSED, Role
from jrr.protocol.texts import admin_path

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

COLLECTOR = str(Role.COLLECTOR)
HASHES = 20_000  # names sent in one request


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The operator's tokens of the servers to act on."""

    dealer: str | None = None
    collector: str | None = None
    parties: Mapping[int, str] = field(default_factory=dict)  # by the number of the party
    dealers: Mapping[int, str] = field(default_factory=dict)  # by number, where there are several

    def of(self, survey: "Survey") -> dict[int, str]:
        """The tokens of those who deal, by number; a dealer's is ignored where there is none.

        Raises:
            ArgumentError: One is of somebody who does not deal in this survey.
        """
        word, count = survey.dealing.word, len(survey.dealing.addresses)
        found: dict[int, str] = {}
        if self.dealer is not None and word == Role.DEALER:
            if count > 1:
                raise ArgumentError("dealer_token must be as NUMBER:TOKEN where there are several")
            found = dict.fromkeys(range(count), self.dealer)
        for kind, given in ((Role.PARTY, self.parties), (Role.DEALER, self.dealers)):
            for number, token in given.items():
                if kind != word or number >= count:
                    allowed = f"the number of a {kind} of this survey"
                    raise checks.refusal(f"{kind}_token", str(number), allowed)
                found[number] = token
        return found


@dataclass(frozen=True, kw_only=True)
class EstimateWish:
    """How results are asked for.

    Attributes:
        level: of the confidence intervals.
        by: open questions (or one by its name): an estimate for each group of their crossing.
        simultaneous: whether the intervals of all answers hold at once with that chance.
        population: whom they speak of: "respondents", or with "sample" those whom the respondents
            are a random sample of.
        population_size: people in that population; None: no end of them.
    """

    level: float = 0.95
    by: tuple[str, ...] | str | None = None
    simultaneous: bool = False
    population: Population | str = "respondents"
    population_size: int | None = None

    def query(self, survey: "Survey", **more: str) -> str:
        """As a collector is asked.

        Raises:
            ArgumentError: There is no such level, population or open question.
        """
        checks.one_of("population", self.population, POPULATIONS)
        asked = more | {"level": repr(checks.level(self.level)), "population": str(self.population)}
        if self.by is not None:
            by = (self.by,) if isinstance(self.by, str) else self.by
            named = [checks.one_of("by", name, tuple(survey.covariates)) for name in by]
            asked["by"] = ",".join(named)
        if self.simultaneous:
            asked["simultaneous"] = "true"
        if self.population_size is not None:
            asked["population_size"] = str(self.population_size)
        return urlencode(asked)


@dataclass(frozen=True)
class Operator:
    """The servers that can be reached: all, or one's own."""

    survey: "Survey"
    dealing: Mapping[int, Admin] = field(default_factory=dict)  # those who deal, by number
    collector: Admin | None = None
    ca: str | Path | None = None  # file of certificates to trust

    def __post_init__(self) -> None:
        if not self.dealing and self.collector is None:
            raise ArgumentError(
                "tokens must be given for the servers to act on, got none: set "
                "JRR_COLLECTOR_TOKEN, JRR_DEALER_TOKEN or JRR_PARTY_TOKEN (as NUMBER:TOKEN), or "
                "give --collector-token, --dealer-token or --party-token"
            )

    @classmethod
    def by_tokens(
        cls, survey: "Survey", tokens: Tokens, ca: str | Path | None = None
    ) -> "Operator":
        """The operator of those servers of a survey whose tokens are given.

        Args:
            survey: Which names the servers' addresses.
            tokens: Of one server or of several.
            ca: File of certificates to trust, in PEM.

        Returns:
            The operator; nothing is asked of a server yet.

        Raises:
            ArgumentError: No token is given, or one of somebody who does not deal in this survey.
        """
        variable = f"JRR_{survey.dealing.word.upper()}_TOKEN"
        dealing = {
            number: Admin(survey.dealing.addresses[number], token, ca, variable=variable)
            for number, token in tokens.of(survey).items()
        }
        collector = None
        if tokens.collector is not None:
            collector = Admin(
                survey.collector, tokens.collector, ca, variable="JRR_COLLECTOR_TOKEN"
            )
        return cls(survey, dealing, collector, ca)

    @property
    def link(self) -> str:
        """What contributors are given."""
        return self.survey.link

    @property
    def path(self) -> str:
        """Where all servers keep the survey for operators."""
        return admin_path(self.survey.hash)

    @property
    def servers(self) -> dict[str, Admin]:
        """Those who deal, and last the collector, by their names."""
        found = {self.name_of(number): server for number, server in self.dealing.items()}
        return found if self.collector is None else found | {COLLECTOR: self.collector}

    def name_of(self, number: int) -> str:
        """One of those who deal: "dealer", "dealer 1", "party 2"."""
        return self.survey.dealing.server_name(number)

    def at_collector(self) -> Admin:
        """The collector, whose token must be held."""
        if self.collector is None:
            raise ArgumentError(
                "the collector's token must be given for this (JRR_COLLECTOR_TOKEN)"
            )
        return self.collector

    def install(self) -> None:
        """Give the document to the servers."""
        for server in self.servers.values():
            server.put(self.path, self.survey.to_bytes())

    def check_inviting(self, count: int) -> None:
        """Refuse, before there are secrets, invitations that the servers would not take."""
        if not self.survey.invitations:
            raise ProtocolError("the survey must be by invitation, but anybody may answer it")
        for name, facts in self.show().items():
            if facts["state"] == CLOSED:
                raise ProtocolError(f"{name}: the survey is closed, and takes no more invitations")
            room = self.survey.capacity - facts["invited"]
            if count > room:
                allowed = f"at most {room}, what is left of the capacity {self.survey.capacity}"
                raise checks.refusal("count", count, allowed)

    def invite(self, invitations: list[str]) -> None:
        """Let the holders of invitations in; servers get hashes only."""
        survey = self.survey
        for number, server in self.dealing.items():
            role = survey.dealing.roles[number]
            self._accept(server, identity.accepted(invitations, survey.hash, role))
        if self.collector is not None:
            salt = survey.collector_salt
            self._accept(self.collector, identity.accepted(invitations, salt, identity.COLLECTOR))

    def used(self, invitations: list[str]) -> list[str]:
        """Of some invitations those that have been used, as the collector says.

        It says who has answered, never what; its operator could find that out in any case.
        """
        return self._named("used", invitations)

    def accepted(self, invitations: list[str]) -> list[str]:
        """Of some invitations those that count: not revoked ones. It tells nothing of answers."""
        return self._named("accepted", invitations, "accepted")

    def revoke(self, invitations: list[str]) -> list[str]:
        """Let the holders of some invitations in no longer, at every server that is reached.

        The collector comes first: what has been used is left alone everywhere.

        Returns:
            Those that have been used.
        """
        if self.collector is None:
            raise ArgumentError("the collector's token must be given to revoke invitations")
        used = self._named("revoke", invitations)
        left = sorted(set(invitations) - set(used))
        for number, server in self.dealing.items():
            role = self.survey.dealing.roles[number]
            names = identity.accepted(left, self.survey.hash, role)
            for some in _in_parts(names):
                server.post(f"{self.path}/revoke", {"names": some})
        return used

    def _named(self, act: str, invitations: list[str], key: str = "used") -> list[str]:
        """Of invitations those that the collector names, by the hashes of their names there."""
        salt = self.survey.collector_salt
        found: set[str] = set()
        for some in _in_parts(identity.accepted(invitations, salt, identity.COLLECTOR)):
            found |= set(self.at_collector().post(f"{self.path}/{act}", {"names": some})[key])
        return [
            one
            for one in invitations
            if identity.accepted([one], salt, identity.COLLECTOR)[0].hex() in found
        ]

    def by_day(self) -> dict[str, int]:
        """Day in UTC -> people whose answers came."""
        found: dict[str, int] = self.at_collector().get(f"{self.path}/days")["days"]
        return found

    def _accept(self, server: Admin, hashes: list[bytes]) -> None:
        for names in _in_parts(hashes):
            server.post(f"{self.path}/invitations", {"names": names})

    def open(self, n: int | None = None) -> dict[str, Any]:
        """Open enrolment, or the survey; after enrolment the collector needs n."""
        states: dict[str, Any] = {}
        for number, server in self.dealing.items():
            states[self.name_of(number)] = server.post(f"{self.path}/open")["state"]
        if self.collector is not None and self.survey.dealing.may_begin(n):
            opening = {"n": n} | self._promises()
            states[COLLECTOR] = self.collector.post(f"{self.path}/open", opening)["state"]
        return states

    def _promises(self) -> dict[str, Any]:
        """Of verified cards: what each dealer promises, which the collector records."""
        if not self.survey.dealing.is_verified:
            return {}
        path = f"{self.survey.path}/promise"
        try:
            return {"promises": [dealer.get(path) for dealer in self._all_dealers()]}
        except (ProtocolError, UnreachableError) as error:
            raise type(error)(
                f"{error}; every dealer must hold the survey before the collector opens it, since "
                "its cards are verified: its operator brings the document there first"
            ) from None

    def _all_dealers(self) -> list[Admin]:
        """Everybody who deals: those whose tokens are not here are asked what all may ask."""
        return [
            self.dealing.get(number) or Admin(address, None, self.ca)
            for number, address in enumerate(self.survey.dealing.addresses)
        ]

    def deal(self, patience: float = 60.0, join: float = 60.0, again: bool = False) -> int:
        """End enrolment: cards for exactly those who enrolled, and answers may come.

        Parties of a committee deal together: those that cannot be reached from here must be
        told to by their own operators, within `join` seconds.

        Returns:
            How many people were dealt cards.
        """
        if not self.dealing:
            raise ArgumentError(
                "the token of the dealer, or of a party, must be given to deal (JRR_DEALER_TOKEN "
                "or JRR_PARTY_TOKEN)"
            )
        together = len(self.survey.dealing.addresses) > 1
        wish = {"patience": patience, "join": join, "again": again} if together else None
        longer = join + patience if together else 0.0
        with ThreadPoolExecutor(len(self.dealing)) as pool:
            replies = [
                pool.submit(server.post, f"{self.path}/deal", wish, longer)
                for server in self.dealing.values()
            ]
        errors = [reply.exception() for reply in replies]
        # Where one party noticed what another did, that is the reason, whoever else gave up.
        for error in sorted(filter(None, errors), key=lambda e: not isinstance(e, IntegrityError)):
            raise error
        counts = {int(reply.result()["n"]) for reply in replies}
        if len(counts) != 1:
            shown = " and ".join(map(str, sorted(counts)))
            raise IntegrityError(f"the parties must deal to the same people, got {shown} of them")
        n = counts.pop()
        if self.collector is not None:
            self.collector.post(f"{self.path}/open", {"n": n})
        return n

    def show(self) -> dict[str, Any]:
        """Counts at each server."""
        return {name: server.get(self.path) for name, server in self.servers.items()}

    def estimate(self, question: str, wish: EstimateWish | None = None) -> dict[str, Any]:
        """The estimate of one question, so far or final.

        Raises:
            ArgumentError: There is no such question, or the wish is refused.
            ProtocolError: There is no result that may be shown.
        """
        checks.one_of("question", question, tuple(self.survey.by_name))
        asked = (wish or EstimateWish()).query(self.survey, question=question)
        found: dict[str, Any] = self.at_collector().get(f"{self.path}/estimate?{asked}")
        return found

    def estimates(self, wish: EstimateWish | None = None) -> dict[str, Any]:
        """The estimate of every question, or why there is none yet; by question."""
        asked = (wish or EstimateWish()).query(self.survey)
        found: dict[str, Any] = self.at_collector().get(f"{self.path}/estimates?{asked}")
        return found

    def change(
        self, since: "Survey", *, paired: bool = False, wish: EstimateWish | None = None
    ) -> dict[str, Any]:
        """How every question has changed since another wave.

        Args:
            since: The wave before.
            paired: Among those who answered both; with masks after the earlier wave's second sums.
            wish: Of the intervals.
        """
        more = {"since": since.hash, "paired": str(paired).lower()}
        asked = (wish or EstimateWish()).query(self.survey, **more)
        found: dict[str, Any] = self.at_collector().get(f"{self.path}/change?{asked}")
        return found

    def export(self, kind: str) -> bytes:
        """All answers, a row per person: "parquet" or "csv"."""
        return self.at_collector().get_bytes(f"{self.path}/export?format={kind}")

    def close(
        self, ending: Ending | None = None, prospect: Prospect | None = None
    ) -> dict[str, Any]:
        """Burn the cards, take no more answers.

        Everything is looked at first; where anything is wrong, nothing is changed.

        Args:
            ending: What is wished of the end (jrr.client.ending).
            prospect: What `closing.check` found, if it was asked already.

        Returns:
            What each server says, by name.
        """
        wish = ending or Ending()
        found = self.closing.run(wish, prospect or self.closing.check(wish))
        return {
            self.name_of(server) if isinstance(server, int) else server: reply
            for server, reply in found.items()
        }

    def extend(self, closes: str) -> dict[str, str]:
        """Take answers until a later time, at every server whose token is here.

        Those who deal first: what the collector tells people is then true of them, too.

        Args:
            closes: In UTC, as 2026-01-31T12:00:00Z.

        Returns:
            Until when each server takes them, by name.

        Raises:
            ProtocolError: A server refuses; those before it have extended. The same again goes on.
        """
        wish = {"closes": closes}
        return {
            name: server.post(f"{self.path}/extend", wish)["closes"]
            for name, server in self.servers.items()
        }

    def next_announcement(self) -> int:
        """Which announcement comes after the end, as far as the servers know that are held.

        Where the last that was planned was made, that one: the same again is answered the same.
        """
        planned = self.survey.announcements
        if planned < 2:
            raise ArgumentError(
                "again must be left out: the survey's document counts one announcement "
                "(announcements); a panel plans two"
            )
        told: list[int] = [facts["announced"] for facts in self.show().values()]
        if not all(told):
            raise ProtocolError("the survey must be closed first, with the first sums")
        return min(min(told) + 1, planned)

    def delete(self) -> dict[str, Any]:
        """Delete the survey's data at every server whose token is here, for good.

        The document stays, with the time. A server that refuses leaves the others' data deleted;
        the same again goes on.

        Returns:
            When each server deleted them, by name.
        """
        return {name: server.delete(self.path)["deleted"] for name, server in self.servers.items()}

    @property
    def closing(self) -> Closing:
        """How the survey ends at these servers."""
        return Closing(self.survey, self.path, self.dealing, self.collector)


def _in_parts(hashes: list[bytes]) -> Iterator[list[str]]:
    """In hexadecimal digits, as many as one request may have."""
    for start in range(0, len(hashes), HASHES):
        yield [entry.hex() for entry in hashes[start : start + HASHES]]


def new_invitations(count: int) -> list[str]:
    """Fresh one-time invitations."""
    return [identity.new_invitation() for _ in range(count)]
