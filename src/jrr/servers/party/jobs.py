"""What a party does to its database; each job checks first and writes last."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from jrr.dealing.committee.cards import Envelope, Record, usable
from jrr.dealing.committee.complaints import Finding, judge
from jrr.dealing.committee.deals import DealtDeck, KeptDeal, Member, deal_name
from jrr.dealing.committee.meeting import Identity
from jrr.dealing.committee.merkle import Tree
from jrr.dealing.kinds import Committee
from jrr.errors import ArgumentError, DamagedError
from jrr.protocol.documents import plain
from jrr.protocol.states import ABORTED, CLOSED, ENROLLING, OPEN, SERVING, Act
from jrr.protocol.steps import LEFT_OUT, LOST_CARD
from jrr.protocol.texts import check_link
from jrr.servers.common.certificates import check_pair
from jrr.servers.common.jobs import Clock, SurveyJobs, check_state, check_times, utc_now
from jrr.servers.common.problems import Problem, gone, unknown_name, wrong_state
from jrr.servers.party.store import HeldByParty, PartyStore, StoredComplaint

if TYPE_CHECKING:
    from jrr.dealing.messages import Complaint
    from jrr.servers.common.settings import Settings
    from jrr.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class DealBegun:
    """What a party brings to a meeting."""

    survey: "Survey"
    roster: list[Member]
    kept: KeptDeal | None


class PartyJobs(SurveyJobs[PartyStore, HeldByParty]):
    """The jobs, and what they need to know of the party itself."""

    title = "jrr committee party"
    store = PartyStore

    def __init__(self, settings: "Settings", clock: Clock = utc_now) -> None:
        super().__init__(clock)
        self._settings = settings
        self.identity = Identity(settings.link_certificate, settings.link_key)
        check_pair("link_certificate and link_key", settings.link_certificate, settings.link_key)
        try:
            self._certificate = Path(settings.link_certificate).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise ArgumentError(
                f"link_certificate must be a PEM file, got {settings.link_certificate!r}"
            ) from None
        self._trees: dict[str, tuple[Tree, Tree]] = {}

    def committee(self, survey: "Survey") -> Committee:
        """The committee that deals; a Problem where none does."""
        if not isinstance(survey.dealing, Committee):
            raise Problem(422, "refused", "the survey must be dealt by a committee")
        return survey.dealing

    def number(self, survey: "Survey") -> int:
        """Which party of the survey this is."""
        shown = [party.certificate.strip() for party in self.committee(survey).parties]
        if self._certificate not in shown:
            raise Problem(422, "refused", "this party's certificate is not in the survey")
        return shown.index(self._certificate)

    def listen(self, survey: "Survey") -> tuple[str, int]:
        """Where to wait for the others."""
        link = self.committee(survey).parties[self.number(survey)].link
        return self._settings.link_host, self._settings.link_port or check_link(link)[1]

    def new_columns(self, survey: "Survey") -> dict[str, Any]:
        """Nothing; refuses a survey of other parties."""
        self.number(survey)
        return {}

    def enrol(self, connection: Connection, name: str, who: bytes, key: bytes) -> bool:
        """Take somebody in; False where they are in already."""
        store, held = self.found(connection, name, lock=True)
        check_state(Act.ENROL_AGAIN, held)
        check_times(held, self.clock())
        self.check_invited(store, held, who)
        member = store.member(name, who)
        if member is not None:
            if member.key != key:
                raise Problem(409, "conflict", "this pseudonym enrolled with another key")
            return False
        check_state(Act.ENROL, held)
        if held.arrivals >= held.survey.capacity:
            raise Problem(409, "full", "every place is taken")
        if not usable(key) or store.has_key(name, key):
            raise Problem(422, "refused", "key must be a fresh public key")
        store.add_member(name, who, key)
        store.count_arrivals(held, 1)
        return True

    def begin_deal(self, connection: Connection, name: str, again: bool) -> DealBegun | None:
        """Whom to deal to, and what is kept of a deal; None where all parties serve one already.

        again: the parties meet in any case.
        """
        store, held = self.found(connection, name, lock=True)
        served = held.state in (OPEN, SERVING)
        if served and held.settled and not again:
            return None
        if not served:
            check_state(Act.DEAL, held)
        record = store.kept_record(name)
        kept = None
        if record is not None:
            kept = KeptDeal(name=deal_name(record), published=served, given=held.state == SERVING)
        return DealBegun(survey=held.survey, roster=store.roster(name), kept=kept)

    def keep_deal(self, connection: Connection, name: str, dealt: DealtDeck) -> None:
        """Keep everything, but serve nothing yet."""
        store = PartyStore(connection)
        check_state(Act.DEAL, store.find(name, lock=True))  # it may have been closed meanwhile
        self._forget(store, name)
        store.add_deal(name, dealt)

    def publish_deal(self, connection: Connection, name: str) -> None:
        """Every party has its part: serve what is kept."""
        store, held = self.found(connection, name, lock=True)
        if held.state not in (OPEN, SERVING):
            store.move(held, OPEN, n=_record(store, name).n, settled=False)

    def settle_deal(self, connection: Connection, name: str) -> None:
        """Every party serves: nobody needs to meet again."""
        PartyStore(connection).settle(name)

    def discard_deal(self, connection: Connection, name: str) -> None:
        """Forget a deal that not all parties keep, so that nobody can have a card of it."""
        store, held = self.found(connection, name, lock=True)
        if held.state == SERVING:
            raise wrong_state("somebody was given a share of the deal meanwhile")
        self._forget(store, name)
        if held.state == OPEN:
            store.move(held, ENROLLING, n=None, settled=False)

    def _forget(self, store: PartyStore, name: str) -> None:
        store.remove_deal(name)
        self._trees.pop(name, None)

    def cards(self, connection: Connection, name: str, who: bytes) -> dict[str, Any]:
        """The sealed shares of one contributor, with the proofs that belong to them."""
        store, held = self.found(connection, name, lock=True)
        check_state(Act.FETCH_CARDS, held)
        check_times(held, self.clock())
        slot = _slot(store, name, who)
        if store.complaint(name, slot) is not None:
            raise Problem(410, LOST_CARD, "this card is lost: its holder complained of it")
        if held.state == OPEN:
            store.move(held, SERVING)
        tree, checked = self._tree_pair(store, name)
        sealed, excess = store.envelope(name, slot)
        envelope = Envelope(slot, sealed, tuple(tree.path(slot)), excess, tuple(checked.path(slot)))
        return {
            "survey": name,
            "n": held.n,
            "record": plain(_record(store, name)),
            "envelope": envelope.to_document(),
        }

    def _tree_pair(self, store: PartyStore, name: str) -> tuple[Tree, Tree]:
        """What was committed to: sealed shares, and what all shares were checked with.

        Kept, since it takes all envelopes.
        """
        if name not in self._trees:
            envelopes = store.all_envelopes(name)
            self._trees[name] = (
                Tree([sealed for sealed, _ in envelopes]),
                Tree([excess for _, excess in envelopes]),
            )
        return self._trees[name]

    def complain(self, connection: Connection, name: str, complaint: "Complaint") -> Finding:
        """Judge a complaint: its holder's card is lost, and nobody else's."""
        store, held = self.found(connection, name, lock=True)
        slot = _slot(store, name, complaint.name)
        known = store.complaint(name, slot)
        if known is not None:
            return known.finding
        if held.state not in (OPEN, SERVING):
            raise gone("there are no cards to complain of")
        finding, accused, document = Finding.UNPROVEN, complaint.accused, None
        if complaint.evidence is not None:
            member = store.member(name, complaint.name)
            assert member is not None  # it has a slot
            verdict = judge(
                complaint.evidence,
                record=_record(store, name),
                slot=slot,
                holder=member.key,
                excess=store.envelope(name, slot)[1],
            )
            finding, accused = verdict.finding, verdict.accused
            document = plain(complaint.evidence)
        elif accused is not None and accused >= len(self.committee(held.survey).parties):
            raise DamagedError("accused must be a party of this survey")
        store.add_complaint(
            name, StoredComplaint(slot=slot, finding=finding, accused=accused, evidence=document)
        )
        return finding

    def close(self, connection: Connection, name: str) -> dict[str, Any]:
        """End the survey; nothing of its cards is kept."""
        store, held = self.found(connection, name, lock=True)
        self._forget(store, name)
        store.remove_members(name)
        store.move(held, CLOSED)
        return {"state": CLOSED, "n": held.n, "decks": 1}

    def deal_facts(self, connection: Connection, name: str) -> dict[str, Any]:
        """What the operator is told of a deal."""
        store, held = self.found(connection, name)
        record = _record(store, name)
        return {
            "n": held.n,
            "record": record.hash,
            "roster": record.roster,
            "left_out": dict(store.unnamed(name)),
        }

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store, held = self.found(connection, name)
        complaints = store.complaints_of(name)
        record = store.kept_record(name)
        findings = {
            finding.value: Counter(
                "nobody" if one.accused is None else str(one.accused)
                for one in complaints
                if one.finding == finding
            )
            for finding in Finding
        }
        return {
            "survey": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "closes": held.closes,
            "members": store.count(store.members, name),
            # Kept, whether or not it is served yet; nothing is after the survey is closed.
            "committed": record is not None,
            "served_by_all": held.settled,
            "burned": held.state in (CLOSED, ABORTED),
            "roster": None if record is None else record.roster,
            "left_out": {str(party): count for party, count in store.unnamed(name).items()},
            "lost": len(complaints),
            "complaints": findings,
            "false_complaints_of_slots": [
                one.slot for one in complaints if one.finding == Finding.FALSE
            ],
        }

    def evidence(self, connection: Connection, name: str) -> dict[str, Any]:
        """All complaints with what was shown, for whoever wants to judge them anew."""
        store = PartyStore(connection)
        store.find(name)
        record = store.kept_record(name)
        return {
            "record": None if record is None else plain(record),
            "complaints": [vars(one) for one in store.complaints_of(name)],
        }


def _record(store: PartyStore, name: str) -> Record:
    """The public facts of a deal that is kept."""
    record = store.kept_record(name)
    if record is None:
        raise wrong_state("no deal is kept")
    return record


def _slot(store: PartyStore, name: str, who: bytes) -> int:
    """The slot of somebody who was dealt to."""
    member = store.member(name, who)
    if member is None:
        raise unknown_name()
    if member.slot is None:
        named = ", ".join(map(str, member.unnamed_by))
        raise Problem(
            404,
            LEFT_OUT,
            f"the parties dealt without this key: it was not named by party {named}"
            if named
            else "this key came after the parties had agreed on whom to deal to",
        )
    return member.slot
