"""Which question is asked: a mechanism, how many people, what is known -> views to look at."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.privacy.binomial import Progress
from jrr.privacy.shuffled.binary import view_of_rr, views_of_rr
from jrr.privacy.shuffled.blanket import Blanket
from jrr.privacy.shuffled.decks import decks_left, views_of_decks

MOST_SCANNED = 400_000  # compositions; to scan so many takes half a minute to a minute
_MOST_ALONE = 10**7  # contributors of one composition: beyond, convolutions are slow


class View(Protocol):
    """What the adversary sees in one or several compositions."""

    def delta(self, epsilon: float) -> float:
        """The largest δ of them, never too small."""


class Survey(NamedTuple):
    """A checked question."""

    views: Callable[[Progress | None], Iterator[View]]
    pure: float  # an ε that holds with δ = 0


def survey(mechanism: Mechanism, n: object, ones: object, colluders: object) -> Survey:
    """The question, or a refusal where no answer is known here."""
    if isinstance(mechanism, RR):
        if n is None:
            raise checks.refusal("n", n, "the number of contributors: RR does not know it")
        people = checks.integer("n", n, 1)
        left = people - checks.integer("colluders", colluders, 0, people - 1)
        pure = mechanism.epsilon()
        if mechanism.k > 2:
            if ones is not None:
                raise checks.refusal("ones", ones, "None for k > 2: the bound holds for all")
            return Survey(lambda _: iter([Blanket(mechanism, left)]), pure)
        count = check_scan(left, ones)
        if count is None:
            return Survey(partial(views_of_rr, mechanism, left), pure)
        # The other direction is that of the mirrored composition.
        both = [view_of_rr(mechanism, left, o) for o in {count, left - 1 - count}]
        return Survey(lambda _: iter(both), pure)
    if not isinstance(mechanism, JRR | DRR) or mechanism.k > 2:
        raise checks.refusal(
            "mechanism", mechanism, "RR, or JRR or DRR with k=2: no law is known here for others"
        )
    if n is not None and n != mechanism.n:
        raise checks.refusal("n", n, f"None or the {mechanism.n} contributors of the deck")
    known = checks.integer("colluders", colluders, 0, mechanism.n - 1)
    decks = decks_left(mechanism, known)
    count = check_scan(mechanism.n - known, ones, len(decks))
    # All other values and reports are the view `truths`; cards besides, and the target's own card
    # may be known. The counts are less than that. (`cards` with few colluders is no such bound:
    # there the others' reports are not seen.)
    pure = mechanism.epsilon("dealer") if known else mechanism.epsilon("truths", mechanism.n - 1)
    return Survey(partial(views_of_decks, mechanism, decks, count), pure)


def check_delta(value: object) -> float:
    """A probability that is neither 0 nor 1."""
    return checks.real("delta", value, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)


def check_scan(people: int, ones: object, decks: int = 1) -> int | None:
    """A composition of the others, or None for all of them where there are not too many."""
    if ones is None:
        if people * decks > MOST_SCANNED:
            raise checks.refusal(
                "ones",
                ones,
                f"given for so many: {people * decks} compositions, "
                f"of which at most {MOST_SCANNED} are scanned",
            )
        return None
    if people > _MOST_ALONE:
        raise checks.refusal("n", people, f"at most {_MOST_ALONE}")
    return checks.integer("ones", ones, 0, people - 1)
