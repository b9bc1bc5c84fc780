"""How a survey ends: cards are burned, no more answers are taken, sums of cards come off results.

    all         are looked at first: where anything is wrong, nothing is closed
    collector   takes no more answers, and names the cards that came back by serial numbers
    dealers     each tells the noisy sums of exactly the named cards, once, and burns its key
    collector   keeps the sums and forgets the serial numbers: there is a result

Every step may be repeated, so that what was interrupted goes on where it was. Whoever holds the
tokens of all servers does everything at once. Where they are in different hands, files carry what
goes between them: a collector's operator closes and gives each dealer's operator a request
(`ClosingRequest`), who brings back sums (`dealer_sums`).
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError, UnreachableError
from jrr.estimation.told_sums import CardSum
from jrr.protocol.states import CLOSED
from jrr.survey.closing import ClosingRequest, ClosingSums
from jrr.survey.grouping import small_words, too_small

if TYPE_CHECKING:
    from jrr.client.http import Admin
    from jrr.survey.survey import Survey

Facts = dict[int | str, dict[str, Any]]  # what each server says: "collector", dealers by number
Serials = Mapping[str, Sequence[str]]  # by question
_BURN = {"request": None, "without_sum": True}  # what a dealer is told whose sums nobody needs
_SUMS = ("sums", "undealt", "decks")  # of a dealer's reply: what the collector needs


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What an operator wants of the end."""

    by: str | None = None  # an open question: sums, and so results, for each of its answers
    merge_small: bool = False  # groups that are too small for a sum become one
    discard_unknown: bool = False  # delete answers whose serial numbers no dealer knows
    discard_small: bool = False  # delete answers of groups too small for a sum
    without_sum: bool = False  # burn the cards and give up the reports that were made with one
    request: Mapping[str, Any] | None = None  # dealer alone: what the collector's operator gave
    sums: Sequence[Mapping[str, Any]] | None = None  # collector alone: `dealer_sums` of each dealer
    carries_requests: bool = True  # requests for dealers in other hands have somewhere to go

    @property
    def at_collector(self) -> dict[str, Any]:
        """What the collector is told when it closes."""
        allow = self.discard_small or self.without_sum
        return {"by": self.by, "merge_small": self.merge_small, "allow_small": allow}


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What closing would do; nothing is changed yet."""

    facts: Mapping[str, Any]  # of the collector: groups with their sizes, which are too small
    unknown: Serials = field(default_factory=dict)  # serial numbers that no dealer gave to anybody


def dealer_sums(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a dealer says when it closes, what the collector needs: a file carries it."""
    return {name: reply.get(name) for name in _SUMS}


