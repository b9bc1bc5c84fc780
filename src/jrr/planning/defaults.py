"""What is assumed of a survey unless somebody says otherwise: one set for every way in.

The library, the command line and surveys ask here, so they answer alike.
"""

import math

from jrr._base import checks

COLLUDERS = 5  # contributors who show the adversary their cards
DEALER_ABOVE = 2.0  # a dealer that colludes with the collector may learn ε + 2 and no more
LEAST_GAIN = 0.05  # cards that lower the variance by less are not worth a dealer
LOST = 0.01  # the share of cards that are dealt and never reported with
MAX_BYTES = 1_000  # of a report in an automatic choice
MAX_DEAL_SECONDS = 60.0  # for one deck in an automatic choice,
MAX_CARD_SECONDS = 20e-6  # or so long for each card, where that is more
MOST_INFORMED = (
    2.0  # times ε: what a collector that knows everything else may learn, as far as known
)


def colluders_or_default(colluders: int | None, n: int) -> int:
    """The number that was given; otherwise 5, or everybody else where there are fewer."""
    if colluders is None:
        return max(0, min(COLLUDERS, checks.deck_size(n) - 1))
    return colluders


def cap_or_default(dealer_epsilon: float | None, epsilon: float) -> float | None:
    """The cap on the dealer: ε + 2 unless given; infinity gives it up, which is None below."""
    if dealer_epsilon is None:
        return min(checks.epsilon("epsilon", epsilon) + DEALER_ABOVE, 700.0)
    return None if dealer_epsilon == math.inf else dealer_epsilon
