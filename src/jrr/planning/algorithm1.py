"""The paper's parameter search (its Algorithm 1) as a public function."""

from jrr._base import checks
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.paper_search import paper_search


def algorithm1(
    n: int, epsilon: float, colluders: int, step_p: float = 1e-4, step_rho: float = 1e-4
) -> JRR:
    """The binary JRR that the paper's search returns, result for result.

    It meets the paper's own privacy bound, not the exact one: see `JRR.epsilon` and `plan`.

    Args:
        n: contributors per deck.
        epsilon: the ε that the paper's Theorem 2 must keep.
        colluders: how many contributors collude with the collector.
        step_p: by how much p falls from step to step.
        step_rho: by how much ρ rises from step to step.

    Returns:
        The mechanism.

    Raises:
        ArgumentError: where the paper's algorithm returns Null or, on a coarse grid, a positive
            ρ, which no deck has; or for arguments out of range.

    Example:
        >>> import jrr
        >>> round(jrr.algorithm1(10_000, 0.1, 5).p, 4)
        0.5249
    """
    p, rho = paper_search(n, epsilon, colluders, step_p, step_rho)
    if rho > 0:
        allowed = (
            "small enough for the grid to meet a rho <= 0, which a deck of cards can have "
            f"(the paper's search steps over them to rho={rho!r}: "
            "jrr.research.paper.literal.algorithm1_as_printed)"
        )
        raise checks.refusal("step_rho", step_rho, allowed)
    return JRR(n, p, rho=rho)
