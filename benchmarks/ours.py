"""The library, as its users call it: randomness is cryptographic, everything is checked."""

import jrr
from benchmarks.cases import EPSILON, Case, values
from benchmarks.contender import Contender
from jrr.mechanisms import hashing


def mechanism(case: Case) -> jrr.Mechanism:
    if case.kind == "GRR":
        return jrr.RR(case.k, epsilon=EPSILON)
    return jrr.OUE(case.k, EPSILON) if case.kind == "OUE" else jrr.OLH(case.k, EPSILON)


def contender(case: Case, *, with_numba: bool) -> Contender:
    if not with_numba:
        hashing.hash_support = lambda: None  # type: ignore[assignment]
    elif hashing.hash_support() is None:
        raise SystemExit("numba is not installed")
    m = mechanism(case)
    return Contender(
        lambda everybody: everybody,
        lambda everybody: m.estimate(m.respond(everybody)).counts,
        lambda: m.respond(values(1_000, case.k)).nbytes / 1_000,
    )
