"""What verified cards cost: processor time and bytes, beside surveys without.

    python -m benchmarks.verified
    python -m benchmarks.verified --cards 100000
    python -m benchmarks.verified --lies 3000
    python -m benchmarks.verified --phone
    python -m benchmarks.verified --http 1000 --connections 40

prints, for one yes-no question: what the collector spends on reading one upload (the unverified one
beside it), dealer and device on one card, bytes of an upload, and closing so many cards. --lies: of
so many closings in which a dealer cheats in one slot of its noise, how many pass. --phone: what the
answer page loads more, and how long cards and proofs of some questions take it, in Chromium with
the screen of a phone and a processor that is slowed down four times. --http: all that a
collector's processor does with so many uploads, over so many connections at a time (1).
"""

import argparse
import asyncio
import contextlib
import gzip
import http.client
import json
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jrr.client.fleet import drive_all
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import check_dealt, deal
from jrr.dealing.verified.group import base, plus
from jrr.dealing.verified.keys import Promise, Secrets, survey_context
from jrr.dealing.verified.laws import Law, Sums
from jrr.dealing.verified.noise import (
    SLOTS,
    NoiseRequest,
    NoiseSeeds,
    check_opening,
    slots_hash,
)
from jrr.dealing.verified.proving import Proving, SignedCommitments
from jrr.dealing.verified.questions import card_laws, possible_numbers
from jrr.dealing.verified.sums import NamedCards, VerifiedDecks, check_sums, commit_noise, tell_sums
from jrr.errors import IntegrityError
from jrr.protocol.documents import plain
from jrr.protocol.identity import invitation_secret
from jrr.protocol.steps import Call, Reply, Steps
from jrr.research.load.measure import processor_of
from jrr.research.processes import running
from jrr.survey.contributor import contribute
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import read_upload, report_message, upload
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey

NAME = b"\7" * 32


LIMITS = Limits(10.0)


def survey_of(
    verified: bool,
    collector: str = "https://collector.example",
    dealer: str = "https://dealer.example",
) -> Survey:
    return SurveyRequest(
        draft=one_question("Have you?"),
        people=10_000,
        collector=collector,
        dealing=Dealers((dealer,)),
        verified=verified,
    ).survey()


def microseconds(work: Callable[[], object], runs: int = 300) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _ in range(runs):
            work()
        best = min(best, time.process_time() - began)
    return round(best / runs * 1e6, 1)


class Verified:
    """A survey, its dealer and one device."""

    def __init__(self) -> None:
        self.survey = survey_of(True)
        mechanisms = {one.salt: one.mechanism for one in self.survey.dealt}
        names = {one.salt: one.name for one in self.survey.dealt}
        self.decks = VerifiedDecks(mechanisms, names, secrets.token_bytes(32), self.survey)
        self.promise = Promise(**self.decks.promise())
        self.context = self.promise.context(self.survey.hash)
        self.laws = card_laws(self.survey)

    def dealt(self, asked: SerialNonce) -> Any:
        return deal(self.decks.secrets, self.context, asked, self.laws)

    def checked(self, asked: SerialNonce, given: Any) -> Any:
        return check_dealt(self.promise, self.context, asked, self.laws, given)["answer"]

    def body(self, asked: SerialNonce, card: Any, signature: bytes) -> bytes:
        context = survey_context(self.survey.hash, [self.promise])
        proving = Proving(context, card, (SignedCommitments(card.commitments, signature),))
        mechanism = self.survey.mechanisms["answer"]
        serials = [asked.serial.hex()]
        entry = report_message(mechanism, 0, True, serials)
        entry |= proving.answer("answer", NAME, serials, possible_numbers(mechanism), [1])
        return upload(NAME, {}, {"answer": entry})


