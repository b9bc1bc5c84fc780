"""Contrasts: weighted sums of estimated counts, and their law where the true counts are given.

A share is one contrast, its parts being those with and those without a card; a difference of two
shares is another. Everything that an interval needs to know of the noise is here: the first
three cumulants, and how far one report moves the contrast (docs/theory-jrr.md, Lemma E).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jrr.estimation.masks import Known
    from jrr.estimation.moments import Moments

Floats = NDArray[np.float64]

_LUMPS = 10.0  # how soon several heavy reports astray make a law smooth; by the coverage grid


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """That the contributors are a random sample, and of how many.

    Attributes:
        fraction: contributors by people in the population; 0 for a population without end.
        size: people in the population; math.inf for one without end.
        left: what share of the variance between people is left where weights bring them to known
            margins: one for all values, or one for each.
        asked: what share of the people who answered were asked, drawn whatever they answer.
        of_respondents: whether the population is those who answered, of whom some were asked.
    """

    fraction: float = 0.0
    size: float = math.inf
    left: Floats | float = 1.0
    asked: float = 1.0
    of_respondents: bool = False

    @property
    def second(self) -> float:
        """What drawing without replacement leaves of the variance."""
        rest = 1 - self.fraction
        return rest if math.isinf(self.size) else rest * self.size / (self.size - 1)

    @property
    def third(self) -> float:
        """What it leaves of the third cumulant."""
        left = (1 - self.fraction) * (1 - 2 * self.fraction)
        if math.isinf(self.size) or self.size < 3:
            return left
        return left * self.size**2 / ((self.size - 1) * (self.size - 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Component:
    """Contributors of one kind (with a card, without, of one wave) in a contrast.

    Everybody weighs `weight` together, the squares of their weights add up to `squares`, the
    cubes to `cubes`; nobody weighs more than `heaviest`. Estimated are the weight of the holders
    of v, `counts`, and its squares.
    """

    moments: "Moments"
    n: int
    decks: int
    weight: float
    squares: float
    cubes: float
    heaviest: float
    counts: Floats
    held_squares: Floats
    factor: float  # by which the estimated count enters the contrast
    sampling: Sampling | None = None
    known: "Known | None" = None  # what the collector was told of masks
    # What its own reports allow, by error: kept because groups are compared with many others.
    own_intervals: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def plausible(self) -> Floats:
        """The estimated counts brought into what is possible."""
        within: Floats = np.clip(self.counts, 0.0, self.weight)
        return within

    @property
    def weighted(self) -> bool:
        """Whether some weigh more than others."""
        return self.squares * self.n > self.weight**2 * (1 + 1e-9)

    @property
    def plausible_squares(self) -> Floats:
        """The estimated squares of the holders' weights, brought into what is possible."""
        within: Floats = np.clip(self.held_squares, 0.0, self.squares)
        return within

    def squares_within(self, held: Floats, z: float) -> tuple[Floats, Floats]:
        """The least and the most that the squares of the holders' weights may add up to.

        Where holders weigh `held` in all: what weights of these sums allow, within z standard
        errors of the estimate.
        """
        m = self.moments
        noise = np.maximum(m.p * (1 - m.p), m.q * (1 - m.q)) * self.heaviest * self.cubes
        error = z * np.sqrt(noise) / m.gain
        least = self.squares - self._most_squares(self.weight - held)
        most = self._most_squares(held)
        low = np.maximum(least, np.minimum(self.held_squares - error, most))
        high = np.minimum(most, np.maximum(self.held_squares + error, least))
        return np.minimum(low, high), np.maximum(low, high)

    def _most_squares(self, held: Floats) -> Floats:
        """The most that the squares of weights can be which add up to `held`.

        Not more than the heaviest allows, nor, by the inequality of Cauchy and Schwarz, than
        the squared distances from the mean weight do: y <= mean·x + sqrt(y · distances).
        """
        mean = self.weight / self.n
        distances = max(0.0, self.squares - self.weight * mean)
        root = (math.sqrt(distances) + np.sqrt(distances + 4 * mean * held)) / 2
        most: Floats = np.minimum(np.minimum(root**2, self.heaviest * held), self.squares)
        return most


