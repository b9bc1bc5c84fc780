"""What one answer costs its contributor, view by view, as a survey promises it.

The collector of a real survey has all reports. Whatever is called "against the collector" is
therefore the view "everything", with its δ; the view "cards" is of somebody who has one report.
"""

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from jrr.mechanisms.informed_law import losses_of_everything

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

DELTA = 1e-6  # of the view "everything", unless a survey or a contributor says otherwise
EVERYTHING = "everything"
# As `show_guarantee` writes it, and the catalogue of texts in other languages.
_FIGURE = re.compile(
    r"ε (?:= )?(unbounded|unbegrenzt|\d+(?:[.,]\d+)?)(?: (?:at|bei) δ = (\d[\d.,e-]*\d|\d))?"
)
_ROUNDING = 1.01  # what is shown may be so many times what holds


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


def _number(shown: str) -> float:
    return float(shown.replace(",", "."))


def tells_cost(text: str, epsilon: float, delta: float = 0.0) -> bool:
    """Whether a text that names an ε names this one among others; true of one that names none.

    Args:
        text: For contributors.
        epsilon: What an answer costs.
        delta: The δ at which it does.

    Example:
        >>> tells_cost("It costs ε = 0.5.", 0.4999), tells_cost("It costs ε = 0.5.", 0.6)
        (True, False)
    """
    named = [
        (math.inf if shown.startswith("unb") else _number(shown), _number(at or "0"))
        for shown, at in _FIGURE.findall(text)
    ]
    if math.isinf(epsilon):
        return not named or any(math.isinf(shown) for shown, _ in named)
    at_delta = [shown for shown, at in named if math.isclose(at, delta, rel_tol=1e-4)]
    return not named or any(epsilon <= shown <= _ROUNDING * epsilon for shown in at_delta)
