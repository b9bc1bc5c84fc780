"""Who deals a campaign's cards: nobody, a server, a committee, or the contributors themselves.

Each kind says where it is reached, under which pseudonyms it knows people, and how it stands in
the campaign's document.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.survey.addresses import check_address, check_link
from jrr.survey.identity import DEALER, party_role
from jrr.survey.texts import check_text

FEWEST_PARTIES, MOST_PARTIES = 3, 16


@dataclass(frozen=True)
class NoDealer:
    """Nobody: the mechanism has no cards."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def roles(self) -> tuple[str, ...]:
        """None."""
        return ()

    def to_document(self) -> dict[str, Any]:
        """As the campaign's document has it."""
        return {"kind": "none"}


@dataclass(frozen=True)
class DealerServer:
    """One server, which knows every card and no answer."""

    url: str

    def __post_init__(self) -> None:
        check_address("dealer", self.url)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its address."""
        return (self.url,)

    @property
    def roles(self) -> tuple[str, ...]:
        """The role from which people's pseudonyms at the dealer follow."""
        return (DEALER,)

    def to_document(self) -> dict[str, Any]:
        """As the campaign's document has it."""
        return {"kind": "server", "url": self.url}


@dataclass(frozen=True, kw_only=True)
class Party:
    """One party of a committee."""

    url: str  # where contributors and its operator reach it
    link: str  # host:port where the other parties reach it
    certificate: str  # PEM; the other parties accept no other

    def __post_init__(self) -> None:
        check_address("party", self.url)
        check_text("party certificate", self.certificate, 10_000)
        check_link(self.link)


@dataclass(frozen=True, kw_only=True)
class Committee:
    """Several parties that deal together, so that none of them knows a card."""

    parties: tuple[Party, ...]
    threshold: int  # parties that may collude and still learn no card

    def __post_init__(self) -> None:
        count = len(self.parties)
        if not FEWEST_PARTIES <= count <= MOST_PARTIES:
            raise ArgumentError(f"parties must be {FEWEST_PARTIES} to {MOST_PARTIES}, got {count}")
        checks.integer("threshold", self.threshold, 1, (count - 1) // 2)
        if len({party.certificate for party in self.parties}) != count:
            raise ArgumentError("parties must have certificates of their own, got one twice")

    @property
    def addresses(self) -> tuple[str, ...]:
        """The parties' addresses, in order."""
        return tuple(party.url for party in self.parties)

    @property
    def roles(self) -> tuple[str, ...]:
        """One role per party: no party must know somebody's pseudonym at another."""
        return tuple(party_role(number) for number in range(len(self.parties)))

    def to_document(self) -> dict[str, Any]:
        """As the campaign's document has it."""
        parties = [
            {"url": party.url, "link": party.link, "certificate": party.certificate}
            for party in self.parties
        ]
        return {"kind": "committee", "threshold": self.threshold, "parties": parties}


@dataclass(frozen=True)
class ContributorGroups:
    """The contributors themselves: each group of them deals one deck (`jrr mpc group`).

    No server takes part. The members of a group bring their cards along when they answer.
    """

    @property
    def addresses(self) -> tuple[str, ...]:
        """None: groups meet by themselves."""
        return ()

    @property
    def roles(self) -> tuple[str, ...]:
        """None: nobody who deals knows people by a pseudonym."""
        return ()

    def check_dealable(self, mechanism: Mechanism, colluders: int) -> None:
        """Refuse what a group cannot deal, or cannot keep secret from its colluding members.

        Raises:
            ArgumentError: The deck is of another kind or size, or those who may show their cards
                are so many that they would learn everybody's.
        """
        deck = mechanism.sorted_deck
        if deck is None or deck.bits is not None:
            allowed = "one whose card is a single draw, such as JRR or DRR, where groups deal"
            raise checks.refusal("mechanism", mechanism.to_dict(), allowed)
        checks.integer("n", deck.size, FEWEST_PARTIES, MOST_PARTIES)
        checks.integer("colluders", colluders, 0, (deck.size - 1) // 2)

    def to_document(self) -> dict[str, Any]:
        """As the campaign's document has it."""
        return {"kind": "groups"}


DealerKind = NoDealer | DealerServer | Committee | ContributorGroups
_FIELDS = {"none": (), "server": ("url",), "committee": ("parties", "threshold"), "groups": ()}


def read_dealer(document: object) -> DealerKind:
    """Who deals, from a campaign's document.

    Args:
        document: As `to_document` of the kinds makes it.

    Returns:
        The kind, with its fields checked.

    Raises:
        ArgumentError: Anything else was given.
    """
    if not isinstance(document, Mapping):
        raise checks.refusal("dealer", document, "an object")
    kind = checks.one_of("dealer kind", document.get("kind"), tuple(_FIELDS))
    if set(document) != {"kind", *_FIELDS[kind]}:
        fields = " and ".join(("kind", *_FIELDS[kind]))
        raise ArgumentError(f"dealer must be of {fields}, got {', '.join(map(str, document))}")
    if kind == "none":
        return NoDealer()
    if kind == "groups":
        return ContributorGroups()
    if kind == "server":
        return DealerServer(document["url"])
    return Committee(parties=_read_parties(document["parties"]), threshold=document["threshold"])


def _read_parties(entries: object) -> tuple[Party, ...]:
    if not isinstance(entries, list | tuple):
        allowed = f"a list of {FEWEST_PARTIES} to {MOST_PARTIES} parties"
        raise checks.refusal("parties", entries, allowed)
    for entry in entries:
        if not isinstance(entry, Mapping) or set(entry) != {"url", "link", "certificate"}:
            raise ArgumentError("parties must each be of url, link and certificate")
    return tuple(Party(**entry) for entry in entries)
