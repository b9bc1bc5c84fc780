"""The page to plan on: from what a researcher knows to margins, guarantees and people."""

import json
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from jrr._base import checks
from jrr.console.drafts import all_drafts, find_draft
from jrr.console.numbers import read_number
from jrr.console.pages import Console, Form, PageRequest, page, render
from jrr.console.plan_tables import (
    MECHANISMS,
    VIEWS,
    PlanWish,
    all_waves,
    learnt,
    margins,
    people_needed,
    quick_losses,
    slow_losses,
    yes_no_questions,
)
from jrr.console.surveys import read
from jrr.errors import JrrError
from jrr.survey.draft import Draft

TRUST = {"1": "little: ε + 1", "2": "as usual: ε + 2", "4": "much: ε + 4"}
FIELDS = {
    "people": "2000",
    "response": "60",
    "epsilon": "1",
    "trust": "2",
    "lost": "3",
    "questions": "1",
    "margin": "2",
    "draft": "",
}


def routes(console: Console) -> list[Route]:
    """Their addresses."""
    return [page(console, "/plan", _plan), page(console, "/plan/more", _more)]


@dataclass(frozen=True)
class _PlanForm:
    """What stands in the form."""

    wish: PlanWish
    margin: float


def _plan(request: PageRequest) -> Response:
    fields = {name: request.query.get(name, usual) for name, usual in FIELDS.items()}
    drafts = read(request.console, all_drafts)
    table = losses = None
    words = ""
    try:
        asked = _read(request)
        table, losses = margins(asked.wish), quick_losses(asked.wish)
    except JrrError as error:
        words = str(error)
    return request.page(
        "plan.html",
        200 if not words else 422,
        section="plan",
        fields=fields,
        drafts=drafts,
        trust=TRUST,
        mechanisms=MECHANISMS,
        views=VIEWS,
        table=table,
        picture=None if table is None else Markup(table.picture),
        losses=losses,
        learnt=None if table is None else table.learnt,
        best=None if table is None else table.best,
        waves=1 if table is None else all_waves(asked.wish),
        needed=None,
        query=request.http.url.query,
        words=words,
    )


def _more(request: PageRequest) -> Response:
    """What takes seconds, for the page above."""
    asked = _read(request)
    needed = {name: people_needed(asked.wish, asked.margin, name) for name in MECHANISMS}
    return render(
        "plan_more.html",
        mechanisms=MECHANISMS,
        views=VIEWS,
        losses=slow_losses(asked.wish),
        learnt=learnt(asked.wish),
        best=margins(asked.wish).best,
        waves=all_waves(asked.wish),
        needed=needed,
        margin=f"{100 * asked.margin:g}",
        wish=asked.wish,
    )


def _read(request: PageRequest) -> _PlanForm:
    query = request.query
    draft = query.get("draft")
    if draft:
        document = read(request.console, find_draft, draft).document
        text = json.dumps(Draft.from_dict(document).to_dict(), sort_keys=True)
    else:
        count = checks.integer("questions", _number(query, "questions"), 1, 50)
        text = json.dumps(yes_no_questions(count), sort_keys=True)
    trust = checks.one_of("trust", query.get("trust", FIELDS["trust"]), tuple(TRUST))
    wish = PlanWish(
        draft=text,
        people=checks.integer("people", _number(query, "people"), 2, 10**9),
        response=_number(query, "response") / 100,
        epsilon=checks.epsilon("epsilon", _number(query, "epsilon")),
        dealer_above=float(trust),
        lost=checks.real("lost", _number(query, "lost") / 100, "0 to 99 percent", 0.0, 0.99),
    )
    margin = _number(query, "margin") / 100
    return _PlanForm(wish, checks.real("margin", margin, "above 0", 0.0, 1.0, open_low=True))


def _number(query: Form, name: str) -> float:
    number = read_number(name, query.get(name) or FIELDS[name])
    return int(number) if number.is_integer() else number
