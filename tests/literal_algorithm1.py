"""The paper's Algorithm 1 line by line, as oracle of the library's search."""

import math


def literal_search(
    n: int, epsilon: float, colluders: int, step_p: float, step_rho: float
) -> tuple[float, float] | None:
    """Algorithm 1 line by line: (p, rho), or None where the paper returns Null."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon)) - step_p
    while p > 0.5:
        rho = 1 - 1 / p
        while rho <= 1:
            if meets_constraint(n, epsilon, colluders, p, rho):
                return p, rho
            rho = rho + step_rho
        p = p - step_p
    return None


def meets_constraint(n: int, epsilon: float, colluders: int, p: float, rho: float) -> bool:
    """The privacy constraint of the paper's optimisation problem, as a quotient."""
    q = 1 - p
    p_max = max((1 - rho) * p, p + rho * q)
    p_min = min((1 - rho) * q, q + rho * p)
    numerator = colluders * p_max + p * (n - colluders - 1)
    denominator = colluders * p_min + q * (n - colluders - 1)
    return denominator > 0 and numerator / denominator <= math.exp(epsilon)
