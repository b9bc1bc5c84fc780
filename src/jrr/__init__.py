"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from jrr._base.randomness import SecureRandom, SeededRandom
from jrr.errors import JrrError
from jrr.estimation import postprocess
from jrr.estimation.estimates import Difference, Estimate, difference
from jrr.estimation.tally import Tally
from jrr.mechanisms import DRR, JRR, OLH, OUE, RR, SUE, Mechanism, from_dict

if TYPE_CHECKING:
    from jrr.client.contributor import Contributor
    from jrr.mechanisms.simulation import simulate
    from jrr.planning.algorithm1 import algorithm1
    from jrr.planning.plans import Plan, plan, required_epsilon, required_n
    from jrr.privacy.shuffled import (
        amplified_epsilon,
        shuffled_delta,
        shuffled_epsilon,
        shuffled_rr,
    )

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

_LAZY = {  # name -> module; loaded when asked for: a contributor's device needs no planner
    "Contributor": "jrr.client.contributor",
    "Plan": "jrr.planning.plans",
    "algorithm1": "jrr.planning.algorithm1",
    "amplified_epsilon": "jrr.privacy.shuffled",
    "plan": "jrr.planning.plans",
    "required_epsilon": "jrr.planning.plans",
    "required_n": "jrr.planning.plans",
    "shuffled_delta": "jrr.privacy.shuffled",
    "shuffled_epsilon": "jrr.privacy.shuffled",
    "shuffled_rr": "jrr.privacy.shuffled",
    "simulate": "jrr.mechanisms.simulation",
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module 'jrr' has no attribute {name!r}")
    value = getattr(_import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
