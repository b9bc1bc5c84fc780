"""Figures for whoever watches a server (Prometheus), on a port of their own.

Counts are told in steps of ten, and sums not at all: at night, when one person answers in an hour,
a figure that moves by one would tell when. The port is open to this machine only unless the
setting says otherwise; addresses, names and surveys are in no figure.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    start_http_server,
)
from prometheus_client.metrics_core import Metric

from jrr.errors import ArgumentError
from jrr.servers.common.batch import Writer
from jrr.servers.common.certificates import certificate_end
from jrr.servers.common.connections import Server

STEP = 10  # in which counts are told
_PROCESS_STEPS = {  # figures of the process move with every visitor too, unless told so coarsely
    "process_cpu_seconds": 10.0,
    "process_open_fds": 10.0,
    "process_resident_memory_bytes": float(16 << 20),
    "process_virtual_memory_bytes": float(16 << 20),
}
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_JOBS = (1, 2, 5, 10, 20, 50, 100, 200, 512)
_UNTOLD = ("_sum", "_created")


def _coarse(metric: Metric, step: float) -> Metric:
    """The same in steps, and without sums."""
    coarse = Metric(metric.name, metric.documentation, metric.type)
    for sample in metric.samples:
        if not sample.name.endswith(_UNTOLD):
            coarse.add_sample(sample.name, sample.labels, step * math.floor(sample.value / step))
    return coarse


class Metrics:
    """What is counted in one server."""

    def __init__(self, writer: Writer, certificates: Sequence[str] = ()) -> None:
        self._exact = CollectorRegistry()
        exact = self._exact
        self._refusals = Counter(
            "jrr_refusals", "Refused requests by reason.", ["reason"], registry=exact
        )
        self._latency = Histogram(
            "jrr_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ["by"],
            buckets=_SECONDS,
            registry=exact,
        )
        sizes = Histogram("jrr_batch_jobs", "Jobs per commit.", buckets=_JOBS, registry=exact)
        times = Histogram(
            "jrr_batch_seconds", "Seconds per commit.", buckets=_SECONDS, registry=exact
        )
        waiting = Gauge("jrr_jobs_waiting", "Contributors' jobs that wait.", registry=exact)
        waiting.set_function(lambda: writer.waiting)
        room = Gauge("jrr_jobs_room", "Contributors' jobs that may wait.", registry=exact)
        room.set_function(lambda: writer.room)

        def told(jobs: int, seconds: float) -> None:
            sizes.observe(jobs)
            times.observe(seconds)

        writer.batches.append(told)
        ends = Gauge(
            "jrr_certificate_end_seconds",
            "When a certificate of this server ends, since 1970; 0: it cannot be read.",
            ["file"],
            registry=exact,
        )
        for path in certificates:
            ends.labels(Path(path).name).set_function(partial(certificate_end, path))
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)

    def watch(self, server: Server) -> None:
        """Count what happens to connections too."""
        for name, text, read in (
            ("jrr_connections", "Open connections.", lambda: len(server.connections)),
            ("jrr_connection_limit", "Connections that may be open now.", lambda: server.limit),
            (
                "jrr_disconnected",
                "Connections that were silent or slow.",
                lambda: server.disconnected,
            ),
        ):
            Gauge(name, text, registry=self._exact).set_function(read)

    def count_refusal(self, reason: str) -> None:
        """A problem was answered."""
        self._refusals.labels(reason).inc()

    def count_request(self, by: str, seconds: float) -> None:
        """A request was answered; by: contributor or operator."""
        self._latency.labels(by).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """All figures as they are told; called by prometheus_client."""
        for metric in self._exact.collect():
            yield _coarse(metric, STEP)
        for metric in self._process.collect():
            step = _PROCESS_STEPS.get(metric.name)
            yield metric if step is None else _coarse(metric, step)

    def restricted_registry(self, _: Any) -> "Metrics":
        """Asked for with names: all are told anyway."""
        return self

    def serve(self, host: str, port: int) -> WSGIServer:
        """Answer on a port of one's own, in a thread, until the process ends.

        Raises:
            ArgumentError: The port is taken.
        """
        try:
            server, _ = start_http_server(port, host, registry=self)
        except OSError as error:
            raise ArgumentError(
                f"metrics_port must be free to listen on, got {host}:{port}: {error.strerror}"
            ) from None
        return server
