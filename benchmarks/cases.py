"""What is measured: mechanisms, domain sizes, and the data, which has no chance in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EPSILON = 1.0
SIZES = (100_000, 1_000_000)


@dataclass(frozen=True)
class Case:
    """One mechanism over k values."""

    kind: str  # "GRR", "OUE" or "OLH"
    k: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.k}"


CASES = {case.name: case for case in (Case("GRR", 2), Case("GRR", 64), Case("OUE", 64))}
CASES["OLH-64"] = Case("OLH", 64)


def true_counts(n: int, k: int) -> NDArray[np.int64]:
    """Zipf: value v is held by a share of people proportional to 1 / (v + 1)."""
    shares = 1 / np.arange(1, k + 1)
    ends = np.rint(n * np.cumsum(shares) / shares.sum()).astype(np.int64)
    counts: NDArray[np.int64] = np.diff(ends, prepend=0)
    return counts


def values(n: int, k: int) -> NDArray[np.int64]:
    """True values with these counts, in a mixed order."""
    everybody = np.repeat(np.arange(k), true_counts(n, k))
    return np.random.default_rng(1).permutation(everybody)
