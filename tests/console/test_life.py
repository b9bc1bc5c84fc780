"""From a draft to a test, a copy and the end: what an operator does with one survey."""

import json
import re
import tomllib

import pytest

from jrr.dealing.kinds import Dealers
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey, read_survey
from tests.console import WORK, Servers, Visitor, answer, raw_get

WORDS = {"en": "Please read this first.", "de": "Bitte erst lesen."}


def draft_path(page: str) -> str:
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page)
    assert found is not None, page[:2000]
    return found[1]


def created(visitor: Visitor, path: str, **fields: str) -> Survey:
    page = visitor.post(f"{path}/create", **fields)
    assert page.status == 200, page.words
    name = re.search(r"/console/surveys/([0-9a-f]{64})", page.body)
    assert name is not None
    document = raw_get(visitor, f"/console/surveys/{name[1]}/files/document.json")
    return read_survey(document)


def test_a_test_is_marked_needs_few_people_and_is_thrown_away_whole(
    servers: Servers, visitor: Visitor
) -> None:
    title = "A test of the survey"
    page = visitor.post("/drafts/import", text=json.dumps(WORK | {"title": title}))
    path = draft_path(page.body)
    pilot = created(
        visitor, path, people="2000", dealers=servers.dealer.url, pilot="yes", min_cell="20"
    )
    assert (pilot.pilot, pilot.min_cell, isinstance(pilot.dealing, Dealers)) == (True, 1, True)
    assert visitor.get(path).status == 200  # the draft stays
    invitations = servers.begin(pilot, 3)
    for one in invitations[:2]:
        answer(pilot, one, {"sector": "office", "bribed": "no", "hours": 2})
    shown = visitor.get(f"/surveys/{pilot.hash}")
    assert '<span class="state draft">test</span>' in shown.body
    assert "Throw this test away" in visitor.get(f"/surveys/{pilot.hash}/close").words
    # Two people are enough for a sum, and so for a result.
    servers.operator(pilot).close()
    assert servers.operator(pilot).estimates()["bribed"]["estimate"]["n"] == 2
    # What is exported says that it is a test, too.
    files = f"/console/surveys/{pilot.hash}/files"
    assert json.loads(raw_get(visitor, f"{files}/codebook.json"))["pilot"] is True
    assert b"# This is a test of the survey" in raw_get(visitor, f"{files}/answers.R")
    name = visitor.request("GET", f"{files}/answers.csv").headers["content-disposition"]
    assert f'"test-{pilot.hash[:8]}-answers.csv"' in name
    report = visitor.get(f"/surveys/{pilot.hash}/report").words
    assert "This is a test of the survey, not its result." in report
    # Another one, while it is open and somebody has a card: at both servers.
    again = created(visitor, path, people="2000", dealers=servers.dealer.url, pilot="yes")
    invitations = servers.begin(again, 3)
    answer(again, invitations[0], {"sector": "office", "bribed": "no", "hours": 2})
    token = {"token0": servers.dealer.token}
    visitor.post(f"/surveys/{again.hash}/dealers", **token)
    after = visitor.post(f"/surveys/{again.hash}/delete", sure="yes")
    assert "Deleted at dealer and collector" in after.words
    assert visitor.get(f"/surveys/{again.hash}").status == 404
    assert visitor.request("GET", "/readyz").status == 200


@pytest.mark.parametrize("people", ["2", "5"])
def test_a_test_of_very_few_has_cards_and_results_as_the_survey_will(
    servers: Servers, visitor: Visitor, people: str
) -> None:
    page = visitor.post("/drafts/import", text=json.dumps(WORK | {"title": f"Few {people}"}))
    path = draft_path(page.body)
    form = {"people": people, "dealers": servers.dealer.url, "pilot": "yes"}
    pilot = created(visitor, path, **form, min_batch="10", results_every="10", min_cell="7")
    assert pilot.capacity == int(people)
    assert pilot.announces
    assert pilot.smallest_group <= 2
    invitations = servers.begin(pilot, 2)
    for one in invitations:
        answer(pilot, one, {"sector": "office", "bribed": "no", "hours": 2})
    servers.operator(pilot).close()
    assert servers.operator(pilot).estimates()["bribed"]["estimate"]["n"] == 2
    # A copy has what was chosen; people of a test are asked no second time.
    draft = draft_path(visitor.post(f"/surveys/{pilot.hash}/copy").body)
    form_of_copy = visitor.get(f"{draft}/create").body
    for name, value in {"min_batch": "10", "results_every": "10", "min_cell": "7"}.items():
        assert re.search(rf'name="{name}"[^>]*value="{value}"', form_of_copy), name
    assert "Begin wave" not in visitor.get(f"/surveys/{pilot.hash}/waves").words


