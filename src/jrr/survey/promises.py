"""What one answer costs its contributor, view by view, as a survey promises it.

The collector of a real survey has all reports. Whatever is called "against the collector" is
therefore the view "everything", with its δ; the view "cards" is of somebody who has one report.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from jrr.mechanisms.informed_search import losses_of_everything

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

DELTA = 1e-6  # of the view "everything", unless a survey or a contributor says otherwise
EVERYTHING = "everything"
COST = "{cost}"  # the gap in a consent text, which whoever shows it fills


@lru_cache(maxsize=256)
def informed_epsilon(mechanism: "Mechanism", colluders: int, delta: float) -> float:
    """ε at δ against a collector that has all reports and knows everybody else's answer.

    Never too small. Without cards nobody else matters, and what one report loses holds outright;
    so does what masked reports lose.
    """
    if mechanism.pure:
        return mechanism.epsilon("cards", colluders if mechanism.deals else 0)
    law = losses_of_everything(mechanism, colluders)
    return mechanism.epsilon("dealer") if law is None else law.epsilon(delta)
