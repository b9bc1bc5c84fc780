"""What a collector has written down of a dealer's decks, as it is stored and shown to everybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.errors import DamagedError, JrrError
from jrr.survey.addresses import campaign_path
from jrr.survey.cut_and_choose.rules import BYTES, passing_chance

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

_HASHES = ("promise", "beacon", "commitment", "coin", "root", "closing")


def beacon_source(campaign: "Campaign") -> str:
    """Where the beacon is found, in words of a promise."""
    return f"{notes_address(campaign)}#beacon"


def coin_source(campaign: "Campaign") -> str:
    """Where the coin is found."""
    return f"{notes_address(campaign)}#coin"


def notes_address(campaign: "Campaign") -> str:
    """Where the collector shows what it has written down."""
    return f"{campaign.collector}{campaign_path(campaign.hash)}/notes"


@dataclass(frozen=True, kw_only=True)
class Witnessed:
    """What the collector has written down, in the order of the fields; None: not yet."""

    promise: bytes | None = None
    beacon: bytes | None = None  # drawn here
    commitment: bytes | None = None
    coin: bytes | None = None  # drawn here
    root: bytes | None = None  # of the deck that is dealt
    faults: tuple[str, ...] | None = None  # None: nothing was drawn again yet
    closing: bytes | None = None  # the hash of the marks and undealt cards, at the end
    dealt: int | None = None  # marks at the end
    undealt: Mapping[str, Any] | None = None  # of masks: cards that nobody fetched, their sums

    @property
    def passed(self) -> bool:
        """Whether the opened decks were drawn again and nothing was wrong."""
        return self.faults == ()

    def to_document(self) -> dict[str, Any]:
        """As it is stored and shown to everybody."""
        hashes = {name: getattr(self, name) for name in _HASHES}
        return {name: None if value is None else value.hex() for name, value in hashes.items()} | {
            "faults": None if self.faults is None else list(self.faults),
            "dealt": self.dealt,
            "undealt": None if self.undealt is None else dict(self.undealt),
        }

    @classmethod
    def from_document(cls, document: object) -> "Witnessed":
        """What `to_document` wrote.

        Raises:
            DamagedError: It is something else.
        """
        names = {*_HASHES, "faults", "dealt", "undealt"}
        if not isinstance(document, Mapping) or set(document) != names:
            raise DamagedError(f"notes must be an object of {sorted(names)}")
        faults, dealt = document["faults"], document["dealt"]
        try:
            hashes = {
                name: None
                if document[name] is None
                else checks.from_hex(name, document[name], BYTES)
                for name in _HASHES
            }
            number = None if dealt is None else checks.integer("dealt", dealt, 0)
        except JrrError as error:
            raise DamagedError(f"notes must be a collector's: {error}") from None
        if faults is not None and not isinstance(faults, list):
            raise DamagedError("faults must be null or a list")
        told = None if faults is None else tuple(str(fault) for fault in faults)
        undealt = document["undealt"]
        if undealt is not None and not isinstance(undealt, dict):
            raise DamagedError("undealt must be null or an object")
        return cls(**hashes, faults=told, dealt=number, undealt=undealt)


def commitment_facts(campaign: "Campaign", witnessed: Witnessed, carded: int) -> dict[str, Any]:
    """What commitments show of a dealer, for whoever reads an estimate; plain JSON values.

    Args:
        campaign: Whose decks they are.
        witnessed: What the collector has written down.
        carded: Reports that came with a card.
    """
    return {
        "decks": campaign.committed_decks,
        "chance": passing_chance(campaign.committed_decks),
        "passed": None if witnessed.faults is None else witnessed.passed,
        "ended": witnessed.closing is not None,
        "faults": list(witnessed.faults or ()),
        "dealt": witnessed.dealt,
        "without_report": None if witnessed.dealt is None else max(0, witnessed.dealt - carded),
    }
