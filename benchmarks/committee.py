"""A committee of three processes over mutual TLS on loopback: shuffling and sealing.

Seconds are of the processor, of the party that needs most: the three share one machine, and
what else it does should not count. Wall seconds are reported beside them.

    python -m benchmarks.committee party '{"me": 0, ...}'    one party, on its own
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

import jrr
from benchmarks import memory
from benchmarks.child import ROOT, ChildFailedError
from benchmarks.timing import ratio
from jrr.dealing.committee import cards
from jrr.dealing.committee.cards import Place, deck_of, seal_shares
from jrr.dealing.committee.dealing import deal
from jrr.dealing.committee.field import Vector
from jrr.dealing.committee.meeting import Identity, Link, Meeting, Peer, meet
from jrr.dealing.committee.merkle import Tree
from jrr.research.processes import free_port
from jrr.servers.common.certificates import make_certificate

PARTIES, THRESHOLD = 3, 1
CASES = ((10_000, True, 3), (100_000, True, 1), (100_000, False, 5), (1_000_000, False, 3))
# n, whether shares are sealed, how often: at 10^4 fixed costs are most of a shuffle
KEYS = 1_000  # people take turns with so many keys
GROWTH, SEALING = 1.5, 3.0
NAME = "ab" * 32


def measure() -> dict[str, Any]:
    """Everything, as one JSON document."""
    rows = []
    for n, sealed, times in CASES:
        found = [_run(n, sealed) for _ in range(times)]
        row = {key: min(one[key] for one in found) for key in found[0]}
        row |= {key: max(one[key] for one in found) for key in ("bytes_sent", "peak_bytes")}
        rows.append({"n": n, "sealed": sealed, "runs": times, **row})
        _say(rows[-1])
    return {"committee": rows, "results": _bounds(rows)}


def _bounds(rows: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    alone = {row["n"]: row for row in rows if not row["sealed"]}
    small, large = min(alone), max(alone)
    each = {f"shuffling, each of {n:,}": alone[n]["shuffling_seconds"] / n for n in (small, large)}
    first, last = each
    results = [ratio(last, first, each, GROWTH)]
    for row in rows:
        if row["sealed"]:
            names = f"sealing {row['n']:,}", f"{row['n']:,} bare seals"
            both = dict(zip(names, (row["sealing_seconds"], row["bare_seal_seconds"]), strict=True))
            results.append(ratio(*names, both, SEALING))
    return results


def _run(n: int, sealed: bool) -> dict[str, Any]:
    """One deal of three fresh processes: the most of each number among them."""
    with tempfile.TemporaryDirectory(prefix="jrr-bench-") as name:
        made = [make_certificate(Path(name) / f"party{me}") for me in range(PARTIES)]
        peers = [
            {"host": "127.0.0.1", "port": free_port(), "certificate": public.read_text()}
            for public, _ in made
        ]
        wish = {"peers": peers, "n": n, "sealed": sealed}
        processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "benchmarks.committee", "party"),
                    json.dumps(wish | {"me": me, "files": [str(path) for path in files]}),
                ],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for me, files in enumerate(made)
        ]
        replies = [process.communicate()[0] for process in processes]
    for process in processes:
        if process.returncode:
            raise ChildFailedError(f"a party of {n}: exit code {process.returncode}")
    found = [json.loads(reply) for reply in replies]
    assert len({one.pop("record") for one in found}) == 1
    return {key: max(one[key] for one in found) for key in found[0]}


# One party --------------------------------------------------------------------------------------


def party(wish: dict[str, Any]) -> dict[str, Any]:
    """Take part once, and tell what it took."""
    n = wish["n"]
    deck = deck_of(jrr.JRR(n=n, p=0.7, s=0.2))
    pool = [X25519PrivateKey.generate().public_key().public_bytes_raw() for _ in range(KEYS)]
    keys = [pool[at % KEYS] for at in range(n)] if wish["sealed"] else []
    facts: dict[str, Any] = {"sealing_seconds": 0.0}

    async def commit_to(share: Vector, tags: Vector) -> bytes:
        if not wish["sealed"]:
            return bytes(32)
        start = time.process_time()
        root = Tree(seal_shares(keys, share, tags, NAME, wish["me"])).root
        facts["sealing_seconds"] = time.process_time() - start
        return root

    async def body(link: Link) -> None:
        wall, start = time.perf_counter(), time.process_time()
        dealt = await deal(
            link, deck, threshold=THRESHOLD, session=link.session, commit_to=commit_to
        )
        spent = time.process_time() - start
        facts["wall_seconds"] = time.perf_counter() - wall
        facts["shuffling_seconds"] = spent - facts["sealing_seconds"]
        facts["bytes_sent"] = link.traffic.sent
        facts["record"] = dealt.record.hex()

    peers = [Peer(**one) for one in wish["peers"]]
    meeting = Meeting(
        me=wish["me"],
        peers=peers,
        identity=Identity(*wish["files"]),
        agreement=bytes(32),
        patience=600.0,
        join=60.0,
    )
    asyncio.run(meet(meeting, body))
    facts["peak_bytes"] = memory.peak()
    facts["bare_seal_seconds"] = _bare_seals(keys, wish["me"]) if keys else 0.0
    return facts


def _bare_seals(keys: Sequence[bytes], me: int) -> float:
    """The same number of seals and nothing else."""
    suite, info = cards._suite(), Place(NAME, me, 0).info()
    loaded = [X25519PublicKey.from_public_bytes(key) for key in keys[:KEYS]]
    start = time.process_time()
    for at in range(len(keys)):
        suite.encrypt(bytes(8), loaded[at % KEYS], info)
    return time.process_time() - start


def _say(row: dict[str, Any]) -> None:
    print(json.dumps(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(json.dumps(party(json.loads(sys.argv[2]))))
