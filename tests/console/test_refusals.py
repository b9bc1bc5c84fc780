"""Every field that is filled in wrongly is named as the page calls it, with what was typed."""

import json
import re

import pytest

from jrr.dealing.kinds import Dealers
from tests.browsing import JARGON
from tests.console import WORK, Servers, Visitor, answer_work
from tests.console.test_dealers_steps import raw_post
from tests.console.test_life import created, draft_path
from tests.survey.test_words_around import png

CREATE = {
    "people": {"": "got ''", "1": "from 2 to 1,000,000,000", "2.5": "got 2.5", "1e30": "from 2"},
    "response": {"": "got ''", "0": "got 0", "160": "above 0 and at most 100, got 160"},
    "lost": {"100": "got 100", "-1": "got -1", "no": "got 'no'"},
    "dealers": {"nonsense": "https://survey.example", "ftp://x": "https://survey.example"},
    "collector": {"nonsense": "https://survey.example"},
    "min_cell": {"0": "got 0", "61": "at most 60, the people to invite, got 61", "x": "got 'x'"},
    "results_every": {"0": "from 1 to 60", "x": "got 'x'"},
    "min_batch": {"0": "from 1 to 60", "x": "got 'x'"},
    "keep_days": {"30": "no closing time", "x": "got 'x'", "1.5": "whole number"},
}
INVITE = {
    "count": {"0": "1 to 100,000", "x": "got 'x'", "61": "at most 60"},
    "spare": {"x": "got 'x'", "-1": "got '-1'"},
    "page": {"": "https://survey.example", "nonsense": "https://survey.example"},
    "made_before": {"x": "there is no column", "invitation\nabc": "row 1 has none"},
}
QUESTION = {
    "text.en": {"": "1 to 2,000 characters"},
    "low": {"7": "above From, 7, got 5"},
    "margin": {"3": "at most 1 (0.03: 3 points), got 3", "no": "got 'no'"},
    "weight": {"-1": "got -1"},
    "name": {"a b": "got 'a b'"},
}
DRAFT = {
    "epsilon": {"0": "got 0", "no": "got 'no'", "1,000": "got 1000"},
    "title.en": {"": "1 to 2,000 characters"},
    "waves": {"1.5": "got 1.5"},
    "opens": {"x": "a time as"},
    "closes": {"x": "a time as"},
    "analyses": {"zz": "got 'zz'", "groups: zz": "got 'zz'"},
    "logo": {"zz": "PNG"},
}


def label_of(body: str, field: str) -> str:
    """What a page calls a field: the words of its label up to a comma or a bracket."""
    found = re.search(rf'<label for="{re.escape(field)}">([^<]*)', body)
    assert found is not None, field
    return re.split(r"[,(]", found[1])[0].strip()


def check_told(words: str, label: str, told: str) -> None:
    """Label and reason, in one sentence, without a word of makers or an option of a command."""
    assert JARGON.search(words) is None
    assert " --" not in words
    assert re.search(rf"{re.escape(label)}[^.]* must .*{re.escape(told)}", words), (label, told)


PLAN = {
    "people": {"x": "got 'x'", "1": "got 1"},
    "response": {"160": "at most 100, got 160"},
    "epsilon": {"0": "got 0"},
    "lost": {"100": "got 100"},
    "questions": {"x": "got 'x'", "51": "from 1 to 50"},
    "population": {"1": "got 1", "1999": "at least the 2,000 people to invite"},
    "margin": {"": "got ''", "0": "got 0"},
}


def one_draft(visitor: Visitor) -> str:
    text = json.dumps(WORK | {"title": "Refused"})
    return draft_path(visitor.post("/drafts/import", text=text).body)


def test_fields_of_a_survey_to_create(servers: Servers, visitor: Visitor) -> None:
    path = one_draft(visitor)
    labels = visitor.get(f"{path}/create").body
    for field, wrong in CREATE.items():
        for typed, told in wrong.items():
            form = {"people": "60", "dealers": servers.dealer.url, field: typed}
            refused = visitor.post(f"{path}/create", **form)
            assert refused.status == 422, (field, typed)
            check_told(refused.words, label_of(labels, field), told)
            if field != "dealers":
                assert f'value="{typed}"' in refused.body  # to be corrected, not typed anew


