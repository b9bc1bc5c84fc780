"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from jrr._base.randomness import SecureRandom, SeededRandom
from jrr.errors import JrrError
from jrr.estimation import postprocess
from jrr.estimation.differences import Difference, difference
from jrr.estimation.estimates import Estimate
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.registry import from_dict, from_json

if TYPE_CHECKING:
    from jrr.client.contributor import Contributor
    from jrr.mechanisms.dealt import DRR
    from jrr.mechanisms.hashed import OLH
    from jrr.mechanisms.joint import JRR
    from jrr.mechanisms.rr import RR
    from jrr.mechanisms.simulation import simulate
    from jrr.mechanisms.subsets import SS
    from jrr.mechanisms.unary import OUE, SUE
    from jrr.planning.algorithm1 import algorithm1
    from jrr.planning.plans import Plan, plan
    from jrr.planning.required import required_epsilon, required_n
    from jrr.planning.shuffled import shuffled_rr
    from jrr.privacy.shuffled import amplified_epsilon, shuffled_delta, shuffled_epsilon

__all__ = [
    "DRR",
    "JRR",
    "OLH",
    "OUE",
    "RR",
    "SS",
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
    "from_json",
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

_LOADED_WHEN_ASKED_FOR = {  # public name -> module: counting reports needs no planner, no network
    "DRR": "jrr.mechanisms.dealt",
    "JRR": "jrr.mechanisms.joint",
    "OLH": "jrr.mechanisms.hashed",
    "OUE": "jrr.mechanisms.unary",
    "RR": "jrr.mechanisms.rr",
    "SS": "jrr.mechanisms.subsets",
    "SUE": "jrr.mechanisms.unary",
    "Contributor": "jrr.client.contributor",
    "Plan": "jrr.planning.plans",
    "algorithm1": "jrr.planning.algorithm1",
    "amplified_epsilon": "jrr.privacy.shuffled",
    "plan": "jrr.planning.plans",
    "required_epsilon": "jrr.planning.required",
    "required_n": "jrr.planning.required",
    "shuffled_delta": "jrr.privacy.shuffled",
    "shuffled_epsilon": "jrr.privacy.shuffled",
    "shuffled_rr": "jrr.planning.shuffled",
    "simulate": "jrr.mechanisms.simulation",
}


def __getattr__(name: str) -> Any:
    """A public name that is loaded when it is asked for."""
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module 'jrr' has no attribute {name!r}")
    value = getattr(_importlib.import_module(_LOADED_WHEN_ASKED_FOR[name]), name)
    globals()[name] = value  # next time it is simply there
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
