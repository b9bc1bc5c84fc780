"""pure-ldp's heavy hitters, in an environment of its own: numbers in, strings of bits out.

python heavy_hitters_peer.py ITEMS.npy METHOD EPSILON RUNS SEED
"""

import json
import random
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

BITS = 16
KEEP = 40
# Of fast local hashing, which builds a table with 2^16 entries for each: here half a gigabyte.
# Their collisions add noise; hash functions of one's own would take hours a run in this library.
HASHES = 1000
METHODS = {  # name -> bits of the prefixes; its count sketches fail with a present numpy
    "PEM, FLH, two levels": (11, 16),
    "PEM, FLH, three levels": (8, 12, 16),
}


def parties(method: str, epsilon: float) -> tuple[PEMClient, PEMServer]:
    levels = METHODS[method]
    step = levels[1] - levels[0]
    wanted = {
        "start_length": levels[0] - step,
        "max_string_length": BITS,
        "fragment_length": step,
    }
    server = FastLHServer(epsilon, 2, HASHES, use_olh=True)
    client = FastLHClient(epsilon, 2, HASHES, use_olh=True)
    return (
        PEMClient(epsilon, fo_client=client, **wanted),
        PEMServer(epsilon, fo_server=server, **wanted),
    )


def main() -> None:
    path, method, epsilon, runs, seed = sys.argv[1:]
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - theirs
    strings = [format(item, f"0{BITS}b") for item in np.load(path).tolist()]
    for _ in range(int(runs)):
        began = time.process_time()
        client, server = parties(method, float(epsilon))
        for string in strings:
            server.aggregate(client.privatise(string))
        found, _ = server.find_heavy_hitters(k=KEEP)
        print(json.dumps({"found": found, "seconds": time.process_time() - began}), flush=True)


if __name__ == "__main__":
    main()