def one_upload() -> dict[str, Any]:
    mine, plain = Verified(), survey_of(False)
    asked = SerialNonce(b"s" * 16, b"n" * 32)
    given = mine.dealt(asked)
    card = mine.checked(asked, given)
    body = mine.body(asked, card, given.signatures["answer"])
    entry = report_message(plain.mechanisms["answer"], 3, True, ["ab" * 16])
    other = upload(NAME, {}, {"answer": entry})
    read = microseconds(lambda: read_upload(mine.survey, body, None, [mine.promise]))
    before = microseconds(lambda: read_upload(plain, other))
    return {
        "microseconds of the collector to read an upload": {"verified": read, "plain": before},
        "microseconds of the dealer for a card": microseconds(lambda: mine.dealt(asked)),
        "microseconds of a device": {
            "check a card": microseconds(lambda: mine.checked(asked, given)),
            "prove an answer": microseconds(
                lambda: mine.body(asked, card, given.signatures["answer"])
            ),
        },
        "bytes of an upload": {"verified": len(body), "plain": len(other)},
    }


def closing(cards: int) -> dict[str, Any]:
    mine = Verified()
    asked, signed = {}, []
    for number in range(cards):
        one = SerialNonce(number.to_bytes(16, "big"), b"n" * 32)
        given = mine.dealt(one)
        card = mine.decks.cards_again(one)["answer"]
        asked[one.serial] = one
        signed.append(SignedCommitments(card.commitments, given.signatures["answer"]))
    named = NamedCards(mine.survey, {"answer": {"": sorted(asked)}}, b"r" * 64, b"t" * 32)
    seconds: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        seconds[what] = round(time.process_time() - began, 2)
        return found

    committed = timed("dealer commits", lambda: commit_noise(mine.decks, named))
    slots = {"answer": {"": 3}}
    told, opened = timed("dealer tells", lambda: tell_sums(mine.decks, named, slots, asked))
    timed(
        "collector checks",
        lambda: check_sums(
            named, mine.promise, committed, slots, {"answer": {"": signed}}, told, opened
        ),
    )
    return {"cards": cards, "seconds": seconds}


def lies(runs: int) -> dict[str, Any]:
    """A dealer adds 20 to the noise of one slot, and hopes that it is drawn."""
    dealer, survey, law = Secrets(secrets.token_bytes(32)), secrets.token_bytes(32), Law(1, 0.8)
    sums = Sums(announcements=1, questions=1, cells=1)
    seeds = NoiseSeeds(dealer.noise, survey, sums)
    promise, passed = dealer.promise(seeds.root), 0
    for _ in range(runs):
        request = NoiseRequest(survey, secrets.token_bytes(32), b"h" * 64, 0)
        slots = [seeds.noise(request, slot, law).commitments for slot in range(SLOTS)]
        lied, drawn = secrets.randbelow(SLOTS), secrets.randbelow(SLOTS)
        slots[lied] = (plus(slots[lied][0], base(20)),)
        told = replace(seeds.open(request, drawn, law), commitments=slots[drawn])
        with contextlib.suppress(IntegrityError):
            check_opening(promise, sums, request, drawn, law, slots_hash(slots), told)
            passed += 1
    return {"closings with a lie": runs, "passed": passed, "expected": round(runs / SLOTS, 1)}


def report_of(steps: Steps[Any]) -> Steps[bytes]:
    """A conversation up to the upload, which is not sent."""
    reply: Reply | None = None
    while True:
        step = steps.send(reply)
        if isinstance(step, Call) and step.address.endswith("/reports"):
            return step.body or b""
        reply = yield step


def send_all(address: str, path: str, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection(address)
    for body in bodies:
        connection.request("POST", path, body)
        reply = connection.getresponse()
        assert reply.status == 201, reply.read()
        reply.read()


def over_http(people: int, connections: int) -> dict[str, Any]:
    """Milliseconds of the collector's processor for an upload, from the socket to the disk."""
    each: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        running("dealer", Path(name) / "dealer") as dealer,
        running("collector", Path(name) / "collector") as collector,
    ):
        for verified in (False, True):
            survey = survey_of(verified, collector.url, dealer.url)
            operator = Operator(survey, {0: dealer.admin}, collector.admin)
            operator.install()
            invitations = new_invitations(people)
            operator.invite(invitations)
            operator.open()
            made = asyncio.run(
                drive_all(
                    report_of(contribute(survey, invitation_secret(one), {"answer": "yes"}, LIMITS))
                    for one in invitations
                )
            )
            bodies = [body for body in made if isinstance(body, bytes)]
            assert len(bodies) == people
            address, path = urlsplit(collector.url).netloc, f"{survey.path}/reports"
            used = processor_of(collector.process.pid)
            with ThreadPoolExecutor(connections) as pool:
                parts = (bodies[at::connections] for at in range(connections))
                list(pool.map(partial(send_all, address, path), parts))
            took = processor_of(collector.process.pid) - used
            each["verified" if verified else "plain"] = round(1000 * took / people, 2)
    return {"milliseconds of the collector for an upload over HTTP": each}


