"""What anybody can find out about the dealer of a campaign with committed decks, over HTTP."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr.client.http import Http
from jrr.errors import ArgumentError, DamagedError, ProtocolError, UnreachableError
from jrr.protocol.addresses import campaign_path
from jrr.survey.campaign import Campaign
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.cut_and_choose.rules import passing_chance
from jrr.protocol.problems import read_problem
from jrr.survey.witnessed import Witnessed, notes_address
from jrr.survey.witnessing import faults_of, notes_of

if TYPE_CHECKING:
    from jrr.survey.surveys import Survey

TIMEOUT = 120.0  # seconds: at the end thousands of cards may be published


@dataclass(frozen=True)
class PublishedDecks:
    """What dealer and collector show of a campaign's decks, and what is wrong with it."""

    campaign: Campaign
    published: Published
    witnessed: Witnessed
    faults: tuple[str, ...]

    @property
    def ended(self) -> bool:
        """Whether the dealer has published who had which place."""
        return self.published.marks is not None

    @property
    def sentence(self) -> str:
        """The finding for people."""
        if self.faults:
            return f"The dealer or the collector cheated: {'; '.join(self.faults)}."
        decks = self.campaign.committed_decks
        after = "" if self.ended else " Its marks are published when the campaign is closed."
        return (
            f"No cheating found: {decks - 1} of {decks} decks were drawn again. A dealer that "
            f"cheated in the deck that is dealt passes with chance 1/{decks} at most, if the "
            "collector wrote down promise and roots in time. That places were given out in order "
            f"of arrival is not shown.{after}"
        )

    def place_faults(self, place: int, mark: bytes) -> list[str]:
        """What is wrong with somebody's place; nothing before marks are published."""
        found = [at for at, other in enumerate(self.published.marks or ()) if other == mark]
        if not self.ended or found == [place]:
            return []
        return [f"place {place} was dealt to somebody else too: the mark stands at {found}"]

    def kept_faults(self, mark: bytes) -> list[str]:
        """What is wrong where no card came: the mark must stand nowhere."""
        found = [at for at, other in enumerate(self.published.marks or ()) if other == mark]
        if not found:
            return []
        return [
            f"the card at place {found[0]} was dealt to this device, by its mark, but never came "
            "here: the reply was lost, or the dealer kept it back"
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "passed": not self.faults,
            "faults": list(self.faults),
            "decks": self.campaign.committed_decks,
            "chance": passing_chance(self.campaign.committed_decks),
            "ended": self.ended,
        }

    def write(self, folder: Path) -> None:
        """Write both files as `jrr audit-deck PUBLISHED --notes NOTES` takes them."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in (
            ("published", self.published.to_dict()),
            ("notes", notes_of(self.witnessed).to_dict()),
        ):
            (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def audit_campaign(campaign: Campaign, ca: str | Path | None = None) -> PublishedDecks:
    """Read what is public of a campaign's decks, and draw the opened ones again.

    Args:
        campaign: Whose dealer is audited.
        ca: File of certificates to trust, in PEM.

    Raises:
        ArgumentError: Its dealer commits to no decks.
        ProtocolError: A server has nothing to show.
        UnreachableError: A server does not answer.
    """
    if not campaign.committed_decks:
        raise ArgumentError("campaign must have committed decks (--committed-decks)")
    http = Http(ca, timeout=TIMEOUT)
    address = f"{campaign.dealers[0]}{campaign_path(campaign.hash)}/decks"
    published = Published.from_dict(_shown(http, address))
    witnessed = Witnessed.from_document(_shown(http, notes_address(campaign)))
    faults = faults_of(campaign, published, witnessed)
    # The collector knows more, such as how many people were invited.
    more = (fault for fault in witnessed.faults or () if fault not in faults)
    told = tuple(f"the collector found: {fault}" for fault in more)
    return PublishedDecks(campaign, published, witnessed, faults + told)


def audit_survey(survey: "Survey", ca: str | Path | None = None) -> dict[str, PublishedDecks]:
    """As `audit_campaign`, of every part whose decks are committed to; by part.

    Raises:
        ArgumentError: Its dealer commits to no decks.
    """
    if not survey.committed_decks:
        raise ArgumentError("survey must have committed decks (--committed-decks)")
    return {
        part.name: audit_campaign(part.campaign, ca)
        for part in survey.parts
        if part.campaign.committed_decks
    }


def _shown(http: Http, address: str) -> Any:
    reply = http.request("GET", address)
    if reply.gave_up:
        raise UnreachableError(f"{address} must answer, but cannot be reached")
    if reply.status != 200:
        raise ProtocolError(f"{address} refused ({reply.status}): {read_problem(reply.body)[1]}")
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise DamagedError(f"{address} must reply with JSON") from None