class Cumulants(NamedTuple):
    """What is known of a law: variance, third cumulant, and the distance of its values."""

    variance: Floats
    third: Floats
    step: Floats  # how far one report moves the contrast; a heavy one, where weights differ
    grain: Floats  # how far apart its values lie


class _Sums(NamedTuple):
    """Sums over the people of a part; c is what a report of v adds to the contrast, d the lean."""

    variance: Floats  # Σ c² m(1-m)
    third: Floats  # Σ c³ m(1-m)(1-2m)
    leans: Floats  # Σ c d
    leans2: Floats  # Σ c² d²
    leans3: Floats  # Σ c³ d³
    mixed: Floats  # Σ c² (1-2m) d
    mixed3: Floats  # Σ c³ (1-2m) d²


class Held(NamedTuple):
    """Weight of the holders of v in one part (in a sample: its expectation), and its squares."""

    weight: Floats
    squares: Floats


def cumulants(
    pools: Sequence[Sequence[Component]], held: Sequence[Sequence[Held]], *, masks: bool = True
) -> Cumulants:
    """Cumulants of a contrast where the holders of v are given.

    Args:
        pools: parts by the cards they draw: those of one pool share their decks.
        held: the holders of v in each part.
        masks: whether the noise that masks leave counts.
    """
    laws = [_pool(parts, amounts, masks) for parts, amounts in zip(pools, held, strict=True)]
    if len(laws) == 1:
        return laws[0]
    variance = sum((law.variance for law in laws), np.zeros(1))
    third = sum((law.third for law in laws), np.zeros(1))
    # Those steps weigh most that most of the noise comes in: so the fourth cumulant is right.
    step, grain = (
        _root_mean_square([law[at] for law in laws], [law.variance for law in laws], variance)
        for at in (2, 3)
    )
    return Cumulants(variance, third, step, grain)


def _root_mean_square(sizes: Sequence[Floats], weights: Sequence[Floats], total: Floats) -> Floats:
    squares = sum((s**2 * w for s, w in zip(sizes, weights, strict=True)), np.zeros(1))
    with np.errstate(all="ignore"):  # where nothing is random any step will do
        mean: Floats = np.where(
            total > 0, np.sqrt(squares / total), np.max(np.broadcast_arrays(*sizes), axis=0)
        )
    return mean


def _pool(parts: Sequence[Component], held: Sequence[Held], masks: bool) -> Cumulants:
    """The same of parts that share their decks."""
    sums = [_sums(part, amount) for part, amount in zip(parts, held, strict=True)]
    total = _Sums(*(sum(column, np.zeros(1)) for column in zip(*sums, strict=True)))
    moments, decks = parts[0].moments, max(part.decks for part in parts)
    tied, tied3 = moments.pair_weight(decks), moments.triple_weight(decks)
    leans, leans2, leans3 = total.leans, total.leans2, total.leans3
    by_cards = tied * (leans**2 - leans2)
    variance = np.maximum(total.variance - by_cards, 0.0)
    if masks:
        variance = variance + masked_variance(parts)
    third = (
        total.third
        - 3 * tied * (total.mixed * leans - total.mixed3)
        + tied3 * (leans**3 - 3 * leans * leans2 + 2 * leans3)
    )
    doubled = 1 + _pairing(parts, held) * _share(leans2 - by_cards, variance)
    moved = [abs(part.factor) / part.moments.gain for part in parts]  # by a report of weight 1
    weights = (
        [part.heaviest for part in parts],
        [math.sqrt(part.heaviest * part.cubes / part.squares) for part in parts],
        [part.squares / part.weight for part in parts],
    )
    largest, heavy, usual = (
        doubled * np.max([size * one for size, one in zip(sizes, moved, strict=True)], axis=0)
        for sizes in weights
    )
    # Heavy steps make the fourth cumulant at least what it is. Where hardly any heavy report goes
    # astray that is not enough: what counts is the largest one, and values lie that far apart.
    rare = np.exp(-_LUMPS * variance / largest**2)
    step = heavy + (largest - heavy) * rare
    grain = usual + (step - usual) * rare
    for part, amount in zip(parts, held, strict=True):
        if part.sampling is not None:
            more, more3 = _sampled(part, part.sampling, amount.weight, leans, tied)
            variance, third = variance + more, third + more3
    return Cumulants(np.maximum(variance, 0.0), third, step, grain)


