"""Estimates of whole surveys, exact in distribution, without touching anybody (O(1) in n).

How many holders of a value get which card is hypergeometric; given that, counts of reports are
binomial or multinomial. Local hashing is simulated with ideal hash functions.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism, Rng, checked_mechanism

Ints = NDArray[np.int64]
MOST = 10**9  # cards in a deck that numpy's hypergeometric law can draw from


def simulate(
    mechanism: Mechanism,
    counts: ArrayLike,
    runs: int,
    rng: Rng = None,
    *,
    cardless: ArrayLike | None = None,
) -> Floats:
    """Estimated counts of `runs` independent surveys, exact in distribution.

    Args:
        mechanism: what the surveys are run with.
        counts: how many of those with a card (for RR, of all) hold each value; fewer than the
            deck has cards are drop-outs.
        runs: how many surveys.
        rng: where randomness comes from; None: keyed by the system's cryptographic randomness.
        cardless: how many hold each value and answer without a card.

    Returns:
        An array of estimated counts, one row per survey and one column per value.

    Raises:
        ArgumentError: for counts that are none, or more people than cards.

    Example:
        >>> import jrr
        >>> jrr.simulate(jrr.RR(p=1.0), [3, 7], runs=2).tolist()
        [[3.0, 7.0], [3.0, 7.0]]
    """
    checked_mechanism(mechanism)
    true = _whole("counts", counts, mechanism.k)
    runs = checks.integer("runs", runs, 1)
    mechanism.moments.check_total("counts", float(true.sum()), 1)
    deck = mechanism.moments.deck
    if deck is not None and deck >= MOST:
        raise checks.refusal("mechanism", mechanism, f"of decks below {MOST:,} cards")
    generator = as_generator(rng)
    estimates = _estimated(mechanism, true, runs, generator, with_cards=True)
    if cardless is not None:
        late = _whole("cardless", cardless, mechanism.k)
        estimates += _estimated(mechanism, late, runs, generator, with_cards=False)
    elif not true.sum():
        raise checks.refusal("counts", counts, "above 0 somewhere")
    return estimates


def as_generator(rng: Rng) -> np.random.Generator:
    """A numpy generator; from other sources it is keyed by 256 of their bits."""
    if isinstance(rng, np.random.Generator):
        return rng
    key = [int(word) for word in randomness.source(rng).words(4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


def _estimated(
    mechanism: Mechanism, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
) -> Floats:
    support = mechanism.simulated_support(counts, runs, rng, with_cards=with_cards)
    return mechanism.moments.estimate(support.astype(np.float64), float(counts.sum()))


def _whole(argument: str, counts: ArrayLike, k: int) -> Ints:
    array: NDArray[Any] = np.asarray(counts)
    if array.shape != (k,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise checks.refusal(argument, counts, f"{k} whole numbers >= 0, one per value")
    if sum(map(int, array)) >= 1 << 62:
        raise checks.refusal(argument, counts, "people that 62 bits can count")
    return array.astype(np.int64)
