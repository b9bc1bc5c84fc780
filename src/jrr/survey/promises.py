"""What one answer costs its contributor, view by view, as a campaign promises it.

The collector of a real survey has all reports. Whatever is called "against the collector" is
therefore the view "everything", with its δ; the view "cards" is of somebody who has one report.
"""

from functools import lru_cache

from jrr.mechanisms.base import Mechanism
from jrr.privacy.informed.distribution import Losses

DELTA = 1e-6  # of the view "everything", unless a campaign or a contributor says otherwise
EVERYTHING = "everything"


@lru_cache(maxsize=8)
def law_of(mechanism: Mechanism, colluders: int) -> Losses | None:
    """The law of the loss in the view "everything", kept: large decks take seconds."""
    return mechanism.losses(colluders)


@lru_cache(maxsize=256)
def informed_epsilon(mechanism: Mechanism, colluders: int, delta: float) -> float:
    """ε at δ against a collector that has all reports and knows everybody else's answer.

    Never too small. Without cards nobody else matters, and what one report loses holds outright.
    """
    if not mechanism.deals:
        return mechanism.epsilon("report")
    law = law_of(mechanism, colluders)
    return mechanism.epsilon("dealer") if law is None else law.epsilon(delta)
