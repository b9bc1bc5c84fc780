"""The page Analyse: every figure is that of `jrr.load_survey` on the export, or a sentence."""

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import jrr
from jrr.client.ending import Ending
from jrr.console.analysing import _groups
from jrr.console.editing import read_document, what_is_wrong
from jrr.console.pages import Form
from jrr.dealing.kinds import Nobody
from jrr.errors import ArgumentError
from jrr.survey.survey import Survey
from jrr.tables.loaded import LoadedSurvey
from tests.console import WORK, Reply, Servers, Visitor, answer_at_once

SHIFT = {
    "name": "shift",
    "kind": "choice",
    "text": "When?",
    "labels": ["day", "night"],
    "sensitive": False,
}
SICK = {"name": "sick", "kind": "number", "low": 0, "high": 10, "text": "Days ill?"}
LIED = {"name": "lied", "kind": "yes-no", "text": "Lied?"}
DOCUMENT: dict[str, Any] = WORK | {
    "epsilon": 12.0,
    "questions": [WORK["questions"][0], SHIFT, *WORK["questions"][1:], SICK, LIED],
}
PEOPLE = 32


def finished(
    servers: Servers, by: tuple[str, ...] | None, folder: Path, *, draft: Any = None, **more: Any
) -> Any:
    """A survey that is closed, and its export."""
    survey = servers.survey(DOCUMENT | (draft or {}), **more)
    people = {}
    for at, invitation in enumerate(servers.begin(survey, PEOPLE)):
        yes = "yes" if at % 3 == 0 else "no"
        people[invitation] = {
            "sector": ("office", "field")[at % 2],
            "shift": ("day", "night")[at // 2 % 2],
            "bribed": yes,
            "hours": 1 + at % 3,
            "sick": at % 11,
            "lied": yes,
        }
    answer_at_once(survey, people)
    operator = servers.operator(survey)
    operator.close(Ending(by=by))
    file = folder / "answers.parquet"
    file.write_bytes(operator.export("parquet"))
    return survey, jrr.load_survey(survey, file)


def shown(visitor: Visitor, survey: Survey, **fields: str) -> Reply:
    return visitor.get(f"/surveys/{survey.hash}/analysis?{urlencode(fields)}")


def cells(reply: Reply) -> list[list[str]]:
    """The rows of all tables."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", reply.body)
    return [[html.unescape(re.sub("<[^>]*>", "", c)) for c in re.split("<td", r)] for r in rows]


def test_groups_differences_and_means_are_those_of_the_export(
    servers: Servers, visitor: Visitor, tmp_path: Path
) -> None:
    survey, loaded = finished(servers, ("sector", "shift"), tmp_path)
    page = shown(visitor, survey, what="groups", question="bribed", by_sector="yes")
    assert page.body.count("<svg") == 2
    for group in loaded.groups("bribed", "sector"):
        low, high = group.estimate.interval()
        assert f"{100 * group.estimate.frequencies[1]:.1f}%" in page.words
        assert f"{100 * low[1]:.1f} to {100 * high[1]:.1f}%" in page.words
    (pair,) = loaded.groups("bribed", "sector").differences()
    low, high = pair.difference.interval()
    assert f"{pair.first} minus {pair.second}" in page.words
    assert f"{100 * low[1]:.1f} to {100 * high[1]:.1f}%" in page.words
    crossed = shown(visitor, survey, what="groups", question="bribed")
    assert "office × night" in crossed.words
    for name in ("hours", "sick"):
        page = shown(visitor, survey, what="groups", question=name, by_shift="yes")
        for group, mean in loaded.means(name, "shift").items():
            low, high = mean.interval()
            assert f"{group} {mean.n} {mean.mean:.4g} {low:.4g} to {high:.4g}" in page.words
        assert "differences of means" in page.words


def test_shares_are_shown_where_there_is_no_mean(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few people an estimate may say that nobody gave a number; the page was a refusal."""

    def no_mean(*_: object, **__: object) -> None:
        raise ArgumentError("nobody gave a number")

    _, loaded = finished(servers, ("sector",), tmp_path)
    wish = Form([("question", "hours")])
    assert len(list(_groups(loaded, wish))) == 4
    monkeypatch.setattr(LoadedSurvey, "means", no_mean)
    shares, differences = _groups(loaded, wish)
    assert "No means: nobody gave a number." in shares.words
    assert "differences" in differences.caption
    with pytest.raises(ArgumentError, match="nobody gave a number"):
        list(_groups(loaded, Form([("question", "sick")])))


def test_regression_and_weights_through_cells(
    servers: Servers, visitor: Visitor, tmp_path: Path
) -> None:
    survey, loaded = finished(servers, ("sector", "shift"), tmp_path)
    formula = "bribed ~ sector + shift"
    page = shown(visitor, survey, what="regression", formula=formula, link="identity")
    fit = loaded.regress(formula, link="identity")
    for name, value in zip(fit.names, fit.coefficients, strict=True):
        assert f"{name} {value:.4g}" in page.words
    assert "from shares of cells" in page.words
    margins = "sector,people\noffice,80\nfield,20"
    page = shown(visitor, survey, what="weights", question="bribed", margins=margins)
    weighted = loaded.weighted("bribed", {"sector": {"office": 80.0, "field": 20.0}})
    assert f"yes weighted {100 * weighted.estimate.frequencies[1]:.1f}%" in page.words
    assert f"Design effects: no {weighted.design_effect[0]:.2f}" in page.words
    for fields, words in (
        ({"what": "regression", "formula": "bribed"}, "such as 'cheated ~ dept + age'"),
        ({"what": "weights", "question": "bribed", "margins": "x"}, "a column 'people'"),
        ({"what": "groups", "question": "nothing"}, "Question must be one of"),
        ({"what": "two", "question": "bribed", "second": "bribed"}, "another question"),
        ({"what": "spells"}, "What must be one of"),
    ):
        page = shown(visitor, survey, **fields)
        assert page.status == 200
        assert words in page.words, page.words


def test_what_was_not_closed_on_is_refused_with_the_reason(
    servers: Servers, visitor: Visitor, tmp_path: Path
) -> None:
    survey, _ = finished(servers, ("sector",), tmp_path)
    page = shown(visitor, survey, what="groups", question="bribed", by_shift="yes")
    assert "announced sums of the groups of sector, once: groups are planned" in page.words
    assert "<svg" not in page.body


def test_two_questions_and_an_outcome_person_by_person(
    servers: Servers, visitor: Visitor, tmp_path: Path
) -> None:
    rr = {"mechanism": "rr", "dealing": Nobody()}
    survey, loaded = finished(servers, None, tmp_path, **rr)
    page = shown(visitor, survey, what="two", question="bribed", second="lied")
    table = loaded.two_way("bribed", "lied")
    assert ["yes", "yes", f"{100 * table.shares[1, 1]:.1f}%"] == [
        cell.rpartition(">")[2] for cell in cells(page)[3][:3]
    ]
    page = shown(visitor, survey, what="regression", formula="lied ~ bribed", link="identity")
    assert "bribed" in page.words
    assert page.body.count("<svg") == 1


def test_before_the_end_it_says_what_is_planned(servers: Servers, visitor: Visitor) -> None:
    survey = servers.survey(DOCUMENT | {"analyses": ["groups: shift"]})
    servers.begin(survey, 3)
    close = f"/surveys/{survey.hash}/close"
    assert "Not possible afterwards" not in visitor.get(close).words
    other = visitor.get(f"{close}?by_sector=yes").words
    assert "Not possible afterwards: groups: shift: results by shift need a sum" in other
    page = visitor.get(f"/surveys/{survey.hash}/analysis")
    assert "it is planned to close by shift" in page.words
    refused = shown(visitor, survey, what="groups", question="bribed")
    assert "close the survey first" in refused.words


def test_what_is_to_be_made_of_it_is_kept_and_told_before_it_is_too_late(
    servers: Servers, visitor: Visitor
) -> None:
    """The editor used to drop analyses and cells of an imported draft without a word."""
    wanted = {"analyses": ["groups: sector", "pairs"], "cells": ["shift"]}
    page = visitor.post("/drafts/import", text=json.dumps(DOCUMENT | wanted))
    path = re.search(r'action="/console(/drafts/[0-9a-f]+)"', page.body)
    assert path is not None
    fields = dict(re.findall(r'name="([^"]+)"[^>]* value="([^"]*)"', page.body))
    for name in wanted:
        found = re.search(rf'<textarea [^>]*name="{name}"[^>]*>([^<]*)<', page.body)
        assert found is not None
        fields[name] = html.unescape(found[1])
        assert fields[name].splitlines() == wanted[name]
    assert read_document(Form(fields.items()))["analyses"] == wanted["analyses"]
    wrong = DOCUMENT | {"analyses": ["spells"]}
    assert "Analyses, a line each must be one of" in what_is_wrong(wrong)
    given = {"people": "2000", "dealers": servers.dealer.url, "response": "60", "lost": "0"}
    told = visitor.post(f"{path[1]}/create", act="plan", **given)
    assert "groups: sector: bribed ±" in told.words
    assert "pairs: not possible: pairs need two waves" in told.words
    refused = visitor.post(f"{path[1]}/create", **given)
    assert refused.status == 422
    assert "Not everything that you want to make of it will be possible" in refused.words
    made = visitor.post(f"{path[1]}/create", anyway="yes", **given)
    assert "Created. Nobody can answer before it is opened." in made.words
    analysis = re.search(r'href="/console(/surveys/[0-9a-f]+/analysis)"', made.body)
    assert analysis is not None
    assert "it is planned to close by shift × sector" in visitor.get(analysis[1]).words
