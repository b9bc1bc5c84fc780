"""What is assumed of a survey unless somebody says otherwise: one set for every way in.

The library, the command line and surveys ask here, so they answer alike.
"""

from jrr.mechanisms.request import COLLUDERS, DEALER_ABOVE, LOST, colluders_or_default

__all__ = [
    "COLLUDERS",
    "DEALER_ABOVE",
    "LEAST_GAIN",
    "LOST",
    "MAX_BYTES",
    "MAX_CARD_SECONDS",
    "MAX_DEAL_SECONDS",
    "MOST_INFORMED",
    "colluders_or_default",
]

LEAST_GAIN = 0.05  # cards that lower the variance by less are not worth a dealer
MAX_BYTES = 1_000  # of a report in an automatic choice
MAX_DEAL_SECONDS = 60.0  # for one deck in an automatic choice,
MAX_CARD_SECONDS = 20e-6  # or so long for each card, where that is more
# Times ε: what a collector that knows everything else may learn, as far as known.
MOST_INFORMED = 2.0
