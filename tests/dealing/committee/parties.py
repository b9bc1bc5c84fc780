"""Parties on loopback: certificates, free ports, and parties as processes that may die."""

import asyncio
import atexit
import hashlib
import multiprocessing
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from jrr import DRR, JRR, Mechanism
from jrr.dealing.committee.cards import Envelope, card_key, open_card
from jrr.dealing.committee.deals import DealingParty, DealOrder, DealtDeck, Member, deal_together
from jrr.dealing.committee.meeting import Identity, Link, Peer
from jrr.dealing.committee.merkle import Tree
from jrr.dealing.kinds import Committee, Party
from jrr.errors import JrrError
from jrr.research.processes import free_port
from jrr.servers.common.certificates import make_certificate
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey, read_survey

ROOT = Path(__file__).parents[3]
PRELOADED = ["tests.dealing.committee.parties", "tests.dealing.committee.mortal"]
DEADLINE = 120.0  # seconds after which a process is held to hang


@cache
def _folder() -> Path:
    made = Path(mkdtemp(prefix="jrr-test-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def identity(number: int) -> Identity:
    """A certificate and its key; made once per test process."""
    public, secret = make_certificate(_folder() / f"party{number}")
    return Identity(str(public), str(secret))


def certificate(number: int) -> str:
    return Path(identity(number).certificate).read_text()


def peers(count: int) -> list[Peer]:
    """Parties on free ports."""
    return [Peer("127.0.0.1", free_port(), certificate(number)) for number in range(count)]


def survey_by(mechanism: Mechanism, dealing: Committee, **more: Any) -> Survey:
    """A survey of one question whose cards are of a given mechanism."""
    draft = one_question("Do you?", labels=tuple(f"answer {at}" for at in range(mechanism.k)))
    settings: dict[str, Any] = {
        "title": draft.title,
        "languages": draft.languages,
        "questions": tuple(question.as_asked for question in draft.questions),
        "mechanisms": {"answer": mechanism},
        "dealing": dealing,
        "collector": "http://127.0.0.1:9",
        "capacity": 1_000,
        "consent": {"en": "{cost}"},
    }
    return Survey(**(settings | more))


def survey_of(where: Sequence[Peer], mechanism: JRR | DRR | None = None) -> Survey:
    """A survey that these parties deal for."""
    committee = Committee(
        threshold=1,
        parties=tuple(
            Party(
                url=f"http://127.0.0.1:{peer.port}",
                link=f"{peer.host}:{peer.port}",
                certificate=peer.certificate,
            )
            for peer in where
        ),
    )
    return survey_by(mechanism or JRR(5, p=0.7, s=0.2), committee)


def secrets_of(count: int) -> list[bytes]:
    """The invitations of some people."""
    return [hashlib.sha256(f"person {number}".encode()).digest()[:20] for number in range(count)]


def members_of(survey: Survey, people: Sequence[bytes]) -> list[Member]:
    """People as parties know them."""
    return [
        (
            hashlib.sha256(secret).digest(),
            card_key(secret, survey.hash).public_key().public_bytes_raw(),
        )
        for secret in people
    ]


def hands(survey: Survey, people: Sequence[bytes], outcomes: Sequence[DealtDeck]) -> list[int]:
    """Everybody's card, opened by its holder."""
    names = [name for name, _ in outcomes[0].members]
    mechanism = survey.dealt[0].for_people(len(names))
    trees = [(Tree(outcome.sealed), Tree(outcome.excess)) for outcome in outcomes]
    found = []
    for secret in people:
        slot = names.index(hashlib.sha256(secret).digest())
        shown = [
            Envelope(
                slot,
                outcome.sealed[slot],
                tuple(tree.path(slot)),
                outcome.excess[slot],
                tuple(checked.path(slot)),
            )
            for outcome, (tree, checked) in zip(outcomes, trees, strict=True)
        ]
        key = card_key(secret, survey.hash)
        found.append(open_card(mechanism, key, outcomes[0].record, shown))
    return found


# Processes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """What one process does."""

    survey: bytes
    me: int
    identity: Identity
    members: list[Member]
    patience: float = 60.0
    join: float = 60.0
    die_at: int | None = None  # before its so manyth message
    listen: tuple[str, int] | None = None


@dataclass
class Ended:
    """How it ended."""

    outcome: DealtDeck | None = None
    reason: str = ""
    seconds: float = 0.0
    code: int | None = 0
    kinds: list[int] = field(default_factory=list)  # of the messages it sent


def _take_part(part: Part, pipe: "Connection[Any, Any]") -> None:
    start = time.perf_counter()
    kinds: list[int] = []
    plain = Link.send

    async def send(self: Link, to: int, kind: int, payload: bytes) -> None:
        if len(kinds) == part.die_at:
            os._exit(9)
        kinds.append(int(kind))
        await plain(self, to, kind, payload)

    Link.send = send  # type: ignore[method-assign]
    survey = read_survey(part.survey)
    assert isinstance(survey.dealing, Committee)
    work = deal_together(
        DealOrder.of(survey, survey.dealing),
        DealingParty(
            number=part.me,
            identity=part.identity,
            members=part.members,
            patience=part.patience,
            join=part.join,
            listen=part.listen,
        ),
    )
    try:
        ended = Ended(asyncio.run(work), kinds=kinds)
    except JrrError as error:
        ended = Ended(reason=str(error), kinds=kinds)
    ended.seconds = time.perf_counter() - start
    pipe.send(ended)


@cache
def _processes() -> Any:
    """Processes that have everything imported when they start."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


@cache
def warm_up() -> None:
    """Import everything that processes need, which takes seconds, before anybody waits for them."""
    check = f"import sys; sys.exit({PRELOADED[-1]!r} not in sys.modules)"
    first = _processes().Process(target=exec, args=(check,))
    with chdir(ROOT):  # modules are looked for from here, and left out where they are not found
        first.start()
    first.join()
    assert first.exitcode == 0, "processes start without what they need, and would be slow"


def together(parts: Sequence[Part]) -> list[Ended]:
    """Run all at once; whoever hangs is killed and says so."""
    warm_up()
    started = []
    for part in parts:
        mine, theirs = _processes().Pipe()
        process = _processes().Process(target=_take_part, args=(part, theirs), daemon=True)
        process.start()
        theirs.close()
        started.append((process, mine))
    ended = []
    for process, pipe in started:
        try:
            one = pipe.recv() if pipe.poll(DEADLINE) else Ended(reason="hangs")
        except EOFError:
            one = Ended(reason="died")
        process.join(DEADLINE if one.reason != "hangs" else 0)
        if process.is_alive():
            process.kill()
            process.join()
        one.code = process.exitcode
        process.close()
        pipe.close()
        ended.append(one)
    return ended
