"""What every mechanism is: an immutable value that says everything of itself.

The verbs are deal, respond, tally and estimate. Files, messages, decks, servers, plans, pictures
and audits ask the mechanism through the methods of jrr.mechanisms.parts and know no kind of
mechanism by name, so a new one is a class that fills them in and one line in
jrr.mechanisms.registry (CONTRIBUTING.md).

| part | who asks |
|---|---|
| `Describing` | documents, tables, texts: name, parameters, moments |
| `GivingCards` | dealers: cards, and their sums |
| `Responding` | contributors' devices: reports, and their JSON form |
| `Collecting` | collectors: tallies, estimates, variances |
| `Accounting` | everybody who states an ε |
| `Observing` | simulations, audits, analyses |
| `Planned` | plans: the best one that keeps an ε |
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from jrr._base import checks
from jrr._base.randomness import Rng
from jrr.errors import ArgumentError
from jrr.mechanisms.parts.collecting import Collecting, Observing
from jrr.mechanisms.parts.describing import Accounting, Cards, Describing, Ints, Reports
from jrr.mechanisms.parts.responding import GivingCards, Responding
from jrr.mechanisms.request import LOST, Family, Frequency, Request, least

__all__ = [
    "Cards",
    "Ints",
    "Mechanism",
    "Reports",
    "Rng",
    "check_countable",
    "checked_mechanism",
]


_ANYBODY = 1_000  # people, where no cards are dealt: what is best does not depend on them


class Planned(Describing):
    """What a plan may choose, and what one kind of mechanism can do at best."""

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The ways in which a plan may choose this mechanism."""
        return ()

    @classmethod
    def windows(cls, request: Request, between: float) -> "list[Any]":
        """Those that plans for numbers try besides a number rounded to one of its two ends.

        Args:
            request: what they must keep.
            between: the mean of t(1-t), numbers t being in 0..1.
        """
        return []

    @classmethod
    def _family(cls, best: "Callable[[Request], Mechanism]", **more: Any) -> Family:
        """One of them, named and coloured as the mechanism unless said otherwise."""
        named = {"key": cls.name.lower(), "label": cls.name, "colour": cls.colour}
        return Family(best=best, **(named | more))

    @classmethod
    @checks.names_checked
    def for_epsilon(
        cls,
        epsilon: float,
        *,
        n: int | None = None,
        k: int = 2,
        colluders: int | None = None,
        dealer_epsilon: float | None = None,
        frequency: Frequency = None,
        lost: float = LOST,
        announced: bool | int = True,
    ) -> Self:
        """The most accurate mechanism of this kind that keeps ε; `jrr.plan` compares the kinds.

        Args:
            epsilon: what an adversary may learn at most that has the colluders' cards.
            n: contributors per deck; None: no cards, for kinds that do without.
            k: possible values.
            colluders: how many contributors show their cards; None: 5, or everybody else where
                there are fewer.
            dealer_epsilon: what a dealer that colludes with the collector may learn at most;
                None: ε + 2; math.inf gives up the cap.
            frequency: what is known of the answer beforehand, as for `jrr.plan`.
            lost: the share of cards that are dealt and never reported with.
            announced: MRR: whether the dealer announces the sum of the cards that were used;
                False asks for a closed deck.

        Raises:
            ArgumentError: for arguments out of range, or where nothing of this kind keeps ε.

        Example:
            >>> import jrr
            >>> jrr.RR.for_epsilon(1.0) == jrr.RR(epsilon=1.0)
            True
            >>> jrr.DRR.for_epsilon(1.0, n=1_000, k=4).epsilon("cards", colluders=5) <= 1.0
            True
        """
        request = Request.with_defaults(
            _ANYBODY if n is None else n,
            epsilon,
            colluders=colluders,
            k=k,
            dealer_epsilon=dealer_epsilon,
            frequency=frequency,
            lost=lost,
            announced=announced,
        )
        with_cards = [family.cards for family in cls.families() if family.chosen]
        if n is None and with_cards and all(with_cards):
            raise needs_deck(cls.name)
        return cls._most_accurate(request, cards=n is not None)

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        """The best that its families offer; only without cards unless `cards`."""
        offered = [
            family.best(request)
            for family in cls.families()
            if family.chosen and (cards or not family.cards)
        ]
        return least([made for made in offered if isinstance(made, cls)], request)


def needs_deck(name: str) -> ArgumentError:
    """A refusal where cards are always dealt, and nobody said to how many."""
    return checks.refusal("n", None, f"the size of a deck: {name} deals cards")


class Mechanism(GivingCards, Responding, Collecting, Accounting, Observing, Planned):
    """A value that describes itself: no state, no input or output, no randomness of its own.

    Filled in by every mechanism: `name`, `title`, `parameters`, `moments`, `_epsilon`,
    `report_format`, `deal`, `respond`, `respond_one` and the private methods that count reports.
    Everything else has a default that is right for a mechanism that does without, such as
    `sorted_deck` (no cards) or `losses` (no law is known; bounds are used instead).
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            checks.init_checked(cls)

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value in `runs` surveys, one row each.

        Person by person; mechanisms whose law is known draw from that instead.

        Args:
            counts: people with each value.
            runs: surveys.
            rng: where random numbers come from.
            with_cards: whether everybody has a card.
        """
        values = np.repeat(np.arange(self.k), counts)
        rows = []
        for _ in range(runs):
            cards = self.deal(rng) if with_cards else None
            reports = self.respond(values, None if cards is None else cards[: len(values)], rng)
            rows.append(self._support(self._check_reports(reports)))
        return np.array(rows, np.int64)


def check_countable(k: int) -> None:
    """Refuse to make a list of counts that would fill the memory."""
    if k > 1 << 24:
        raise checks.refusal("k", k, f"at most {1 << 24} to count every value")


def checked_mechanism(value: object) -> Mechanism:
    """A mechanism, or a refusal."""
    if not isinstance(value, Mechanism):
        raise checks.refusal("mechanism", value, "a mechanism")
    return value
