"""pure-ldp as a program for `jrr audit program`: values on lines in, reports on lines out.

Runs in an environment that has pure-ldp; `make bench` makes one in build/peers-venv:

    jrr audit program "build/peers-venv/bin/python examples/audit_pure_ldp.py de" --claimed 1
"""

import argparse
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import xxhash
from pure_ldp.frequency_oracles.direct_encoding import DEClient
from pure_ldp.frequency_oracles.histogram_encoding import HEClient
from pure_ldp.frequency_oracles.local_hashing import LHClient
from pure_ldp.frequency_oracles.rappor import RAPPORClient
from pure_ldp.frequency_oracles.unary_encoding import UEClient

ORACLES = ("de", "sue", "oue", "olh", "he", "rappor")


def from_zero(value: Any) -> int:
    """The library counts from 1 unless told otherwise."""
    return int(value)


def reporter(oracle: str, epsilon: float, k: int) -> Callable[[int], object]:
    """A function from a value to what is printed of its report."""
    if oracle == "de":
        return DEClient(epsilon, k, from_zero).privatise
    if oracle in ("sue", "oue"):
        unary = UEClient(epsilon, k, use_oue=oracle == "oue", index_mapper=from_zero)
        return lambda value: "".join(map(str, unary.privatise(value)))
    if oracle == "olh":
        hashing = LHClient(epsilon, k, use_olh=True, index_mapper=from_zero)
        return lambda value: supported(*hashing.privatise(value), hashing.g, k)
    if oracle == "he":
        histogram = HEClient(epsilon, k, from_zero)
        # Below 0, between, above 1: where Laplace's ratio is at its ends.
        return lambda value: "".join(
            map(str, np.searchsorted([0.0, 1.0], histogram.privatise(value)))
        )
    # One cohort and one hash function, which gives every value a bit of its own.
    client = RAPPORClient(1.0, k, [[int]], 1, from_zero)
    client.update_params(f=client.convert_eps_to_f(epsilon), hash_funcs=[[int]])
    return lambda value: "".join(map(str, client.privatise(value)[0]))


def supported(report: int, seed: int, g: int, k: int) -> str:
    """Which values a hashed report speaks for; whole reports would never be met twice."""
    hashes = (xxhash.xxh32(str(value), seed=seed).intdigest() % g for value in range(k))
    return "".join(str(int(found == report)) for found in hashes)


def main() -> None:
    """Answer every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", choices=ORACLES)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("-k", type=int, default=4)
    wish = parser.parse_args()
    if "JRR_AUDIT_SEED" in os.environ:  # for the same audit again
        random.seed(int(os.environ["JRR_AUDIT_SEED"]))
        np.random.seed(int(os.environ["JRR_AUDIT_SEED"]) % 2**32)  # noqa: NPY002 - theirs
    report = reporter(wish.oracle, wish.epsilon, wish.k)
    for line in sys.stdin:
        sys.stdout.write(f"{report(int(line))}\n")


if __name__ == "__main__":
    main()
