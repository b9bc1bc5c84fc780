"""How a campaign with committed decks is opened and ended: messages between dealer and collector.

    dealer      promises: commitments to the seeds of all decks
    collector   writes that down, and only then draws the beacon
    dealer      draws all decks, publishes their roots
    collector   writes that down, and only then draws the coin
    dealer      opens the seeds of all decks but the one that the coin picked
    collector   draws those decks again; where one is wrong, the campaign is never opened

Every step may be repeated, so that what was interrupted goes on where it was. What both have
published can be read by everybody: where the tokens are in different hands, each operator gives the
same command in turn, and it goes as far as its own server's next step.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr.client.http import Admin
from jrr.errors import IntegrityError, ProtocolError
from jrr.protocol.addresses import campaign_path

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

_STAGES = ("promise", "roots", "openings")
_NOTHING: dict[str, Any] = {"beacon": None, "coin": None, "faults": None}


class TurnError(ProtocolError):
    """The next step is the other operator's."""


@dataclass(frozen=True)
class Committing:
    """Dealer and collector of a campaign, as far as their tokens are held."""

    campaign: "Campaign"
    path: str
    dealer: Admin | None
    collector: Admin | None
    ca: str | Path | None = None  # certificates to trust, for the server whose token is not held

    def run(self) -> None:
        """Go on until the decks have passed, or as far as the tokens that are held allow.

        Raises:
            IntegrityError: The dealer cheated.
            TurnError: It is the other operator's turn.
        """
        notes = _NOTHING if self.dealer is None else self._notes(None)
        for _ in _STAGES:
            published = self._published(notes)
            if self.collector is None and published is not None and published["opened"]:
                return  # whether they pass is for the collector to say, and nobody answers before
            notes = self._notes(published)
            if notes["faults"]:
                raise IntegrityError(f"the dealer cheated: {'; '.join(notes['faults'])}")
            if notes["faults"] is not None:
                return
            self._check_turn(published, notes)
        raise ProtocolError("dealer and collector must come to an end with the decks, and did not")

    def end(self) -> dict[str, Any] | None:
        """Let the collector audit what the dealer published at the end; what it wrote down.

        Returns:
            None without the collector's token, or where the dealer has not ended yet.
        """
        if self.collector is None:
            return None
        published = self._reader(self.dealer, self.campaign.dealers[0]).get(self._public("decks"))
        if published["marks"] is None:
            return None
        return self._notes(published)

    def _published(self, notes: dict[str, Any]) -> dict[str, Any] | None:
        """What the dealer has published, after the step that these notes allow."""
        if self.dealer is not None:
            draws = {"beacon": notes["beacon"], "coin": notes["coin"]}
            found: dict[str, Any] = self.dealer.post(f"{self.path}/decks", draws)
            return found
        try:
            found = self._reader(None, self.campaign.dealers[0]).get(self._public("decks"))
        except ProtocolError:
            return None
        return found

    def _notes(self, published: dict[str, Any] | None) -> dict[str, Any]:
        """What the collector has written down, after the step that this allows."""
        if self.collector is not None and published is not None:
            found: dict[str, Any] = self.collector.post(f"{self.path}/decks", published)
            return found
        try:
            found = self._reader(self.collector, self.campaign.collector).get(self._public("notes"))
        except ProtocolError:  # the campaign is not there yet
            return _NOTHING
        return found

    def _check_turn(self, published: dict[str, Any] | None, notes: dict[str, Any]) -> None:
        """Refuse to wait for a step that only the other operator can take."""
        waits_for_dealer = (
            published is None
            or (published["roots"] is None and notes["beacon"] is not None)
            or (published["opened"] is None and notes["coin"] is not None)
        )
        whose = None
        if self.dealer is None and waits_for_dealer:
            whose = "dealer"
        if self.collector is None and not waits_for_dealer:
            whose = "collector"
        if whose is not None:
            raise TurnError(
                f"it is the turn of the {whose}'s operator: give jrr campaign open there, then "
                "here again, until both are open; nothing is lost meanwhile"
            )

    def _reader(self, known: Admin | None, address: str) -> Admin:
        return known or Admin(address, None, self.ca)

    def _public(self, what: str) -> str:
        return f"{campaign_path(self.campaign.hash)}/{what}"
