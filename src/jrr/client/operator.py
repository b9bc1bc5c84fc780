"""What the operators of dealer and collector do to a campaign; each step may be repeated.

Two parties run the two servers. Each step works for one of them alone; whoever holds both
tokens, as in a demonstration, does both at once.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jrr._base import checks
from jrr.client.closing import Closing, Ending, Prospect
from jrr.client.http import Admin, ResultsWaitError
from jrr.errors import ArgumentError, IntegrityError, JrrError, ProtocolError, UnreachableError
from jrr.estimation.estimates import POPULATIONS, Population
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import COLLECTOR_ROLE, DEALER, accepted, new_invitation
from jrr.survey.states import CLOSED, Role

COLLECTOR = str(Role.COLLECTOR)
HASHES = 20_000  # names sent in one request


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The operator's tokens of the servers to act on."""

    dealer: str | None = None
    collector: str | None = None
    parties: Mapping[int, str] = field(default_factory=dict)  # by the number of the party
    dealers: Mapping[int, str] = field(default_factory=dict)  # by number, where there are several


@dataclass(frozen=True, kw_only=True)
class CampaignSummary:
    """What an operator is shown of a campaign."""

    servers: dict[str, Any]  # counts at each server
    too_few: int | None = None  # reports, where they are too few to estimate from
    waits: str | None = None  # why no result is shown yet, where results must be some apart
    estimate: dict[str, Any] | None = None  # None without the collector, or with too few reports


