"""How a campaign ends whose card sums are announced: names go to dealers, sums to the collector.

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
from jrr.survey.states import CLOSED

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

Facts = dict[int | str, dict[str, Any]]  # what each server says: "collector", dealers by number


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What an operator wants of the end."""

    by: str | None = None  # a covariate: sums, and so results, for each of its values
    discard_unknown: bool = False  # delete reports whose serial numbers no dealer knows
    discard_small: bool = False  # delete reports of rounds or groups too small for a sum
    without_sum: bool = False  # burn the cards and give up the reports that were made with one
    names: Mapping[str, Any] | None = None  # dealer alone: what the collector's operator gave
    sums: Sequence[Mapping[str, Any]] | None = None  # collector alone: what dealers told


@dataclass(frozen=True)
class Closing:
    """The servers of a campaign, as far as their tokens are held."""

    campaign: "Campaign"
    path: str
    dealers: Mapping[int, Admin]  # by their numbers in the campaign
    collector: Admin | None

    def check_enough(self, ending: Ending) -> None:
        """Refuse, before anything is closed, an end at which dealers would tell no sum.

        Raises:
            ProtocolError: Fewer answers have come in a round than a sum is told of.
        """
        decided = ending.without_sum or ending.discard_small or ending.sums is not None
        if decided or self.collector is None or len(self.dealers) < len(self.campaign.dealers):
            return
        fewest = self.campaign.smallest_group
        facts = self.collector.get(self.path)
        few = [count for count in facts["by_round"] if 0 < count < fewest]
        if facts["state"] == CLOSED or not few or not self._has_anybody_a_card():
            return
        raise ProtocolError(
            f"answers in each round must be at least {fewest} for a result (the campaign's "
            f"min_cell and min_batch), or none, got {few[0]}; nothing was closed: wait for more, "
            "or --discard-small deletes those made with a card, --without-sum gives all up"
        )

    def _has_anybody_a_card(self) -> bool:
        """Whether a dealer gave a card; reports made without one need no sum."""
        try:
            return any(dealer.get(self.path).get("seats", 1) for dealer in self.dealers.values())
        except UnreachableError:
            return False  # that dealer is told of when it is asked for its sum

    def run(self, ending: Ending) -> Facts:
        """End the campaign as far as the tokens that are held allow.

        Returns:
            What each server says; the collector's part has how many reports were `discarded`, if
            any. Without the dealers' tokens the collector's part has `names` for
            them, by number; without the collector's token a dealer's part has what it `announced`.
        """
        if ending.without_sum:
            return self._give_up()
        if self.collector is None:
            return self._announce_alone(ending)
        facts: Facts = {"collector": self._close_collector(self.collector)}
        if facts["collector"]["settled"]:
            return facts | self._closed_dealers({})
        names = {} if ending.sums is not None else self._names(self.collector, ending)
        if any(_is_anybody(names[number]) for number in names if number not in self.dealers):
            facts["collector"]["names"] = names
            return facts
        told, discarded = ending.sums, 0
        if told is None:
            told, discarded = self._announced(self.collector, ending, names)
        sums = {"announced": list(told), "undealt": None}
        self.collector.post(f"{self.path}/settle", sums)
        facts["collector"]["settled"] = True
        if discarded:
            facts["collector"]["reports"] -= discarded
            facts["collector"]["discarded"] = discarded
        return facts | self._closed_dealers(names)

    def _close_collector(self, collector: Admin) -> dict[str, Any]:
        reply: dict[str, Any] = collector.post(f"{self.path}/close", {"decks": None})
        return reply

    def _names(self, collector: Admin, ending: Ending) -> dict[int, Any]:
        suffix = "" if ending.by is None else f"&{urlencode({'by': ending.by})}"
        return {
            number: collector.get(f"{self.path}/serials?dealer={number}{suffix}")
            for number in range(len(self.campaign.dealers))
        }

    def _announced(
        self, collector: Admin, ending: Ending, names: dict[int, Any]
    ) -> tuple[list[Any], int]:
        """What the dealers tell of the cards that the collector names, and reports deleted."""
        discarded = 0
        if ending.discard_unknown:
            unknown = [
                serial
                for number, dealer in self.dealers.items()
                if _is_anybody(names[number])
                for serial in self._unknown(dealer, names[number])
            ]
            if unknown:
                discarded += self._discard(collector, unknown)
                names = self._names(collector, ending)
        while ending.discard_small and (few := self._too_few(names)):
            discarded += self._discard(collector, few)
            names = self._names(collector, ending)
        if len(self.dealers) > 1 and self._too_few(names):
            raise ProtocolError(
                f"serials must be at least {self.campaign.smallest_group} (the campaign's min_cell "
                "and min_batch) in each round and group of each dealer, or none: nothing was "
                "announced; --discard-small deletes the reports that are in a smaller one"
            )
        if not ending.discard_unknown and len(self.dealers) > 1:
            # Before any of them announces: afterwards nobody's report can be left out.
            for number, dealer in self.dealers.items():
                if _is_anybody(names[number]):
                    self._check_known(number, len(self._unknown(dealer, names[number])))
        return [self._told(number, names[number]) for number in sorted(names)], discarded

    def _discard(self, collector: Admin, serials: list[str]) -> int:
        """Delete the reports with these serial numbers; how many there were."""
        return int(collector.post(f"{self.path}/discard", {"serials": serials})["discarded"])

    def _too_few(self, names: Mapping[int, Any]) -> list[str]:
        """The serial numbers in sets of which no dealer would tell a sum."""
        fewest = self.campaign.smallest_group
        sets = (found for one in names.values() for by in one["rounds"] for found in by.values())
        return sorted({serial for found in sets if len(found) < fewest for serial in found})

    def _told(self, number: int, names: Any) -> Any:
        """What a dealer announces; one whose cards nobody has is not asked."""
        if _is_anybody(names):
            return self.dealers[number].post(f"{self.path}/announce", names)
        return names | {"rounds": [{} for _ in names["rounds"]]}

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
        if len(self.dealers) != 1 or ending.names is None:
            raise ArgumentError(
                "names must be given to a dealer alone: the file that the collector's operator "
                "wrote for it (--names), or the collector's token too (JRR_COLLECTOR_TOKEN)"
            )
        ((number, dealer),) = self.dealers.items()
        told = dealer.post(f"{self.path}/announce", dict(ending.names))
        return {number: self._closed(dealer) | {"announced": told}}

    def _give_up(self) -> Facts:
        facts: Facts = {
            number: dealer.post(f"{self.path}/close", {"without_sum": True})
            for number, dealer in self.dealers.items()
        }
        if self.collector is not None:
            facts["collector"] = self._close_collector(self.collector)
        return facts

    def _closed(self, dealer: Admin) -> dict[str, Any]:
        """That a dealer's key is burned: it has announced its sum, or nobody has a card of it."""
        reply: dict[str, Any] = dealer.post(f"{self.path}/close", {"without_sum": True})
        reply.pop("announced", None)
        return reply

    def _unknown(self, dealer: Admin, names: Any) -> list[str]:
        found: list[str] = dealer.post(f"{self.path}/unknown", names)["unknown"]
        return found

    def _check_known(self, number: int, unknown: int) -> None:
        if unknown:
            raise ProtocolError(
                f"dealer {number} gave {unknown} of the serials to nobody: nothing was announced; "
                "--discard-unknown deletes the reports that came with them"
            )


def _is_anybody(names: Any) -> bool:
    """Whether a naming has a name in it."""
    return any(serials for one in names["rounds"] for serials in one.values())
