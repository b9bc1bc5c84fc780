"""The page to plan on: from what a researcher knows to margins, guarantees and people."""

import json
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from jrr._base import checks
from jrr.console.drafts import all_drafts, find_draft
from jrr.console.numbers import read_number, read_percent
from jrr.console.pages import Form, PageRequest, in_words, page, read, render
from jrr.console.plan_tables import (
    MECHANISMS,
    TRUST,
    VIEWS,
    PlanWish,
    learnt,
    losses,
    margins,
    people_needed,
    what_if,
    yes_no_questions,
)
from jrr.errors import JrrError
from jrr.survey.draft import Draft

FIELDS = {
    **{"people": "2000", "response": "60", "epsilon": "1", "trust": "2", "lost": "3"},
    **{"questions": "1", "margin": "2", "draft": "", "population": ""},
}
ASKED = "asked."  # how fields begin that say which share is asked a question


@page("/plan")
def _plan(request: PageRequest) -> Response:
    found: dict[str, Any] = {"table": None, "picture": None, "losses": None, "learnt": None}
    typed = {name: text for name, text in request.query.items() if name.startswith(ASKED)}
    found |= {"best": None, "waves": 1, "words": "", "branches": typed}
    try:
        wish, _ = _read(request)
        table = margins(wish)
        found |= {
            "table": table,
            "picture": Markup(table.picture),
            "losses": losses(wish, is_quick=True),
            "learnt": table.learnt,
            "best": table.best,
            "waves": wish.asked().waves,
            "branches": {ASKED + name: f"{100 * share:g}" for name, share in wish.branches},
        }
    except JrrError as error:
        found["words"] = in_words(error)
    return request.page(
        "plan.html",
        422 if found["words"] else 200,
        section="plan",
        fields={name: request.query.get(name, usual) for name, usual in FIELDS.items()},
        drafts=read(request.console, all_drafts),
        trust=TRUST,
        mechanisms=MECHANISMS,
        views=VIEWS,
        needed=None,
        query=request.http.url.query,
        **found,
    )


@page("/plan/more")
def _more(request: PageRequest) -> Response:
    """What takes seconds, for the page above."""
    wish, margin = _read(request)
    return render(
        "plan_more.html",
        mechanisms=MECHANISMS,
        views=VIEWS,
        losses=losses(wish, is_quick=False),
        learnt=learnt(wish),
        best=margins(wish).best,
        waves=wish.asked().waves,
        needed={name: people_needed(wish, margin, name) for name in MECHANISMS},
        margin=f"{100 * margin:g}",
        what_if=what_if(wish),
        wish=wish,
    )


def _read(request: PageRequest) -> tuple[PlanWish, float]:
    """What is planned, and the margin that people are looked for."""
    query = request.query
    draft = query.get("draft")
    if draft:
        document = read(request.console, find_draft, draft).document
        text = json.dumps(Draft.from_dict(document).to_dict(), sort_keys=True)
    else:
        count = checks.integer("Yes-no questions", _number(query, "questions"), 1, 50)
        text = json.dumps(yes_no_questions(count), sort_keys=True)
    trust = checks.one_of("trust", query.get("trust", FIELDS["trust"]), tuple(TRUST))
    people = checks.integer("people", _number(query, "people"), 2, 10**9)
    wish = PlanWish(
        draft=text,
        people=people,
        response=read_percent("response", _typed(query, "response"), 100.0, is_above=True),
        epsilon=checks.epsilon("epsilon", _number(query, "epsilon")),
        dealer_above=float(trust),
        lost=read_percent("lost", _typed(query, "lost"), 99.0),
        population=_population(query, people),
        branches=_branches(query, text),
    )
    return wish, read_percent("margin", _typed(query, "margin"), 100.0, is_above=True)


def _population(query: Form, people: int) -> int | None:
    if not query.get("population"):
        return None
    population = checks.integer("population", _number(query, "population"), 2, 10**12)
    if population < people:
        raise checks.refusal("population", population, f"at least the {people:,} people to invite")
    return population


def _branches(query: Form, draft: str) -> tuple[tuple[str, float], ...]:
    """Of the questions that some people are asked, the share of these people."""
    found = []
    for question in json.loads(draft)["questions"]:
        if question.get("only_if"):
            name = str(question["name"])
            typed = query.get(ASKED + name, "100")
            share = read_percent(f"Asked {name}, %", typed, 100.0, is_above=True)
            found.append((name, share))
    return tuple(found)


def _number(query: Form, name: str) -> float:
    words = "Yes-no questions" if name == "questions" else name
    number = read_number(words, _typed(query, name))
    return int(number) if number.is_integer() else number


def _typed(query: Form, name: str) -> str:
    """What stands in a field; a field that was emptied is no number."""
    return query.get(name, FIELDS[name])
