"""What takes part: something that perturbs everybody's value and estimates the counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Contender:
    """Every function but `run` is free: only `run` is timed."""

    prepare: Callable[[NDArray[np.int64]], Any]  # the values as this contender likes them
    run: Callable[[Any], NDArray[np.float64]]  # privatise and aggregate: estimated counts
    report_bytes: Callable[[], float]  # arrays as they are, a Python integer taken as 8 bytes
    unbiased: Callable[[Any], NDArray[np.float64]] | None = None  # where `run` post-processes
