"""Plans in the paper's setting: nobody colludes, no cap on the dealer, no card is lost.

Unless a test says so.
"""

import math
from typing import Any

import jrr


def plan(
    n: Any, epsilon: Any, colluders: Any = 0, k: Any = 2, *more: Any, **options: Any
) -> jrr.Plan:
    """`jrr.plan`, positional arguments and all."""
    cap, *rest = more or (options.pop("dealer_epsilon", None),)
    options.setdefault("lost", 0.0)
    return jrr.plan(n, epsilon, colluders, k, math.inf if cap is None else cap, *rest, **options)


def required_n(margin: Any, epsilon: Any, colluders: Any = 0, k: Any = 2, **options: Any) -> int:
    """`jrr.required_n`."""
    cap = options.pop("dealer_epsilon", None)
    cap = math.inf if cap is None else cap
    options.setdefault("lost", 0.0)
    return jrr.required_n(margin, epsilon, colluders, k, cap, **options)


def required_epsilon(margin: Any, n: Any, colluders: Any = 0, k: Any = 2, **options: Any) -> float:
    """`jrr.required_epsilon`."""
    if options.get("dealer_above") is None and options.get("dealer_epsilon") is None:
        options["dealer_epsilon"] = math.inf
    options.setdefault("lost", 0.0)
    return jrr.required_epsilon(margin, n, colluders, k, **options)
