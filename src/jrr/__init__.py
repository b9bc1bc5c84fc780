"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from jrr.errors import JrrError

if TYPE_CHECKING:
    from jrr._base.randomness import SecureRandom, SeededRandom
    from jrr.client.contributor import Contributor
    from jrr.estimation import postprocess
    from jrr.estimation.differences import Difference, difference
    from jrr.estimation.estimates import Estimate
    from jrr.estimation.means import MeanEstimate
    from jrr.estimation.pooling import pooled
    from jrr.estimation.tally import Tally
    from jrr.mechanisms.base import Mechanism
    from jrr.mechanisms.coins.bits import Bits
    from jrr.mechanisms.coins.block import Block
    from jrr.mechanisms.coins.choice import Choice
    from jrr.mechanisms.coins.subset import Subset
    from jrr.mechanisms.coins.window import Window
    from jrr.mechanisms.dealt import DRR
    from jrr.mechanisms.hashed import OLH
    from jrr.mechanisms.joint import JRR
    from jrr.mechanisms.masked import MRR
    from jrr.mechanisms.numbers import Bins, Numbers
    from jrr.mechanisms.piecewise import Piecewise
    from jrr.mechanisms.registry import from_dict, from_json
    from jrr.mechanisms.rr import RR
    from jrr.mechanisms.simulation import simulate
    from jrr.mechanisms.subsets import SS
    from jrr.mechanisms.unary import OUE, SUE
    from jrr.planning.algorithm1 import algorithm1
    from jrr.planning.alternatives import shuffled_rr
    from jrr.planning.effects import power_of_effect, required_n_for_effect
    from jrr.planning.numbers import NumberPlan, plan_number
    from jrr.planning.plans import Plan, plan
    from jrr.planning.required import required_epsilon, required_n
    from jrr.planning.two_phases import TwoPhasePlan, plan_two_phases
    from jrr.privacy.shuffled import amplified_epsilon, shuffled_delta, shuffled_epsilon
    from jrr.tables.frame_regression import regress_frame
    from jrr.tables.frames import estimate_frame, perturb_frame
    from jrr.tables.loaded import load_survey
    from jrr.telemetry.heavy_hitters import HeavyHitters
    from jrr.telemetry.longitudinal import Longitudinal
    from jrr.telemetry.prefix_search import PrefixSearch
    from jrr.telemetry.ranges import RangeTree
    from jrr.telemetry.report_lines import read_reports, write_reports
    from jrr.telemetry.words import Words

__all__ = [
    "DRR",
    "JRR",
    "MRR",
    "OLH",
    "OUE",
    "RR",
    "SS",
    "SUE",
    "Bins",
    "Bits",
    "Block",
    "Choice",
    "Contributor",
    "Difference",
    "Estimate",
    "HeavyHitters",
    "JrrError",
    "Longitudinal",
    "MeanEstimate",
    "Mechanism",
    "NumberPlan",
    "Numbers",
    "Piecewise",
    "Plan",
    "PrefixSearch",
    "RangeTree",
    "SecureRandom",
    "SeededRandom",
    "Subset",
    "Tally",
    "TwoPhasePlan",
    "Window",
    "Words",
    "algorithm1",
    "amplified_epsilon",
    "difference",
    "estimate_frame",
    "from_dict",
    "from_json",
    "load_survey",
    "perturb_frame",
    "plan",
    "plan_number",
    "plan_two_phases",
    "pooled",
    "postprocess",
    "power_of_effect",
    "read_reports",
    "regress_frame",
    "required_epsilon",
    "required_n",
    "required_n_for_effect",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_rr",
    "simulate",
    "write_reports",
]
__version__ = "0.1.0"

_LOADED_WHEN_ASKED_FOR = {  # public name -> module: nobody pays for what is not used
    "Bins": "jrr.mechanisms.numbers",
    "Bits": "jrr.mechanisms.coins.bits",
    "Block": "jrr.mechanisms.coins.block",
    "Choice": "jrr.mechanisms.coins.choice",
    "Contributor": "jrr.client.contributor",
    "DRR": "jrr.mechanisms.dealt",
    "Difference": "jrr.estimation.differences",
    "Estimate": "jrr.estimation.estimates",
    "HeavyHitters": "jrr.telemetry.heavy_hitters",
    "JRR": "jrr.mechanisms.joint",
    "Longitudinal": "jrr.telemetry.longitudinal",
    "MRR": "jrr.mechanisms.masked",
    "MeanEstimate": "jrr.estimation.means",
    "Mechanism": "jrr.mechanisms.base",
    "NumberPlan": "jrr.planning.numbers",
    "Numbers": "jrr.mechanisms.numbers",
    "OLH": "jrr.mechanisms.hashed",
    "OUE": "jrr.mechanisms.unary",
    "Piecewise": "jrr.mechanisms.piecewise",
    "Plan": "jrr.planning.plans",
    "PrefixSearch": "jrr.telemetry.prefix_search",
    "RR": "jrr.mechanisms.rr",
    "RangeTree": "jrr.telemetry.ranges",
    "SS": "jrr.mechanisms.subsets",
    "SUE": "jrr.mechanisms.unary",
    "SecureRandom": "jrr._base.randomness",
    "SeededRandom": "jrr._base.randomness",
    "Subset": "jrr.mechanisms.coins.subset",
    "Tally": "jrr.estimation.tally",
    "TwoPhasePlan": "jrr.planning.two_phases",
    "Window": "jrr.mechanisms.coins.window",
    "Words": "jrr.telemetry.words",
    "algorithm1": "jrr.planning.algorithm1",
    "amplified_epsilon": "jrr.privacy.shuffled",
    "difference": "jrr.estimation.differences",
    "estimate_frame": "jrr.tables.frames",
    "from_dict": "jrr.mechanisms.registry",
    "from_json": "jrr.mechanisms.registry",
    "load_survey": "jrr.tables.loaded",
    "perturb_frame": "jrr.tables.frames",
    "plan": "jrr.planning.plans",
    "plan_number": "jrr.planning.numbers",
    "plan_two_phases": "jrr.planning.two_phases",
    "pooled": "jrr.estimation.pooling",
    "postprocess": "jrr.estimation",
    "read_reports": "jrr.telemetry.report_lines",
    "regress_frame": "jrr.tables.frame_regression",
    "required_epsilon": "jrr.planning.required",
    "power_of_effect": "jrr.planning.effects",
    "required_n": "jrr.planning.required",
    "required_n_for_effect": "jrr.planning.effects",
    "shuffled_delta": "jrr.privacy.shuffled",
    "shuffled_epsilon": "jrr.privacy.shuffled",
    "shuffled_rr": "jrr.planning.alternatives",
    "simulate": "jrr.mechanisms.simulation",
    "write_reports": "jrr.telemetry.report_lines",
}


def __getattr__(name: str) -> Any:
    """A public name that is loaded when it is asked for."""
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module 'jrr' has no attribute {name!r}")
    home = _LOADED_WHEN_ASKED_FOR[name]
    if name == "postprocess":  # a module
        value: Any = _importlib.import_module(f"{home}.{name}")
    else:
        value = getattr(_importlib.import_module(home), name)
    globals()[name] = value  # next time it is simply there
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
