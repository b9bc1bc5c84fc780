"""A campaign: one document that dealer, collector and every contributor hold alike.

Its bytes are canonical JSON (sorted keys, no blanks, UTF-8) and its name is their SHA-256. A
contributor compares the bytes that dealer and collector serve, so neither can promise one
thing to contributors and do another.
"""

import hashlib
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError
from jrr.estimation.groups import MIN_CELL, fewest_to_show
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.numbers import Numbers
from jrr.mechanisms.registry import from_dict
from jrr.reporting.cost_table import CostTable, cost_row, same_in_every_wave
from jrr.survey.addresses import campaign_path, check_address, origin
from jrr.survey.dealer_kinds import (
    Committee,
    ContributorGroups,
    DealerKind,
    DealerServers,
    NoDealer,
    read_dealer,
)
from jrr.survey.documents import canonical_json, read_document
from jrr.survey.promises import DELTA, EVERYTHING, informed_epsilon, tells_cost
from jrr.survey.texts import MOST_OF_ASKER, check_labels, check_text

VERSION = 1
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
    "results_every",
}
# Only where they say something.
_OPTIONAL = {"number", "min_batch", "by", "contact"}


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """What is asked, how answers are perturbed, and what that promises.

    Raises:
        ArgumentError: A field is not what it should be, two servers have one address, or less is
            promised than what holds.
    """

    question: str
    labels: tuple[str, ...]
    mechanism: Mechanism  # enrol: for the fewest people it may be dealt to
    dealer: DealerKind
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
    results_every: int = 1  # new reports between two results that are shown
    min_batch: int = 1  # reports in the smallest result, and between two; also at the end
    number: tuple[float, float] | None = None  # the answer is a number between these ends
    by: str | None = None  # who asks: an organisation or a person
    contact: str | None = None  # whom to ask: a mail address, a number, a postal address
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    delta: float = DELTA  # of the view "everything"
    promised: Mapping[str, float] | None = None  # view -> ε; computed where not given

    def __post_init__(self) -> None:
        self._check_texts()
        checks.one_of("dealing", self.dealing, (ENROL, ARRIVAL))
        checks.integer("capacity", self.capacity, 1, 10**12)
        checks.integer("min_cell", self.min_cell, 1)
        checks.integer("results_every", self.results_every, 1, self.capacity)
        checks.integer("min_batch", self.min_batch, 1, self.capacity)
        checks.real("delta", self.delta, "in [0, 1)", 0.0, 1.0, open_high=True)
        if not isinstance(self.invitations, bool):
            raise checks.refusal("invitations", self.invitations, "true or false")
        check_address("collector", self.collector)
        if self.mechanism.steps != 1 and self.number is None:
            allowed = "one of yes and no or of labels where no number is asked for"
            raise checks.refusal("mechanism", self.mechanism, allowed)
        if self.number is not None:
            object.__setattr__(self, "number", self._checked_number())
        self._check_dealer()
        opens, closes = self.times
        if opens is not None and closes is not None and closes <= opens:
            raise checks.refusal("closes", self.closes, f"later than opens, {self.opens}")
        for name in ("covariates", "promised"):  # a name is the hash of what must not change
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, MappingProxyType(dict(given)))
        self._check_promise()
        self._check_consent()

    def _checked_number(self) -> tuple[float, float]:
        """The ends between which an answer lies; it is rounded by chance to a step between them."""
        ends = self.number
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise checks.refusal("number", ends, "a pair (low, high)")
        return Numbers(ends[0], ends[1], self.mechanism).range[:2]

    def _check_texts(self) -> None:
        check_text("question", self.question, 2_000)
        check_text("consent", self.consent, 100_000, empty=True)
        check_text("consent_version", self.consent_version, 100)
        check_text("nonce", self.nonce, 100)
        for name in ("by", "contact"):
            given = getattr(self, name)
            if given is not None:
                check_text(name, given, MOST_OF_ASKER)
        check_labels("labels", self.labels, self.mechanism.k)
        for name, values in self.covariates.items():
            check_text("covariates", name, 100)
            check_labels(f"covariates {name}", values)

    def _check_dealer(self) -> None:
        if not isinstance(self.dealer, DealerKind):
            allowed = "NoDealer, DealerServer, DealerServers, Committee or ContributorGroups"
            raise checks.refusal("dealer", self.dealer, allowed)
        if isinstance(self.dealer, NoDealer) == self.deals:
            kind = self.dealer.to_document()["kind"]
            allowed = "another than none exactly where there are cards"
            raise checks.refusal("dealer kind", kind, allowed)
        if self.by_committee and self.dealing != ENROL:
            raise checks.refusal("dealing", self.dealing, "'enrol' where a committee deals")
        if self.by_committee and self.mechanism.masked:
            allowed = (
                "one with sorted decks where a committee deals: its parties shuffle cards that "
                "everybody knows, and cards of masks are drawn. Name several dealers instead"
            )
            raise checks.refusal("mechanism", self.mechanism, allowed)
        if self.by_several and not self.mechanism.announced:
            allowed = (
                "one whose card sums are announced where several dealers each deal a card: only "
                "whole numbers add up, and only announced sums are taken off one by one"
            )
            raise checks.refusal("mechanism", self.mechanism, allowed)
        expected = self.mechanism.for_dealers(len(self.dealers) if self.by_several else 1)
        if self.mechanism != expected:
            allowed = f"for as many dealers as are named (for_dealers): {expected}"
            raise checks.refusal("mechanism", self.mechanism, allowed)
        if self.by_several and self.dealing != ARRIVAL:
            raise checks.refusal("dealing", self.dealing, "'arrival' where several dealers deal")
        if isinstance(self.dealer, ContributorGroups):
            if self.dealing != ARRIVAL:
                raise checks.refusal("dealing", self.dealing, "'arrival' where groups deal")
            self.dealer.check_dealable(self.mechanism, self.colluders)
        # Whoever answers at one address for two of them has the view `dealer`, not its own.
        owners = {origin(self.collector): "the collector's"}
        for number, address in enumerate(self.dealers):
            owner = owners.get(origin(address))
            if owner is not None:
                allowed = f"at another host or port than {owner}: one server must not be both"
                raise checks.refusal("party" if self.by_committee else "dealer", address, allowed)
            owners[origin(address)] = f"{'party' if self.by_committee else 'dealer'} {number}'s"

    def _check_promise(self) -> None:
        held = self.mechanism.guarantees(self.colluders)
        views = {*held, EVERYTHING}
        if self.promised is None:
            promised = held | {EVERYTHING: self._informed()}
            object.__setattr__(self, "promised", MappingProxyType(promised))
        elif set(self.promised) != views:
            raise checks.refusal("guarantees", dict(self.promised), f"exactly of {sorted(views)}")
        for view, loss in held.items():
            if loss > self.guarantee(view):
                raise ArgumentError(
                    f"guarantees must not be less than what holds: {view} is ε = {loss}, got "
                    f"{self.guarantee(view)}"
                )

    def _check_consent(self) -> None:
        """Refuse a text that tells the cost of another mechanism, as a copy's would."""
        if tells_cost(self.consent, self.cost, self.cost_delta):
            return
        # Where no law of the view is known, the bound of the dealer's view holds without a δ.
        if self.cost >= self.guarantee("dealer") and tells_cost(self.consent, self.cost):
            return
        # A document may promise less than what holds, and is refused for it by contributors.
        informed = self._informed() if self.cost_view == EVERYTHING else None
        if informed is not None and tells_cost(self.consent, informed, self.cost_delta):
            return
        raise ArgumentError(
            "consent must name no ε, or among others what an answer costs, "
            f"{show_guarantee(self.cost, self.cost_delta)}, got a text with other figures only"
        )

    @property
    def results_apart(self) -> int:
        """Reports by which any two results differ that are shown, the final one included."""
        return max(self.results_every, self.min_batch)

    @property
    def smallest_group(self) -> int:
        """Reports in the smallest group that is shown, and cards in the smallest sum."""
        return max(self.min_cell, self.min_batch)

    def fewest_to_show(self, *, final: bool) -> int:
        """Reports that an estimate of everybody needs to be shown."""
        return fewest_to_show(self.min_cell, self.min_batch, final=final)

    @property
    def last_value(self) -> int:
        """The largest value of an answer: of labels, or of a number in whole steps."""
        return self.mechanism.k - 1 if self.number is None else self.mechanism.steps

    @property
    def deals(self) -> bool:
        """Whether contributors are dealt cards."""
        return self.mechanism.deals

    @property
    def enrols(self) -> bool:
        """Whether people enrol first, and cards are dealt to exactly those who did."""
        return self.deals and self.dealing == ENROL

    @property
    def by_committee(self) -> bool:
        """Whether several parties deal together."""
        return isinstance(self.dealer, Committee)

    @property
    def by_several(self) -> bool:
        """Whether several dealers each deal a card, and everybody adds theirs."""
        return isinstance(self.dealer, DealerServers)

    @property
    def may_leave_out(self) -> bool:
        """Whether of several dealers those that cannot be reached are left out."""
        return isinstance(self.dealer, DealerServers) and self.dealer.may_leave_out

    @property
    def announces(self) -> bool:
        """Whether the dealer announces, at the end, the sum of the cards that were used."""
        return self.mechanism.announced

    @property
    def by_groups(self) -> bool:
        """Whether contributors deal among themselves."""
        return isinstance(self.dealer, ContributorGroups)

    @property
    def dealers(self) -> tuple[str, ...]:
        """Addresses of those who deal: one server, several, or the parties of a committee."""
        return self.dealer.addresses

    @property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When it opens and closes."""
        return _time("opens", self.opens), _time("closes", self.closes)

    def guarantee(self, view: str) -> float:
        """The ε of an answer that is promised against an adversary with this view.

        In the view "everything" it holds at `delta`.
        """
        assert self.promised is not None  # set above
        return self.promised[view]

    def _informed(self) -> float:
        return informed_epsilon(self.mechanism, self.colluders, self.delta)

    def check_everything(self) -> None:
        """Refuse a document that promises less than what holds in the view "everything".

        The other views are checked whenever a document is read. This one takes seconds for large
        decks, so that contributors check it, once, and servers do not.

        Raises:
            ProtocolError: It promises less.
        """
        if self.deals and self.guarantee(EVERYTHING) < self._informed():
            raise ProtocolError(
                f"the campaign promises {show_guarantee(self.guarantee(EVERYTHING), self.delta)} "
                f"in the view everything, less than what holds: ε = {self._informed():.6g}"
            )

    @property
    def cost_view(self) -> str:
        """The view to reckon with, as long as dealer and collector do not collude.

        Where anybody can take cards, a stranger can take all but one, and so know that one; but
        not of cards that keep their secret however many others are known.
        """
        if not self.deals:
            return "report"
        return EVERYTHING if self.invitations or self.mechanism.masked else "dealer"

    @property
    def cost(self) -> float:
        """The ε of an answer in the view to reckon with; it holds at `cost_delta`."""
        return self.guarantee(self.cost_view)

    @property
    def costs(self) -> CostTable:
        """What an answer can tell, and whom."""
        together = self.guarantee("dealer") if self.deals else None
        one = cost_row(self.cost, self.cost_delta, self.cost_view, together)
        return same_in_every_wave(one, one, questions=1, waves=1)

    @property
    def cost_delta(self) -> float:
        """The δ of the cost; 0 where it holds outright."""
        holds_outright = self.cost_view != EVERYTHING or self.mechanism.pure
        return 0.0 if holds_outright else self.delta

    @property
    def against(self) -> str:
        """Whom `cost` is against, in words."""
        if not self.deals:
            return "the collector and whoever else sees the report (view: report)"
        if self.cost_view != EVERYTHING:
            return "strangers, who can take cards as they like (view: dealer)"
        cards = f" and the cards of {self.colluders} colluders" if self.colluders else ""
        if self.mechanism.masked:  # however many there are
            cards = " and card"
        return (
            "the collector, who has all reports, even if it knew everybody else's answer"
            f"{cards} (view: everything)"
        )

    @property
    def cost_line(self) -> str:
        """What an answer costs and against whom, in one line."""
        return f"{show_guarantee(self.cost, self.cost_delta)} against {self.against}"

    def for_people(self, n: int) -> Mechanism:
        """The mechanism dealt to n people.

        Args:
            n: How many have enrolled; without enrolment it does not matter.

        Returns:
            The campaign's mechanism, for a deck of n cards.

        Raises:
            ProtocolError: For so few people it would not keep what the campaign promises.
        """
        if not self.enrols:
            return self.mechanism
        least = self.mechanism.moments.deck or 2
        if checks.integer("n", n, 0, self.capacity) < least:
            raise ProtocolError(f"{n} have enrolled, at least {least} are needed for the guarantee")
        if n == least:
            return self.mechanism
        resized = self.mechanism.resized(n)
        held = resized.guarantees(self.colluders)
        held[EVERYTHING] = informed_epsilon(resized, self.colluders, self.delta)
        for view, loss in held.items():
            if loss > self.guarantee(view):
                raise ProtocolError(f"n={n} must keep the guarantee of view {view}, got ε = {loss}")
        return resized

    def to_bytes(self) -> bytes:
        """The canonical document."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        document: dict[str, Any] = {
            "jrr_campaign": VERSION,
            "question": self.question,
            "labels": list(self.labels),
            "mechanism": self.mechanism.to_dict(),
            "colluders": self.colluders,
            "guarantees": {
                view: _written_loss(loss, self.delta if view == EVERYTHING else None)
                for view, loss in (self.promised or {}).items()
            },
            "dealer": self.dealer.to_document(),
            "collector": self.collector,
            "dealing": self.dealing,
            "capacity": self.capacity,
            "consent": {"text": self.consent, "version": self.consent_version},
            "opens": self.opens,
            "closes": self.closes,
            "invitations": self.invitations,
            "covariates": {name: list(values) for name, values in self.covariates.items()},
            "min_cell": self.min_cell,
            "results_every": self.results_every,
            "nonce": self.nonce,
        }
        if self.min_batch > 1:
            document["min_batch"] = self.min_batch
        if self.number is not None:
            document["number"] = list(self.number)
        named = {"by": self.by, "contact": self.contact}
        document |= {name: value for name, value in named.items() if value is not None}
        return canonical_json(document)

    @cached_property
    def hash(self) -> str:
        """The name of the campaign: hexadecimal SHA-256 of its bytes."""
        return hash_of(self.to_bytes())

    @property
    def link(self) -> str:
        """What contributors are given: the collector's address and the campaign's name."""
        return f"{self.collector}{campaign_path(self.hash)}"

    @classmethod
    def from_bytes(cls, data: bytes) -> "Campaign":
        """The campaign in these bytes.

        Args:
            data: A document as `to_bytes` writes it.

        Returns:
            The campaign, checked like any other.

        Raises:
            DamagedError: It is no campaign, one of another version, or not in canonical form.
        """
        document = read_document("campaign", data, MOST)
        try:
            campaign = cls._from_document(document)
        except JrrError as error:  # it stands in a document: nobody gave it as an argument
            raise DamagedError(str(error)) from None
        if campaign.to_bytes() != data:
            raise DamagedError("campaign must be in canonical form: sorted keys, no blanks")
        return campaign

    @classmethod
    def _from_document(cls, document: object) -> "Campaign":
        if not isinstance(document, dict):
            raise checks.refusal("campaign", type(document).__name__, "a JSON object")
        version = checks.integer("jrr_campaign", document.get("jrr_campaign"), 1)
        if version != VERSION:
            raise ArgumentError(f"campaign must be of version {VERSION}, got {version}")
        names = _FIELDS | (document.keys() & _OPTIONAL)
        if set(document) != names:
            raise checks.refusal("campaign", sorted(document), f"exactly of {sorted(names)}")
        for name in ("dealer", "guarantees", "consent", "covariates"):
            if not isinstance(document[name], dict):
                raise checks.refusal(name, document[name], "an object")
        if set(document["consent"]) != {"text", "version"}:
            raise checks.refusal("consent", sorted(document["consent"]), "of text and version")
        covariates = document["covariates"]
        promised, delta = _read_guarantees(document["guarantees"])
        return cls(
            question=document["question"],
            labels=_texts("labels", document["labels"]),
            mechanism=from_dict(document["mechanism"]),
            dealer=read_dealer(document["dealer"]),
            collector=document["collector"],
            colluders=checks.integer("colluders", document["colluders"], 0),
            dealing=document["dealing"],
            capacity=document["capacity"],
            consent=document["consent"]["text"],
            consent_version=document["consent"]["version"],
            opens=document["opens"],
            closes=document["closes"],
            invitations=document["invitations"],
            covariates={
                name: _texts(f"covariates {name}", covariates[name]) for name in covariates
            },
            min_cell=document["min_cell"],
            results_every=document["results_every"],
            min_batch=document.get("min_batch", 1),
            number=document.get("number"),
            by=document.get("by"),
            contact=document.get("contact"),
            nonce=document["nonce"],
            delta=DELTA if delta is None else delta,
            promised=promised,
        )


