"""How a survey ends: cards are burned, no more answers are taken, sums of cards come off results.

    all         are looked at first: where anything is wrong, nothing is closed
    collector   takes no more answers, and names the cards that came back by serial numbers
    dealers     each tells the noisy sums of exactly the named cards, as often as was planned, and
                with the last of them burns its key
    collector   keeps the sums, and with the last of them forgets the serial numbers: results

Every step may be repeated, so that what was interrupted goes on where it was. Whoever holds the
tokens of all servers does everything at once. Where they are in different hands, files carry what
goes between them: a collector's operator closes and gives each dealer's operator a request
(`ClosingRequest`), who brings back sums (`dealer_sums`).
"""

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jrr.client.closing_checks import ClosingChecks, by_question, commits, kind_of, names_cards
from jrr.client.ending import Ending, Prospect, Serials, dealer_sums
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.estimation.told_sums import CardSum

if TYPE_CHECKING:
    from jrr.client.http import Admin

Facts = dict[int | str, dict[str, Any]]  # what each server says: "collector", dealers by number
_BURN = {"request": None, "without_sum": True}  # what a dealer is told whose sums nobody needs


class Closing(ClosingChecks):
    """The end of a survey, once everything was looked at."""

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
            if ending.announcement < self.survey.announcements:
                return facts  # dealers keep their keys for the next announcement
            return facts | self._end_settled(self.collector, ending)
        given, later, closed = ending.sums, 0, Facts()
        if given is not None and commits(given):
            for number, told in enumerate(given):
                if "committed" in told:  # of others slots are drawn already
                    self.collector.post(f"{self.path}/challenge", {"dealer": number, **told})
            facts["collector"]["requests"] = self.carried(self.collector)
            return facts
        if given is None:
            requests = self._requests(self.collector)
            if set(self._needed(requests)) - set(self.dealers):
                facts["collector"]["requests"] = self._carried(self.collector, requests)
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
        # A key that is of use for the next announcement is kept.
        is_last = ending.announcement == self.survey.announcements
        left = [number for number in self.dealers if number not in closed and is_last]
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

    def _carried(self, collector: "Admin", requests: Mapping[int, Any]) -> dict[int, Any]:
        """Requests as files carry them: of verified cards with nonce, and slots once drawn."""
        if not self.survey.dealing.is_verified:
            return dict(requests)
        return {
            number: collector.get(f"{self.path}/challenge?dealer={number}") | {"request": request}
            for number, request in requests.items()
        }

    def carried(self, collector: "Admin") -> dict[int, Any]:
        """The requests for all dealers' operators, once the collector is closed; by number."""
        return self._carried(collector, self._requests(collector))

    def _needed(self, requests: Mapping[int, Any]) -> list[int]:
        """The dealers without whom there is no result: all but those whose cards nobody has."""
        numbers = range(len(self.survey.dealing.addresses))
        return [one for one in numbers if one not in requests or names_cards(requests[one])]

    def _checked_requests(
        self, collector: "Admin", ending: Ending, requests: dict[int, Any]
    ) -> tuple[dict[int, Any], int]:
        """Requests that no dealer refuses, and how many answers were deleted for that."""
        discarded = 0
        if ending.discard_unknown:  # of answers that came after it was looked at
            unknown = self._unknown_of(requests)
            if unknown:
                discarded += self._discard(collector, by_question(unknown))
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
            {
                number: _wish(requests.get(number)) | self._challenge(number, requests)
                for number in self._needed(requests)
            }
        )

    def _challenge(self, number: int, requests: Mapping[int, Any]) -> dict[str, Any]:
        """Of verified cards: a dealer commits to its noise, then the collector draws slots."""
        if not self.survey.dealing.is_verified or number not in requests:
            return {}
        assert self.collector is not None  # which named the cards
        drawn = self.collector.get(f"{self.path}/challenge?dealer={number}")
        if drawn["slots"] is None:  # drawn once: whoever goes on asks for the same ones
            asked = {"request": requests[number], "nonce": drawn["nonce"]}
            told = self.dealers[number].post(f"{self.path}/commit", asked) | {"dealer": number}
            drawn |= self.collector.post(f"{self.path}/challenge", told)
        return dict(drawn)

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
            number, request, drawn = self._given_request(ending)
            if drawn and drawn["slots"] is None:
                asked = {"request": request, "nonce": drawn["nonce"]}
                dealer = self.dealers[number]
                state = {"state": dealer.get(self.path)["state"]}
                return {number: dealer.post(f"{self.path}/commit", asked) | state}
            return self._close_dealers({number: _wish(dict(request)) | dict(drawn)})
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
            raise kind_of(failed)(
                f"{reasons}; closed: {done}; not closed: {', '.join(failed)}; when that is mended, "
                "the same command goes on"
            )
        return closed


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


def _shown(reply: Mapping[str, Any]) -> dict[str, Any]:
    hidden = ("sums", "undealt", "openings")
    return {name: fact for name, fact in reply.items() if name not in hidden}