SLOWER = 4
KINDS: dict[str, tuple[int, int, list[list[int]]]] = {  # numbers, largest, sums; as coins have them
    "yes or no": (1, 1, []),
    "one of five": (5, 1, [[0, 5, 1]]),
    "six items together": (6, 1, []),
    "a number in 21 steps": (1, 20, []),
    "one of fifty": (50, 1, [[0, 50, 2]]),
}
TIMED = """
async ([survey, promise, given, laws, kinds, runs]) => {
  const { checkDealt, readPromise, provingOf } = await import("/verified/device.js");
  const asked = { serial: new Uint8Array(16).fill(115), nonce: new Uint8Array(32).fill(110) };
  const read = readPromise(survey, promise);
  const found = {};
  for (const [name, [numbers, largest, sums]] of Object.entries(kinds)) {
    const said = Array(numbers).fill(0).fill(1, 0, sums[0]?.[2] ?? 0);
    const once = () => {
      const began = performance.now();
      const cards = checkDealt(read, asked, { [name]: laws[name] }, given);
      const shape = { numbers, largest, sums };
      const dealt = [{ asked, card: cards[name] }];
      provingOf(survey, [read], name, dealt, shape)("07".repeat(32), said);
      return performance.now() - began;
    };
    const first = once(); // tables are made, code is compiled
    found[name] = { first, then: Math.min(...Array.from({ length: runs }, once)) };
  }
  return found;
}
"""


class Silent(SimpleHTTPRequestHandler):
    """Serves files, and writes no log."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def phone() -> dict[str, Any]:
    """Milliseconds of the page's own files for one card and one proof, and what they weigh."""
    from playwright.sync_api import sync_playwright

    dealer, survey = Secrets(b"d" * 32), "5a" * 32
    promise = dealer.promise(b"r" * 32)
    laws = {name: Law(numbers, 0.28) for name, (numbers, _, _) in KINDS.items()}
    asked = SerialNonce(b"s" * 16, b"n" * 32)
    dealt = deal(dealer, promise.context(survey), asked, laws)
    given = {
        "evaluation": dealt.evaluation.to_bytes().hex(),
        "signatures": {name: one.hex() for name, one in dealt.signatures.items()},
    }
    shapes = {name: {"numbers": law.numbers, "rate": law.rate} for name, law in laws.items()}
    code = Path(__file__).parents[1] / "clients" / "js"
    files = [code / "vendor" / "noble.js", *sorted((code / "verified").glob("*.js"))]
    more = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    handler = partial(Silent, directory=str(code))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        told = [survey, plain(promise), given, shapes, KINDS]
        found = {}
        for slower in (1, SLOWER):
            page = browser.new_page(
                viewport={"width": 390, "height": 844}, is_mobile=True, device_scale_factor=3
            )
            page.goto(f"http://127.0.0.1:{server.server_port}/package.json")
            page.context.new_cdp_session(page).send(
                "Emulation.setCPUThrottlingRate", {"rate": slower}
            )
            timed = page.evaluate(TIMED, [*told, 5])
            found[f"milliseconds, {slower}-fold slower"] = {
                name: {when: round(value, 1) for when, value in one.items()}
                for name, one in timed.items()
            }
        browser.close()
    server.shutdown()
    return {"bytes more, compressed": more} | found


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.verified")
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument("--lies", type=int, metavar="RUNS")
    parser.add_argument("--phone", action="store_true")
    parser.add_argument("--http", type=int, metavar="UPLOADS")
    parser.add_argument("--connections", type=int, default=1)
    asked = parser.parse_args()
    if asked.lies is not None:
        found = lies(asked.lies)
    elif asked.http is not None:
        found = over_http(asked.http, asked.connections)
    elif asked.phone:
        found = phone()
    else:
        found = one_upload() | {"closing": closing(asked.cards)}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
