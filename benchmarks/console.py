"""`python -m benchmarks.console`: does the console stay quick, and out of the way of uploads?

1. A live page with 1,000 and with 1,000,000 stored reports: its time, and the ratio of both.
2. Uploads to a survey with many stored reports, without pages and with ten live pages open: the
   processor seconds that the collector spends on each, and reports a second. Rounds with and
   without pages take turns, because other work on the machine comes and goes.
"""

import argparse
import http.client
import json
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from jrr.client.operator import Operator
from jrr.protocol.texts import survey_path
from jrr.research.processes import Running, running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey

PAGES = 10
LOADS = 60  # of a page
SENDERS = 16


def survey_at(collector: Running, capacity: int) -> Survey:
    survey = SurveyRequest(
        draft=one_question(f"Have you ever? ({capacity})"),
        people=capacity,
        collector=collector.url,
        mechanism="rr",
        capacity=capacity + 1_000_000,
        invitations=False,
    ).survey()
    operator = Operator(survey, {}, collector.admin)
    operator.install()
    operator.open()
    return survey


def fill(folder: Path, survey: Survey, count: int) -> None:
    """Write answers past the server, as it would have stored them."""
    (question,) = survey.sensitive
    width = question.mechanism.report_format.width
    reports = [value.to_bytes(width, "little") for value in (0, 1)]
    names = [secrets.token_bytes(32) for _ in range(count)]
    with closing(sqlite3.connect(folder / "collector.db", timeout=60)) as database:
        people = ((survey.hash, name, "{}", "{}") for name in names)
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people)
        rows = ((survey.hash, 0, name, False, reports[at % 2]) for at, name in enumerate(names))
        database.executemany("INSERT INTO reports VALUES (?, ?, ?, ?, ?)", rows)
        database.execute("INSERT INTO arrivals VALUES (?, 0, ?)", (survey.hash, count))
        database.commit()


def signed_in(collector: Running) -> str:
    """A cookie."""
    host = urlsplit(collector.url).netloc
    with closing(http.client.HTTPConnection(host)) as connection:
        connection.request("GET", "/console/sign-in")
        reply = connection.getresponse()
        form = reply.read().decode()
        csrf = form.partition('name="csrf" value="')[2].partition('"')[0]
        cookie = str(reply.headers["set-cookie"]).partition(";")[0]
        fields = urlencode({"csrf": csrf, "token": collector.token})
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/console/sign-in", fields, headers)
        reply = connection.getresponse()
        reply.read()
        lines = reply.headers.get_all("set-cookie") or []
    return next(line.partition(";")[0] for line in lines if line.startswith("jrr-console="))


def load_page(url: str, cookie: str, path: str) -> float:
    host = urlsplit(url).netloc
    with closing(http.client.HTTPConnection(host, timeout=120)) as connection:
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 200, reply.status
        return time.perf_counter() - begun


@contextmanager
def live_pages(collector: Running, cookie: str, path: str, count: int) -> Iterator[None]:
    """Pages that are open, in a process of their own: it must not slow those who send."""
    if not count:
        yield
        return
    command = [sys.executable, "-m", "benchmarks.console", "--listen", collector.url, cookie, path]
    with subprocess.Popen([*command, str(count)], stdout=subprocess.PIPE, text=True) as pages:
        assert pages.stdout is not None
        pages.stdout.readline()  # all of them have heard something
        try:
            yield
        finally:
            pages.kill()


def listen(url: str, cookie: str, path: str, count: int) -> None:
    """Pages that listen, and fetch the results whenever they are told of new ones."""
    host = urlsplit(url).netloc
    heard = threading.Semaphore(0)

    def follow() -> None:
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", f"{path}/events", headers={"Cookie": cookie})
        reply, shown = connection.getresponse(), 0
        while True:
            line = reply.readline()
            if line.startswith(b"data: {"):
                now = json.loads(line[6:])["snapshot"]
                if now != shown:
                    shown = now
                    load_page(url, cookie, f"{path}/results")
                heard.release()

    for _ in range(count):
        threading.Thread(target=follow, daemon=True).start()
    for _ in range(count):
        heard.acquire()
    print("ready", flush=True)
    threading.Event().wait()


def processor_seconds(collector: Running) -> float:
    fields = Path(f"/proc/{collector.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def load_with(collector: Running, survey: Survey, count: int) -> tuple[float, float]:
    """Processor seconds of the collector per 1,000 reports, and reports a second."""
    host = urlsplit(collector.url).netloc
    (question,) = survey.sensitive

    def send(some: int) -> None:
        with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
            for at in range(some):
                report = report_message(question.mechanism, at % 2, False, None)
                body = upload(secrets.token_bytes(32), {}, {question.name: report})
                connection.request(
                    "POST",
                    f"{survey_path(survey.hash)}/reports",
                    body,
                    {"Content-Type": "application/json"},
                )
                reply = connection.getresponse()
                reply.read()
                assert reply.status == 201, reply.status

    spent, begun = processor_seconds(collector), time.perf_counter()
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, [count // SENDERS] * SENDERS))
    seconds = time.perf_counter() - begun
    return 1_000 * (processor_seconds(collector) - spent) / count, count / seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--many", type=int, default=1_000_000)
    options.add_argument("--uploads", type=int, default=4_000)
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--listen", nargs=4, metavar=("URL", "COOKIE", "PATH", "COUNT"))
    given = options.parse_args()
    if given.listen is not None:
        url, cookie, path, count = given.listen
        listen(url, cookie, path, int(count))
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        collector = stack.enter_context(running("collector", folder, None, "--console"))
        few, many = (survey_at(collector, count) for count in (1_000, given.many))
        fill(folder, few, 1_000)
        fill(folder, many, given.many)
        cookie = signed_in(collector)
        times: dict[str, list[float]] = {"few": [], "many": []}
        first = {}
        for name, survey in (("few", few), ("many", many)):
            path = f"/console/surveys/{survey.hash}"
            first[name] = load_page(collector.url, cookie, path)
            took = load_page(collector.url, cookie, f"{path}/results")
            print(f"{name}: first page {1_000 * first[name]:.1f} ms, results {took:.2f} s")
        for _ in range(LOADS):
            for name, survey in (("few", few), ("many", many)):
                times[name].append(
                    load_page(collector.url, cookie, f"/console/surveys/{survey.hash}")
                )
        middle = {name: statistics.median(some) for name, some in times.items()}
        ratio = middle["many"] / middle["few"]
        print(
            f"live page: {1_000 * middle['few']:.1f} ms with 1,000 reports, "
            f"{1_000 * middle['many']:.1f} ms with {given.many:,}: {ratio:.2f} times"
        )
        path = f"/console/surveys/{many.hash}"
        found: dict[int, list[tuple[float, float]]] = {0: [], PAGES: []}
        load_with(collector, many, given.uploads // 4)  # warm
        for _ in range(given.rounds):
            for count in found:
                with live_pages(collector, cookie, path, count):
                    found[count].append(load_with(collector, many, given.uploads))
        for count, rows in found.items():
            cost, speed = (statistics.median(column) for column in zip(*rows, strict=True))
            print(f"{count} live pages: {cost:.3f} s of processor for 1,000 reports, {speed:.0f}/s")
        pairs = list(zip(found[0], found[PAGES], strict=True))  # of rounds beside each other
        cost, speed = (
            statistics.median(after[at] / before[at] for before, after in pairs) for at in (0, 1)
        )
        print(
            f"ten live pages: {100 * (cost - 1):+.1f}% processor time, "
            f"{100 * (speed - 1):+.1f}% reports a second"
        )


if __name__ == "__main__":
    main()
