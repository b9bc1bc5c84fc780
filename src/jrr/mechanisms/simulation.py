"""Estimates of whole surveys, exact in distribution, without touching anybody (O(1) in n).

How many holders of a value get which card is hypergeometric; given that, counts of reports are
binomial or multinomial. Local hashing is simulated with ideal hash functions.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import Unary

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
    """Estimated counts of `runs` independent surveys, one row each.

    counts: how many of those with a card (for RR, of all) report each value; fewer than the
    deck has cards are drop-outs. cardless: how many report each value without a card.
    """
    if not isinstance(mechanism, Mechanism):
        raise checks.refusal("mechanism", mechanism, "a mechanism")
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
    support = _support(mechanism, counts, runs, rng, with_cards)
    return mechanism.moments.estimate(support.astype(np.float64), float(counts.sum()))


@singledispatch
def _support(
    mechanism: Mechanism, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool
) -> Ints:
    """Numbers of reports that support each value, one row per run."""
    raise ArgumentError(f"mechanism must be one that can be simulated, got {mechanism!r}")


@_support.register
def _(mechanism: RR, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool) -> Ints:
    truthful = rng.binomial(counts, mechanism.p, (runs, mechanism.k))
    return _spread_lies(counts, truthful, rng)


@_support.register
def _(mechanism: JRR, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool) -> Ints:
    return _spread_lies(counts, _truthful(mechanism, counts, runs, rng, with_cards), rng)


@_support.register
def _(mechanism: OLH, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool) -> Ints:
    inner = mechanism.inner
    if isinstance(inner, JRR):
        held = _truthful(inner, counts, runs, rng, with_cards)
    else:
        held = rng.binomial(counts, mechanism.p, (runs, mechanism.k))
    others = rng.binomial(counts.sum() - counts, 1 / mechanism.g, (runs, mechanism.k))
    return held + others


@_support.register
def _(mechanism: DRR, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool) -> Ints:
    # Who reports the truth, the card or an own draw does not depend on value or card, so those
    # who report their card are a random subset of the deck's holders.
    shares = [mechanism.truth, mechanism.dealt, mechanism.own]
    reported = rng.multinomial(np.broadcast_to(counts, (runs, mechanism.k)), shares)
    support: Ints = reported[:, :, 0]
    decoys = reported[:, :, 1].sum(axis=1)
    if with_cards:
        support = support + _drawn(np.asarray(mechanism.deck), decoys, rng)
    else:
        support = support + rng.multinomial(decoys, np.asarray(mechanism.deck) / mechanism.n)
    own = reported[:, :, 2].sum(axis=1)
    return support + rng.multinomial(own, np.full(mechanism.k, 1 / mechanism.k))


@_support.register
def _(
    mechanism: Unary, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool
) -> Ints:
    shape = (runs, mechanism.k)
    p, q, s = mechanism.p, mechanism.q, mechanism.s
    others = counts.sum() - counts
    if mechanism.n is None or not with_cards or not s:
        return rng.binomial(counts, p, shape) + rng.binomial(others, q, shape)
    # Every bit has a deck of its own: plus cards among holders, then among the others.
    half = mechanism.law.deck // 2
    plus = rng.hypergeometric(half, half, counts, shape)
    left_plus, left_minus = half - plus, half - (counts - plus)
    other_plus = _hypergeometric(left_plus, left_minus, np.broadcast_to(others, shape), rng)
    lean = s if mechanism.coupling == "dealt" else -s
    support: Ints = (
        rng.binomial(plus, _chance(p + s))
        + rng.binomial(counts - plus, _chance(p - s))
        + rng.binomial(other_plus, _chance(q + lean))
        + rng.binomial(others - other_plus, _chance(q - lean))
    )
    return support


def _truthful(
    mechanism: JRR, counts: Ints, runs: int, rng: np.random.Generator, with_cards: bool
) -> Ints:
    """How many holders of each value report truthfully."""
    p, s = mechanism.p, mechanism.s
    if not with_cards:
        return rng.binomial(counts, p, (runs, len(counts)))
    half = mechanism.signed // 2
    left = np.tile(np.array([half, half, mechanism.n - mechanism.signed]), (runs, 1))
    truthful = np.empty((runs, len(counts)), np.int64)
    for value, holders in enumerate(counts):
        cards = _drawn_from(left, np.full(runs, holders), rng)
        left -= cards
        chances = np.array([_chance(p + s), _chance(p - s), p])
        truthful[:, value] = rng.binomial(cards, chances).sum(axis=1)
    return truthful


def _spread_lies(counts: Ints, truthful: Ints, rng: np.random.Generator) -> Ints:
    """Truthful reports, and each liar's report at one of the k-1 other values."""
    k = len(counts)
    if k == 2:
        return truthful + (counts - truthful)[:, ::-1]
    support = truthful.copy()
    others = np.full(k - 1, 1 / (k - 1))
    for value in range(k):
        lies = rng.multinomial(counts[value] - truthful[:, value], others)
        support[:, :value] += lies[:, :value]
        support[:, value + 1 :] += lies[:, value:]
    return support


def _drawn(deck: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """How many cards of each kind `draws` cards of a shuffled deck are, one row per draw."""
    return _drawn_from(np.tile(deck, (len(draws), 1)), draws, rng)


def _drawn_from(decks: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """The same from a deck of its own per row: kind after kind, each hypergeometric."""
    taken = np.zeros_like(decks)
    rest = decks.sum(axis=1)
    wanted = draws.astype(np.int64)
    for kind in range(decks.shape[1]):
        rest = rest - decks[:, kind]
        taken[:, kind] = _hypergeometric(decks[:, kind], rest, wanted, rng)
        wanted = wanted - taken[:, kind]
    return taken


def _hypergeometric(good: Ints, bad: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """As numpy's, which wants at least one card in the deck."""
    empty = good + bad == 0
    drawn: Ints = rng.hypergeometric(good, np.where(empty, 1, bad), np.where(empty, 0, draws))
    return drawn


def _chance(probability: float) -> float:
    """A sum of probabilities, brought back from rounding errors."""
    return min(1.0, max(0.0, probability))


def _whole(argument: str, counts: ArrayLike, k: int) -> Ints:
    array: NDArray[Any] = np.asarray(counts)
    if array.shape != (k,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise checks.refusal(argument, counts, f"{k} whole numbers >= 0, one per value")
    if sum(map(int, array)) >= 1 << 62:
        raise checks.refusal(argument, counts, "people that 62 bits can count")
    return array.astype(np.int64)