def test_a_share_of_a_branch_can_be_corrected_where_it_was_refused(visitor: Visitor) -> None:
    question = {"name": "more", "kind": "yes-no", "text": {"en": "More?"}}
    asked = [*WORK["questions"], question | {"only_if": {"sector": ["office"]}}]
    text = json.dumps(WORK | {"title": "Branches", "questions": asked})
    draft = draft_path(visitor.post("/drafts/import", text=text).body).rpartition("/")[2]
    for typed in ("160", "0", "x"):
        page = visitor.get(f"/plan?draft={draft}&asked.more={typed}")
        check_told(page.words, "Asked more", f"got {typed}" if typed.isdecimal() else "got 'x'")
        assert f'name="asked.more" inputmode="decimal" value="{typed}"' in page.body
    assert 'name="asked.more" inputmode="decimal" value="25"' in (
        visitor.get(f"/plan?draft={draft}&asked.more=25").body
    )


def test_fields_of_invitations(servers: Servers, visitor: Visitor) -> None:
    survey = created(visitor, one_draft(visitor), people="60", dealers=servers.dealer.url)
    base = f"/surveys/{survey.hash}"
    labels = visitor.get(f"{base}/invite").body
    right = {"count": "5", "format": "csv", "page": "https://page.example/"}
    for field, wrong in INVITE.items():
        label = "The table of invitations" if field == "made_before" else label_of(labels, field)
        for typed, told in wrong.items():
            refused = visitor.post(f"{base}/invite", **(right | {field: typed}))
            assert refused.status == 422
            check_told(refused.words, label, told)
    for act in ("remind", "revoke", "replace"):
        refused = visitor.post(f"{base}/invite", act=act, **right)
        check_told(refused.words, "The table of invitations", "who is meant")
    refused = visitor.post(f"{base}/extend", closes="soon")
    check_told(refused.words, "New closing time", "got 'soon'")


def test_fields_of_a_plan(visitor: Visitor) -> None:
    labels = visitor.get("/plan").body
    for field, wrong in PLAN.items():
        for typed, told in wrong.items():
            refused = visitor.get(f"/plan?{field}={typed}")
            check_told(refused.words, label_of(labels, field), told)


def test_what_closing_is_refused_for(servers: Servers, visitor: Visitor) -> None:
    survey = servers.survey(min_cell=5)
    answer_work(survey, servers.begin(survey, 3))
    base = f"/surveys/{survey.hash}"
    for by in ({}, {"by_sector": "yes"}):
        refused = visitor.post(f"{base}/close", sure="yes", **by)
        told = "“Smallest group shown” and “Fewest answers of any result”"
        check_told(refused.words, "Answers made with a card", told)
    refused = visitor.post(f"{base}/close", sure="yes", sums0="{}")
    check_told(refused.words, "The file of sums", "close it first")
    assert servers.operator(survey).show()["collector"]["state"] == "open"
    refused = visitor.get(f"{base}/groups?by=nothing")
    check_told(refused.words, "By the answers to", "Where do you work?, got 'nothing'")
    refused = visitor.get(f"{base}/waves?since=nothing")
    check_told(refused.words, "Compare with", "got 'nothing'")


def test_a_file_names_cells_that_there_are(visitor: Visitor) -> None:
    text = json.dumps(WORK | {"title": "Cells", "cells": ["bribed"]})
    page = visitor.post("/drafts/import", text=text)
    check_told(page.words, "Cells", "'sector'")


def test_fields_of_a_draft(visitor: Visitor) -> None:
    asked = {"kind": "scale", "name": "x", "text.en": "How?", "low": "1", "high": "5"}
    right = {"languages": "en", "title.en": "T", "epsilon": "1", "split": "even", "waves": "1"}
    right |= {f"question0.{name}": value for name, value in asked.items()}
    right |= {"question0.sensitive": "yes", "ask": "auto"}
    cases = DRAFT | {f"question0.{name}": wrong for name, wrong in QUESTION.items()}
    path = draft_path(visitor.post("/drafts/new").body)
    named = {"question0.low": "To", "logo": "Logo"}
    for field, wrong in cases.items():
        for typed, told in wrong.items():
            version = re.findall(r'name="version" value="(\d+)"', visitor.get(path).body)[0]
            page = visitor.post(path, **(right | {field: typed, "version": version}))
            shown = named.get(field) or label_of(page.body, field)
            check_told(page.words.partition("Not ready yet:")[2], shown, told)


