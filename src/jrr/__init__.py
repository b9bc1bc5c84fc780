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

_LOADED_WHEN_ASKED_FOR = {  # module -> its public names: nobody pays for what is not used
    "jrr._base.randomness": "SecureRandom SeededRandom",
    "jrr.client.contributor": "Contributor",
    "jrr.estimation": "postprocess",
    "jrr.estimation.differences": "Difference difference",
    "jrr.estimation.estimates": "Estimate",
    "jrr.estimation.means": "MeanEstimate",
    "jrr.estimation.pooling": "pooled",
    "jrr.estimation.tally": "Tally",
    "jrr.mechanisms.base": "Mechanism",
    "jrr.mechanisms.coins.bits": "Bits",
    "jrr.mechanisms.coins.block": "Block",
    "jrr.mechanisms.coins.choice": "Choice",
    "jrr.mechanisms.coins.subset": "Subset",
    "jrr.mechanisms.coins.window": "Window",
    "jrr.mechanisms.dealt": "DRR",
    "jrr.mechanisms.hashed": "OLH",
    "jrr.mechanisms.joint": "JRR",
    "jrr.mechanisms.masked": "MRR",
    "jrr.mechanisms.numbers": "Bins Numbers",
    "jrr.mechanisms.piecewise": "Piecewise",
    "jrr.mechanisms.registry": "from_dict from_json",
    "jrr.mechanisms.rr": "RR",
    "jrr.mechanisms.simulation": "simulate",
    "jrr.mechanisms.subsets": "SS",
    "jrr.mechanisms.unary": "OUE SUE",
    "jrr.planning.algorithm1": "algorithm1",
    "jrr.planning.alternatives": "shuffled_rr",
    "jrr.planning.effects": "power_of_effect required_n_for_effect",
    "jrr.planning.numbers": "NumberPlan plan_number",
    "jrr.planning.plans": "Plan plan",
    "jrr.planning.required": "required_epsilon required_n",
    "jrr.planning.two_phases": "TwoPhasePlan plan_two_phases",
    "jrr.privacy.shuffled": "amplified_epsilon shuffled_delta shuffled_epsilon",
    "jrr.tables.frame_regression": "regress_frame",
    "jrr.tables.frames": "estimate_frame perturb_frame",
    "jrr.tables.loaded": "load_survey",
    "jrr.telemetry.heavy_hitters": "HeavyHitters",
    "jrr.telemetry.longitudinal": "Longitudinal",
    "jrr.telemetry.prefix_search": "PrefixSearch",
    "jrr.telemetry.ranges": "RangeTree",
    "jrr.telemetry.report_lines": "read_reports write_reports",
    "jrr.telemetry.words": "Words",
}
_HOMES = {name: home for home, names in _LOADED_WHEN_ASKED_FOR.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A public name that is loaded when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'jrr' has no attribute {name!r}")
    home = _HOMES[name]
    if name == "postprocess":  # a module
        value: Any = _importlib.import_module(f"{home}.{name}")
    else:
        value = getattr(_importlib.import_module(home), name)
    globals()[name] = value  # next time it is simply there
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
