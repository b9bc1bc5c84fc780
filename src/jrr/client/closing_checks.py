"""What is looked at before a survey is closed: where anything is wrong, nothing is changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jrr.client.ending import SUMS, Ending, Prospect, Serials
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError, UnreachableError
from jrr.estimation.told_sums import crossed, words_of
from jrr.survey.closing import ClosingRequest, ClosingSums
from jrr.survey.grouping import small_words, too_small

if TYPE_CHECKING:
    from jrr.client.http import Admin
    from jrr.survey.survey import Survey


_ROUND = "the second request for the dealer's operator, with the slots that are drawn (--request)"


@dataclass(frozen=True)
class ClosingChecks:
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
        if self.survey.dealing.is_verified and ending.discard_unknown:
            raise ArgumentError(
                "discard_unknown must be left out: every card was signed by its dealer, and one "
                "that could deny cards would choose whose answers count"
            )
        if self.survey.announces:
            planned = self.survey.announcements
            if not 1 <= ending.announcement <= planned:
                raise ArgumentError(
                    f"announcement must be at most {planned}, which the survey's document counts "
                    f"(announcements), got {ending.announcement}"
                )
            if ending.announcement > 1 and (ending.discard_small or ending.discard_unknown):
                raise ArgumentError(
                    "discard_small and discard_unknown must be left out of a later announcement: "
                    "earlier sums are of all these answers"
                )
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
            raise kind_of(failed)(f"{reasons}; not closed: {', '.join(self._servers())}")

    def _servers(self) -> dict[str, "Admin"]:
        found = {self._name(number): server for number, server in self.dealers.items()}
        return found if self.collector is None else found | {"collector": self.collector}

    def _name(self, number: int) -> str:
        return self.survey.dealing.server_name(number)

    def _facts(self, collector: "Admin", ending: Ending) -> dict[str, Any]:
        asked = {
            "merge_small": str(ending.merge_small).lower(),
            "announcement": str(ending.announcement),
        }
        asked |= {} if ending.cells is None else {"by": ",".join(ending.cells)}
        found: dict[str, Any] = collector.get(f"{self.path}/closing?{urlencode(asked)}")
        return found

    def _check_all(self, collector: "Admin", ending: Ending) -> Prospect:
        facts = self._facts(collector, ending)
        is_closed = facts["chosen"]
        if facts["settled"]:
            if not _is_same(ending.cells, facts["by"]):
                raise ProtocolError(
                    f"by must be left out, got {crossed(ending.cells or ())!r}: the sums of the "
                    f"cards are here, for {words_of(facts['by'])}, and are announced once"
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
            if not commits(ending.sums):
                self._told(ending.sums)  # refuses what is damaged
            elif not ending.carries_requests:
                raise ArgumentError(f"request must say where to write {_ROUND}; nothing was drawn")
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
        announced = [
            number for number in dealt & set(self.dealers) if self._announced(number, ending)
        ]
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
        return Prospect(facts=facts, unknown=by_question(unknown))

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
        if facts["by"]:
            words += f"choose another grouping than --by {' --by '.join(facts['by'])}, or "
            if not ending.merge_small:
                words += "--merge-small merges such groups (--dry-run shows how), or "
        return words + "--discard-small deletes those answers, --without-sum gives all up"

    def _announced(self, number: int, ending: Ending) -> bool:
        """Whether a dealer has told its sums; refuses one that never will."""
        facts = self.dealers[number].get(self.path)
        if facts["announced"] < ending.announcement and facts["burned"]:
            lost = "--without-sum gives up the reports that were made with one"
            none = "no sum was announced" if ending.announcement == 1 else "no more are announced"
            more = f": {lost}" if ending.announcement == 1 else ""
            raise ProtocolError(f"{self._name(number)} has burned its cards, and {none}{more}")
        return bool(facts["announced"] >= ending.announcement)

    def _check_other_grouping(
        self, collector: "Admin", ending: Ending, announced: bool, others: bool
    ) -> None:
        """Refuse another grouping than was chosen where a dealer may have been given that one."""
        before = self._facts(collector, Ending(announcement=ending.announcement))["by"]
        if _is_same(ending.cells, before):
            return
        if announced or (others and len(self.survey.dealing.addresses) > 1):
            raise ProtocolError(
                f"by must be left out, got {crossed(ending.cells or ())!r}: the collector is "
                f"closed, and requests are with dealers for {words_of(before)}"
            )

    def _all_unknown(self, collector: "Admin", dealers: set[int]) -> dict[int, Serials]:
        """Serial numbers that came with reports and that no dealer gave to anybody, by dealer."""
        ahead = f"{self.path}/closing/request?ahead=true&dealer="
        return self._unknown_of({number: collector.get(f"{ahead}{number}") for number in dealers})

    def _unknown_of(self, requests: Mapping[int, Any]) -> dict[int, Serials]:
        found = {
            number: self._unknown(number, request)
            for number, request in sorted(requests.items())
            if number in self.dealers and names_cards(request)
        }
        return {number: serials for number, serials in found.items() if serials}

    def _unknown(self, number: int, request: Any) -> Serials:
        found: dict[str, list[str]] = self.dealers[number].post(f"{self.path}/check", request)[
            "unknown"
        ]
        return {name: serials for name, serials in found.items() if serials}

    def _refuse_unknown(self, unknown: Mapping[int, Serials], undone: str = "announced") -> None:
        number, serials = next(iter(unknown.items()))
        count = sum(map(len, serials.values()))
        if self.survey.dealing.is_verified:
            raise ProtocolError(
                f"{self._name(number)} denies to know {count} of the cards, which it has signed if "
                f"the request is its own: nothing was {undone}; if it lost its database, "
                "--without-sum ends the survey"
            )
        raise ProtocolError(
            f"{self._name(number)} gave {count} of the serials to nobody: nothing was {undone}; "
            "--discard-unknown deletes the answers that came with them, where the tokens of dealer "
            "and collector are given together"
        )

    def _check_alone(self, ending: Ending) -> None:
        """What a dealer would refuse, before it announces anything."""
        number, document, _ = self._given_request(ending)
        request = ClosingRequest.from_document(self.survey, document)
        if self._announced(number, Ending(announcement=request.announcement)):
            return  # the same request is answered the same again
        unknown = self._unknown(number, document)
        if unknown:
            self._refuse_unknown({number: unknown})
        sizes = list(request.sizes.values())
        if too_small(sizes, self.survey.smallest_group):
            raise ProtocolError(f"{small_words(self.survey, sizes)}; nothing was announced")

    def _given_request(self, ending: Ending) -> tuple[int, Mapping[str, Any], Mapping[str, Any]]:
        """The dealer, what it is asked, and of verified cards nonce and slots."""
        if len(self.dealers) != 1 or ending.request is None:
            raise ArgumentError(
                "request must be given to a dealer alone: the file that the collector's operator "
                "wrote for it (--request), or the collector's token too (JRR_COLLECTOR_TOKEN)"
            )
        (number,) = self.dealers
        if not self.survey.dealing.is_verified:
            return number, ending.request, {}
        drawn = dict(ending.request)
        request = drawn.pop("request", None)
        if not isinstance(request, Mapping) or set(drawn) != {"nonce", "slots"}:
            raise DamagedError("request must be the file for this dealer, as it came")
        return number, request, drawn

    def _give_sums(self, collector: "Admin", given: Sequence[Mapping[str, Any]]) -> None:
        """Give the collector what dealers told; where sums are here already, only the same."""
        collector.post(f"{self.path}/sums", self._told(given))

    def _told(self, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What all dealers told, as the collector takes it.

        Raises:
            DamagedError: It is not what the dealers of this survey tell.
        """
        expected = len(self.survey.dealing.addresses)
        if len(given) != expected or not all(set(one) - {"openings"} == set(SUMS) for one in given):
            raise DamagedError(f"sums must be a file from each dealer, {expected} in all")
        announced = [one["sums"] for one in given] if self.survey.announces else []
        for one in announced:
            ClosingSums.from_document(self.survey, one)
        undealt = {name: left for one in given for name, left in (one["undealt"] or {}).items()}
        # Of cards whose sums are announced it does not matter from how many decks they are.
        has_decks = any(not one.mechanism.announced for one in self.survey.dealt)
        decks = [one["decks"] for one in given if one["decks"]] if has_decks else []
        told = {"announced": announced, "undealt": undealt, "decks": max(decks, default=None)}
        if self.survey.dealing.is_verified:
            told["openings"] = [one.get("openings") for one in given]
        return told


def commits(given: Sequence[Mapping[str, Any]]) -> bool:
    """Whether dealers of verified cards have committed to noise, and wait for slots."""
    return any("committed" in one for one in given)


def names_cards(request: Any) -> bool:
    """Whether a request has a serial number in it."""
    return any(serials for one in request["questions"].values() for serials in one.values())


def by_question(unknown: Mapping[int, Serials]) -> Serials:
    """The serial numbers of all dealers' cards."""
    found: dict[str, list[str]] = {}
    for serials in unknown.values():
        for name, some in serials.items():
            found.setdefault(name, []).extend(some)
    return found


def kind_of(failed: Mapping[str, JrrError]) -> type[JrrError]:
    """Where one refuses and another is silent, trying again would not be enough."""
    silent = all(isinstance(error, UnreachableError) for error in failed.values())
    return UnreachableError if silent else ProtocolError


def _is_same(wished: Sequence[str] | None, chosen: Sequence[str]) -> bool:
    """Whether cells are those that were chosen before, or nothing is said of them."""
    return wished is None or list(wished) == list(chosen)
