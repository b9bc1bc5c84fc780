"""What adversaries learn of a masked report (docs/theory.md, section on MRR).

The report is an own coin's answer plus a card. Whatever else is seen, that the coin's answer is
another one moves the card by one step, which changes the weight of what is seen by a factor within
e^-c..e^c. The coin then amplifies: the loss is that of the coin, seen through that factor. One
formula holds for every view but the dealer's, who knows the card and sees the coin bare.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_EXACT = 8  # settings that are computed with 60 digits
_FAR = 60.0  # c beyond which masks hide nothing that floating point shows
_CONTEXT = Context(prec=60, Emax=999_999, Emin=-999_999)


def masked_value(k: int, lie: Fraction, step: Fraction) -> float:
    """The loss of a coin that tells one of k values, behind masks.

    ε = ln[(p E + (k-1) q) / (p + q E + (k-2) q)], E = e^c for k = 2, where one number is sent, and
    E = e^2c for more, where two numbers change with the value.

    Args:
        k: values.
        lie: the chance of a lie; each other value has the same.
        step: c.

    Returns:
        ε, rounded up.
    """
    return seen_through(k, lie, step if k == 2 else 2 * step)


def seen_through(k: int, lie: Fraction, exponent: Fraction) -> float:
    """The loss of a coin for k values, of which only something noisy is seen.

    Where what is seen is at most e^exponent times as likely with one answer of the coin as with
    another: ε = ln[(p E + (k-1) q) / (p + q E + (k-2) q)], E = e^exponent.

    Args:
        k: values.
        lie: the chance of a lie; each other value has the same.
        exponent: the loss of what is seen, as of the coin's answer.

    Returns:
        ε, rounded up.
    """
    p, q = 1 - lie, lie / (k - 1)
    weight = _exp_up(exponent)
    high = _plus(_times(p, weight), (k - 1) * q)
    low = _plus(_times(q, weight), p + (k - 2) * q)
    return _log_up(high, low)


def seen_step(k: int, epsilon: float, own: float) -> float:
    """The exponent at which `seen_through` is ε, of a coin whose own loss is `own`; in floats.

    Infinite where the coin loses no more than ε anyway, 0 where no exponent above 0 is enough.
    """
    grown = math.exp(epsilon)
    truth = 1 / (1 + (k - 1) * math.exp(-own))
    lie = truth * math.exp(-own)
    below = truth - lie * grown
    if below <= 0:
        return math.inf
    weight = (grown * (truth + (k - 2) * lie) - (k - 1) * lie) / below
    return 0.0 if weight <= 1 else math.log(weight)


def masked_block(sizes: Sequence[int], lie: Fraction, step: Fraction) -> float:
    """The loss of a coin that tells the answers to several items together, behind masks.

    ε = ln[((p-q) Π E_j + q Π (E_j + k_j - 1)) / ((p-q) + q Π (E_j + k_j - 1))], p being the chance
    of all true answers and q of each other combination. Of an item with two answers one number is
    sent (E_j = e^c), of one with more two numbers change (E_j = e^2c).

    Args:
        sizes: possible answers of each item.
        lie: the chance of a lie; each other combination has the same.
        step: c.

    Returns:
        ε, rounded up.
    """
    others = math.prod(sizes) - 1
    p, q = 1 - lie, lie / others
    weights = [_exp_up(step if k == 2 else 2 * step) for k in sizes]
    farthest, spread = Decimal(1), Decimal(1)
    for k, weight in zip(sizes, weights, strict=True):
        farthest = _CONTEXT.multiply(farthest, weight)
        spread = _CONTEXT.multiply(spread, _plus(weight, k - 1))
    rest = _times(q, spread)
    return _log_up(_CONTEXT.add(_times(p - q, farthest), rest), _plus(rest, p - q))


def block_step(sizes: Sequence[int], epsilon: float, own: float) -> float:
    """The c at which `masked_block` is ε, of a coin whose own loss is `own`; in floats.

    Infinite where the coin loses no more than ε anyway, 0 where no c above 0 is enough.
    """
    if own <= epsilon:
        return math.inf
    others = math.prod(sizes) - 1
    lie = 1 / (math.exp(own) + others)
    gain = math.expm1(own) * lie
    moving = [1 if k == 2 else 2 for k in sizes]

    def loss(step: float) -> float:
        rest = lie * math.prod(
            1 + (k - 1) * math.exp(-many * step) for k, many in zip(sizes, moving, strict=True)
        )
        return math.log((gain + rest) / (gain * math.exp(-sum(moving) * step) + rest))

    return _rising_at(loss, epsilon)


@lru_cache(maxsize=256)
def masked_subset(k: int, size: int, truth: Fraction, step: Fraction) -> float:
    """The loss of subset selection behind masks, one for each of the k values.

    The set has `size` values, the true one with the chance `truth`. Weights of what is seen are
    products over the values, at their worst e^c or e^-c each: e^c for the true value, e^-c for the
    one it is compared with, and e^c for some of the others. Every number of those is tried.

    Returns:
        ε, rounded up.
    """
    rough = _subset_ratios(k, size, float(truth), float(step), tuple(range(k - 1)))
    weight = _exp_up(step)
    # Floats are wrong by less than 1e-11: what may be the worst is computed exactly, of very many
    # the first ones, to which the others come that near.
    most = float(rough.max())
    order = np.argsort(-rough)
    close = [int(raised) for raised in order if rough[raised] > most - 1e-7 * most - 1e-11]
    slack = 2e-11 if len(close) > _MOST_EXACT else 0.0
    return slack + max(
        _subset_loss(k, size, truth, weight, raised) for raised in close[:_MOST_EXACT]
    )


def subset_step(k: int, size: int, epsilon: float, own: float) -> float:
    """The c at which `masked_subset` is ε, of a coin whose own loss is `own`; in floats.

    Infinite where the coin loses no more than ε anyway, 0 where no c above 0 is enough.
    """
    if own <= epsilon:
        return math.inf
    truth = 1 / (1 + (k - size) / size * math.exp(-own))
    some = tuple(sorted(set(np.linspace(0, k - 2, 65).astype(int).tolist())))  # of many values

    def loss(step: float) -> float:
        return float(_subset_ratios(k, size, truth, step, some).max())

    return _rising_at(loss, epsilon)


def _subset_ratios(k: int, size: int, truth: float, step: float, raised: tuple[int, ...]) -> Floats:
    """Logarithm of the ratio for numbers of other values whose weight is e^c, in floats."""
    logs = []
    for chosen, (ways, exponents) in zip(
        (size - 2, size - 1, size), _ways_to_choose(k, size, raised), strict=True
    ):
        if chosen < 0:
            logs.append(np.full(len(raised), -np.inf))
            continue
        terms = ways + step * exponents
        most = terms.max(axis=1)
        most[most == -np.inf] = 0.0
        with np.errstate(divide="ignore"):  # where nothing can be chosen
            logs.append(most + np.log(np.exp(terms - most[:, None]).sum(axis=1)))
    both, one, none = logs
    with_truth = math.log(truth) - math.log(math.comb(k - 1, size - 1))
    without = math.log1p(-truth) - math.log(math.comb(k - 1, size))

    def seen(own: float) -> Any:
        """Of somebody whose value has the weight e^own, the other's being e^-own."""
        parts = (with_truth + own + one, with_truth + both, without + none, without - own + one)
        return np.logaddexp.reduce(parts)

    ratios: Floats = seen(step) - seen(-step)
    return ratios


