"""The real answer page with a draft that is being written; it cannot send anything.

The page's own files are served, from an address that cannot be guessed, for a survey whose
collector is that address, and takes no reports. The one line of the page
that refuses frames is left out: here a page of the same origin shows it, beside the editor. And it
does not take the focus when it loads: who writes in the editor would go on writing into it.
"""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from jrr.client.operator import new_invitations
from jrr.console.pages import PREVIEW, START, Console
from jrr.dealing.kinds import Dealers
from jrr.protocol.states import OPEN
from jrr.servers.common.problems import Problem
from jrr.servers.page.files import PageFile, page_files
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey

PEOPLE = 1_000  # for whom a survey is planned that is only looked at
DEALER = "https://dealer.example"  # for the page's words; its policy lets nothing go there
MOST = 50  # previews at a time
FRAMES = b"if (window.top !== window.self)"  # of page.js
FOCUS = b"top.focus({"  # of page.js: a new screen takes the focus, here only from one before it
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
}
REFUSED = Problem(409, "preview", "this is a preview: nothing is dealt, and nothing is taken")


@dataclass
class Preview:
    """What one state of a draft looks like."""

    name: str  # cannot be guessed
    origin: str
    draft: Draft
    options: dict[str, Any]  # of the survey beside it
    survey: Survey
    invitation: str = field(default_factory=lambda: new_invitations(1)[0])  # nobody's

    @property
    def address(self) -> str:
        """For a frame; what follows the # is for the page's own script."""
        invitation = f"&invitation={self.invitation}" if self.survey.invitations else ""
        return f"{START}/preview/{self.name}/page/#survey={self.survey.link}{invitation}"


class Previews:
    """The latest ones.

    Each state of a draft has an address of its own: a frame may still show the one before, and
    two requests may come at the same time.
    """

    def __init__(self) -> None:
        self._previews: OrderedDict[str, Preview] = OrderedDict()

    def make(self, draft: Draft, origin: str, options: dict[str, Any]) -> Preview:
        """A preview of a draft; the same one for the same draft.

        options: Consent, opens and closes, as for a survey; it shows as open, whenever that is.
        """
        for made in reversed(list(self._previews.values())):
            same = made.draft == draft and made.options == options
            if same and made.origin == origin:
                return made
        name = secrets.token_urlsafe(24)
        request = SurveyRequest(
            draft=draft,
            people=PEOPLE,
            collector=f"{origin}{START}/preview/{name}",
            dealing=Dealers((DEALER,)),
            verified=False,  # nobody deals
            invitations=draft.waves > 1,  # several waves need them
            **options,
        )
        survey = request.survey()  # which checks the times
        if options.get("opens") or options.get("closes"):
            survey = replace(request, opens=None, closes=None).survey()
        preview = Preview(name, origin, draft, options, survey)
        self._previews[name] = preview
        while len(self._previews) > MOST:
            self._previews.popitem(last=False)
        return preview

    def find(self, name: str) -> Preview | None:
        """The one at an address."""
        return self._previews.get(name)


def routes(console: Console) -> list[Route]:
    """Their addresses. The page sends no cookies: its address is what lets one in."""
    previews = Previews()
    console.more[PREVIEW] = lambda *args: previews.make(*args).address
    files = {file.path: _framed(file) for file in page_files()}

    async def file(request: Request) -> Response:
        path = f"{request.path_params['folder']}/{request.path_params.get('file', 'index.html')}"
        known = previews.find(request.path_params["preview"]) is not None
        if not known or path not in files:
            return Response("not here\n", 404, media_type="text/plain")
        return Response(files[path].body, media_type=files[path].kind, headers=HEADERS)

    async def document(request: Request) -> Response:
        found = _found(previews, request)
        if found is None:
            return _problem(Problem(404, "unknown-survey", "there is no such preview"))
        return Response(found.survey.to_bytes(), media_type="application/json")

    async def status(request: Request) -> Response:
        if _found(previews, request) is None:
            return _problem(Problem(404, "unknown-survey", "there is no such preview"))
        return JSONResponse({"state": OPEN})

    async def refuse(_: Request) -> Response:
        return _problem(REFUSED)

    base = "/preview/{preview}"
    survey = f"{base}/v1/surveys/{{name}}"
    return [
        Route(f"{base}/{{folder}}/", file),
        Route(survey, document),
        Route(f"{survey}/status", status),
        Route(f"{survey}/{{what}}", refuse, methods=["POST"]),
        Route(f"{base}/{{folder}}/{{file}}", file),
    ]


def _found(previews: Previews, request: Request) -> Preview | None:
    found = previews.find(request.path_params["preview"])
    is_it = found is not None and found.survey.hash == request.path_params["name"]
    return found if is_it else None


def _framed(file: PageFile) -> PageFile:
    """A file of the page for inside a frame of the same origin."""
    if file.path == "page/page.js":
        if FRAMES not in file.body or FOCUS not in file.body:
            raise AssertionError("the answer page refuses frames, or moves the focus, otherwise")
        body = file.body.replace(FRAMES, b"if (false)")
        return PageFile(file.path, body.replace(FOCUS, b"if (document.hasFocus()) " + FOCUS))
    if file.path == "page/index.html":  # page.js has other bytes than it says
        head, script, rest = file.body.partition(b'src="page.js"')
        return PageFile(file.path, head + script + rest[rest.index(b">") :])
    return file


def _problem(problem: Problem) -> Response:
    document: dict[str, Any] = problem.document()
    return JSONResponse(document, problem.status, media_type="application/problem+json")
