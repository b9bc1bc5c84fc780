"""What is asked of a mechanism before a survey, and the criterion by which two are compared."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jrr._base import checks
from jrr.estimation.contrasts import Sampling
from jrr.estimation.moments import Moments

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

Frequency = float | tuple[float, float] | None

# What is assumed of a survey unless somebody says otherwise.
COLLUDERS = 5  # contributors who show the adversary their cards
DEALER_ABOVE = 2.0  # a dealer that colludes with the collector may learn ε + 2 and no more
LOST = 0.01  # the share of cards that are dealt and never reported with
MOST_ANNOUNCEMENTS = 16  # sums that a card may be in


_Some = TypeVar("_Some", bound="Mechanism")


@dataclass(frozen=True)
class Request:
    """What is asked of a plan."""

    n: int
    epsilon: float
    colluders: int = 0
    k: int = 2
    dealer_epsilon: float | None = None
    frequency: Frequency = None
    lost: float = 0.0  # the share of cards that are dealt and never reported with
    announced: bool | int = True  # in how many announced sums a card may be; False: closed deck

    def __post_init__(self) -> None:
        cap = self.dealer_epsilon
        n = checks.deck_size(self.n)
        for name, value in (
            ("k", checks.domain(self.k)),
            ("n", n),
            ("epsilon", checks.epsilon("epsilon", self.epsilon)),
            ("colluders", checks.integer("colluders", self.colluders, 0, n - 1)),
            ("dealer_epsilon", None if cap is None else checks.epsilon("dealer_epsilon", cap)),
            ("frequency", _check_frequency(self.frequency)),
            ("lost", checks.real("lost", self.lost, "in [0, 1)", 0.0, 1.0, open_high=True)),
            ("announced", _check_announced(self.announced)),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def with_defaults(
        cls,
        n: int,
        epsilon: float,
        *,
        colluders: int | None = None,
        k: int = 2,
        dealer_epsilon: float | None = None,
        frequency: Frequency = None,
        lost: float = LOST,
        announced: bool | int = True,
    ) -> "Request":
        """What is asked, with what is assumed where nothing is said.

        Args:
            n: contributors per deck.
            epsilon: what the adversary may learn at most.
            colluders: how many contributors show the adversary their cards; None: 5, or everybody
                else where there are fewer.
            k: possible answers.
            dealer_epsilon: what a dealer that colludes with the collector may learn at most;
                None: ε + 2; math.inf gives up the cap.
            frequency: what is known of the answer beforehand.
            lost: the share of cards that are dealt and never reported with.
            announced: whether a dealer of masks announces sums; a number: so many sums may have
                the same card in them.
        """
        people = colluders_or_default(colluders, n)
        if dealer_epsilon is None:
            cap: float | None = min(checks.epsilon("epsilon", epsilon) + DEALER_ABOVE, 700.0)
        else:
            cap = None if dealer_epsilon == math.inf else dealer_epsilon
        return cls(n, epsilon, people, k, cap, frequency, lost, announced)

    @property
    def announcements(self) -> int:
        """In how many announced sums a card may be; 0 for a closed deck."""
        return int(self.announced)

    @property
    def budget(self) -> float:
        """ε that every report must keep; a cap below it binds reports too."""
        cap = self.dealer_epsilon
        return self.epsilon if cap is None else min(self.epsilon, cap)

    @property
    def reporters(self) -> float:
        """How many are expected to report."""
        return self.n * (1 - self.lost)

    def allows(self, mechanism: "Mechanism") -> bool:
        """Whether the mechanism that would run keeps what was asked."""
        cap = self.dealer_epsilon
        return mechanism.epsilon("cards", self.colluders) <= self.budget and (
            cap is None or mechanism.epsilon("dealer") <= cap
        )

    def expected_variance(self, mechanism: "Mechanism") -> float:
        """The criterion: variance of an estimated frequency, averaged over the values.

        At the given frequency; at the worst one of a given interval; or, with none given, for
        k = 2 on average over all frequencies, for larger domains in the worst population.
        """
        return self.variance_of(mechanism.moments)

    def variance_of(self, moments: Moments) -> float:
        """The criterion for these moments."""
        # Averaged over the values: with an uneven deck they differ a little.
        parts = map(np.asarray, moments.quadratic(self.reporters, 1))
        return self.criterion(*(p.item() if p.size == 1 else float(p.mean()) for p in parts))

    def criterion(self, constant: float, linear: float, square: float) -> float:
        """The criterion for a variance that is such a quadratic in the count of a value."""
        n = self.reporters
        a, b, c = constant, linear * n, square * n**2
        known = self.frequency
        if known is None and self.k > 2:
            known = 1 / self.k  # the worst population: variances are concave in the frequency
        if isinstance(known, tuple):
            low, high = known
            top = min(max(-b / (2 * c), low), high) if c < 0 else high
            return max(0.0, *(a + f * (b + f * c) for f in (low, high, top))) / n**2
        first, second = (1 / 2, 1 / 3) if known is None else (known, known**2)
        return max(0.0, a + first * b + second * c) / n**2

    def sampling_variance(self, sampling: Sampling) -> float:
        """Variance of the share among n people drawn at random; in the worst population.

        Unlike noise it is much smaller for rare answers: an average over frequencies would promise
        shares near 1/2 more than they have.
        """
        known = 1 / self.k if self.frequency is None else self.frequency
        if isinstance(known, tuple):
            known = min(max(0.5, known[0]), known[1])  # the worst: the nearest to 1/2
        return known * (1 - known) * sampling.second / self.reporters


def colluders_or_default(colluders: int | None, n: int) -> int:
    """The number that was given; otherwise 5, or everybody else where there are fewer."""
    if colluders is None:
        return max(0, min(COLLUDERS, checks.deck_size(n) - 1))
    return colluders


def least(candidates: Sequence[_Some], request: Request) -> _Some:
    """The candidate with the smallest expected variance; the first of equals."""
    return min(candidates, key=request.expected_variance)


def _check_announced(announced: object) -> bool | int:
    if isinstance(announced, bool):
        return announced
    allowed = f"True, False, or a number of sums in 1..{MOST_ANNOUNCEMENTS}"
    if not isinstance(announced, int) or not 1 <= announced <= MOST_ANNOUNCEMENTS:
        raise checks.refusal("announced", announced, allowed)
    return announced


def _check_frequency(frequency: object) -> Frequency:
    allowed = "a number in 0..1, an interval (low, high) in 0..1, or None"
    if frequency is None:
        return None
    if isinstance(frequency, tuple | list):
        if len(frequency) != 2:
            raise checks.refusal("frequency", frequency, allowed)
        low = checks.real("frequency", frequency[0], allowed, 0.0, 1.0)
        high = checks.real("frequency", frequency[1], allowed, 0.0, 1.0)
        if high < low:
            raise checks.refusal("frequency", frequency, allowed)
        return (low, high)
    return checks.real("frequency", frequency, allowed, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of mechanism with one kind of cards, and how to choose its parameters."""

    key: str  # what `plan(mechanism=...)` takes, such as "drr" or "oue-joint"
    label: str  # in tables and pictures
    cards: bool  # whether its mechanisms deal cards, unless plain RR is more accurate
    best: "Callable[[Request], Mechanism]"  # the most accurate that keeps the request
    # The same in the view "everything" at a δ; None where no law of that view is known.
    best_informed: "Callable[[Request, float], Mechanism] | None" = None
    pure: bool = False  # whether `best` keeps ε in that view without a δ
    encodes: bool = False  # for many values: compared and chosen automatically only for k > 2
    chosen: bool = True  # False: shown in comparisons, never planned with
    colour: str = "#444444"  # in pictures
    line: str = "-"  # in pictures, as matplotlib writes it
    caption: str = ""  # what happens, in a few words, beside its results
