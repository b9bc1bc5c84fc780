"""The coin that tells a number by a window of numbers: the piecewise mechanism in whole steps."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE, private_side, words_up
from jrr._base.wording import of_hundred
from jrr.estimation.masks import Masks
from jrr.estimation.moments import Moments
from jrr.estimation.own_noise import WindowNoise
from jrr.mechanisms.coins.interface import Coin, Ints, Strength
from jrr.privacy.windows import WindowWords, masked_window, window_chances, window_loss, window_step

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource

MOST_STEPS = 64
MOST_WIDTH = 128
_STEPS_TRIED = (2, 4, 8, 12, 16, 24)  # more than 24 gain less than 0.3%, but for strong coins:
_STEPS_OF_STRONG = (48, 64)  # 0.5% at a loss of 4, 3% at a loss of 6
_STRONG = 3.0
ROUNDING = 1 / 6  # mean of f(1-f) where numbers are anywhere between two steps, or two ends


@dataclass(frozen=True)
class Window(Coin):
    """A number x of 0..steps: one of 0..steps+width-1, those of x..x+width-1 more likely.

    What it says is x on average, but for a factor and a shift that everybody knows: the mean is
    estimated without bias. Its two values are the two ends.

    Args:
        steps: from the smallest number to the largest, at most 64.
        width: numbers of the window, at most 128.

    Example:
        >>> coin = Window(12, 4)
        >>> coin.largest, round(coin.truth_for(3.0), 4)  # the chance of a number of the window
        (15, 0.87)
    """

    steps: int = field()  # it has no default here
    width: int = field()
    name: ClassVar[str] = "window"
    k = 2  # the two ends

    def __post_init__(self) -> None:
        checks.integer("steps", self.steps, 1, MOST_STEPS)
        checks.integer("width", self.width, 1, MOST_WIDTH)

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        """None: shares have better ones, and numbers are planned by `jrr.plan_number`."""
        return []

    @classmethod
    def with_numbers(cls, k: int, numbers: tuple[int, ...]) -> "Window":
        """From its steps and width."""
        if len(numbers) != 2:
            raise checks.refusal("coin", ["window", *numbers], "['window', steps, width]")
        return cls(*numbers)

    @property
    def document(self) -> list[Any]:
        """Its name, steps and width."""
        return [self.name, self.steps, self.width]

    @property
    def largest(self) -> int:  # type: ignore[override]
        """The last number of the last window."""
        return self.steps + self.width - 1

    @property
    def words(self) -> int:
        """One."""
        return 1

    def support(self, sums: Any, n: Any) -> Any:
        """What n numbers lie above 0 and, for the lower end, below the largest."""
        return np.stack((n * self.largest - sums[..., 0], sums[..., 0]), axis=-1)

    # -- its strength ----------------------------------------------------------------------

    def truth_for(self, epsilon: float) -> float:
        """The largest chance of the window whose loss is ε, on the private side of rounding."""
        guess = self.width / (self.width + self.steps)
        p = private_side(
            self.width * window_chances(self.steps, self.width, epsilon)[0],
            guess,
            lambda p: self.loss(self.lie_words(p)) <= epsilon,
        )
        if not p > guess:
            raise checks.refusal("epsilon", epsilon, "large enough for the window to be likelier")
        return p

    def check_truth(self, argument: str, p: object) -> float:
        """A chance of the window, better than guessing."""
        guess = self.width / (self.width + self.steps)
        return checks.real(
            argument, p, f"above {guess:.6g} and at most 1", guess, 1.0, open_low=True
        )

    def lie_words(self, p: float) -> Strength:
        """Words for a number that is not of the window; each of them has as many."""
        return words_up(1 - Fraction(p), self.steps)

    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """Of each number of the window, and of each other one."""
        return Fraction(SCALE - lies, SCALE * self.width), Fraction(lies, SCALE * self.steps)

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """The same, as a loss ε allows."""
        return window_chances(self.steps, self.width, epsilon)

    def moments(self, p: float, q: float, gain: float, masks: Masks | None, **more: Any) -> Moments:
        """Reports count in steps; own noise is all that is added."""
        aimed = gain * self.width  # the chance that a number of the window is drawn on purpose
        made = Moments.same_for_all(
            p=1.0,
            q=0.0,
            gain=aimed * self.steps,
            base=(self.largest - aimed * self.steps) / 2,
            exclusive=True,
            masks=WindowNoise(self.steps, self.width, aimed, masks),
            **more,
        )
        return made if made.cardless is not None else replace(made, cardless=made)

    def rounding(self, own: float, between: float = ROUNDING) -> float:
        """What rounding to a step adds, less what numbers between the ends have less noise."""
        p, q = self.ideal_chances(own)
        return WindowNoise(self.steps, self.width, (p - q) * self.width).more(between)

    # -- its losses ------------------------------------------------------------------------

    def loss(self, lies: Strength) -> float:
        """A number of the window, by another one."""
        return window_loss(self.steps, self.width, lies)

    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """By the worst place at which report and sum of masks can meet."""
        return masked_window(self.steps, self.width, lies, step)

    def step_for(self, epsilon: float, own: float) -> float:
        """The inverse of `masked_loss`."""
        return window_step(self.steps, self.width, epsilon, own)

    # -- the device ------------------------------------------------------------------------

    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """First the words for numbers that are not of the window, then those of the window."""
        u, each = words[0] >> 1, WindowWords.of(self.steps, self.width, lies)
        if u >= lies:
            return [value + (u - lies) // each.told]
        other = u // each.other
        return [other if other < value else other + self.width]

    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people."""
        each = WindowWords.of(self.steps, self.width, lies)
        u = source.words(len(values)) >> np.uint64(1)
        other = (u // np.uint64(max(each.other, 1))).astype(np.int64)
        other += self.width * (other >= values)
        told = values + ((u - np.uint64(lies)) // np.uint64(each.told)).astype(np.int64)
        out[:] = np.where(u < np.uint64(lies), other, told)

    def instructions(self, p: float) -> str:
        """A number near it, or any other."""
        return (
            f"{of_hundred(p, start=True)} the device takes a whole number near yours, otherwise "
            "another one drawn at random"
        )

    # -- the collector ---------------------------------------------------------------------

    def can_say(self, numbers: NDArray[Any]) -> bool:
        """0 to its largest."""
        return bool(((numbers >= 0) & (numbers <= self.largest)).all())

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """Sums of the numbers of those at either end."""
        law = np.full((2, self.largest + 1), chances[1])
        law[0, : self.width] = law[1, self.steps :] = chances[0]
        law /= law.sum(axis=1, keepdims=True)
        said = sum(rng.multinomial(int(n), one, runs) for n, one in zip(counts, law, strict=True))
        sums = (said @ np.arange(self.largest + 1)).astype(np.int64)
        support: Ints = self.support(sums[:, None], int(counts.sum()))
        return support


def windows_tried(own: float, between: float = ROUNDING) -> list[Window]:
    """The windows that plans for numbers compare: of so many steps, the one that errs least.

    Args:
        own: the privacy loss of the coin.
        between: the mean of t(1-t), numbers t being in 0..1.
    """

    def error(coin: Window) -> float:
        p, q = coin.ideal_chances(own)
        noise = WindowNoise(coin.steps, coin.width, (p - q) * coin.width)
        return noise.own / (noise.aimed * noise.steps) ** 2 + noise.more(between)

    more = _STEPS_OF_STRONG if own > _STRONG else ()
    return [
        min((Window(steps, width) for width in range(1, 2 * steps + 1)), key=error)
        for steps in (*_STEPS_TRIED, *more)
    ]
