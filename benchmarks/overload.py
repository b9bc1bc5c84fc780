"""Reports that a collector stores at three times what it can bear, of those that it can bear.

    python -m benchmarks.overload                       # directly and behind nginx, 1 and 0.1 cores
    python -m benchmarks.overload --against OTHER       # beside the code of another checkout
    python -m benchmarks.overload --granian PACKAGES    # beside Granian, installed in that folder

Prints JSON. The server is held to a share of one core by a control group (root is needed), nginx
and the generator are not. nginx has the shipped settings, but no TLS and no limits by address: the
generator stands for many people. Contenders alternate in one run, each with a new server, since
the machine may have other work.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jrr.research.load.measure import Load, gather, put_under_load
from jrr.research.processes import Running, free_port, running

HERE = Path(__file__).parents[1]
WAYS = ("direct", "nginx")
SHARES = (1.0, 0.1)
PERIOD = 100_000  # microseconds
SECONDS = 8.0
AT_ONCE = 200  # connections that keep a server at its capacity
MOST = 3_800  # connections at once


@dataclass(frozen=True)
class Contender:
    """A server that is measured."""

    name: str
    tree: Path = HERE  # a checkout
    module: str = "jrr.cli"
    packages: str = ""  # a folder of what it needs beside the usual


@contextmanager
def held_to(share: float, process: int) -> Iterator[None]:
    """A process that has only a share of one core."""
    first = Path("/sys/fs/cgroup/cpu")  # version 1, or 2
    old = first.is_dir()
    group = (first if old else first.parent) / f"jrr-overload-{process}"
    group.mkdir()
    try:
        quota = int(share * PERIOD)
        if old:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD}")
        (group / "cgroup.procs").write_text(str(process))
        yield
    finally:
        with suppress(OSError):  # the process may have ended
            (group.parent / "cgroup.procs").write_text(str(process))
        group.rmdir()


@contextmanager
def nginx(tree: Path, server: Running, folder: Path, files: int = 20_000) -> Iterator[str]:
    """The proxy as it is shipped, without TLS and limits by address; its address."""
    port = free_port()
    lines = [
        line.replace("127.0.0.1:8001", urlsplit(server.url).netloc)
        .replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
        .replace("/var/log/nginx", str(folder))
        for line in (tree / "deploy" / "nginx.conf").read_text().splitlines()
        if not line.strip().startswith(("ssl_", "limit_"))
    ]
    (folder / "site.conf").write_text("\n".join(lines))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/main.log emerg;\n"
        f"worker_rlimit_nofile {files}; events {{ worker_connections {files * 3 // 4}; }}\n"
        f"http {{ {temporary} include {folder}/site.conf; }}\n"
    )
    command = ["/usr/sbin/nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError):
                connection = HTTPConnection("127.0.0.1", port)
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def started(contender: Contender, folder: Path) -> Iterator[Running]:
    """A collector of a contender's code."""
    kept = os.environ.get("PYTHONPATH")
    paths = [str(contender.tree / "src"), str(HERE), contender.packages]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        with running("collector", folder, module=contender.module) as server:
            yield server
    finally:
        os.environ.pop("PYTHONPATH")
        if kept is not None:
            os.environ["PYTHONPATH"] = kept


def measure(contender: Contender, way: str, share: float) -> dict[str, Any]:
    """One server: at capacity, at three times of it, and at capacity again."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        server = stack.enter_context(started(contender, folder / "server"))
        contributors = gather(server, int(20_000 + 100_000 * share))
        urls = [stack.enter_context(nginx(contender.tree, server, folder))] * (way == "nginx")
        bodies = iter(contributors.bodies)

        def load(count: float, rate: float, connections: int, timeout: float) -> Load:
            sent = list(islice(bodies, int(count)))
            return put_under_load(
                server,
                contributors,
                sent,
                rate,
                urls=urls,
                connections=connections,
                timeout=timeout,
            )

        load(1_000, 1e5, AT_ONCE, 60.0)  # not measured: it warms up
        stack.enter_context(held_to(share, server.process.pid))
        before = load(1_000 + 5_000 * share, 1e5, AT_ONCE, 60.0)
        rate = 3 * before.acknowledged / before.seconds
        crowded = load(rate * SECONDS, rate, MOST, 10.0)
        after = load(1_000 + 5_000 * share, 1e5, AT_ONCE, 60.0)
    # Before and after, since the machine may have more or less other work meanwhile.
    quiet = (before, after)
    capacity = statistics.mean(one.acknowledged / one.seconds for one in quiet)
    each = statistics.mean(1000 * one.processor / one.acknowledged for one in quiet)
    each_crowded = 1000 * crowded.processor / max(1, crowded.acknowledged)
    return {
        "capacity_a_second": round(capacity),
        "goodput": round(crowded.throughput / capacity, 3),
        "by_processor": round(each / each_crowded, 3),
        "processor_at_capacity": round(each, 3),  # milliseconds of processor per report
        "memory_mb": round(crowded.memory_mb),
        "refusals": crowded.refusals,
        "timeouts": crowded.timeouts,
        "broken": crowded.broken,
        "held_back": crowded.held_back,
        "latency": {name: round(value, 2) for name, value in crowded.latency.items()},
        "readyz": round(crowded.readyz, 2),
        "lost": crowded.lost,
        "generator_late": round(crowded.generator_late, 2),
    }


def compared(
    contenders: Sequence[Contender], ways: Sequence[str], shares: Sequence[float], pairs: int
) -> list[dict[str, Any]]:
    """All contenders in all cases."""
    results = []
    for way in ways:
        for share in shares:
            runs: dict[str, list[dict[str, Any]]] = {one.name: [] for one in contenders}
            for _ in range(pairs):
                for one in contenders:
                    runs[one.name].append(measure(one, way, share))
            medians = {
                name: {
                    key: statistics.median(run[key] for run in found)
                    for key in ("goodput", "by_processor", "processor_at_capacity", "memory_mb")
                }
                for name, found in runs.items()
            }
            results.append({"way": way, "cores": share, "medians": medians, "runs": runs})
            print(json.dumps({"way": way, "cores": share, **medians}), flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.overload")
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--granian", help="folder in which Granian is installed")
    parser.add_argument("--way", choices=WAYS, help="both unless given")
    parser.add_argument("--cores", type=float, help="1 and 0.1 unless given")
    parser.add_argument("--pairs", type=int, default=3)
    wish = parser.parse_args()
    contenders = [Contender("ours")]
    if wish.against:
        contenders.append(Contender("against", wish.against.resolve()))
    if wish.granian:
        contenders.append(Contender("granian", HERE, "benchmarks.on_granian", wish.granian))
    ways = (wish.way,) if wish.way else WAYS
    shares = (wish.cores,) if wish.cores else SHARES
    print(json.dumps(compared(contenders, ways, shares, wish.pairs), indent=2))