@lru_cache(1_000)  # a survey alone may have a hundred
def read_campaign(data: bytes) -> Campaign:
    """As Campaign.from_bytes; the same bytes are checked once."""
    return Campaign.from_bytes(data)


def hash_of(data: bytes) -> str:
    """The name of a campaign with these bytes."""
    return hashlib.sha256(data).hexdigest()


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


def _texts(argument: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list of texts")
    return tuple(value)


def _written_loss(loss: float, delta: float | None) -> Any:
    written = "unbounded" if math.isinf(loss) else loss
    return written if delta is None else {"epsilon": written, "delta": delta}


def _read_guarantees(document: Mapping[str, Any]) -> tuple[dict[str, float], float | None]:
    """View -> ε, and the δ of the view "everything" where the document speaks of it."""
    losses, delta = dict(document), None
    informed = losses.get(EVERYTHING)
    if informed is not None:
        if not isinstance(informed, dict) or set(informed) != {"epsilon", "delta"}:
            allowed = "an object of epsilon and delta"
            raise checks.refusal(f"guarantees {EVERYTHING}", informed, allowed)
        losses[EVERYTHING] = informed["epsilon"]
        delta = checks.real("delta", informed["delta"], "in [0, 1)", 0.0, 1.0, open_high=True)
    return {view: _loss(view, loss) for view, loss in losses.items()}, delta


def _loss(view: str, value: object) -> float:
    if value == "unbounded":
        return math.inf
    return checks.real(f"guarantees {view}", value, "a number >= 0 or unbounded", 0.0)