def test_a_copy_and_a_next_wave_bring_what_was_chosen(servers: Servers, visitor: Visitor) -> None:
    asked = WORK | {"title": "Twice", "waves": 2, "survey": {"consent": {"en": WORDS["en"]}}}
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    given = {"dealers": servers.dealer.url, "trust": "4", "min_cell": "7", "response": "75"}
    first = created(visitor, path, people="70", lost="5", **given)
    assert first.consent["en"].startswith(WORDS["en"])
    for act, after in (("copy", ""), ("next-wave", first.hash)):
        draft = draft_path(visitor.post(f"/surveys/{first.hash}/{act}").body)
        form = visitor.get(f"{draft}/create").body
        assert re.search(r'name="people"[^>]*value="70"', form)
        for name, value in {"min_cell": "7", "response": "75", "lost": "5"}.items():
            assert re.search(rf'name="{name}"[^>]*value="{value}"', form)
        assert f">{servers.dealer.url}</textarea>" in form
        assert '<option value="4" selected>' in form
        assert (f'<option value="{first.hash}" selected>' in form) is bool(after)
        toml = tomllib.loads(raw_get(visitor, f"/console{draft}/survey.toml").decode())
        assert toml["survey"]["consent"] == {"en": WORDS["en"]}
        assert [one["name"] for one in toml["questions"]] == ["sector", "bribed", "hours"]


def test_a_file_carries_words_and_times(visitor: Visitor) -> None:
    survey = {"consent": WORDS, "opens": "2030-01-31T08:00:00Z", "closes": "2030-02-28T20:30:00Z"}
    asked = {
        **{"title": {"en": "Words", "de": "Worte"}, "languages": ["en", "de"], "survey": survey},
        "questions": [
            {"name": "a", "kind": "yes-no", "text": {"en": "Do you?", "de": "Tun Sie es?"}}
        ],
    }
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    toml = raw_get(visitor, f"/console{path}/survey.toml").decode()
    assert tomllib.loads(toml)["survey"] == survey
    assert Draft.from_dict(tomllib.loads(toml)).settings == survey
    secret = asked | {"survey": {"consent_file": "/etc/passwd"}}
    refused = visitor.post("/drafts/import", text=json.dumps(secret))
    assert (refused.status, "onsent_file must be left out" in refused.words) == (422, True)


def test_a_later_closing_time_is_the_dealers_too(servers: Servers, visitor: Visitor) -> None:
    times = {"opens": "2020-01-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z"}
    asked = WORK | {"title": "Longer", "survey": times}
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    survey = created(visitor, path, people="60", dealers=servers.dealer.url, keep_days="30")
    invitations = servers.begin(survey, 3)
    watch = f"/surveys/{survey.hash}"
    refused = visitor.post(f"{watch}/extend", closes="2998-12-31T00:00")
    assert "Closing time must be later than 2999-01-01T00:00:00Z" in refused.words
    assert (
        "New closing time must be a day and a time"
        in visitor.post(f"{watch}/extend", closes="soon").words
    )
    # Here only: the page says what is still to do, and where.
    later = {"closes": "2999-01-03T08:30"}
    said = visitor.post(f"{watch}/extend", **later).words
    assert f"Extended here, but not at {servers.dealer.url}" in said
    assert "Days kept after that: 30; then there can be no result." in said
    assert "until 2999-01-03 08:30 UTC, extended from 2999-01-01 00:00 UTC" in said
    steps = visitor.get(f"{watch}/dealers").words
    assert "Extend the closing time, as here. jrr survey extend document.json" in steps
    # The dealer's operator does it on its own console.
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    assert "Cards are given until 2999-01-01 00:00 UTC" in dealer.get(watch).words
    dealer.post(f"{watch}/extend", **later)
    assert "until 2999-01-03 08:30 UTC, extended from" in dealer.get(watch).words
    assert "as here. (done)" in visitor.get(f"{watch}/dealers").words
    answer(survey, invitations[0], {"sector": "office", "bribed": "no", "hours": 2})
    # Or the researcher, who has the dealer's token.
    both = {"closes": "2999-01-04T00:00", "token0": servers.dealer.token}
    assert "Extended. People are shown both times." in visitor.post(f"{watch}/extend", **both).words
    shown = servers.operator(survey).show()
    assert {shown[name]["closes"] for name in shown} == {"2999-01-04T00:00:00Z"}
    assert "2999" in visitor.get(f"{watch}/report").words