@lru_cache(maxsize=64)
def _ways_to_choose(
    k: int, size: int, raised: tuple[int, ...]
) -> list[tuple[Floats, NDArray[np.int64]]]:
    """Sets of size - 2, size - 1 and size of the others, by how many of them are raised.

    A row for each number of raised values, a column for each number of them in the set: the
    logarithm of how many sets, and the exponent of e^c in their weight.
    """
    rows, among = np.array(raised)[:, None], np.arange(size + 1)[None, :]

    def log_comb(n: Any, m: Any) -> Any:
        inside = (m >= 0) & (m <= n)
        m = np.where(inside, m, 0)
        log_factorial = scipy.special.gammaln
        value = log_factorial(n + 1) - log_factorial(m + 1) - log_factorial(n - m + 1)
        return np.where(inside, value, -np.inf)

    return [
        (
            log_comb(rows, among) + log_comb(k - 2 - rows, chosen - among),
            2 * among - chosen,
        )
        for chosen in (size - 2, size - 1, size)
    ]


def _subset_loss(k: int, size: int, truth: Fraction, weight: Decimal, raised: int) -> float:
    """The same for one number of them, rounded up."""
    low = _CONTEXT.divide(Decimal(1), weight)

    def others(chosen: int) -> Decimal:
        total = Decimal(0)
        for among in range(max(0, chosen - (k - 2 - raised)), min(raised, chosen) + 1):
            ways = math.comb(raised, among) * math.comb(k - 2 - raised, chosen - among)
            power = _CONTEXT.power(weight, 2 * among - chosen)
            total = _CONTEXT.add(total, _CONTEXT.multiply(Decimal(ways), power))
        return total

    both, one, none = (others(size - left) for left in (2, 1, 0))
    held = truth / math.comb(k - 1, size - 1)
    other = (1 - truth) / math.comb(k - 1, size)

    def seen(own: Decimal, compared: Decimal) -> Decimal:
        total = _times(held, _CONTEXT.add(_CONTEXT.multiply(own, one), both))
        return _CONTEXT.add(
            total, _times(other, _CONTEXT.add(none, _CONTEXT.multiply(compared, one)))
        )

    return _log_up(seen(weight, low), seen(low, weight))


