"""What several rounds tell of a response that a device remembers (docs/theory-uses.md, section 2).

The device draws, once for each value, a permanent response M[v] by randomized response. In every
round it perturbs M[of its value] afresh. What is seen of a round is then at most e^fresh times as
likely with one permanent response as with another.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jrr.privacy import loss
from jrr.privacy.masked import seen_through

_UP = 1 + 1e-12  # more than the rounding errors of a few logarithms
MOST_ROUNDS = 1000  # for which the loss of whole histories is counted out


def same_value(k: int, lie_words: int, lie: Fraction, fresh: float, rounds: int) -> float:
    """The loss of a value that is the same in all rounds; never above the permanent loss.

    Args:
        k: values.
        lie_words: words of the permanent response that make a lie.
        lie: their share of all words.
        fresh: the loss of one round, as of the permanent response.
        rounds: how many.

    Returns:
        ε, exact where a round attains its loss, otherwise an upper bound.
    """
    permanent = loss.independent(k, lie_words)
    if math.isinf(fresh):
        return permanent
    return min(permanent, seen_through(k, lie, rounds * Fraction(fresh)))


def same_rounds(losses: list[float], distinct: int) -> float:
    """The loss of at most so many values, where it is known which rounds have the same value.

    Permanent responses of different values are independent, so their losses add up; the rounds
    may be split among the values in any way (Theorem L2).

    Args:
        losses: of one value in 1, 2, ... rounds.
        distinct: how many different values, at most.
    """
    one = np.array([0.0, *losses])
    best = one
    for _ in range(1, min(distinct, len(losses))):
        best = np.array([np.max(best[: t + 1] + one[t::-1]) for t in range(len(one))])
    return float(best[-1]) * _UP if distinct > 1 else float(one[-1])


def different_rounds(fresh: float, rounds: int, distinct: int, renamed: float) -> float:
    """A bound of the loss between any two histories of at most so many values each.

    The values of one history can be renamed so that it has the same value as the other one in at
    least rounds/distinct of the rounds. Renaming costs what `same_rounds` says, every round in
    which the two still differ the loss of a round (Theorem L3).

    Args:
        fresh: the loss of one round, as of the permanent response.
        rounds: how many.
        distinct: how many different values a history has, at most.
        renamed: the loss of `same_rounds`.
    """
    differ = rounds - -(-rounds // distinct)
    if differ == 0:
        return renamed
    return min(rounds * fresh, differ * fresh + renamed) * _UP


def any_history(k: int, lie: Fraction, fresh: float, rounds: int, renamed: float) -> float:
    """The loss of everything: which values were held, whether and when they changed.

    For two values it is counted out: what is seen of a round speaks for one of the two permanent
    responses, in the worst case by the whole factor, and a history matters only by how many of
    the rounds that speak for each it gives to each value. For more values, and very many rounds,
    it is the bound of `different_rounds`.

    Args:
        k: values.
        lie: the chance that a permanent response is not the value.
        fresh: the loss of one round, as of the permanent response.
        rounds: how many.
        renamed: the loss of `same_rounds` for as many values as rounds can have.
    """
    bound = different_rounds(fresh, rounds, min(k, rounds), renamed)
    if k > 2 or rounds > MOST_ROUNDS or math.isinf(bound):
        return bound
    truth, false = math.log(1 - lie), math.log(lie) if lie else -math.inf
    # weighed[i, j]: ln Σ_c Pr[M = c] e^(-fresh · rounds that speak against c), for a value with i
    # rounds that speak for the value itself and j that speak against it.
    steps = fresh * np.arange(rounds + 1)
    weighed = np.logaddexp(truth - steps[None, :], false - steps[:, None])
    found = 0.0
    for ones in range(rounds // 2 + 1):  # rounds that speak for 1; the other half is the mirror
        zeros = rounds - ones
        of_one = weighed[: ones + 1, : zeros + 1]  # [i, j]: as many rounds are given to value 1
        of_zero = weighed[: zeros + 1, : ones + 1][::-1, ::-1].T  # the others to value 0
        both: NDArray[np.float64] = of_one + of_zero
        found = max(found, float(both.max() - both.min()))
    return min(bound, found * _UP)
