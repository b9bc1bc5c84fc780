"""A campaign: one document that dealer, collector and every contributor hold alike.

Its bytes are canonical JSON (sorted keys, no blanks, UTF-8) and its name is their SHA-256. A
contributor compares the bytes that dealer and collector serve, so neither can promise one
thing to contributors and do another.
"""

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit

from jrr._base import checks
from jrr.errors import JrrError
from jrr.estimation.groups import MIN_CELL
from jrr.mechanisms import Mechanism, from_dict

VERSION = 1
_DEALERS = {"none": (), "server": ("url",), "committee": ("parties", "threshold")}
_HERE = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}  # where an address names none
ENROL, ARRIVAL = "enrol", "arrival"
MOST = 1 << 20  # bytes of a document
_FIELDS = {
    "jrr_campaign",
    "capacity",
    "closes",
    "collector",
    "colluders",
    "consent",
    "covariates",
    "dealer",
    "dealing",
    "guarantees",
    "invitations",
    "labels",
    "mechanism",
    "min_cell",
    "nonce",
    "opens",
    "question",
    "rounds",
}


@dataclass(frozen=True)
class Campaign:
    """What is asked, how answers are perturbed, and what that promises."""

    question: str
    labels: tuple[str, ...]
    mechanism: Mechanism  # enrol: for the fewest people it may be dealt to
    dealer: Mapping[str, Any]  # a server, a committee, or {"kind": "none"} without cards
    collector: str  # its address
    colluders: int = 0
    dealing: str = ARRIVAL  # "enrol", or "arrival": decks of mechanism.n cards, one after another
    capacity: int = 1_000_000  # contributors at most
    consent: str = ""
    consent_version: str = "1"
    opens: str | None = None  # UTC, as 2026-01-31T12:00:00Z
    closes: str | None = None
    invitations: bool = True  # False: anybody may answer, as often as they like
    covariates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # public, by choice
    min_cell: int = MIN_CELL  # reports in the smallest group that is shown
    rounds: int = 1
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    promised: Mapping[str, float] | None = None  # view -> ε; computed where not given

    def __post_init__(self) -> None:
        _text("question", self.question, 2_000)
        _text("consent", self.consent, 100_000, empty=True)
        _text("consent_version", self.consent_version, 100)
        _text("nonce", self.nonce, 100)
        _labels("labels", self.labels, self.mechanism.k)
        checks.one_of("dealing", self.dealing, (ENROL, ARRIVAL))
        checks.integer("capacity", self.capacity, 1, 10**12)
        checks.integer("min_cell", self.min_cell, 1)
        checks.integer("rounds", self.rounds, 1, 1_000)
        if not isinstance(self.invitations, bool):
            raise checks.refusal("invitations", self.invitations, "true or false")
        check_address("collector", self.collector)
        _check_dealer(self.dealer, self.deals)
        self._check_apart()
        if self.dealer["kind"] == "committee" and self.dealing != ENROL:
            raise checks.refusal("dealing", self.dealing, "'enrol' where a committee deals")
        for name, values in self.covariates.items():
            _text("covariates", name, 100)
            _labels(f"covariates {name}", values, None)
        opens, closes = self.times
        if opens is not None and closes is not None and closes <= opens:
            raise checks.refusal("closes", self.closes, f"later than opens, {self.opens}")
        found = self.mechanism.guarantees(self.colluders)
        if self.promised is None:
            object.__setattr__(self, "promised", found)
        elif set(self.promised) != set(found):
            raise checks.refusal("guarantees", dict(self.promised), f"exactly of {sorted(found)}")
        for view, loss in found.items():
            if loss > self.guarantee(view):
                raise JrrError(
                    f"guarantees must not be less than what holds: {view} is ε = {loss}, got "
                    f"{self.guarantee(view)}"
                )

    @property
    def deals(self) -> bool:
        """Whether contributors are dealt cards."""
        return self.mechanism.deals

    @property
    def dealers(self) -> list[str]:
        """Addresses of those who deal: one server, or the parties of a committee."""
        if self.dealer["kind"] == "committee":
            return [party["url"] for party in self.dealer["parties"]]
        return [self.dealer["url"]] if self.deals else []

    def _check_apart(self) -> None:
        """Whoever answers at one address for two of them has the view `dealer`, not its own."""
        where = {_origin(self.collector): "the collector's"}
        one_of_many = self.dealer["kind"] == "committee"
        for number, address in enumerate(self.dealers):
            who = "party" if one_of_many else "dealer"
            other = where.get(_origin(address))
            if other is not None:
                allowed = f"at another host or port than {other}: one server must not be both"
                raise checks.refusal(who, address, allowed)
            where[_origin(address)] = f"party {number}'s"

    @property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When it opens and closes."""
        return _time("opens", self.opens), _time("closes", self.closes)

    def guarantee(self, view: str) -> float:
        """The ε of one round that is promised against an adversary with this view."""
        assert self.promised is not None  # set above
        return self.promised[view]

    @property
    def cost(self) -> float:
        """The ε of one round to reckon with, as long as dealer and collector do not collude.

        Where anybody can take cards, a stranger can take all but one, and so know that one.
        """
        return self.guarantee("cards" if self.invitations or not self.deals else "dealer")

    @property
    def against(self) -> str:
        """Whom `cost` is against, in words."""
        if not self.deals:
            return "whoever sees the report (view: report)"
        if not self.invitations:
            return "strangers, who can take cards as they like (view: dealer)"
        return f"the collector and {self.colluders} colluders (view: cards)"

    def check_round(self, number: object) -> int:
        """The number of a round that there is."""
        if self.rounds == 1 and (type(number) is not int or number != 0):
            raise checks.refusal("round", number, "0: the campaign has one round")
        return checks.integer("round", number, 0, self.rounds - 1)

    def for_people(self, n: int) -> Mechanism:
        """The mechanism dealt to n people; refused where it would break the promise."""
        if self.dealing == ARRIVAL or not self.deals:
            return self.mechanism
        document = self.mechanism.to_dict()
        least = checks.integer("n", document["n"], 2)
        if checks.integer("n", n, 0, self.capacity) < least:
            raise JrrError(f"{n} have enrolled, at least {least} are needed for the guarantee")
        if n == least:
            return self.mechanism
        document["n"] = n
        resized = _even(document, n) if "deck" in document else from_dict(document)
        for view, loss in resized.guarantees(self.colluders).items():
            if loss > self.guarantee(view):
                raise JrrError(f"n={n} must keep the guarantee of view {view}, got ε = {loss}")
        return resized

    def to_bytes(self) -> bytes:
        """The canonical document."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        document = {
            "jrr_campaign": VERSION,
            "question": self.question,
            "labels": list(self.labels),
            "mechanism": self.mechanism.to_dict(),
            "colluders": self.colluders,
            "guarantees": {
                view: "unbounded" if math.isinf(loss) else loss
                for view, loss in (self.promised or {}).items()
            },
            "dealer": dict(self.dealer),
            "collector": self.collector,
            "dealing": self.dealing,
            "capacity": self.capacity,
            "consent": {"text": self.consent, "version": self.consent_version},
            "opens": self.opens,
            "closes": self.closes,
            "invitations": self.invitations,
            "covariates": {name: list(values) for name, values in self.covariates.items()},
            "min_cell": self.min_cell,
            "rounds": self.rounds,
            "nonce": self.nonce,
        }
        return json.dumps(
            document, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        ).encode()

    @cached_property
    def hash(self) -> str:
        """The name of the campaign: hexadecimal SHA-256 of its bytes."""
        return hash_of(self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "Campaign":
        """The campaign in these bytes; they must be canonical."""
        if len(data) > MOST:
            raise JrrError(f"campaign must be at most {MOST} bytes, got {len(data)}")
        try:
            document = json.loads(data.decode("utf-8"))
        except RecursionError:
            raise JrrError("campaign must be JSON, got too many brackets") from None
        except ValueError as error:
            raise JrrError(f"campaign must be JSON in UTF-8: {error}") from None
        if not isinstance(document, dict):
            raise checks.refusal("campaign", type(document).__name__, "a JSON object")
        version = checks.integer("jrr_campaign", document.get("jrr_campaign"), 1)
        if version > VERSION:
            raise JrrError(f"campaign must be of version {VERSION} or older, got {version}")
        if set(document) != _FIELDS:
            raise checks.refusal("campaign", sorted(document), f"exactly of {sorted(_FIELDS)}")
        made = cls._from_document(document)
        if made.to_bytes() != data:
            raise JrrError("campaign must be in canonical form: sorted keys, no blanks")
        return made

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> "Campaign":
        for name in ("dealer", "guarantees", "consent", "covariates"):
            if not isinstance(document[name], dict):
                raise checks.refusal(name, document[name], "an object")
        if set(document["consent"]) != {"text", "version"}:
            raise checks.refusal("consent", sorted(document["consent"]), "of text and version")
        covariates = document["covariates"]
        return cls(
            document["question"],
            _listed("labels", document["labels"]),
            from_dict(document["mechanism"]),
            document["dealer"],
            document["collector"],
            checks.integer("colluders", document["colluders"], 0),
            document["dealing"],
            document["capacity"],
            document["consent"]["text"],
            document["consent"]["version"],
            document["opens"],
            document["closes"],
            document["invitations"],
            {name: _listed(f"covariates {name}", covariates[name]) for name in covariates},
            document["min_cell"],
            document["rounds"],
            document["nonce"],
            {view: _loss(view, loss) for view, loss in document["guarantees"].items()},
        )


@lru_cache(64)
def read_campaign(data: bytes) -> Campaign:
    """As Campaign.from_bytes; the same bytes are checked once."""
    return Campaign.from_bytes(data)


def hash_of(data: bytes) -> str:
    """The name of a campaign with these bytes."""
    return hashlib.sha256(data).hexdigest()


def check_address(argument: str, value: object) -> str:
    """An https address without a path's end, as https://survey.example; http on one machine."""
    allowed = "an address as https://survey.example (http only on this machine)"
    if not isinstance(value, str) or len(value) > 1_000:
        raise checks.refusal(argument, value, allowed)
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise checks.refusal(argument, value, allowed) from None
    strange = parts.query or parts.fragment or parts.username or value.endswith("/")
    plain = value.isascii() and value.isprintable() and " " not in value
    # In the clear, whoever sees the network has card and report together.
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
    if not safe or not parts.hostname or strange or not plain:
        raise checks.refusal(argument, value, allowed)
    return value


def _origin(address: str) -> tuple[str, str | None, int]:
    """Who answers at a checked address, however it is written: scheme, host and port."""
    parts = urlsplit(address)
    port = parts.port if parts.port is not None else _PORTS[parts.scheme]
    return parts.scheme, parts.hostname, port


def _check_dealer(dealer: object, deals: bool) -> None:
    if not isinstance(dealer, Mapping):
        raise checks.refusal("dealer", dealer, "an object")
    kind = checks.one_of("dealer kind", dealer.get("kind"), tuple(_DEALERS))
    if (kind == "none") == deals:
        raise checks.refusal("dealer kind", kind, "another than none exactly where there are cards")
    if set(dealer) != {"kind", *_DEALERS[kind]}:
        fields = " and ".join(("kind", *_DEALERS[kind]))
        raise JrrError(f"dealer must be of {fields}, got {', '.join(map(str, dealer))}")
    if kind == "server":
        check_address("dealer", dealer["url"])
    if kind == "committee":
        _check_parties(dealer["parties"], dealer["threshold"])


def _check_parties(parties: object, threshold: object) -> None:
    if not isinstance(parties, list | tuple):
        raise checks.refusal("parties", parties, "a list of 3 to 16 parties")
    if not 3 <= len(parties) <= 16:
        raise JrrError(f"parties must be 3 to 16, got {len(parties)}")
    checks.integer("threshold", threshold, 1, (len(parties) - 1) // 2)
    for party in parties:
        if not isinstance(party, Mapping) or set(party) != {"url", "link", "certificate"}:
            raise JrrError("parties must each be of url, link and certificate")
        check_address("party", party["url"])
        _text("party certificate", party["certificate"], 10_000)
        check_link(party["link"])
    if len({party["certificate"] for party in parties}) != len(parties):
        raise JrrError("parties must have certificates of their own, got one twice")


def check_link(value: object) -> tuple[str, int]:
    """Where a party listens for the others: host:port."""
    host, colon, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise checks.refusal("link", value, "as party.example:7000")
    return host, int(port)


def _even(document: dict[str, Any], n: int) -> Mechanism:
    """DRR for another n: its deck must have been even, and stays so."""
    from jrr.mechanisms.dealt import even_deck

    k = document["k"]
    if list(document["deck"]) != list(even_deck(sum(document["deck"]), k)):
        raise checks.refusal("deck", document["deck"], "even where n is fixed by enrolment")
    return from_dict(document | {"n": n, "deck": list(even_deck(n, k))})


def _time(argument: str, value: object) -> datetime | None:
    if value is None:
        return None
    allowed = "a time in UTC as 2026-01-31T12:00:00Z"
    if not isinstance(value, str):
        raise checks.refusal(argument, value, allowed)
    try:
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise checks.refusal(argument, value, allowed) from None


def _text(argument: str, value: object, most: int, empty: bool = False) -> None:
    if not isinstance(value, str) or len(value) > most or not (value.strip() or empty):
        raise checks.refusal(argument, value, f"a text of at most {most} characters")
    # Neither halves of characters nor commands to somebody's terminal.
    if not value.replace("\n", "").isprintable():
        raise checks.refusal(argument, value, "a text of printable characters")


def _listed(argument: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list of texts")
    return tuple(value)


def _labels(argument: str, labels: object, count: int | None) -> None:
    if not isinstance(labels, tuple) or (count is not None and len(labels) != count):
        raise checks.refusal(argument, labels, f"{count or 'some'} labels")
    for label in labels:
        _text(argument, label, 1_000)
    if len(set(labels)) != len(labels) or not labels:
        raise checks.refusal(argument, labels, "labels that are all different")


def _loss(view: str, value: object) -> float:
    if value == "unbounded":
        return math.inf
    return checks.real(f"guarantees {view}", value, "a number >= 0 or unbounded", 0.0)