def _rising_at(loss: Callable[[float], float], epsilon: float) -> float:
    """Where a rising function comes to ε; infinite where it never does."""
    if not loss(_FAR) > epsilon:
        return math.inf
    # By its name in scipy, which loads it then: it takes longer to load than most plans to make.
    found = scipy.optimize.brentq(
        lambda step: loss(step) - epsilon, 0.0, _FAR, xtol=1e-15, rtol=1e-14
    )
    return float(found)


def masked_bits(lie: Fraction, step: Fraction) -> float:
    """The loss of a coin for every value (OUE: 1/2 where it is held), behind masks.

    Two bits change with the value; their factors multiply to the loss of one bit that lies with
    the chance `lie`.
    """
    return masked_value(2, lie, step)


def _exp_up(power: Fraction) -> Decimal:
    exponent = _CONTEXT.divide(Decimal(power.numerator), Decimal(power.denominator))
    return _CONTEXT.multiply(_CONTEXT.exp(exponent), Decimal("1") + Decimal(10) ** -50)


def _decimal(number: Fraction | int) -> Decimal:
    fraction = Fraction(number)
    return _CONTEXT.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def _times(a: Fraction, b: Decimal) -> Decimal:
    return _CONTEXT.multiply(_decimal(a), b)


def _plus(a: Decimal, b: Fraction | int) -> Decimal:
    return _CONTEXT.add(a, _decimal(b))


def _log_up(high: Decimal, low: Decimal) -> float:
    """ln(high / low), rounded up to a floating-point number."""
    if low == 0:
        return math.inf
    log = _CONTEXT.ln(_CONTEXT.divide(high, low))
    log = log + (abs(log) + 1) * Decimal(10) ** -45
    nearest = float(log)
    return max(0.0, nearest if Decimal(nearest) >= log else math.nextafter(nearest, math.inf))
