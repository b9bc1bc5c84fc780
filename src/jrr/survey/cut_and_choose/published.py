"""What a dealer publishes of its decks, stage by stage, and what a witness notes of it in time."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr._base.documents import read_version
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.registry import from_dict as mechanism_from_dict
from jrr.survey.cut_and_choose.leaves import chosen_deck
from jrr.survey.cut_and_choose.rules import BYTES, FEWEST_DECKS, check_closed
from jrr.survey.documents import canonical_json

_PROMISED = ("campaign", "deck", "mechanism", "beacon_source", "coin_source", "seeds")
_LATER = ("beacon", "roots", "coin", "opened", "marks", "undealt")
_BY_LOT = ("lot_source", "enrolled", "lot")  # where places are drawn after enrolment


@dataclass(frozen=True)
class Published:
    """All that is public of one deck's cut and choose; None: that stage was not reached.

    The stages come in the order of the fields: the promise, the beacon, the roots, the coin, the
    opened seeds, and at the end who was dealt which place and the cards that nobody fetched.
    """

    campaign: str
    deck: int  # its number in the campaign
    mechanism: Mechanism
    beacon_source: str  # where the beacon will be found, for instance a round of a public service
    coin_source: str  # the same of the coin
    seeds: tuple[bytes, ...]  # commitments to the seeds
    beacon: bytes | None = None
    roots: tuple[bytes, ...] | None = None
    coin: bytes | None = None
    opened: Mapping[int, bytes] | None = None  # seeds by number
    marks: tuple[bytes, ...] | None = None  # of contributors, in order of their places
    undealt: Mapping[str, Any] | None = None  # {"sum", "cards"}: cards with their proofs
    lot_source: str = ""  # where the lot that draws places will be found; empty: by arrival
    enrolled: tuple[bytes, ...] | None = None  # marks of all contributors, before the lot
    lot: bytes | None = None

    @property
    def promise(self) -> bytes:
        """The hash of what was published before the beacon."""
        document = self.to_dict()
        names = (*_PROMISED, "lot_source") if self.by_lot else _PROMISED
        return _hash({name: document[name] for name in names})

    @property
    def by_lot(self) -> bool:
        """Whether places are drawn after everybody has enrolled."""
        return bool(self.lot_source)

    @property
    def commitment(self) -> bytes:
        """The hash of what was published before the coin."""
        return _hash({"promise": self.promise.hex(), **_some(self.to_dict(), "beacon", "roots")})

    @property
    def dealt_root(self) -> bytes | None:
        """The root of the deck that the coin picked; None before it, or where there is none."""
        if self.roots is None or self.coin is None:
            return None
        number = chosen_deck(self.coin, self.promise, len(self.seeds))
        return self.roots[number] if number < len(self.roots) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        lot: dict[str, Any] = {}
        if self.by_lot:
            enrolled = None if self.enrolled is None else [mark.hex() for mark in self.enrolled]
            lot = {"lot_source": self.lot_source, "enrolled": enrolled, "lot": _hex(self.lot)}
        return lot | {
            "cut_and_choose": 1,
            "campaign": self.campaign,
            "deck": self.deck,
            "mechanism": self.mechanism.to_dict(),
            "beacon_source": self.beacon_source,
            "coin_source": self.coin_source,
            "seeds": [seed.hex() for seed in self.seeds],
            "beacon": _hex(self.beacon),
            "roots": None if self.roots is None else [root.hex() for root in self.roots],
            "coin": _hex(self.coin),
            "opened": None
            if self.opened is None
            else {str(number): seed.hex() for number, seed in sorted(self.opened.items())},
            "marks": None if self.marks is None else [mark.hex() for mark in self.marks],
            "undealt": None if self.undealt is None else dict(self.undealt),
        }

    @classmethod
    def from_dict(cls, document: object) -> "Published":
        """What `to_dict` wrote.

        Raises:
            ArgumentError: for anything else.
        """
        names = {*_PROMISED, *_LATER}
        if isinstance(document, Mapping) and "lot_source" in document:
            names |= set(_BY_LOT)
        fields = read_version(document, kind="cut_and_choose", version=1, names=names)
        fields = {"lot_source": "", "enrolled": None, "lot": None} | fields
        for name in ("campaign", "beacon_source", "coin_source", "lot_source"):
            if not isinstance(fields[name], str):
                raise checks.refusal(name, fields[name], "a text")
        mechanism = mechanism_from_dict(fields["mechanism"])
        check_closed(mechanism)
        seeds = _many("seeds", fields["seeds"])
        if len(seeds) < FEWEST_DECKS:
            raise ArgumentError(f"seeds must be at least {FEWEST_DECKS}, got {len(seeds)}")
        undealt = fields["undealt"]
        if undealt is not None and (
            not isinstance(undealt, dict)
            or set(undealt) != {"sum", "cards"}
            or not isinstance(undealt["cards"], list)
        ):
            raise checks.refusal("undealt", undealt, "null or an object of sum and cards")
        return cls(
            fields["campaign"],
            checks.integer("deck", fields["deck"], 0),
            mechanism,
            fields["beacon_source"],
            fields["coin_source"],
            seeds,
            _one("beacon", fields["beacon"]),
            None if fields["roots"] is None else _many("roots", fields["roots"]),
            _one("coin", fields["coin"]),
            _numbered("opened", fields["opened"], len(seeds)),
            None if fields["marks"] is None else _many("marks", fields["marks"]),
            undealt,
            fields["lot_source"],
            None if fields["enrolled"] is None else _many("enrolled", fields["enrolled"]),
            _one("lot", fields["lot"]),
        )


@dataclass(frozen=True)
class Notes:
    """What somebody wrote down when it was published, or looked up at the named sources.

    Without them a document shows nothing: a dealer could write all of it in the end.
    """

    promises: tuple[bytes, ...]  # every promise that was ever published for this deck
    beacon: bytes  # as its source gave it
    commitment: bytes  # the hash of the roots, before the coin
    coin: bytes  # as its source gave it
    enrolment: bytes | None = None  # where places are drawn: the hash of the enrolled, before
    lot: bytes | None = None  # as its source gave it

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        lot = {} if self.lot is None else {"enrolment": _hex(self.enrolment), "lot": self.lot.hex()}
        return lot | {
            "notes": 1,
            "promises": [promise.hex() for promise in self.promises],
            "beacon": self.beacon.hex(),
            "commitment": self.commitment.hex(),
            "coin": self.coin.hex(),
        }

    @classmethod
    def from_dict(cls, document: object) -> "Notes":
        """What `to_dict` wrote.

        Raises:
            ArgumentError: for anything else.
        """
        names = {"promises", "beacon", "commitment", "coin"}
        if isinstance(document, Mapping) and "lot" in document:
            names |= {"enrolment", "lot"}
        fields = read_version(document, kind="notes", version=1, names=names)
        return cls(
            _many("promises", fields["promises"]),
            checks.from_hex("beacon", fields["beacon"], BYTES),
            checks.from_hex("commitment", fields["commitment"], BYTES),
            checks.from_hex("coin", fields["coin"], BYTES),
            _one("enrolment", fields.get("enrolment")),
            _one("lot", fields.get("lot")),
        )


def _hash(document: dict[str, Any]) -> bytes:
    return hashlib.sha256(canonical_json(document)).digest()


def _some(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: document[name] for name in names}


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _one(name: str, value: object) -> bytes | None:
    return None if value is None else checks.from_hex(name, value, BYTES)


def _many(name: str, values: object) -> tuple[bytes, ...]:
    if not isinstance(values, list):
        raise checks.refusal(name, values, "a list of hexadecimal digits")
    return tuple(checks.from_hex(name, value, BYTES) for value in values)


def _numbered(name: str, values: object, decks: int) -> dict[int, bytes] | None:
    if values is None:
        return None
    places = {str(number): number for number in range(decks)}
    if not isinstance(values, dict) or not set(values) <= set(places):
        raise checks.refusal(name, values, f"an object of numbers below {decks}")
    return {places[key]: checks.from_hex(name, value, BYTES) for key, value in values.items()}