def masked_variance(parts: Sequence[Component]) -> Floats:
    """What masks add to the variance of parts that share their decks."""
    masks = parts[0].moments.masks
    if masks is None:
        return np.zeros(1)
    sums = [
        masks.part(part.factor / part.moments.gain, part.weight, part.squares, part.known)
        for part in parts
    ]
    return masks.variance(sums, max(part.decks for part in parts))


def _sums(part: Component, holders: Held) -> _Sums:
    m = part.moments
    p, q, d1, d0 = m.p, m.q, m.lean_holder, m.lean_other
    one = part.factor / m.gain
    held, squares = holders
    cubes = squares * (part.cubes / part.squares)  # as unequal as everybody's
    rest, rest2, rest3 = part.weight - held, part.squares - squares, part.cubes - cubes
    v1, v0 = p * (1 - p), q * (1 - q)
    return _Sums(
        variance=one**2 * (squares * v1 + rest2 * v0),
        third=one**3 * (cubes * v1 * (1 - 2 * p) + rest3 * v0 * (1 - 2 * q)),
        leans=one * (held * d1 + rest * d0),
        leans2=one**2 * (squares * d1**2 + rest2 * d0**2),
        leans3=one**3 * (cubes * d1**3 + rest3 * d0**3),
        mixed=one**2 * (squares * (1 - 2 * p) * d1 + rest2 * (1 - 2 * q) * d0),
        mixed3=one**3 * (cubes * (1 - 2 * p) * d1**2 + rest3 * (1 - 2 * q) * d0**2),
    )


def _pairing(parts: Sequence[Component], held: Sequence[Held]) -> Floats:
    """How nearly reports come in pairs: 1 where two people who swap cards both change theirs.

    Cards that move some people's reports up and others' down in the contrast, and all but decide
    what is reported, make it move in steps of two reports: holders and others by JRR, or the two
    groups of a difference. One person who decides alone undoes that.
    """
    leans = [
        part.factor * lean
        for part in parts
        for lean in (part.moments.lean_holder, part.moments.lean_other)
    ]
    opposed = (np.max(leans, axis=0) > 0) & (np.min(leans, axis=0) < 0)
    if not opposed.any():
        return np.zeros(1)
    logarithm = np.zeros(1)
    for part, amount in zip(parts, held, strict=True):
        m = part.moments
        up, down = m.card_values()
        share_up = -down / (up - down)
        for mean, lean, people in (
            (m.p, m.lean_holder, amount.weight / part.weight * part.n),
            (m.q, m.lean_other, (1 - amount.weight / part.weight) * part.n),
        ):
            # How surely people with either card report one thing; by one card yes, by one no.
            sure_up, sure_down = 1 - 2 * (mean + lean * up), 1 - 2 * (mean + lean * down)
            sure = np.where(sure_up * sure_down < 0, np.abs([sure_up, sure_down]), 0.0)
            by_card = np.log(np.clip(sure, 1e-300, 1.0))
            logarithm = logarithm + people * (share_up * by_card[0] + (1 - share_up) * by_card[1])
    paired: Floats = np.where(opposed, np.exp(logarithm), 0.0)
    return paired


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(all="ignore"):
        share: Floats = np.where(whole > 0, np.clip(part / whole, 0.0, 1.0), 0.0)
    return share


def _sampled(
    part: Component, sampling: Sampling, expected: Floats, leans: Floats, tied: float
) -> tuple[Floats, Floats]:
    """What drawing the contributors adds to variance and third cumulant (total cumulance)."""
    m = part.moments
    share = np.clip(expected / part.weight, 0.0, 1.0)
    drawn = share * (1 - share) * sampling.second * sampling.left
    one = part.factor / m.gain
    apart = m.lean_holder - m.lean_other
    linear = m.p * (1 - m.p) - m.q * (1 - m.q) + tied * (m.lean_holder**2 - m.lean_other**2)
    of_people = part.factor**2 * part.squares * drawn
    curved = -tied * one**2 * apart**2 * part.squares * drawn
    together = (
        part.factor
        * drawn
        * (one**2 * linear * part.cubes - 2 * tied * leans * one * apart * part.squares)
    )
    third = part.factor**3 * part.cubes * share * (1 - share) * (1 - 2 * share) * sampling.third
    return of_people + curved, third + 3 * together
