"""Ask sensitive questions, get accurate answers, learn nobody's secret."""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from jrr.errors import JrrError as JrrError

if TYPE_CHECKING:  # `as` says that these are public
    from jrr._base.randomness import SecureRandom as SecureRandom
    from jrr._base.randomness import SeededRandom as SeededRandom
    from jrr.client.contributor import Contributor as Contributor
    from jrr.estimation import postprocess as postprocess
    from jrr.estimation.differences import Difference as Difference
    from jrr.estimation.differences import difference as difference
    from jrr.estimation.estimates import Estimate as Estimate
    from jrr.estimation.means import MeanEstimate as MeanEstimate
    from jrr.estimation.pooling import pooled as pooled
    from jrr.estimation.tally import Tally as Tally
    from jrr.mechanisms.base import Mechanism as Mechanism
    from jrr.mechanisms.coins.bits import Bits as Bits
    from jrr.mechanisms.coins.block import Block as Block
    from jrr.mechanisms.coins.choice import Choice as Choice
    from jrr.mechanisms.coins.subset import Subset as Subset
    from jrr.mechanisms.coins.window import Window as Window
    from jrr.mechanisms.dealt import DRR as DRR
    from jrr.mechanisms.hashed import OLH as OLH
    from jrr.mechanisms.joint import JRR as JRR
    from jrr.mechanisms.masked import MRR as MRR
    from jrr.mechanisms.numbers import Bins as Bins
    from jrr.mechanisms.numbers import Numbers as Numbers
    from jrr.mechanisms.piecewise import Piecewise as Piecewise
    from jrr.mechanisms.registry import from_dict as from_dict
    from jrr.mechanisms.registry import from_json as from_json
    from jrr.mechanisms.rr import RR as RR
    from jrr.mechanisms.simulation import simulate as simulate
    from jrr.mechanisms.subsets import SS as SS
    from jrr.mechanisms.unary import OUE as OUE
    from jrr.mechanisms.unary import SUE as SUE
    from jrr.planning.algorithm1 import algorithm1 as algorithm1
    from jrr.planning.alternatives import shuffled_rr as shuffled_rr
    from jrr.planning.effects import power_of_effect as power_of_effect
    from jrr.planning.effects import required_n_for_effect as required_n_for_effect
    from jrr.planning.numbers import NumberPlan as NumberPlan
    from jrr.planning.numbers import plan_number as plan_number
    from jrr.planning.plans import Plan as Plan
    from jrr.planning.plans import plan as plan
    from jrr.planning.required import required_epsilon as required_epsilon
    from jrr.planning.required import required_n as required_n
    from jrr.planning.two_phases import TwoPhasePlan as TwoPhasePlan
    from jrr.planning.two_phases import plan_two_phases as plan_two_phases
    from jrr.privacy.shuffled import amplified_epsilon as amplified_epsilon
    from jrr.privacy.shuffled import shuffled_delta as shuffled_delta
    from jrr.privacy.shuffled import shuffled_epsilon as shuffled_epsilon
    from jrr.tables.frame_regression import regress_frame as regress_frame
    from jrr.tables.frames import estimate_frame as estimate_frame
    from jrr.tables.frames import perturb_frame as perturb_frame
    from jrr.tables.loaded import load_survey as load_survey
    from jrr.telemetry.heavy_hitters import HeavyHitters as HeavyHitters
    from jrr.telemetry.longitudinal import Longitudinal as Longitudinal
    from jrr.telemetry.prefix_search import PrefixSearch as PrefixSearch
    from jrr.telemetry.ranges import RangeTree as RangeTree
    from jrr.telemetry.report_lines import read_reports as read_reports
    from jrr.telemetry.report_lines import write_reports as write_reports
    from jrr.telemetry.words import Words as Words

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
__all__ = sorted(["JrrError", *_HOMES])


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