@dataclass(frozen=True)
class Closing:
    """The servers of a survey, as far as their tokens are held."""

    survey: "Survey"
    path: str
    dealers: Mapping[int, "Admin"]  # those who deal, by their numbers in the survey
    collector: "Admin | None"

    def check(self, ending: Ending) -> Prospect | None:
        """Look at everything that could keep the survey from its end; nothing is changed.

        Returns:
            What closing would do; None where there is nothing to look at beforehand.

        Raises:
            ArgumentError: What is wished does not fit the survey, or the tokens that are held.
            ProtocolError: A server would refuse: a group is too small for a sum, a dealer's cards
                are burned, or a serial number is none of its cards'.
            UnreachableError: A server that is needed does not answer.
        """
        self._check_wish(ending)
        try:
            if not self.survey.announces or ending.without_sum:
                self._check_servers()
                return None
            if self.collector is None:
                self._check_alone(ending)
                return None
            return self._check_all(self.collector, ending)
        except UnreachableError as error:
            raise UnreachableError(f"{error}; nothing was closed") from None

    def preview(self, ending: Ending) -> dict[str, Any]:
        """The groups that closing would make, with their sizes, whether they are too small or not.

        Raises:
            ArgumentError: Card sums are not announced, or the collector's token is not held.
        """
        if not self.survey.announces:
            raise ArgumentError(
                "dry_run must be left out: the survey's card sums are not announced"
            )
        if self.collector is None:
            raise ArgumentError(
                "the collector's token must be given for a preview (JRR_COLLECTOR_TOKEN): a dealer "
                "knows no groups"
            )
        return self._facts(self.collector, ending)

    def _check_wish(self, ending: Ending) -> None:
        if self.survey.announces:
            return
        plain = Ending(sums=ending.sums, carries_requests=ending.carries_requests)
        if ending != plain:
            raise ArgumentError(
                "by, merge_small, request, discard_small, discard_unknown and without_sum must be "
                "left out: the survey's card sums are not announced"
            )

    def _check_servers(self) -> None:
        """Refuse where a server does not answer, or refuses the token."""
        failed: dict[str, JrrError] = {}
        for name, server in self._servers().items():
            try:
                server.get(self.path)
            except JrrError as error:
                failed[name] = error
        if failed:
            reasons = "; ".join(map(str, failed.values()))
            raise _kind(failed)(f"{reasons}; not closed: {', '.join(self._servers())}")

    def _servers(self) -> dict[str, "Admin"]:
        found = {self._name(number): server for number, server in self.dealers.items()}
        return found if self.collector is None else found | {"collector": self.collector}

    def _name(self, number: int) -> str:
        return self.survey.dealing.server_name(number)

    def _facts(self, collector: "Admin", ending: Ending) -> dict[str, Any]:
        asked = {"merge_small": str(ending.merge_small).lower()}
        asked |= {} if ending.by is None else {"by": ending.by}
        found: dict[str, Any] = collector.get(f"{self.path}/closing?{urlencode(asked)}")
        return found

    def _check_all(self, collector: "Admin", ending: Ending) -> Prospect:
        facts = self._facts(collector, ending)
        is_closed = facts["state"] == CLOSED
        if facts["settled"]:
            if ending.by not in (None, facts["by"]):
                raise ProtocolError(
                    f"by must be left out, got {ending.by!r}: the sums of the cards are here, for "
                    f"{_group_words(facts['by'])}, and are announced once"
                )
            if ending.sums is not None:  # refused if they are others; changes nothing any more
                self._give_sums(collector, ending.sums)
            return Prospect(facts=facts)
        if ending.sums is not None:
            if not is_closed:
                raise ProtocolError(
                    "sums must be of a survey that is closed: give no --sums at first, so that "
                    "the collector names the cards to the dealer; nothing was closed"
                )
            self._told(ending.sums)  # refuses what is damaged
            return Prospect(facts=facts)
        dealt = self._dealt(facts)
        others = dealt - set(self.dealers)
        if others and not ending.carries_requests:
            raise ArgumentError(
                "request must say where to write the serials for the dealer's operator "
                "(--request), or the dealer's token must be given (JRR_DEALER_TOKEN); nothing was "
                "closed"
            )
        if facts["too_small"] and not ending.discard_small and not is_closed:
            raise ProtocolError(self._small_words(facts, ending))
        announced = [number for number in dealt & set(self.dealers) if self._announced(number)]
        if announced and not is_closed:
            raise ProtocolError(
                f"{self._name(announced[0])} must not have announced before the collector is "
                "closed: its sums are of other reports; --without-sum gives up those made with a "
                "card"
            )
        if is_closed:
            self._check_other_grouping(collector, ending, bool(announced), bool(others))
        # One that has announced knew all its cards, and answers the same request again.
        unknown = self._all_unknown(collector, (dealt & set(self.dealers)) - set(announced))
        if unknown and not ending.discard_unknown:
            self._refuse_unknown(unknown, "announced" if is_closed else "closed")
        return Prospect(facts=facts, unknown=_by_question(unknown))

    def _dealt(self, facts: Mapping[str, Any]) -> set[int]:
        """The numbers of the dealers whose cards came back."""
        return {
            number
            for group in facts["groups"]
            for counts in group["cards"].values()
            for number, count in enumerate(counts)
            if count
        }

    def _small_words(self, facts: Mapping[str, Any], ending: Ending) -> str:
        sizes = [
            {group["name"]: count}
            for group in facts["groups"]
            for counts in group["cards"].values()
            for count in counts
        ]
        words = f"{small_words(self.survey, sizes)}; nothing was closed: wait for more, or "
        if facts["by"] is not None:
            words += f"choose another grouping than --by {facts['by']}, or "
            if not ending.merge_small:
                words += "--merge-small merges such groups (--dry-run shows how), or "
        return words + "--discard-small deletes those answers, --without-sum gives all up"

    def _announced(self, number: int) -> bool:
        """Whether a dealer has told its sums; refuses one that never will."""
        facts = self.dealers[number].get(self.path)
        if facts["state"] == CLOSED and not facts["announced"]:
            raise ProtocolError(
                f"{self._name(number)} has burned its cards, and no sum was announced: "
                "--without-sum gives up the reports that were made with one"
            )
        return bool(facts["announced"])

    def _check_other_grouping(
        self, collector: "Admin", ending: Ending, announced: bool, others: bool
    ) -> None:
        """Refuse another grouping than was chosen where a dealer may have been given that one."""
        before = self._facts(collector, Ending())["by"]
        if ending.by in (None, before):
            return
        if announced or (others and len(self.survey.dealing.addresses) > 1):
            raise ProtocolError(
                f"by must be left out, got {ending.by!r}: the collector is closed, and requests "
                f"are with dealers for {_group_words(before)}"
            )

    def _all_unknown(self, collector: "Admin", dealers: set[int]) -> dict[int, Serials]:
        """Serial numbers that came with reports and that no dealer gave to anybody, by dealer."""
        found = {}
        for number in sorted(dealers):
            request = collector.get(f"{self.path}/closing/request?dealer={number}&ahead=true")
            unknown = self._unknown(self.dealers[number], request)
            if unknown:
                found[number] = unknown
        return found

    def _refuse_unknown(self, unknown: Mapping[int, Serials], undone: str = "announced") -> None:
        number, serials = next(iter(unknown.items()))
        count = sum(map(len, serials.values()))
        raise ProtocolError(
            f"{self._name(number)} gave {count} of the serials to nobody: nothing was {undone}; "
            "--discard-unknown deletes the answers that came with them, where the tokens of dealer "
            "and collector are given together"
        )

    def _check_alone(self, ending: Ending) -> None:
        """What a dealer would refuse, before it announces anything."""
        number, document = self._given_request(ending)
        request = ClosingRequest.from_document(self.survey, document)
        if self._announced(number):
            return  # the same request is answered the same again
        unknown = self._unknown(self.dealers[number], document)
        if unknown:
            self._refuse_unknown({number: unknown})
        if too_small(request.sizes, self.survey.smallest_group):
            raise ProtocolError(f"{small_words(self.survey, request.sizes)}; nothing was announced")

    def _given_request(self, ending: Ending) -> tuple[int, Mapping[str, Any]]:
        if len(self.dealers) != 1 or ending.request is None:
            raise ArgumentError(
                "request must be given to a dealer alone: the file that the collector's operator "
                "wrote for it (--request), or the collector's token too (JRR_COLLECTOR_TOKEN)"
            )
        (number,) = self.dealers
        return number, ending.request

    def run(self, ending: Ending, prospect: Prospect | None = None) -> Facts:
        """End the survey as far as the tokens that are held allow.

        Args:
            ending: How.
            prospect: What `check` found.

        Returns:
            What each server says; the collector's part has how many answers were `discarded`, if
            any. Without the dealers' tokens the collector's part has `requests` for them, by
            number; without the collector's token a dealer's part has what it told (`dealer_sums`).
        """
        if ending.without_sum:
            return self._give_up()
        if self.collector is None:
            return self._close_dealers_alone(ending)
        unknown = prospect.unknown if prospect is not None and ending.discard_unknown else {}
        wish = ending.at_collector | {
            "discard": {name: list(some) for name, some in unknown.items()}
        }
        facts: Facts = {"collector": self.collector.post(f"{self.path}/close", wish)}
        discarded = facts["collector"].pop("discarded", 0)
        if facts["collector"]["settled"]:
            return facts | self._end_settled(self.collector, ending)
        given, later, closed = ending.sums, 0, Facts()
        if given is None:
            requests = self._requests(self.collector)
            if set(self._needed(requests)) - set(self.dealers):
                facts["collector"]["requests"] = requests
                return facts
            requests, later = self._checked_requests(self.collector, ending, requests)
            closed = self._announced_by_all(requests)
            given = [
                dealer_sums(closed[number]) if number in closed else _nothing(requests[number])
                for number in range(len(self.survey.dealing.addresses))
            ]
        self._give_sums(self.collector, given)
        facts["collector"]["settled"] = True
        facts["collector"]["reports"] -= later
        if discarded + later:
            facts["collector"]["discarded"] = discarded + later
        left = [number for number in self.dealers if number not in closed]
        replies = {number: _shown(reply) for number, reply in closed.items()}
        return facts | replies | self._burned(left)

    def _end_settled(self, collector: "Admin", ending: Ending) -> Facts:
        """Burn the cards where no result waits for sums; one may wait for the number of decks."""
        replies = self._close_dealers(dict.fromkeys(self.dealers, _BURN))
        given = ending.sums
        if len(replies) == len(self.survey.dealing.addresses) and not self.survey.announces:
            told = [dealer_sums(replies[number]) for number in sorted(replies)]
            given = told if any(one["decks"] for one in told) else None
        if given is not None:
            self._give_sums(collector, given)
        return {number: _shown(reply) for number, reply in replies.items()}

    def _requests(self, collector: "Admin") -> dict[int, Any]:
        """The cards that came back, in the groups that the collector keeps; by dealer."""
        if not self.survey.announces:
            return {}
        return {
            number: collector.get(f"{self.path}/closing/request?dealer={number}")
            for number in range(len(self.survey.dealing.addresses))
        }

    def _needed(self, requests: Mapping[int, Any]) -> list[int]:
        """The dealers without whom there is no result: all but those whose cards nobody has."""
        numbers = range(len(self.survey.dealing.addresses))
        return [one for one in numbers if one not in requests or _names_cards(requests[one])]

    def _checked_requests(
        self, collector: "Admin", ending: Ending, requests: dict[int, Any]
    ) -> tuple[dict[int, Any], int]:
        """Requests that no dealer refuses, and how many answers were deleted for that."""
        discarded = 0
        if ending.discard_unknown:  # of answers that came after it was looked at
            unknown = self._unknown_of(requests)
            if unknown:
                discarded += self._discard(collector, _by_question(unknown))
                requests = self._requests(collector)
        while ending.discard_small and (few := self._too_few(requests)):
            discarded += self._discard(collector, few)
            requests = self._requests(collector)
        if len(self.dealers) > 1 and self._too_few(requests):
            raise ProtocolError(
                f"serials must be at least {self.survey.smallest_group} (the survey's min_cell and "
                "min_batch) in each group of each question and dealer, or none: nothing was "
                "announced; --discard-small deletes the answers that are in a smaller one"
            )
        if not ending.discard_unknown and len(self.dealers) > 1:
            # Before any of them announces: afterwards nobody's answers can be left out.
            unknown = self._unknown_of(requests)
            if unknown:
                self._refuse_unknown(unknown)
        return requests, discarded

    def _unknown_of(self, requests: Mapping[int, Any]) -> dict[int, Serials]:
        found = {
            number: self._unknown(self.dealers[number], request)
            for number, request in requests.items()
            if number in self.dealers and _names_cards(request)
        }
        return {number: serials for number, serials in found.items() if serials}

    def _discard(self, collector: "Admin", serials: Serials) -> int:
        """Delete the answers of those with these serial numbers; of how many people."""
        wish = {"serials": {name: list(some) for name, some in serials.items()}}
        return int(collector.post(f"{self.path}/discard", wish)["discarded"])

    def _too_few(self, requests: Mapping[int, Any]) -> Serials:
        """The serial numbers in sets of which no dealer would tell a sum, by question."""
        fewest, found = self.survey.smallest_group, dict[str, set[str]]()
        for request in requests.values():
            for name, groups in request["questions"].items():
                for serials in groups.values():
                    if 0 < len(serials) < fewest:
                        found.setdefault(name, set()).update(serials)
        return {name: sorted(serials) for name, serials in found.items()}

    def _announced_by_all(self, requests: Mapping[int, Any]) -> Facts:
        """What dealers say when they close, but those whose cards nobody has."""
        return self._close_dealers(
            {number: _wish(requests.get(number)) for number in self._needed(requests)}
        )

    def _give_sums(self, collector: "Admin", given: Sequence[Mapping[str, Any]]) -> None:
        """Give the collector what dealers told; where sums are here already, only the same."""
        collector.post(f"{self.path}/sums", self._told(given))

    def _told(self, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What all dealers told, as the collector takes it.

        Raises:
            DamagedError: It is not what the dealers of this survey tell.
        """
        expected = len(self.survey.dealing.addresses)
        if len(given) != expected or not all(set(one) == set(_SUMS) for one in given):
            raise DamagedError(f"sums must be what {expected} dealers told, a file from each")
        announced = [one["sums"] for one in given] if self.survey.announces else []
        for one in announced:
            ClosingSums.from_document(self.survey, one)
        undealt = {name: left for one in given for name, left in (one["undealt"] or {}).items()}
        # Of cards whose sums are announced it does not matter from how many decks they are.
        has_decks = any(not one.mechanism.announced for one in self.survey.dealt)
        decks = [one["decks"] for one in given if one["decks"]] if has_decks else []
        return {"announced": announced, "undealt": undealt, "decks": max(decks, default=None)}

    def _burned(self, dealers: Iterable[int]) -> Facts:
        """That keys are burned of dealers without whom there is a result; they may be away."""
        found: Facts = {}
        for number in dealers:
            with contextlib.suppress(UnreachableError):
                reply = self.dealers[number].post(f"{self.path}/close", _BURN)
                found[number] = _shown(reply)
        return found

    def _close_dealers_alone(self, ending: Ending) -> Facts:
        if self.survey.announces:
            number, request = self._given_request(ending)
            return self._close_dealers({number: _wish(dict(request))})
        return self._close_dealers(dict.fromkeys(self.dealers, _wish(None)))

    def _give_up(self) -> Facts:
        replies = self._close_dealers(dict.fromkeys(self.dealers, _BURN))
        facts: Facts = {number: _shown(reply) for number, reply in replies.items()}
        if self.collector is not None:
            wish = Ending(without_sum=True).at_collector | {"discard": {}}
            facts["collector"] = self.collector.post(f"{self.path}/close", wish)
            facts["collector"].pop("discarded", None)
        return facts

    def _close_dealers(self, wishes: Mapping[int, Mapping[str, Any]]) -> Facts:
        """Close those who deal, and burn every card that can be burned, whatever one of them says.

        Raises:
            JrrError: One could not be closed; the message says which are.
        """
        closed: Facts = {}
        failed: dict[str, JrrError] = {}
        for number, wish in wishes.items():
            try:
                closed[number] = self.dealers[number].post(f"{self.path}/close", dict(wish))
            except JrrError as error:
                failed[self._name(number)] = error
        if failed:
            reasons = "; ".join(map(str, failed.values()))
            done = ", ".join(self._name(int(one)) for one in closed) or "none"
            raise _kind(failed)(
                f"{reasons}; closed: {done}; not closed: {', '.join(failed)}; when that is mended, "
                "the same command goes on"
            )
        return closed

    def _unknown(self, dealer: "Admin", request: Any) -> Serials:
        found: dict[str, list[str]] = dealer.post(f"{self.path}/check", request)["unknown"]
        return {name: serials for name, serials in found.items() if serials}


def _names_cards(request: Any) -> bool:
    """Whether a request has a serial number in it."""
    return any(serials for one in request["questions"].values() for serials in one.values())


def _wish(request: Any) -> dict[str, Any]:
    """What a dealer is told when it closes."""
    return {"request": request, "without_sum": False}


def _nothing(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a dealer would tell whose cards nobody has."""
    none = {
        name: {group: CardSum(0, None).to_document() for group in groups}
        for name, groups in request["questions"].items()
    }
    return {"sums": {**request, "questions": none}, "undealt": {}, "decks": None}


def _by_question(unknown: Mapping[int, Serials]) -> Serials:
    """The serial numbers of all dealers' cards."""
    found: dict[str, list[str]] = {}
    for serials in unknown.values():
        for name, some in serials.items():
            found.setdefault(name, []).extend(some)
    return found


def _shown(reply: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in reply.items() if name not in ("sums", "undealt")}


def _kind(failed: Mapping[str, JrrError]) -> type[JrrError]:
    """Where one refuses and another is silent, trying again would not be enough."""
    silent = all(isinstance(error, UnreachableError) for error in failed.values())
    return UnreachableError if silent else ProtocolError


def _group_words(by: str | None) -> str:
    return "all reports together" if by is None else f"the groups of {by}"
