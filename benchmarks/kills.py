"""`python -m benchmarks.kills`: servers that are killed in the middle of their work.

Under load: a collector is killed (SIGKILL) while answers come, started again, and everything is
sent again. What it had acknowledged must be there, once. Announcing: a dealer is killed while it
tells the sums of cards, started again, and asked for those of fewer cards, then of the same. All
that it ever told must be one sum. One JSON document; the exit code says whether all was so.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import random
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.dealing.messages import card_request
from jrr.protocol.identity import invitation_secret, pseudonym
from jrr.research.load.measure import Contributors, gather
from jrr.research.processes import Running, postgres, running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey

LOADS = 13  # kills under load, on SQLite and as many on PostgreSQL
ANNOUNCEMENTS = 120
PEOPLE = 400  # who answer between two kills
CARDS = 20
LATEST = 0.07  # seconds after which a dealer that announces is killed


def under_load(folder: Path, database: str, kills: int) -> dict[str, int]:
    """Answers that were lost or doubled, over some kills of one collector."""
    found: Counter[str] = Counter(kills=kills)
    contributors: Contributors | None = None
    acknowledged: set[bytes] = set()
    for turn in range(kills + 1):
        with running("collector", folder, database) as server:
            if contributors is not None:  # it was killed: what does it know?
                replies = asyncio.run(_send(server, contributors, contributors.bodies))
                again = [reply for body, reply in replies.items() if body in acknowledged]
                found["acknowledged"] += len(again)
                found["lost"] += sum(status != 200 for status in again)
                found["unheard"] += sum(
                    status == 200 for body, status in replies.items() if body not in acknowledged
                )
                reports = int(server.admin.get(contributors.operator.path)["reports"])
                found["doubled"] += reports - len(contributors.bodies)
            if turn < kills:
                contributors = gather(server, PEOPLE)
                killer = threading.Timer(random.uniform(0.02, 0.4), server.process.kill)
                killer.start()
                replies = asyncio.run(_send(server, contributors, contributors.bodies))
                acknowledged = {body for body, status in replies.items() if status == 201}
                killer.join()
    return dict(found)


async def _send(
    server: Running, contributors: Contributors, bodies: tuple[bytes, ...]
) -> dict[bytes, int]:
    """Status of each reply; 0 where none came."""
    limit = asyncio.Semaphore(20)

    async def one(session: aiohttp.ClientSession, body: bytes) -> int:
        async with limit:
            try:
                async with session.post(f"{server.url}{contributors.path}", data=body) as reply:
                    await reply.read()
                    return reply.status
            except (aiohttp.ClientError, OSError):
                return 0

    async with aiohttp.ClientSession() as session:
        statuses = await asyncio.gather(*(one(session, body) for body in bodies))
    return dict(zip(bodies, statuses, strict=True))


def announcing(folder: Path, kills: int) -> dict[str, int]:
    """How often a dealer that was killed told other sums than before, or none."""
    found: Counter[str] = Counter(kills=kills)
    before: tuple[Survey, list[str], str | None] | None = None
    for turn in range(kills + 1):
        with running("dealer", folder) as server:
            if before is not None:
                survey, serials, first = before
                later = [_close(server, survey, some) for some in (serials[1:], serials)]
                told = {reply for reply in (first, *later) if reply is not None}
                # Of other cards than were announced before it tells nothing.
                is_committed = first is not None or later[0] is None
                found["committed_before_the_kill"] += is_committed
                found["committed_and_not_told"] += is_committed and first is None
                found["told_twice"] += len(told) > 1
                found["told_never"] += not told
            if turn < kills:
                survey, serials = _dealt(server)
                killer = threading.Timer(random.uniform(0.0, LATEST), server.process.kill)
                killer.start()
                before = survey, serials, _close(server, survey, serials)
                killer.join()
                server.process.wait()
    return dict(found)


def _dealt(server: Running) -> tuple[Survey, list[str]]:
    """A survey that is open, and the serial numbers of the cards that people were given."""
    survey = SurveyRequest(
        draft=one_question("Do you?"),
        people=CARDS,
        collector="https://collector.example",
        mechanism="mrr",
        colluders=0,
        min_cell=1,
        dealing=Dealers((server.url,)),
    ).survey()
    operator = Operator(survey, {0: server.admin})
    operator.install()
    invitations = new_invitations(CARDS)
    operator.invite(invitations)
    operator.open()
    (role,), serials = survey.dealing.roles, []
    (question,) = survey.sensitive
    for text in invitations:
        name = pseudonym(invitation_secret(text), survey.hash, role)
        reply = _ask(server, f"{survey.path}/cards", card_request(name))
        assert reply is not None
        serials.append(reply["cards"][question.name]["serial"])
    return survey, serials


def _close(server: Running, survey: Survey, serials: list[str]) -> str | None:
    """The sums that a dealer tells of these cards; None where it tells nothing."""
    (question,) = survey.sensitive
    request = {
        "survey": survey.hash,
        "announcement": 1,
        "by": [],
        "questions": {question.name: {"": serials}},
    }
    body = json.dumps({"request": request}).encode()
    reply = _ask(server, f"/v1/admin{survey.path.removeprefix('/v1')}/close", body)
    return None if reply is None else json.dumps(reply["sums"], sort_keys=True)


def _ask(server: Running, path: str, body: bytes) -> dict[str, Any] | None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    with contextlib.closing(connection):
        try:
            connection.request("POST", path, body, {"Authorization": f"Bearer {server.token}"})
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            return None
    return json.loads(text) if reply.status == 200 else None


def main() -> int:
    """Print what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.kills")
    parser.add_argument("--loads", type=int, default=LOADS)
    parser.add_argument("--announcements", type=int, default=ANNOUNCEMENTS)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with postgres(folder / "server", "collector") as addresses:
            found = {
                "sqlite": under_load(
                    folder / "one", f"sqlite:///{folder}/collector.db", wanted.loads
                ),
                "postgresql": under_load(folder / "two", addresses["collector"], wanted.loads),
                "announcing": announcing(folder / "dealer", wanted.announcements),
            }
    print(json.dumps(found, indent=2))
    wrong = ("lost", "doubled", "told_twice", "told_never")
    return 1 if any(part.get(name) for part in found.values() for name in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
