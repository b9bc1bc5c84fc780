"""What drawing people adds to an estimate whose weights bring them to known margins."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jrr.estimation.contrasts import Sampling
from jrr.estimation.estimates import Estimate
from jrr.estimation.moments import Floats


def calibrated(
    whole: Estimate, cells: Sequence[Estimate], columns: Floats, sampling: Sampling | None
) -> Estimate:
    """An estimate with weights, of the population whose margins they were fitted to.

    Drawing people is noise only in what the margins do not explain: within cells, and between cells
    in what is left of a regression of their shares on the margins (docs/theory-uses.md,
    Theorem A4).

    Args:
        whole: the weighted estimate of all cells together.
        cells: the weighted estimates of the cells.
        columns: for each cell whether it is in each group of each margin.
        sampling: how people were drawn, without weights; None: they are all that is asked about.
    """
    if sampling is None:
        return Estimate(whole.strata)
    weight = np.array([cell.weight for cell in cells])
    squares = np.array([sum(s.weight_squares for s in cell.strata) for cell in cells])
    shares = np.array([cell.frequencies for cell in cells])
    noise = np.array([cell.stderr**2 for cell in cells])  # of perturbation
    root = np.sqrt(weight)[:, None]
    rest = np.eye(len(cells)) - columns @ np.linalg.pinv(root * columns) * root.T
    # What is squared has noise, whose expectation is taken off or added again.
    within = shares * (1 - shares) + noise
    effective = np.array([cell.effective_n for cell in cells])[:, None]
    drawn = noise + np.clip(within, 0.0, 0.25) / effective
    between = (rest @ shares) ** 2 - rest**2 @ drawn
    unexplained = np.maximum(squares @ within + np.maximum(squares @ between, 0.0), 0.0)
    share = np.clip(whole.frequencies, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = unexplained / (squares.sum() * share * (1 - share))
    return Estimate(whole.strata, replace(sampling, left=np.where(np.isfinite(left), left, 1.0)))
