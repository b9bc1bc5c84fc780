"""What every page of the console has: the server it belongs to, requests, forms and replies."""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from jrr import __version__
from jrr.console.inside import InsideSender
from jrr.console.sessions import Session, Sessions
from jrr.console.survey_texts import first_text, groupings, here, later_sums, name_of, path_of
from jrr.errors import ArgumentError, JrrError, ProtocolError
from jrr.servers.common.database import READS
from jrr.servers.common.problems import Problem
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import AdminToken, Right, TokenGuard, read_users

log = logging.getLogger("jrr.servers")
START = "/console"
PREVIEW = "preview"  # in Console.more: draft, origin and options -> address of a preview
FIELD_WORDS = {  # names that the library refuses by -> what the pages call them
    "people": "People to invite",
    "response": "Response rate, %",
    "lost": "Cards lost, %",
    "epsilon": "Privacy, ε",
    "trust": "Trust in the dealer",
    "margin": "Margin, ± points",
    "population": "People in the whole population",
    "min_cell": "Smallest group shown",
    "min_batch": "Fewest answers of any result",
    "results_every": "Answers between two interim results",
    "collector": "Address of this collector",
    "dealers": "Address of the dealer",
    "dealer": "Address of the dealer",
    "after": "The same people as in",
    "keep_days": "Days kept after closing",
    "closes": "Closing time",
    "opens": "Opening time",
    "title": "Title",
    "waves": "Waves",
    "by": "Who asks",
    "contact": "Whom to ask",
    "page": "Address of the answer page",
    "made_before": "The table of invitations",
    "count": "How many, with spare ones,",
    "spare": "Spare ones",
    "language": "Language",
    "consent": "What people read before they agree",
    "n": "How many were dealt to",
    "accepted": "The file of whom to accept",
    "request": "The closing request",
    "groups of analyses": "Groups, in Analyses, a line each,",
    "weights of analyses": "Weights, in Analyses, a line each,",
    "regression of analyses": "Regression, in Analyses, a line each,",
    "sums": "The file of sums",
    "serials": "The cards that the request names",
    "who deals": "Address of the dealer",
    "since": "Compare with",
    "covariates": "Formula",
    "second": "The second question",
    "margins": "Margins of the population",
    "split": "Split of ε",
    "ask": "Questions asked of each person",
    "analyses": "Analyses, a line each",
    "logo": "Logo",
    "text": "Question",
    "labels": "Answers, a line each",
    "low": "From",
    "high": "To",
    "low and high": "From and To",
    "name": "Name in results",
    "kind": "Kind",
    "weight": "Weight",
    "only_if": "Asked only if",
    "section": "Words above the question",
    "prefer_not": "“Prefer not to say”",
    "or_less": "“or less”",
    "or_more": "“or more”",
}
_RANGE = re.compile(r"\bin (-?\d+)\.\.(-?\d+)")
_SHARE = re.compile(r"\bresponse=(0?\.\d+)")
_WHOLE = re.compile(r"(?<=\d)\.0(?=,|$)")
_SETTINGS = re.compile(r"\b(min_cell|min_batch)\b")  # where a refusal speaks of other fields, too
_INSTEAD = {  # what commands offer by options -> what these pages offer
    "number >= ": "number of at least ",
    "number > ": "number above ",
    "--merge-small merges such groups (--dry-run shows how)": (
        "tick that groups that are too small are merged"
    ),
    "than --by ": "than by ",
    "--discard-small deletes those answers, --without-sum gives all up": (
        "give answers up by the command line (jrr survey close)"
    ),
    "--discard-unknown deletes the answers that came with them": (
        "the command line deletes the answers that came with them (jrr survey close)"
    ),
    "--discard-small deletes such reports, --without-sum gives all up": (
        "the collector's operator can give such answers up, and bring another request"
    ),
    "--discard-unknown deletes the reports that came with them": (
        "the collector's operator can give such answers up, and bring another request"
    ),
    "--without-sum ends the survey without one": (
        "the command line ends the survey without one (jrr survey close)"
    ),
    "give no --sums at first, so that the collector names the cards to the dealer": (
        "close it first, and give the request to the dealer's operator"
    ),
}
_OF_QUESTION = re.compile(r"(.+) of question '(.+)'")
MOST_FIELDS = 20_000  # of a form
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types jrr"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex",
}


def not_here(words: str) -> Problem:
    """There is no such page, survey or file."""
    return Problem(404, "not-here", words)


class Form:
    """The fields of a form, or of an address: of each name the last; lines end as everywhere."""

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self._fields = {name: value.replace("\r\n", "\n") for name, value in fields}

    def get(self, name: str, default: str = "") -> str:
        """A field without blanks around it."""
        return self._fields.get(name, default).strip()

    def raw(self, name: str) -> str:
        """A field as it is."""
        return self._fields.get(name, "")

    def items(self) -> Iterable[tuple[str, str]]:
        """All fields."""
        return self._fields.items()


