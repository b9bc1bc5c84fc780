"""What masked reports of several waves tell together where the own coin is tossed once for all.

In every wave the report is the coin's answer plus a fresh card. A coin that is remembered is tossed
once for each question and answer: who answers the same again sends the same coin's answer behind
another card. That keeps dealers and collector together from averaging coins out over waves. But it
shows something that fresh coins do not: whether the answer has changed.

Whatever is seen in a wave changes the weight of the coin's two answers by a factor within e^-c..e^c
and attains both ends. A ratio of sums of products of such weights is largest at the ends, so that
trying both in every wave finds the exact loss.
"""

import itertools
import math

MOST_WAVES = 8  # 4^waves cases are tried


def remembered_loss(own: float, step: float, waves: int) -> float:
    """The loss of all waves together, for yes or no and a coin that is tossed once per answer.

    The largest, over all pairs of answers to all waves: those that never changed, always changed,
    and all between.

    Args:
        own: the loss of the coin by itself.
        step: c, by which the weight of what is seen changes where a card is one more or less.
        waves: how often the question is asked.

    Returns:
        ε, rounded up.

    Example:
        >>> remembered_loss(3.0, 1.13, 2) <= 2 * 1.01  # as fresh coins
        True
        >>> remembered_loss(0.15, 0.69, 2) > 1.6 * 0.1  # more than 0.05 twice
        True
    """
    if waves > MOST_WAVES:
        return math.inf
    truth = math.exp(own) / (1 + math.exp(own))
    less = math.exp(-step)
    chances = ((truth, 1 - truth), (1 - truth, truth))  # answer -> of the coin's answers 0 and 1
    worst = 0.0
    for seen in itertools.product(((1.0, less), (less, 1.0)), repeat=waves):
        weights = [
            math.prod(
                sum(
                    chances[answer][coin]
                    * math.prod(seen[at][coin] for at in range(waves) if told[at] == answer)
                    for coin in (0, 1)
                )
                for answer in (0, 1)
            )
            for told in itertools.product((0, 1), repeat=waves)
        ]
        worst = max(worst, math.log(max(weights) / min(weights)))
    return worst * (1 + 1e-12)  # above what rounding may have taken off
