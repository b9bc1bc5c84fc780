"""Servers of a survey without sockets, and everybody who answers it."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import FastAPI

from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.protocol.steps import Call, Reply, Steps
from jrr.servers.collector.routes import collector_app
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import new_token, token_digest
from jrr.servers.dealer.routes import dealer_app
from jrr.survey import contributor
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked

TOKEN = new_token()
LIMITS = Limits(700.0, patience=0.0)
T = TypeVar("T")


class House:
    """A collector and dealers at the addresses that a survey names."""

    def __init__(self, survey: Survey, folder: Path) -> None:
        self.survey = survey
        self.silent: set[str] = set()  # addresses that do not answer
        self.apps = {survey.collector: self._app("collector", folder / "collector")}
        for number, address in enumerate(survey.dealing.addresses):
            self.apps[address] = self._app("dealer", folder / f"dealer{number}")

    def _app(self, role: str, folder: Path) -> FastAPI:
        folder.mkdir(parents=True)
        settings = Settings(
            role=role,
            database=f"sqlite:///{folder}/{role}.db",
            admin_token_sha256=token_digest(TOKEN),
            keys=str(folder / "keys"),
        )
        engine = connect(settings.database)
        prepare(engine, role)
        return (dealer_app if role == "dealer" else collector_app)(settings, engine)

    def request(
        self, method: str, address: str, body: bytes | None = None, *, longer: float = 0.0
    ) -> Reply:
        """One request to whoever is at that address."""
        parts = urlsplit(address)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin in self.silent:
            return Reply(0)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
            "scheme": "http",
            "server": ("test", 80),
            "client": ("test", 1),
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body or b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.apps[origin](scope, receive, send))
        data = b"".join(message.get("body", b"") for message in sent)
        return Reply(sent[0]["status"], data)

    def operator(self, *dealers: int, collector: bool = True) -> Operator:
        """Of these dealers, and of the collector."""
        addresses = self.survey.dealing.addresses
        dealing = {at: Admin(addresses[at], TOKEN, sender=self) for at in dealers}
        own = Admin(self.survey.collector, TOKEN, sender=self) if collector else None
        return Operator(self.survey, dealing, own)

    @property
    def everybody(self) -> Operator:
        return self.operator(*range(len(self.survey.dealing.addresses)))

    def answered(
        self, answers: Iterable[Mapping[str, Any]], invitations: list[str] | None = None
    ) -> None:
        """Invite, open, and have everybody answer what they are asked."""
        people = list(answers)
        invitations = invitations or new_invitations(len(people))
        self.everybody.install()
        self.everybody.invite(invitations)
        self.everybody.open()
        for text, mine in zip(invitations, people, strict=True):
            secret = invitation_secret(text)
            name = pseudonym(secret, self.survey.collector_salt, COLLECTOR)
            left_out = not_asked(self.survey, name)
            told = {key: answer for key, answer in mine.items() if key not in left_out}
            self.drive(contributor.contribute(self.survey, secret, told, LIMITS))

    def call(self, call: Call) -> Reply:
        """As a contributor's client makes it."""
        return self.request("GET" if call.body is None else "POST", call.address, call.body)

    def drive(self, steps: Steps[T]) -> T:
        reply: Reply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, Call):
                    reply = self.call(step)
        except StopIteration as finished:
            result: T = finished.value
            return result
