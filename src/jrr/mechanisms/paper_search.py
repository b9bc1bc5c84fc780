"""The paper's parameter search (its Algorithm 1), result for result, without its loops.

The paper walks down a grid of p and, for each p, up a grid of ρ from 1 - 1/p, and takes the
first point that meets its privacy constraint (the paper's Theorem 2 at ε). At a given p the
feasible ρ are an interval around 0 whose ends have closed forms (docs/theory-jrr.md, Theorem 12),
so only the grid points next to its lower end need a look.
"""

import math

from jrr._base import checks
from jrr.mechanisms.shifts import truth_probability


def paper_search(
    n: int, epsilon: float, colluders: int, step_p: float = 1e-4, step_rho: float = 1e-4
) -> tuple[float, float]:
    """P and ρ that the paper's search returns; refused where it returns Null.

    On a coarse grid ρ can be positive.
    """
    n = checks.deck_size(n)
    epsilon = checks.epsilon("epsilon", epsilon)
    colluders = checks.integer("colluders", colluders, 0, n - 1)
    step_p = checks.positive("step_p", step_p)
    step_rho = checks.positive("step_rho", step_rho)
    p = truth_probability(epsilon, 2) - step_p
    while p > 0.5:
        rho = _first_feasible(n, p, epsilon, colluders, step_rho)
        if rho is not None:
            return p, rho
        p -= step_p
    room = truth_probability(epsilon, 2) - 0.5
    if step_p >= room:
        allowed = f"below e^epsilon/(1+e^epsilon) - 1/2 = {room:.3g}"
        raise checks.refusal("step_p", step_p, f"{allowed} (the paper's Algorithm 1 returns Null)")
    raise checks.refusal(
        "step_rho",
        step_rho,
        "fine enough to meet a feasible rho at some p (the paper's Algorithm 1 returns Null)",
    )


def _first_feasible(n: int, p: float, epsilon: float, m: int, step: float) -> float | None:
    start = 1 - 1 / p
    ratio = math.exp(epsilon)
    q = 1 - p
    lower = start
    if m:
        lower = max(start, -(n - 1) * (ratio * q - p) / (m * p * (1 + ratio)))
    steps = max(0, math.ceil((lower - start) / step) - 1)
    rho = _repeated_sum(start, step, steps)
    for _ in range(4):
        if rho <= 1 and _feasible(n, p, rho, ratio, m):
            return rho
        rho += step
    return None


def _repeated_sum(start: float, step: float, count: int) -> float:
    """Start + step + step + ..., rounded after every addition as the paper's loop rounds.

    While the sum keeps its exponent, every addition rounds the step to the same number of units
    in the last place, so whole runs of additions are one exact multiplication.
    """
    total = start
    while count:
        once = total + step
        moved = once - total
        _, exponent = math.frexp(once)
        edge = -math.ldexp(1.0, exponent - 1) if once < 0 else math.ldexp(1.0, exponent)
        run = min(count, 1 + int((edge - once) / moved)) if moved else 1
        if run < 2 or (once + step) - once != moved or math.frexp(total)[1] != exponent:
            run = 1
        total = once if run == 1 else total + run * moved
        count -= run
    return total


def _feasible(n: int, p: float, rho: float, ratio: float, m: int) -> bool:
    """The paper's constraint: its Theorem 2 with M colluders stays below ε."""
    q = 1 - p
    p_max = max((1 - rho) * p, p + rho * q)
    p_min = min((1 - rho) * q, q + rho * p)
    return m * p_max + p * (n - m - 1) <= ratio * (m * p_min + q * (n - m - 1))
