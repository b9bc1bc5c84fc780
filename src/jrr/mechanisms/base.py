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

import numpy as np

from jrr._base import checks
from jrr._base.randomness import Rng
from jrr.mechanisms.parts.collecting import Collecting, Observing
from jrr.mechanisms.parts.describing import Accounting, Cards, Ints, Planned, Reports
from jrr.mechanisms.parts.responding import GivingCards, Responding

__all__ = [
    "Cards",
    "Ints",
    "Mechanism",
    "Reports",
    "Rng",
    "check_countable",
    "checked_mechanism",
]


class Mechanism(GivingCards, Responding, Collecting, Accounting, Observing, Planned):
    """A value that describes itself: no state, no input or output, no randomness of its own.

    Filled in by every mechanism: `name`, `title`, `parameters`, `moments`, `_epsilon`,
    `report_format`, `deal`, `respond`, `respond_one` and the private methods that count reports.
    Everything else has a default that is right for a mechanism that does without, such as
    `sorted_deck` (no cards) or `losses` (no law is known; bounds are used instead).
    """

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value in `runs` surveys, one row each.

        Person by person; mechanisms whose law is known draw from that instead.
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
