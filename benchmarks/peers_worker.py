"""The peers, called as their own documentation does. Runs in the peers' own environment."""

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import EPSILON, Case
from benchmarks.contender import Contender
from benchmarks.worker import serve

Counts = NDArray[np.float64]


def contender(name: str, case: Case) -> Contender:
    return {"pure-ldp": _pure_ldp, "multi-freq-ldpy": _multi_freq_ldpy}[name](case)


def _pure_ldp(case: Case) -> Contender:
    """One client call and one server call per person, values from 1 to k."""
    from pure_ldp.frequency_oracles import direct_encoding, local_hashing, unary_encoding

    client_of, server_of, options = {
        "GRR": (direct_encoding.DEClient, direct_encoding.DEServer, {}),
        "OUE": (unary_encoding.UEClient, unary_encoding.UEServer, {"use_oue": True}),
        "OLH": (local_hashing.LHClient, local_hashing.LHServer, {"use_olh": True}),
    }[case.kind]
    client = client_of(EPSILON, case.k, **options)

    def run(people: list[int]) -> Counts:
        server = server_of(EPSILON, case.k, **options)
        for value in people:
            server.aggregate(client.privatise(value))
        return np.asarray(server.estimate_all(range(1, case.k + 1), suppress_warnings=True))

    return Contender(lambda values: (values + 1).tolist(), run, lambda: _size(client.privatise(1)))


def _multi_freq_ldpy(case: Case) -> Contender:
    """One client call per person, then one call of the aggregator on the list of reports."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE

    k = case.k
    module, client, aggregate = {
        "GRR": (
            GRR,
            lambda v: GRR.GRR_Client(v, k, EPSILON),
            lambda reports: GRR.GRR_Aggregator_MI(reports, k, EPSILON),
        ),
        "OUE": (
            UE,
            lambda v: UE.UE_Client(v, k, EPSILON, True),
            lambda reports: UE.UE_Aggregator_MI(reports, EPSILON, True),
        ),
        "OLH": (
            LH,
            lambda v: LH.LH_Client(v, k, EPSILON, True),
            lambda reports: LH.LH_Aggregator_MI(reports, k, EPSILON, True),
        ),
    }[case.kind]

    def run(people: list[int]) -> Counts:
        return np.asarray(aggregate([client(value) for value in people])) * len(people)

    def unbiased(people: list[int]) -> Counts:
        """The aggregator clips at 0 and normalises at the end; here it stops before that."""
        shipped = module.MI
        module.MI = lambda support, n, p, q: (support - n * q) / (p - q) / n
        try:
            return run(people)
        finally:
            module.MI = shipped

    return Contender(lambda values: values.tolist(), run, lambda: _size(client(0)), unbiased)


def _size(report: Any) -> float:
    if isinstance(report, tuple):
        return sum(_size(part) for part in report)
    return report.nbytes if isinstance(report, np.ndarray) else 8


if __name__ == "__main__":
    packages = ("pure-ldp", "multi-freq-ldpy", "numpy", "numba", "xxhash")
    serve(contender, {name: version(name) for name in packages})
