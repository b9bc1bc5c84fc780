"""The console over real sockets: what these tests share."""

import asyncio
import html
import http.client
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from jrr.client.contributor import Contributor
from jrr.client.fleet import drive_all
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.protocol.identity import invitation_secret
from jrr.research.processes import Running
from jrr.survey.contributor import contribute
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey

LIMITS = Limits(700.0, patience=5.0)
CSRF = re.compile(r'name="csrf" value="([^"]+)"')
WORK: dict[str, Any] = {
    "title": "Work",
    "epsilon": 4.0,
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": "Where do you work?",
            "labels": ["office", "field"],
            "sensitive": False,
        },
        {"name": "bribed", "kind": "yes-no", "text": "Have you ever taken a bribe?"},
        {"name": "hours", "kind": "scale", "text": "How satisfied are you?", "low": 1, "high": 3},
    ],
}


@dataclass(frozen=True)
class Reply:
    """What the console answered."""

    status: int
    body: str
    headers: dict[str, str]
    raw: bytes = b""

    @property
    def words(self) -> str:
        """What a reader sees, roughly."""
        return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", self.body)))


@dataclass
class Visitor:
    """A browser without scripts: it keeps cookies and follows redirects of forms."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def request(
        self, method: str, path: str, fields: dict[str, str] | None = None, **headers: str
    ) -> Reply:
        """One request, and none after it."""
        host = urlsplit(self.url).netloc
        connection = http.client.HTTPConnection(host, timeout=120)
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        body = None
        if fields is not None:
            body = urlencode(fields)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent | self.headers | more)
        with closing(connection), connection.getresponse() as response:
            raw = response.read()
            for line in response.headers.get_all("set-cookie") or ():
                name, _, rest = line.partition("=")
                self.cookies[name] = rest.partition(";")[0].strip('"')
            return Reply(
                response.status,
                raw.decode("utf-8", "replace"),
                {name.lower(): value for name, value in reversed(response.headers.items())},
                raw,
            )

    def get(self, path: str) -> Reply:
        """A page; where it leads elsewhere, that one."""
        return self._followed(self.request("GET", f"/console{path}"))

    def post(self, path: str, /, **fields: str) -> Reply:
        """A form from a page of ours, and the page after it."""
        fields.setdefault("csrf", self.csrf())
        return self._followed(self.request("POST", f"/console{path}", fields))

    def _followed(self, reply: Reply) -> Reply:
        for _ in range(5):
            if reply.status != 303:
                break
            reply = self.request("GET", reply.headers["location"])
        return reply

    def csrf(self) -> str:
        """Of the forms that we are shown."""
        found = CSRF.search(self.get("/").body)
        assert found is not None
        return found[1]

    def sign_in(self, token: str) -> Reply:
        """With a token, from the form."""
        form = self.request("GET", "/console/sign-in")
        found = CSRF.search(form.body)
        assert found is not None
        fields = {"csrf": found[1], "token": token}
        return self._followed(self.request("POST", "/console/sign-in", fields))


def raw_get(visitor: Visitor, path: str) -> bytes:
    """A file."""
    reply = visitor.request("GET", path)
    assert reply.status == 200, reply.words
    return reply.raw


@dataclass(frozen=True)
class Servers:
    """A dealer and a collector with a console."""

    dealer: Running
    collector: Running

    def visitor(self) -> Visitor:
        """Somebody who is signed in."""
        visitor = Visitor(self.collector.url)
        assert visitor.sign_in(self.collector.token).status == 200
        return visitor

    def survey(self, document: dict[str, Any] | None = None, **more: Any) -> Survey:
        """A survey at these servers."""
        settings: dict[str, Any] = {
            "draft": Draft.from_dict(document or WORK),
            "people": 60,
            "collector": self.collector.url,
            "dealing": Dealers((self.dealer.url,)),
            "min_cell": 3,
        } | more
        return SurveyRequest(**settings).survey()

    def operator(self, survey: Survey) -> Operator:
        """Of both."""
        tokens = Tokens(dealer=self.dealer.token, collector=self.collector.token)
        return Operator.by_tokens(survey, tokens)

    def begin(self, survey: Survey, people: int) -> list[str]:
        """Install, invite and open; the invitations."""
        operator = self.operator(survey)
        operator.install()
        invitations = new_invitations(people)
        if survey.invitations:
            operator.invite(invitations)
        operator.open()
        return invitations


def answer(survey: Survey, invitation: str | None, answers: dict[str, Any]) -> None:
    """Somebody answers, on a device of their own."""
    with tempfile.TemporaryDirectory() as folder:
        Contributor(survey.link, invitation, limit=600.0, state=folder).answer(answers)


def answer_at_once(survey: Survey, answers: Mapping[str, dict[str, Any]]) -> None:
    """Everybody answers at the same time: invitation -> answers."""
    steps = [
        contribute(survey, invitation_secret(invitation), told, LIMITS)
        for invitation, told in answers.items()
    ]
    found = asyncio.run(drive_all(steps))
    assert [one for one in found if isinstance(one, Exception)] == []


def answer_work(survey: Survey, invitations: Sequence[str]) -> None:
    """Everybody answers; every third has taken a bribe."""
    for at, invitation in enumerate(invitations):
        sector = ("office", "field")[at % 2]
        bribed = "yes" if at % 3 == 0 else "no"
        answer(survey, invitation, {"sector": sector, "bribed": bribed, "hours": 1 + at % 3})
