"""How a campaign ends whose card sums are announced: names go to dealers, sums to the collector.

    all         are looked at first: where anything is wrong, nothing is closed
    collector   takes no more reports, and names those it has by serial numbers
    dealers     each tells the noisy sum of exactly the named cards, once, and burns its key
    collector   keeps the sums and forgets the serial numbers: there is a result

Every step may be repeated, so that what was interrupted goes on where it was. Whoever holds the
tokens of all servers does everything at once. Where they are in different hands, files carry names
and sums: a collector's operator closes and gives `names` to each dealer's operator, who brings back
`sums`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jrr.client.http import Admin
from jrr.errors import ArgumentError, ProtocolError, UnreachableError
from jrr.survey.grouping import small_words, too_small
from jrr.survey.states import CLOSED

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

Facts = dict[int | str, dict[str, Any]]  # what each server says: "collector", dealers by number


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What an operator wants of the end."""

    by: str | None = None  # a covariate: sums, and so results, for each of its values
    merge_small: bool = False  # groups that are too small for a sum become one
    discard_unknown: bool = False  # delete reports whose serial numbers no dealer knows
    discard_small: bool = False  # delete reports of groups too small for a sum
    without_sum: bool = False  # burn the cards and give up the reports that were made with one
    names: Mapping[str, Any] | None = None  # dealer alone: what the collector's operator gave
    sums: Sequence[Mapping[str, Any]] | None = None  # collector alone: what dealers told
    carries_names: bool = True  # names for dealers in other hands have somewhere to go

    @property
    def at_collector(self) -> dict[str, Any]:
        """What the collector is told when it closes."""
        allow = self.discard_small or self.without_sum
        return {"by": self.by, "merge_small": self.merge_small, "allow_small": allow}


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What closing would do; nothing is changed yet."""

    facts: Mapping[str, Any]  # of the collector: groups with their sizes, which are too small
    unknown: tuple[str, ...] = ()  # serial numbers that no dealer gave to anybody


@dataclass(frozen=True)
class Closing:
    """The servers of a campaign, as far as their tokens are held."""

    campaign: "Campaign"
    path: str
    dealers: Mapping[int, Admin]  # by their numbers in the campaign
    collector: Admin | None

    def check(self, ending: Ending) -> Prospect | None:
        """Look at everything that could keep the campaign from its end; nothing is changed.

        Returns:
            What closing would do; None where there is nothing to look at beforehand.

        Raises:
            ProtocolError: A server would refuse: a group is too small for a sum, a dealer's cards
                are burned, or a serial number is none of its cards'.
            UnreachableError: A server that is needed does not answer.
        """
        try:
            if self.collector is None:
                self._check_alone(ending)
                return None
            if ending.without_sum:
                for server in (self.collector, *self.dealers.values()):
                    server.get(self.path)
                return None
            return self._check_all(self.collector, ending)
        except UnreachableError as error:
            raise UnreachableError(f"{error}; nothing was closed") from None

    def preview(self, ending: Ending) -> dict[str, Any]:
        """The groups that closing would make, with their sizes, whether they are too small or not.

        Raises:
            ArgumentError: The collector's token is not held.
        """
        if self.collector is None:
            raise ArgumentError(
                "the collector's token must be given for a preview (JRR_COLLECTOR_TOKEN): a dealer "
                "knows no groups"
            )
        return self._facts(self.collector, ending)

    def _facts(self, collector: Admin, ending: Ending) -> dict[str, Any]:
        asked = {"merge_small": str(ending.merge_small).lower()}
        asked |= {} if ending.by is None else {"by": ending.by}
        found: dict[str, Any] = collector.get(f"{self.path}/closing?{urlencode(asked)}")
        return found

    def _check_all(self, collector: Admin, ending: Ending) -> Prospect:
        facts = self._facts(collector, ending)
        is_closed = facts["state"] == CLOSED
        if facts["settled"]:
            if ending.by not in (None, facts["by"]):
                raise ProtocolError(
                    f"by must be left out, got {ending.by!r}: the sums of the cards are here, for "
                    f"{_group_words(facts['by'])}, and are told once"
                )
            if ending.sums is not None:  # refused if they are others; changes nothing any more
                self._settle(collector, ending.sums)
            return Prospect(facts=facts)
        if ending.sums is not None:
            if not is_closed:
                raise ProtocolError(
                    "sums must be of a campaign that is closed: give no --sums at first, so that "
                    "the collector names the cards to the dealer; nothing was closed"
                )
            return Prospect(facts=facts)
        dealt = self._dealt(facts)
        others = dealt - set(self.dealers)
        if others and not ending.carries_names:
            raise ArgumentError(
                "names must say where to write the serials for the dealer's operator (--names), or "
                "the dealer's token must be given (JRR_DEALER_TOKEN); nothing was closed"
            )
        if facts["too_small"] and not ending.discard_small and not is_closed:
            raise ProtocolError(self._small_words(facts, ending))
        announced = [number for number in dealt & set(self.dealers) if self._announced(number)]
        if announced and not is_closed:
            raise ProtocolError(
                f"dealer {announced[0]} must not have announced before the collector is closed: "
                "its sum is of other reports; --without-sum gives up those made with a card"
            )
        if is_closed:
            self._check_other_grouping(collector, ending, bool(announced), bool(others))
        unknown = self._all_unknown(collector, dealt & set(self.dealers))
        if unknown and not ending.discard_unknown:
            self._refuse_unknown(unknown, "announced" if is_closed else "closed")
        return Prospect(facts=facts, unknown=tuple(s for some in unknown.values() for s in some))

    def _dealt(self, facts: Mapping[str, Any]) -> set[int]:
        """The numbers of the dealers whose cards came back."""
        return {
            number
            for group in facts["groups"]
            for number, count in enumerate(group["cards"])
            if count
        }

    def _small_words(self, facts: Mapping[str, Any], ending: Ending) -> str:
        sizes = [{group["name"]: count} for group in facts["groups"] for count in group["cards"]]
        words = f"{small_words(self.campaign, sizes)}; nothing was closed: wait for more, or "
        if facts["by"] is not None:
            words += f"choose another grouping than --by {facts['by']}, or "
            if not ending.merge_small:
                words += "--merge-small merges such groups (--dry-run shows how), or "
        return words + "--discard-small deletes those answers, --without-sum gives all up"

    def _announced(self, number: int) -> bool:
        """Whether a dealer has told its sum; refuses one that never will."""
        facts = self.dealers[number].get(self.path)
        if facts["state"] == CLOSED and not facts["announced"]:
            raise ProtocolError(
                f"dealer {number} has burned its cards, and no sum was announced: --without-sum "
                "gives up the reports that were made with one"
            )
        return bool(facts["announced"])

    def _check_other_grouping(
        self, collector: Admin, ending: Ending, announced: bool, others: bool
    ) -> None:
        """Refuse another grouping than was chosen where a dealer may have been given that one."""
        before = self._facts(collector, Ending())["by"]
        if ending.by in (None, before):
            return
        if announced or (others and len(self.campaign.dealers) > 1):
            raise ProtocolError(
                f"by must be left out, got {ending.by!r}: the collector is closed, and names are "
                f"with dealers for {_group_words(before)}"
            )

    def _all_unknown(self, collector: Admin, dealers: set[int]) -> dict[int, list[str]]:
        """Serial numbers that came with reports and that no dealer gave to anybody, by dealer."""
        found = {}
        for number in sorted(dealers):
            names = collector.get(f"{self.path}/serials?dealer={number}&ahead=true")
            unknown = self._unknown(self.dealers[number], names)
            if unknown:
                found[number] = unknown
        return found

    def _refuse_unknown(
        self, unknown: Mapping[int, Sequence[str]], undone: str = "announced"
    ) -> None:
        number, serials = next(iter(unknown.items()))
        raise ProtocolError(
            f"dealer {number} gave {len(serials)} of the serials to nobody: nothing was {undone}; "
            "--discard-unknown deletes the reports that came with them, where the tokens of dealer "
            "and collector are given together"
        )

    def _check_alone(self, ending: Ending) -> None:
        """What a dealer would refuse, before it announces anything."""
        if ending.without_sum:
            return
        number, names = self._given_names(ending)
        if self._announced(number):
            return  # the same names are told the same again
        unknown = self._unknown(self.dealers[number], names)  # refuses what is damaged
        if unknown:
            self._refuse_unknown({number: unknown})
        sizes = [{group: len(some) for group, some in names["serials"].items()}]
        if too_small(sizes, self.campaign.smallest_group):
            raise ProtocolError(f"{small_words(self.campaign, sizes)}; nothing was announced")

    def _given_names(self, ending: Ending) -> tuple[int, Mapping[str, Any]]:
        if len(self.dealers) != 1 or ending.names is None:
            raise ArgumentError(
                "names must be given to a dealer alone: the file that the collector's operator "
                "wrote for it (--names), or the collector's token too (JRR_COLLECTOR_TOKEN)"
            )
        (number,) = self.dealers
        return number, ending.names

    def run(self, ending: Ending, prospect: Prospect | None = None) -> Facts:
        """End the campaign as far as the tokens that are held allow.

        Args:
            ending: How.
            prospect: What `check` found.

        Returns:
            What each server says; the collector's part has how many reports were `discarded`, if
            any. Without the dealers' tokens the collector's part has `names` for
            them, by number; without the collector's token a dealer's part has what it `announced`.
        """
        if ending.without_sum:
            return self._give_up()
        if self.collector is None:
            return self._announce_alone(ending)
        unknown = prospect.unknown if prospect is not None and ending.discard_unknown else ()
        told_wish = ending.at_collector | {"discard": list(unknown)}
        facts: Facts = {"collector": self._close_collector(self.collector, told_wish)}
        discarded = facts["collector"].pop("discarded", 0)
        if facts["collector"]["settled"]:
            return facts | self._closed_dealers({})
        names = {} if ending.sums is not None else self._names(self.collector)
        if any(_is_anybody(names[number]) for number in names if number not in self.dealers):
            facts["collector"]["names"] = names
            return facts
        told, later = ending.sums, 0
        if told is None:
            told, later = self._told_by_all(self.collector, ending, names)
        self._settle(self.collector, told)
        facts["collector"]["settled"] = True
        facts["collector"]["reports"] -= later
        if discarded + later:
            facts["collector"]["discarded"] = discarded + later
        return facts | self._closed_dealers(names)

    def _settle(self, collector: Admin, told: Sequence[Mapping[str, Any]]) -> None:
        """Give the collector what dealers told; where sums are here already, only the same."""
        collector.post(f"{self.path}/settle", {"announced": list(told), "undealt": None})

    def _close_collector(self, collector: Admin, wish: Mapping[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = collector.post(f"{self.path}/close", {"decks": None, **wish})
        return reply

    def _names(self, collector: Admin) -> dict[int, Any]:
        """The cards that came back, in the groups that the collector keeps; by dealer."""
        return {
            number: collector.get(f"{self.path}/serials?dealer={number}")
            for number in range(len(self.campaign.dealers))
        }

    def _told_by_all(
        self, collector: Admin, ending: Ending, names: dict[int, Any]
    ) -> tuple[list[Any], int]:
        """What the dealers tell of the cards that the collector names, and reports deleted."""
        discarded = 0
        if ending.discard_unknown:  # of reports that came after it was looked at
            unknown = [
                serial
                for number, dealer in self.dealers.items()
                if _is_anybody(names[number])
                for serial in self._unknown(dealer, names[number])
            ]
            if unknown:
                discarded += self._discard(collector, unknown)
                names = self._names(collector)
        while ending.discard_small and (few := self._too_few(names)):
            discarded += self._discard(collector, few)
            names = self._names(collector)
        if len(self.dealers) > 1 and self._too_few(names):
            raise ProtocolError(
                f"serials must be at least {self.campaign.smallest_group} (the campaign's min_cell "
                "and min_batch) in each group of each dealer, or none: nothing was "
                "announced; --discard-small deletes the reports that are in a smaller one"
            )
        if not ending.discard_unknown and len(self.dealers) > 1:
            # Before any of them announces: afterwards nobody's report can be left out.
            for number, dealer in self.dealers.items():
                if _is_anybody(names[number]) and (unknown := self._unknown(dealer, names[number])):
                    self._refuse_unknown({number: unknown})
        return [self._told(number, names[number]) for number in sorted(names)], discarded

    def _discard(self, collector: Admin, serials: list[str]) -> int:
        """Delete the reports with these serial numbers; how many there were."""
        return int(collector.post(f"{self.path}/discard", {"serials": serials})["discarded"])

    def _too_few(self, names: Mapping[int, Any]) -> list[str]:
        """The serial numbers in sets of which no dealer would tell a sum."""
        fewest = self.campaign.smallest_group
        sets = [found for one in names.values() for found in one["serials"].values()]
        return sorted({serial for found in sets if len(found) < fewest for serial in found})

    def _told(self, number: int, names: Any) -> Any:
        """What a dealer announces; one whose cards nobody has is not asked."""
        if _is_anybody(names):
            return self.dealers[number].post(f"{self.path}/announce", names)
        return {name: value for name, value in names.items() if name != "serials"} | {"sums": {}}

    def _closed_dealers(self, names: Mapping[int, Any]) -> Facts:
        """That dealers are closed, their keys burned; one that was left out may be away."""
        found: Facts = {}
        for number, dealer in self.dealers.items():
            try:
                found[number] = self._closed(dealer)
            except UnreachableError:
                if number not in names or _is_anybody(names[number]):
                    raise
        return found

    def _announce_alone(self, ending: Ending) -> Facts:
        number, names = self._given_names(ending)
        dealer = self.dealers[number]
        told = dealer.post(f"{self.path}/announce", dict(names))
        return {number: self._closed(dealer) | {"announced": told}}

    def _give_up(self) -> Facts:
        facts: Facts = {
            number: dealer.post(f"{self.path}/close", {"without_sum": True})
            for number, dealer in self.dealers.items()
        }
        if self.collector is not None:
            facts["collector"] = self._close_collector(self.collector, {"allow_small": True})
        return facts

    def _closed(self, dealer: Admin) -> dict[str, Any]:
        """That a dealer's key is burned: it has announced its sum, or nobody has a card of it."""
        reply: dict[str, Any] = dealer.post(f"{self.path}/close", {"without_sum": True})
        reply.pop("announced", None)
        return reply

    def _unknown(self, dealer: Admin, names: Any) -> list[str]:
        found: list[str] = dealer.post(f"{self.path}/unknown", names)["unknown"]
        return found


def _is_anybody(names: Any) -> bool:
    """Whether a naming has a name in it."""
    return any(names["serials"].values())


def _group_words(by: str | None) -> str:
    return "all reports together" if by is None else f"the groups of {by}"
