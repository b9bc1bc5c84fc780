"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

from typing import TYPE_CHECKING, Any

from jrr._base.randomness import SecureRandom, SeededRandom
from jrr.errors import JrrError
from jrr.estimation import postprocess
from jrr.estimation.differences import Difference, difference
from jrr.estimation.estimates import Estimate
from jrr.estimation.tally import Tally
from jrr.mechanisms import DRR, JRR, OLH, OUE, RR, SUE, Mechanism, from_dict
from jrr.mechanisms.simulation import simulate
from jrr.planning.algorithm1 import algorithm1
from jrr.planning.plans import Plan, plan, required_epsilon, required_n
from jrr.privacy.shuffled import amplified_epsilon, shuffled_delta, shuffled_epsilon, shuffled_rr

if TYPE_CHECKING:
    from jrr.client.contributor import Contributor

__all__ = [
    "DRR",
    "JRR",
    "OLH",
    "OUE",
    "RR",
    "SUE",
    "Contributor",
    "Difference",
    "Estimate",
    "JrrError",
    "Mechanism",
    "Plan",
    "SecureRandom",
    "SeededRandom",
    "Tally",
    "algorithm1",
    "amplified_epsilon",
    "difference",
    "from_dict",
    "plan",
    "postprocess",
    "required_epsilon",
    "required_n",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_rr",
    "simulate",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The client is loaded when it is asked for: planning needs no network."""
    if name == "Contributor":
        from jrr.client.contributor import Contributor

        return Contributor
    raise AttributeError(f"module 'jrr' has no attribute {name!r}")
