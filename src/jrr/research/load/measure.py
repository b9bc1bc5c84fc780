"""Uploads at a rate, by several processes, and what came of them."""

import http.client
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from jrr.client.operator import Operator, new_invitations
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.research.load.sender import Job, Sent, send_all
from jrr.research.processes import Running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey

PERCENTILES = (50, 90, 99, 100)


@dataclass(frozen=True, kw_only=True)
class Contributors:
    """A survey that is open, and a report of everybody invited."""

    survey: Survey
    operator: Operator
    bodies: tuple[bytes, ...]
    so_far: Counter[str] = field(default_factory=Counter)  # sent and acknowledged, by all loads

    @property
    def path(self) -> str:
        """Where reports go."""
        return f"{self.survey.path}/reports"

    @property
    def stored(self) -> int:
        """How many reports the collector says it has."""
        assert self.operator.collector is not None  # made so below
        return int(self.operator.collector.get(self.operator.path)["reports"])


def gather(server: Running, people: int, capacity: int | None = None) -> Contributors:
    """Install a survey of randomized response at a collector, and make everybody's answers.

    capacity: Of the survey, where it is more than the people who are invited.
    """
    survey = SurveyRequest(
        draft=one_question("Do you?"),
        people=people,
        collector=server.url,
        mechanism="rr",
        capacity=capacity or people,
    ).survey()
    operator = Operator(survey, {}, server.admin)
    operator.install()
    invitations = new_invitations(people)
    operator.invite(invitations)
    operator.open()
    (question,) = survey.sensitive
    bodies = tuple(
        upload(
            pseudonym(invitation_secret(text), survey.collector_salt, COLLECTOR),
            {},
            {question.name: report_message(question.mechanism, at % 2, False, None)},
        )
        for at, text in enumerate(invitations)
    )
    return Contributors(survey=survey, operator=operator, bodies=bodies)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What came of a load, all processes together."""

    asked: float  # requests a second
    seconds: float  # until the last acknowledgement
    acknowledged: int
    throughput: float  # acknowledged a second, while the load lasted
    by_second: list[int]  # acknowledged in each second
    latency: dict[str, float]  # percentile -> seconds from when a request was due
    refusals: dict[str, int]
    tries: int
    timeouts: int
    broken: int
    held_back: int
    lost: int  # acknowledged, and not stored
    doubled: int  # stored, and never sent
    generator_late: float  # most seconds that a generator was behind by itself
    readyz: float  # longest answer of /readyz meanwhile, seconds
    memory_mb: float  # most that the server held meanwhile
    processor: float  # seconds of processor that the server took
    generator: float  # seconds of processor that all who sent took

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return dict(vars(self))


@dataclass
class _Watch:
    """Asks a server how it is, once in a while, until told to stop."""

    server: Running
    slowest: float = 0.0
    memory: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.over.wait(0.5):
            begun = time.perf_counter()
            connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=60)
            try:
                connection.request("GET", "/readyz")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            self.slowest = max(self.slowest, time.perf_counter() - begun)
            self.memory = max(self.memory, memory_of(self.server.process.pid))


def memory_of(process: int) -> float:
    """What a process holds in memory, in megabytes; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def processor_of(process: int) -> float:
    """Seconds of processor that a process has taken; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def put_under_load(
    server: Running,
    contributors: Contributors,
    bodies: Sequence[bytes],
    rate: float,
    *,
    urls: Sequence[str] = (),
    processes: int = 2,
    connections: int = 2_000,
    timeout: float = 10.0,
    obey: bool = False,
) -> Load:
    """Send reports at a rate, each once, and compare what is stored with what was acknowledged.

    Args:
        server: The collector, which is watched meanwhile.
        contributors: Whose reports.
        bodies: Those of the contributors that are sent now; none was sent before.
        rate: Requests a second, whether or not the server keeps up.
        urls: Where to send them in turn; by default the server's own address.
        processes: That send.
        connections: At most so many, all processes together.
        timeout: Seconds after which a sender closes the connection.
        obey: Whether senders wait as Retry-After says and try again, as the client does.

    Returns:
        What came of it.
    """
    begin = time.time() + 1.0
    used = processor_of(server.process.pid)
    targets = [urlsplit(url) for url in (urls or [server.url])]
    jobs = [
        Job(
            host=target.hostname or "",
            port=target.port or 0,
            path=contributors.path,
            bodies=bodies[number::processes],
            rate=rate / processes,
            begin=begin,
            connections=connections // processes,
            timeout=timeout,
            obey=obey,
        )
        for number, target in ((at, targets[at % len(targets)]) for at in range(processes))
    ]
    watch = _Watch(server)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            parts = list(pool.map(send_all, jobs))
    finally:
        watch.over.set()
        thread.join()
    used = processor_of(server.process.pid) - used
    return _joined(parts, rate, len(bodies), contributors, watch, used)


def _joined(
    parts: Sequence[Sent],
    rate: float,
    sent: int,
    contributors: Contributors,
    watch: _Watch,
    used: float,
) -> Load:
    waits = np.array([wait for part in parts for wait in part.acknowledged.values()] or [0.0])
    at = np.array([moment for part in parts for moment in part.at] or [0.0])
    acknowledged = sum(len(part.acknowledged) for part in parts)
    lasted = sent / rate
    # Over all loads: what was given up in one may be stored during the next.
    contributors.so_far.update(sent=sent, acknowledged=acknowledged)
    stored = contributors.stored
    refusals: Counter[str] = sum((part.refusals for part in parts), Counter())
    return Load(
        asked=rate,
        seconds=float(at.max()),
        acknowledged=acknowledged,
        throughput=float(np.sum(at <= lasted) / lasted) if sent else 0.0,
        by_second=np.bincount(at.astype(int)).tolist(),
        latency={f"p{share}": float(np.percentile(waits, share)) for share in PERCENTILES},
        refusals=dict(refusals),
        tries=sum(part.tries for part in parts),
        timeouts=sum(part.timeouts for part in parts),
        broken=sum(part.broken for part in parts),
        held_back=sum(part.held_back for part in parts),
        lost=max(0, contributors.so_far["acknowledged"] - stored),
        doubled=max(0, stored - contributors.so_far["sent"]),
        generator_late=max(part.latest for part in parts),
        readyz=watch.slowest,
        memory_mb=watch.memory,
        processor=used,
        generator=sum(part.processor for part in parts),
    )