@pytest.mark.parametrize(("typed", "meant"), [("0,5", "0.5"), ("0.5", "0.5"), ("1,000", "1000")])
def test_commas_mean_in_the_editor_what_they_mean_to_people(
    visitor: Visitor, typed: str, meant: str
) -> None:
    path = draft_path(visitor.post("/drafts/new").body)
    form = {"languages": "en", "title.en": "T", "waves": "1", "version": "0", "epsilon": typed}
    assert re.search(rf'name="epsilon"[^>]* value="{meant}"', visitor.post(path, **form).body)


def test_files_that_dealers_operators_bring(servers: Servers) -> None:
    survey = servers.survey()
    servers.begin(survey, 3)
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    base = f"/surveys/{survey.hash}"
    for people in ("x", "{}"):
        refused = raw_post(dealer, f"{base}/invite", people=people)
        check_told(refused.words, "The file of whom to accept", "")
    for document in ("x", "{}", "[1]"):
        refused = raw_post(dealer, "/bring", document=document)
        check_told(refused.words, "The file", "document.json")
    refused = raw_post(dealer, f"{base}/close", request="x", sure="yes")
    check_told(refused.words, "The closing request", "the collector's operator gave")


def test_what_a_file_says_of_the_survey_is_kept_or_said_to_be_left_out(
    servers: Servers, visitor: Visitor
) -> None:
    settings = {"min_cell": 7, "keep_days": 30, "closes": "2999-01-01T00:00:00Z"}
    text = json.dumps(WORK | {"title": "Kept", "survey": settings})
    page = visitor.post("/drafts/import", text=text)
    assert "Left out" not in page.words
    path = draft_path(page.body)
    exported = visitor.get(f"{path}/survey.toml").body
    assert "min_cell = 7" in exported
    assert "keep_days = 30" in exported
    form = visitor.get(f"{path}/create").body
    filled = dict(re.findall(r'<input id="\w+" name="(\w+)"[^>]*? value="([^"]*)"', form))
    assert (filled["min_cell"], filled["keep_days"]) == ("7", "30")
    more = json.dumps(WORK | {"title": "More", "survey": {"verified": False, "capacity": 70}})
    page = visitor.post("/drafts/import", text=more)
    assert "no fields for it: capacity." in page.words
    path = draft_path(page.body)
    assert "verified = false" in visitor.get(f"{path}/survey.toml").body
    assert 'name="unverified" value="yes" checked' in visitor.get(f"{path}/create").body


def test_a_copy_never_weakens_what_a_survey_promised(servers: Servers, visitor: Visitor) -> None:
    for verified in (None, False):
        waves = {"title": f"Verified {verified}", "waves": 2}
        survey = servers.survey(WORK | waves, verified=verified)
        assert survey.dealing.is_verified == (verified is None)
        servers.operator(survey).install()
        for act in ("correct", "next-wave", "copy"):
            page = visitor.post(f"/surveys/{survey.hash}/{act}")
            assert "is not copied" not in page.words
            form = visitor.get(f"{draft_path(page.body)}/create").body
            ticked = 'name="unverified" value="yes" checked' in form
            assert ticked == (verified is False)
    enrolled = servers.survey(dealing=Dealers((servers.dealer.url,), enrol_first=True))
    servers.operator(enrolled).install()
    assert "is not copied" in visitor.post(f"/surveys/{enrolled.hash}/copy").words
    # A document that is imported is copied, too, with its words and its logo.
    usual = servers.survey(consent={"en": "For science."}, logo=png(40, 20))
    page = visitor.post("/drafts/import", text=usual.to_bytes().decode())
    assert "For science." in page.body
    assert png(40, 20) in page.body