@dataclass(kw_only=True)
class Console:
    """The console of one server."""

    app: Any  # the server's own application
    settings: Settings
    engine: Engine
    sender: InsideSender
    sessions: Sessions
    guard: TokenGuard
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    more: dict[str, Any] = field(default_factory=dict)  # what pages have for one another

    @classmethod
    def of(cls, app: Any, settings: Settings, engine: Engine) -> "Console":
        """The console of an application."""
        guard: TokenGuard = app.state.tokens
        return cls(
            app=app,
            settings=settings,
            engine=engine,
            sender=InsideSender(app, guard.make_own()),
            sessions=Sessions(lambda one: not one.digest or guard.holder(one.digest) == one),
            guard=guard,
        )

    def user_of(self, http: Request) -> AdminToken | None:
        """Whom a proxy has signed in, where the settings say that one does."""
        name = self.settings.user_header and http.headers.get(self.settings.user_header)
        return read_users(self.settings.console_users).get(name) if name else None

    def session_of(self, http: Request, *, is_act: bool = True) -> Session | None:
        """The session of a browser; one that a proxy began holds as long as the proxy says so."""
        session = self.sessions.find(http.cookies.get(cookie_name(http)), is_act=is_act)
        if session is None or session.holder.digest or session.holder == self.user_of(http):
            return session
        return None

    def seal(self, text: str) -> str:
        """A code that only this process can make."""
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()


def read(console: Console, job: Any, *args: Any) -> Any:
    """Ask the database, without locking anything."""
    with console.engine.connect().execution_options(**{READS: True}) as connection:
        return job(connection, *args)


@dataclass(kw_only=True)
class PageRequest:
    """One request of somebody who is signed in."""

    console: Console
    http: Request
    session: Session
    form: Form  # of a POST
    query: Form

    def path(self, name: str) -> str:
        """A part of the address."""
        return str(self.http.path_params[name])

    @property
    def origin(self) -> str:
        """Scheme, host and port that the browser sees, as far as this server knows."""
        return f"{self.http.url.scheme}://{self.http.url.netloc}"

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page."""
        notes = self.session.taken_notes()
        return render(
            template,
            status,
            csrf=self.session.csrf,
            notes=notes,
            operator=self.session.operator,
            only=self.session.holder.right,
            role=self.console.settings.role,
            **values,
        )


Handler = Callable[[PageRequest], Response]
_PAGES: list[tuple[str, str, Handler]] = []  # address, method and function of every page
_TEMPLATES = Environment(
    loader=PackageLoader("jrr.console"),
    autoescape=True,  # whatever a text holds, it is text
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals |= {"start": START, "version": __version__}
_TEMPLATES.filters |= {
    "path": path_of,
    "name": name_of,
    "first_text": first_text,
    "groupings": groupings,
    "here": here,
    "later_sums": later_sums,
}
_TEMPLATES.filters["count"] = lambda number: f"{number:,}"
_TEMPLATES.filters["time"] = lambda text: f"{text[:16].replace('T', ' ')} UTC"


def render(template: str, status: int = 200, **values: Any) -> Response:
    """A page from a template; every value in it is escaped."""
    body = _TEMPLATES.get_template(template).render(**values)
    return HTMLResponse(body, status)


def goto(path: str) -> Response:
    """Go on at another page of the console."""
    return RedirectResponse(f"{START}{path}", 303)


def download(body: bytes | str, name: str, kind: str) -> Response:
    """A file; its name is made here, never by who asks for it."""
    return Response(
        body,
        media_type=kind,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def check_sure(request: PageRequest, words: str) -> None:
    """Refuse what cannot be taken back, unless the box was ticked."""
    if request.form.get("sure") != "yes":
        raise ArgumentError(f"{words}: say that you are sure, by the box above it")


def read_closes(request: PageRequest) -> str:
    """A new closing time from a form, as servers take it."""
    text = request.form.get("closes")
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ArgumentError(
            f"New closing time must be a day and a time, got {text!r:.40}"
        ) from None


def cookie_name(request: Request) -> str:
    """By https one that no other host and no http page can set; cookies tell no ports apart."""
    return f"{'__Host-' if request.url.scheme == 'https' else ''}{of_port('jrr-console', request)}"


def of_port(cookie: str, request: Request) -> str:
    """A name for this server's cookie alone, where dealer and collector share a machine."""
    return f"{cookie}-{request.url.port}" if request.url.port else cookie


