"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

from typing import TYPE_CHECKING, Any

from jrr import postprocess
from jrr.algorithm1 import algorithm1
from jrr.errors import JrrError
from jrr.estimate import Difference, Estimate, difference
from jrr.mechanisms import DRR, JRR, OLH, OUE, RR, SUE, Mechanism, from_dict
from jrr.plan import Plan, plan, required_epsilon, required_n
from jrr.randomness import SecureRandom, SeededRandom
from jrr.shuffling import amplified_epsilon, shuffled_delta, shuffled_epsilon, shuffled_rr
from jrr.simulate import simulate
from jrr.tally import Tally

if TYPE_CHECKING:
    from jrr.services.client import Contributor

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
        from jrr.services.client import Contributor

        return Contributor
    raise AttributeError(f"module 'jrr' has no attribute {name!r}")