@dataclass(frozen=True)
class Operator:
    """The servers that can be reached: both, or one's own."""

    campaign: Campaign
    dealer: Admin | None = None
    collector: Admin | None = None
    parties: tuple[Admin, ...] = ()  # of a committee; or several dealers

    def __post_init__(self) -> None:
        if not self._dealing and self.collector is None:
            raise ArgumentError(
                "tokens must be given for the servers to act on, got none: set "
                "JRR_COLLECTOR_TOKEN, JRR_DEALER_TOKEN or JRR_PARTY_TOKEN (as NUMBER:TOKEN), or "
                "give --collector-token, --dealer-token or --party-token"
            )

    @classmethod
    def by_tokens(
        cls, campaign: Campaign, tokens: Tokens, ca: str | Path | None = None
    ) -> "Operator":
        """The operator of those servers of a campaign whose tokens are given.

        Args:
            campaign: Which names the servers' addresses.
            tokens: Of one server or of several; a dealer's is ignored where there is none.
            ca: File of certificates to trust, in PEM.

        Returns:
            The operator; nothing is asked of a server yet.

        Raises:
            ArgumentError: No token is given, or one of a party that there is not.
        """
        dealer = None
        if tokens.dealer is not None and isinstance(campaign.dealer, DealerServer):
            dealer = Admin(campaign.dealer.url, tokens.dealer, ca, variable="JRR_DEALER_TOKEN")
        if tokens.dealer is not None and campaign.by_several:
            raise ArgumentError("dealer_token must be as NUMBER:TOKEN where there are several")
        parties = []
        for word, several, given in (
            ("party", campaign.by_committee, tokens.parties),
            ("dealer", campaign.by_several, tokens.dealers),
        ):
            for number, token in given.items():
                if not several or number >= len(campaign.dealers):
                    allowed = f"the number of a {word} of this campaign"
                    raise checks.refusal(f"{word}_token", str(number), allowed)
                address, variable = campaign.dealers[number], f"JRR_{word.upper()}_TOKEN"
                parties.append(Admin(address, token, ca, variable=variable))
        collector = None
        if tokens.collector is not None:
            collector = Admin(
                campaign.collector, tokens.collector, ca, variable="JRR_COLLECTOR_TOKEN"
            )
        return cls(campaign, dealer, collector, tuple(parties))

    @property
    def _dealing(self) -> tuple[Admin, ...]:
        """Those who deal, as far as they can be reached."""
        return self.parties if self.dealer is None else (self.dealer, *self.parties)

    @property
    def link(self) -> str:
        """What contributors are given."""
        return self.campaign.link

    @property
    def path(self) -> str:
        """Where both servers keep the campaign for operators."""
        return f"/v1/admin/campaigns/{self.campaign.hash}"

    def install(self) -> None:
        """Give the document to the servers."""
        for server in (*self._dealing, self.collector):
            if server is not None:
                server.put(self.path, self.campaign.to_bytes())

    def check_inviting(self, count: int) -> None:
        """Refuse, before there are secrets, invitations that the servers would not take."""
        if not self.campaign.invitations:
            raise ProtocolError("the campaign must be by invitation, but anybody may answer it")
        for name, facts in self.show().items():
            if facts["state"] == CLOSED:
                raise ProtocolError(
                    f"{name}: the campaign is closed, and takes no more invitations"
                )
            room = self.campaign.capacity - facts["invited"]
            if count > room:
                allowed = f"at most {room}, what is left of the capacity {self.campaign.capacity}"
                raise checks.refusal("count", count, allowed)

    def invite(self, invitations: list[str]) -> None:
        """Let the holders of invitations in; servers get hashes only."""
        for server, role in self.dealing_by_role():
            self._accept(server, accepted(invitations, self.campaign.hash, role))
        if self.collector is not None:
            names = accepted(invitations, self.campaign.hash, COLLECTOR_ROLE)
            self._accept(self.collector, names)

    def dealing_by_role(self) -> list[tuple[Admin, str]]:
        """Those who deal, each with the role from which people's pseudonyms there follow."""
        alone = [] if self.dealer is None else [(self.dealer, DEALER)]
        roles_of = self.campaign.dealer.roles
        return [*alone, *((one, roles_of[self._number(one)]) for one in self.parties)]

    def _accept(
        self, server: Admin, hashes: list[bytes], more: dict[str, int] | None = None
    ) -> None:
        for start in range(0, len(hashes), HASHES):
            names = [entry.hex() for entry in hashes[start : start + HASHES]]
            server.post(f"{self.path}/invitations", {"names": names} | (more or {}))

    def open(self, n: int | None = None) -> dict[str, Any]:
        """Open enrolment, or the campaign; after enrolment the collector needs n."""
        states: dict[str, Any] = {}
        for name, server in self.dealing_by_name().items():
            states[name] = server.post(f"{self.path}/open")["state"]
        if self.collector is not None and (not self.campaign.enrols or n is not None):
            states[COLLECTOR] = self.collector.post(f"{self.path}/open", {"n": n})["state"]
        return states

    def deal(self, patience: float = 60.0, join: float = 60.0, again: bool = False) -> int:
        """End enrolment: cards for exactly those who enrolled, and reports may come.

        Parties of a committee deal together: those that cannot be reached from here must be
        told to by their own operators, within `join` seconds.
        """
        if not self._dealing:
            raise ArgumentError(
                "the token of the dealer, or of a party, must be given to deal (JRR_DEALER_TOKEN "
                "or JRR_PARTY_TOKEN)"
            )
        together = self.campaign.by_committee
        wish = {"patience": patience, "join": join, "again": again} if together else None
        longer = join + patience if together else 0.0
        with ThreadPoolExecutor(len(self._dealing)) as pool:
            replies = [
                pool.submit(server.post, f"{self.path}/deal", wish, longer)
                for server in self._dealing
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

    def close(
        self,
        decks: int | None = None,
        ending: Ending | None = None,
        prospect: Prospect | None = None,
    ) -> dict[str, Any]:
        """Burn the cards, take no more reports.

        Where card sums are announced, everything is looked at first; where anything is wrong,
        nothing is changed.

        Args:
            decks: From how many decks was dealt: for a collector on its own.
            ending: Where card sums are announced: how names and sums go between the servers
                (jrr.client.closing).
            prospect: What `check_closing` found, if it was asked already.

        Returns:
            What each server says.
        """
        if self.campaign.announces:
            return self._announce_and_close(ending or Ending(), prospect)
        if ending is not None and replace(ending, carries_names=True) != Ending():
            raise ArgumentError(
                "by, merge_small, names, sums, discard_small, discard_unknown and without_sum must "
                "be left out: the campaign's card sums are not announced"
            )
        closed: dict[str, Any] = {}
        undealt = None
        failed = self._silent_or_refusing()
        if failed:
            raise self._not_closed(closed, failed)
        for name, server in self.dealing_by_name().items():  # every card that can be burned is
            try:
                closed[name] = server.post(f"{self.path}/close")
            except JrrError as error:
                failed[name] = error
            else:
                decks = closed[name]["decks"]
                undealt = closed[name].get("undealt")
        if self.collector is not None and not failed:
            # Last: once closed, it is never told from how many decks was dealt.
            try:
                told = {"decks": decks} | ({} if undealt is None else {"undealt": undealt})
                closed[COLLECTOR] = self.collector.post(f"{self.path}/close", told)
            except JrrError as error:
                failed[COLLECTOR] = error
        if failed:
            raise self._not_closed(closed, failed)
        return closed

    def _silent_or_refusing(self) -> dict[str, JrrError]:
        """The servers that would not close: they do not answer, or refuse the token."""
        failed: dict[str, JrrError] = {}
        servers = self.dealing_by_name()
        if self.collector is not None:
            servers[COLLECTOR] = self.collector
        for name, server in servers.items():
            try:
                server.get(self.path)
            except JrrError as error:
                failed[name] = error
        return failed

    def check_closing(self, ending: Ending | None = None) -> Prospect | None:
        """Refuse what would keep the campaign from its end; nothing is changed.

        Returns:
            Where card sums are announced: what closing would do.

        Raises:
            ProtocolError: A server would refuse.
            UnreachableError: A server does not answer.
        """
        if self.campaign.announces:
            return self._closing().check(ending or Ending())
        return None

    def preview_closing(self, ending: Ending | None = None) -> dict[str, Any]:
        """The groups that closing would make and their sizes; nothing is changed.

        Raises:
            ArgumentError: Card sums are not announced, or the collector's token is not held.
        """
        if not self.campaign.announces:
            raise ArgumentError(
                "dry_run must be left out: the campaign's card sums are not announced"
            )
        return self._closing().preview(ending or Ending())

    def _closing(self) -> Closing:
        several = {self._number(server): server for server in self.parties}
        dealers = several if self.dealer is None else {0: self.dealer}
        return Closing(self.campaign, self.path, dealers, self.collector)

    def _announce_and_close(self, ending: Ending, prospect: Prospect | None) -> dict[str, Any]:
        found = self._closing().run(ending, prospect or self.check_closing(ending))
        names = {0: str(Role.DEALER)} if self.dealer is not None else {}
        return {
            names.get(server, f"dealer {server}") if isinstance(server, int) else server: reply
            for server, reply in found.items()
        }

    def _not_closed(self, closed: dict[str, Any], failed: dict[str, JrrError]) -> JrrError:
        left = [*failed]
        if self.collector is not None and COLLECTOR not in failed:
            left.append(COLLECTOR)
        reasons = "; ".join(str(error) for error in failed.values())
        # Where one refuses and another is silent, trying again would not be enough.
        silent = all(isinstance(error, UnreachableError) for error in failed.values())
        kind = UnreachableError if silent else ProtocolError
        return kind(
            f"{reasons}; closed: {', '.join(closed) or 'none'}; not closed: {', '.join(left)}; "
            "when that is mended, the same command goes on"
        )

    def show(self) -> dict[str, Any]:
        """Counts at each server."""
        servers = self.dealing_by_name()
        if self.collector is not None:
            servers[COLLECTOR] = self.collector
        return {name: server.get(self.path) for name, server in servers.items()}

    def summary(
        self,
        level: float = 0.95,
        by: str | None = None,
        *,
        simultaneous: bool = False,
        population: Population | str = "respondents",
        population_size: int | None = None,
    ) -> CampaignSummary:
        """Counts at the servers and, from the collector, the estimate so far.

        While a campaign is open, fewer reports than its smallest group are not estimated from.

        Args:
            level: Of the confidence interval.
            by: A covariate of the campaign: one estimate per group.
            simultaneous: Whether the intervals of all answers hold at once with that chance.
            population: Whom they speak of: "respondents", or with "sample" those whom the
                respondents are a random sample of.
            population_size: People in that population; None: no end of them.

        Returns:
            The counts, and either the estimate or how many reports are too few for one.

        Raises:
            ArgumentError: There is no such level or covariate.
            ProtocolError: A server refuses.
            UnreachableError: A server does not answer.
        """
        level = checks.level(level)
        checks.one_of("population", population, POPULATIONS)
        if by is not None:
            checks.one_of("by", by, tuple(self.campaign.covariates))
        servers = self.show()
        if self.collector is None:
            return CampaignSummary(servers=servers)
        reports: int = servers[COLLECTOR]["reports"]
        closed = servers[COLLECTOR]["state"] == CLOSED
        if reports < self.campaign.fewest_to_show(final=closed):
            return CampaignSummary(servers=servers, too_few=reports)
        try:
            found = self.estimate(
                level,
                by,
                simultaneous=simultaneous,
                population=population,
                population_size=population_size,
            )
        except ResultsWaitError as reason:
            return CampaignSummary(servers=servers, waits=str(reason))
        return CampaignSummary(servers=servers, estimate=found)

    def dealing_by_name(self) -> dict[str, Admin]:
        """Those who deal: the dealer, or parties by their numbers in the campaign."""
        servers = {} if self.dealer is None else {str(Role.DEALER): self.dealer}
        word = Role.PARTY if self.campaign.by_committee else Role.DEALER
        for server in self.parties:
            servers[f"{word} {self._number(server)}"] = server
        return servers

    def _number(self, party: Admin) -> int:
        addresses = self.campaign.dealers
        if party.address not in addresses:
            raise checks.refusal("party", party.address, f"one of {', '.join(addresses)}")
        return addresses.index(party.address)

    def estimate(
        self,
        level: float = 0.95,
        by: str | None = None,
        *,
        simultaneous: bool = False,
        population: Population | str = "respondents",
        population_size: int | None = None,
    ) -> dict[str, Any]:
        """The estimate, live or final."""
        asked: dict[str, Any] = {"level": repr(level)}
        if by:
            asked["by"] = by
        if simultaneous:
            asked["simultaneous"] = "true"
        if population != "respondents":
            asked["population"] = population
        if population_size is not None:
            asked["population_size"] = population_size
        document: dict[str, Any] = self.at_collector().get(
            f"{self.path}/estimate?{urlencode(asked)}"
        )
        return document

    def export(self, kind: str) -> bytes:
        """All reports as a report file."""
        return self.at_collector().get_bytes(f"{self.path}/export?format={kind}")

    def at_collector(self) -> Admin:
        """The collector, whose token must be held."""
        if self.collector is None:
            raise ArgumentError(
                "the collector's token must be given for this (JRR_COLLECTOR_TOKEN)"
            )
        return self.collector


def new_invitations(count: int) -> list[str]:
    """Fresh one-time invitations."""
    return [new_invitation() for _ in range(count)]