def same_origin(request: Request) -> bool:
    """Whether a browser says that a form is of this server's own pages."""
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.url.netloc


def page(path: str, method: str = "GET") -> Callable[[Handler], Handler]:
    """The function below is the page at this address, for those who are signed in.

    It runs in a thread beside the event loop: it may wait, and compute.
    """

    def mark(handler: Handler) -> Handler:
        _PAGES.append((path, method, handler))
        return handler

    return mark


def routes_in(console: Console, module: str) -> list[Route]:
    """Routes to the pages of a module, in the order in which they stand there."""
    return [
        Route(path, _endpoint(console, handler), methods=[method])
        for path, method, handler in _PAGES
        if handler.__module__ == module
    ]


def _endpoint(console: Console, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Ask for a session, and that forms are from a page of it."""

    async def endpoint(http: Request) -> Response:
        session = console.session_of(http)
        if session is None:
            return RedirectResponse(f"{START}/sign-in", 303)
        form = Form([])
        if http.method == "POST":
            if session.holder.right is Right.LOOK:
                return refusal("You may only look here", 403)
            form = await read_form(http)
            if not (same_origin(http) and session.accepts(form.raw("csrf"))):
                return refusal("This form is not from a page of yours", 403)
        query = Form(http.query_params.multi_items())
        request = PageRequest(console=console, http=http, session=session, form=form, query=query)
        return await run_in_threadpool(_answered, handler, request)

    return endpoint


def _answered(handler: Handler, request: PageRequest) -> Response:
    try:
        return handler(request)
    except (JrrError, Problem) as error:
        is_missing = isinstance(error, Problem) and error.status == 404
        status = 404 if is_missing else 422
        return request.page("refused.html", status, words=in_words(error), back=_back(request))
    except Exception as error:
        # Neither what was sent nor what was computed: both may hold what nobody should read.
        log.error("unexpected %s in %s", type(error).__name__, request.http.url.path)
        return refusal("Something unexpected happened. It has been logged", 500)


def _back(request: PageRequest) -> str:
    """The page that somebody came from, if it is one of ours, or else that of the survey."""
    parts = urlsplit(request.http.headers.get("referer", ""))
    here = request.http.url
    if parts.netloc == here.netloc and parts.path.startswith(f"{START}/"):
        back = f"{parts.path}?{parts.query}" if parts.query else parts.path
        if request.http.method == "POST" or back != f"{here.path}?{here.query}".rstrip("?"):
            return back
    named = request.http.path_params
    is_of_survey = request.http.method == "POST" and "name" in named
    return f"{START}/surveys/{named['name']}" if is_of_survey else ""


def in_words(error: JrrError | Problem) -> str:
    """A refusal as a sentence; of a server's, what it says and not where it is."""
    words = error.detail if isinstance(error, Problem) else str(error)
    if isinstance(error, ProtocolError):
        _, found, detail = words.partition("): ")
        words = detail if found else words
    field, must, rest = words.partition(" must ")
    rest = rest.replace(f"got {field}=", "got ")
    of_question = _OF_QUESTION.fullmatch(field)
    if of_question is None:
        words = f"{FIELD_WORDS.get(field, field)}{must}{rest}"
    else:  # the page has the same field for every question
        name, question = of_question.groups()
        named = "Wanted margin" if name == "margin" else FIELD_WORDS.get(name, name)
        words = f"{named}, in “{question}”,{must}{rest}".replace("above low=", "above From, ")
        words = _WHOLE.sub("", words)
    for option, instead in _INSTEAD.items():
        words = words.replace(option, instead)
    words = _RANGE.sub(lambda found: f"from {int(found[1]):,} to {int(found[2]):,}", words)
    words = _SHARE.sub(lambda found: f"a response rate of {100 * float(found[1]):g}%", words)
    if words.startswith("survey is not acceptable"):
        words = "The file must be the document.json of a survey, as the researcher got it"
    words = _SETTINGS.sub(lambda found: f"“{FIELD_WORDS[found[0]]}”", words)
    return f"{words[:1].upper()}{words[1:]}".rstrip(".")


def refusal(words: str, status: int) -> Response:
    """For whoever is not signed in, or not as they should be."""
    return render("stranger.html", status, words=words)


async def read_form(request: Request) -> Form:
    """The fields of a form; a body that is none has none."""
    body = await request.body()
    try:
        fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return Form([])
    return Form(fields)


def with_headers(app: Any) -> Any:
    """An application whose replies have the headers, where they say nothing else themselves."""
    encoded = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                said = {name.lower() for name, _ in own}
                added = [entry for entry in encoded if entry[0] not in said]
                message = {**message, "headers": [*own, *added]}
            await send(message)

        await app(scope, receive, sending)

    return wrapped
