"""What operators do to a survey: as to a campaign, all parts at once; each step may be repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jrr._base import checks
from jrr.client.closing import Ending, Prospect
from jrr.client.http import Admin
from jrr.client.operator import COLLECTOR, HASHES, Operator, Tokens
from jrr.errors import (
    ArgumentError,
    DamagedError,
    JrrError,
    ProtocolError,
    UnreachableError,
)
from jrr.survey.addresses import survey_path
from jrr.survey.identity import COLLECTOR_ROLE, accepted
from jrr.survey.states import CLOSED
from jrr.survey.surveys import Survey, SurveyPart


@dataclass(frozen=True)
class SurveyOperator:
    """The servers of a survey that can be reached: all, or one's own."""

    survey: Survey
    servers: Operator  # of one of the parts that have cards, if any has: the same servers

    @classmethod
    def by_tokens(
        cls, survey: Survey, tokens: Tokens, ca: str | Path | None = None
    ) -> "SurveyOperator":
        """The operator of those servers whose tokens are given; as `Operator.by_tokens`."""
        dealt = next((part for part in survey.parts if part.campaign.deals), survey.parts[0])
        return cls(survey, Operator.by_tokens(dealt.campaign, tokens, ca))

    @property
    def link(self) -> str:
        """What contributors are given."""
        return self.survey.link

    @property
    def path(self) -> str:
        """Where all servers keep the survey for operators."""
        return survey_path(self.survey.hash).replace("/v1/", "/v1/admin/")

    @property
    def collector(self) -> Admin | None:
        """The collector, if its token is held."""
        return self.servers.collector

    def operator(self, part: SurveyPart) -> Operator:
        """The operator of one part as a campaign."""
        one = self.servers
        if part.campaign.deals:
            return Operator(part.campaign, one.dealer, one.collector, one.parties)
        return Operator(part.campaign, None, self.at_collector())

    def at_collector(self) -> Admin:
        """The collector, whose token must be held."""
        return self.servers.at_collector()

    def _everywhere(self) -> dict[str, Admin]:
        servers = self.servers.dealing_by_name()
        if self.collector is not None:
            servers[COLLECTOR] = self.collector
        return servers

    def install(self) -> None:
        """Give the document to the servers."""
        for server in self._everywhere().values():
            server.put(self.path, self.survey.to_bytes())

    def open(self) -> dict[str, Any]:
        """Open all parts at the servers; what each says."""
        return {
            name: server.post(f"{self.path}/open")["state"]
            for name, server in self._everywhere().items()
        }

    def check_inviting(self, count: int) -> None:
        """Refuse, before there are secrets, invitations that the servers would not take."""
        if not self.survey.invitations:
            raise ProtocolError("the survey must be by invitation, but anybody may answer it")
        for name, facts in self.show().items():
            if facts["state"] == CLOSED:
                raise ProtocolError(f"{name}: the survey is closed, and takes no more invitations")
            room = self.survey.first.capacity - facts["invited"]
            if count > room:
                raise checks.refusal(
                    "count", count, f"at most {room}, what is left of the capacity"
                )

    def invite(self, invitations: list[str]) -> None:
        """Let the holders of invitations in; servers get hashes only."""
        survey = self.survey
        for server, role in self.servers.dealing_by_role():
            self._accept(server, accepted(invitations, survey.hash, role))
        if self.collector is not None:
            names = accepted(invitations, survey.collector_salt, COLLECTOR_ROLE)
            self._accept(self.collector, names)

    def _accept(self, server: Admin, hashes: list[bytes]) -> None:
        for start in range(0, len(hashes), HASHES):
            names = [entry.hex() for entry in hashes[start : start + HASHES]]
            server.post(f"{self.path}/invitations", {"names": names})

    def show(self) -> dict[str, Any]:
        """Counts at each server."""
        return {name: server.get(self.path) for name, server in self._everywhere().items()}

    def close(
        self,
        ending: Ending | None = None,
        *,
        names: Mapping[str, Any] | None = None,
        sums: Sequence[Mapping[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Close every part for good, as far as the tokens that are held allow; by part.

        All parts are looked at first, at all servers; where anything is wrong with one of them,
        nothing is changed. What is interrupted later goes on when it is given again.

        Args:
            ending: What is wished of the end of every part.
            names: For a dealer alone: part -> what the collector's operator gave.
            sums: For a collector alone: from each dealer, part -> what it told.

        Raises:
            ProtocolError: Some parts cannot be closed; the message says which and why.
        """
        ending = ending or Ending()
        mine = {
            part.name: self._ending(part, ending, names, sums)
            for part in self.survey.parts
            if part.campaign.announces
        }
        prospects, discarded = self._checked(mine), {}
        if mine and self.collector is not None and sums is None:
            # All parts at once: answers that come meanwhile belong to all of them or to none.
            unknown = {
                name: list(one.unknown)
                for name, one in prospects.items()
                if one is not None and ending.discard_unknown
            }
            wish = ending.at_collector | {"discard": unknown}
            discarded = self.collector.post(f"{self.path}/close", wish)["discarded"]
        closed: dict[str, Any] = {}
        failed: dict[str, JrrError] = {}
        for part in self.survey.parts:
            if self.collector is None and not part.campaign.deals:
                continue  # a dealer has nothing to do with it
            try:
                closed[part.name] = self.operator(part).close(
                    ending=mine.get(part.name), prospect=prospects.get(part.name)
                )
            except JrrError as error:
                failed[part.name] = error
            else:
                if part.name in discarded:
                    at_collector = closed[part.name]["collector"]
                    more = at_collector.get("discarded", 0)
                    at_collector["discarded"] = more + discarded[part.name]
        if failed:
            raise _together(
                failed,
                f"done: {', '.join(closed) or 'no part'}; not done: {', '.join(failed)}; when that "
                "is mended, the same command goes on",
            )
        return closed

    def preview_closing(self, ending: Ending | None = None) -> dict[str, Any]:
        """The groups that closing would make and their sizes, by part; nothing is changed."""
        found = {
            part.name: self.operator(part).preview_closing(ending)
            for part in self.survey.parts
            if part.campaign.announces
        }
        if not found:
            raise ArgumentError(
                "dry_run must be left out: the survey's card sums are not announced"
            )
        return found

    def check_closing(self, ending: Ending | None = None) -> None:
        """Refuse what would keep a part from its end; nothing is changed."""
        self._checked(
            {p.name: ending or Ending() for p in self.survey.parts if p.campaign.announces}
        )

    def _checked(self, endings: Mapping[str, Ending]) -> dict[str, Prospect | None]:
        """What closing would do to each part, where nothing is wrong with any of them."""
        found: dict[str, Prospect | None] = {}
        failed: dict[str, JrrError] = {}
        for part in self.survey.parts:
            if part.name not in endings:
                continue
            try:
                found[part.name] = self.operator(part).check_closing(endings[part.name])
            except JrrError as error:
                failed[part.name] = error
        if failed:
            raise _together(failed, "no part was closed")
        return found

    def _ending(
        self,
        part: SurveyPart,
        ending: Ending,
        names: Mapping[str, Any] | None,
        sums: Sequence[Mapping[str, Any]] | None,
    ) -> Ending:
        """The end of one part, with what was carried for it."""
        try:
            return replace(
                ending,
                names=None if names is None else names[part.name],
                sums=None if sums is None else [one[part.name] for one in sums],
            )
        except (KeyError, TypeError):
            raise DamagedError(
                f"names and sums must be files of this survey, with {part.name}"
            ) from None

    def estimates(self, level: float = 0.95, by: str | None = None, **more: Any) -> dict[str, Any]:
        """The estimate of every part, or why there is none yet; by part."""
        if by is not None:
            checks.one_of("by", by, tuple(self.survey.first.covariates))
        found = {}
        for part in self.survey.parts:
            summary = self.operator(part).summary(level=level, by=by, **more)
            if summary.estimate is not None:
                found[part.name] = summary.estimate
            elif summary.waits is not None:
                found[part.name] = {"results_wait": summary.waits}
            else:
                campaign = part.campaign
                few = {"min_cell": campaign.min_cell, "min_batch": campaign.min_batch}
                found[part.name] = {"too_few": few | {"reports": summary.too_few}}
        return found

    def change(
        self, since: Survey, *, paired: bool = False, level: float = 0.95, **more: Any
    ) -> dict[str, Any]:
        """How every item has changed since another wave; paired: among those who answered both.

        Args:
            since: The wave before.
            paired: Only of mechanisms without masks.
            level: Of the intervals.
            **more: simultaneous, population.
        """
        asked = {"since": since.hash, "paired": str(paired).lower(), "level": repr(level)}
        asked |= {name: str(value).lower() for name, value in more.items()}
        found: dict[str, Any] = self.at_collector().get(f"{self.path}/change?{urlencode(asked)}")
        return found

    def export(self, kind: str) -> bytes:
        """All answers, a row per person: "parquet" or "csv"."""
        return self.at_collector().get_bytes(f"{self.path}/export?format={kind}")


def _together(failed: Mapping[str, JrrError], end: str) -> JrrError:
    """What is wrong with some parts as one error; what is the same of several is said once."""
    silent = all(isinstance(error, UnreachableError) for error in failed.values())
    kind = UnreachableError if silent else ProtocolError
    parts: dict[str, list[str]] = {}
    for name, failure in failed.items():
        parts.setdefault(str(failure), []).append(name)
    reasons = "; ".join(f"{', '.join(alike)}: {why}" for why, alike in parts.items())
    return kind(f"{reasons}; {end}")
