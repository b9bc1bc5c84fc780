"""pure-ldp's optimised unary encoding of a number's bins: what it offers for ranges, flat.

python ranges_peer.py VALUES.npy BINS EPSILON RUNS SEED
"""

import json
import random
import sys

import numpy as np
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer


def main() -> None:
    path, bins, epsilon, runs, seed = sys.argv[1:]
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - theirs
    values = np.load(path).tolist()
    for _ in range(int(runs)):
        client = UEClient(float(epsilon), int(bins), use_oue=True, index_mapper=int)
        server = UEServer(float(epsilon), int(bins), use_oue=True, index_mapper=int)
        for value in values:
            server.aggregate(client.privatise(value))
        found = server.estimate_all(range(int(bins)), suppress_warnings=True)
        print(json.dumps([float(count) for count in found]), flush=True)


if __name__ == "__main__":
    main()
