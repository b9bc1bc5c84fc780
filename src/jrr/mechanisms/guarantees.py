"""The ε of every view of a mechanism: what a plan shows and a campaign promises."""

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.joint import JRR
from jrr.privacy.loss import VIEWS


def guarantees(mechanism: Mechanism, colluders: int) -> dict[str, float]:
    """View -> ε for every view that has a meaning for the mechanism."""
    paper = isinstance(mechanism, JRR) and mechanism.k == 2
    return {view: mechanism.epsilon(view, colluders) for view in VIEWS if view != "paper" or paper}
