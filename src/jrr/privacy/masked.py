"""What adversaries learn of a masked report (docs/theory.md, section on MRR).

The report is an own coin's answer plus a card. Whatever else is seen, that the coin's answer is
another one moves the card by one step, which changes the weight of what is seen by a factor within
e^-c..e^c. The coin then amplifies: the loss is that of the coin, seen through that factor. One
formula holds for every view but the dealer's, who knows the card and sees the coin bare.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

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
