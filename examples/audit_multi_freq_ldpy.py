"""multi-freq-ldpy as a program for `jrr audit program`: values in, reports out, by lines.

Runs in an environment that has multi-freq-ldpy; `make bench` makes one in build/peers-venv:

    jrr audit program "build/peers-venv/bin/python examples/audit_multi_freq_ldpy.py grr" \
        --claimed 1
"""

import argparse
import os
import sys
from collections.abc import Callable

import numpy as np
import xxhash
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from numba import jit

ORACLES = ("grr", "sue", "oue", "olh", "he", "ss", "ss-sorted")


def reporter(oracle: str, epsilon: float, k: int) -> Callable[[int], object]:
    """A function from a value to what is printed of its report."""
    if oracle == "grr":
        return lambda value: GRR_Client(value, k, epsilon)
    if oracle in ("sue", "oue"):
        optimal = oracle == "oue"
        return lambda value: "".join(str(int(bit)) for bit in UE_Client(value, k, epsilon, optimal))
    if oracle == "olh":
        buckets = round(np.exp(epsilon)) + 1
        return lambda value: supported(*LH_Client(value, k, epsilon, True), buckets, k)
    if oracle == "he":
        # Below 0, between, above 1: where Laplace's ratio is at its ends.
        return lambda value: "".join(
            map(str, np.searchsorted([0.0, 1.0], HE_Client(value, k, epsilon)))
        )
    if oracle == "ss":  # as it is returned
        return lambda value: SS_Client(value, k, epsilon).tolist()
    return lambda value: sorted(SS_Client(value, k, epsilon).tolist())


def supported(report: int, seed: int, g: int, k: int) -> str:
    """Which values a hashed report speaks for; whole reports would never be met twice."""
    hashes = (xxhash.xxh32(str(value), seed=seed).intdigest() % g for value in range(k))
    return "".join(str(int(found == report)) for found in hashes)


@jit(nopython=True)
def seed_compiled(seed: int) -> None:
    """Compiled code has a generator of its own."""
    np.random.seed(seed)  # noqa: NPY002 - theirs


def main() -> None:
    """Answer every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", choices=ORACLES)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("-k", type=int, default=4)
    wish = parser.parse_args()
    if "JRR_AUDIT_SEED" in os.environ:  # for the same audit again
        seed = int(os.environ["JRR_AUDIT_SEED"]) % 2**32
        np.random.seed(seed)  # noqa: NPY002 - theirs
        seed_compiled(seed)
    report = reporter(wish.oracle, wish.epsilon, wish.k)
    for line in sys.stdin:
        sys.stdout.write(f"{report(int(line))}\n")


if __name__ == "__main__":
    main()
