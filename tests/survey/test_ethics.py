"""The document for ethics boards: complete, true of the survey, and safe to show."""

import html
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jrr.cli.app import cli
from jrr.dealing.kinds import Dealers, Nobody
from jrr.reporting.cost_words import shown_costs
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.ethics import ethics_document
from jrr.survey.survey import Survey

QUESTIONS = [
    {
        "name": "sector",
        "kind": "choice",
        "text": {"en": "Where <b>do</b> you | work?", "de": "Wo arbeiten Sie?"},
        "labels": [{"en": "office", "de": "Büro"}, {"en": "field", "de": "Feld"}],
        "sensitive": False,
    },
    {"name": "bribed", "kind": "yes-no", "text": {"en": "Bribed?", "de": "Bestochen?"}},
]
DRAFT: dict[str, Any] = {
    "title": {"en": "Work", "de": "Arbeit"},
    "languages": ["en", "de"],
    "by": {"en": "University of Example", "de": "Universität Beispiel"},
    "contact": {"en": "study@example.org", "de": "study@example.org"},
    "waves": 2,
    "questions": QUESTIONS,
}


def survey_of(**more: Any) -> Survey:
    given: dict[str, Any] = {
        "draft": Draft.from_dict(DRAFT),
        "people": 500,
        "collector": "https://collector.example",
        "dealing": Dealers(("https://dealer.example",)),
        "consent": {"en": "For science.", "de": "Für die Forschung."},
        "closes": "2999-01-01T00:00:00Z",
        "keep_days": 30,
    }
    return SurveyRequest(**(given | more)).survey()


@pytest.mark.parametrize("language", ["en", "de"])
def test_it_has_what_boards_ask_with_the_figures_that_people_read(language: str) -> None:
    survey = survey_of()
    document = ethics_document(survey, language)
    told = document.markdown()
    for words in (
        DRAFT["by"][language],
        DRAFT["contact"][language].replace("_", "\\_"),
        {"en": "For science.", "de": "Für die Forschung."}[language],
        "https://collector.example",
        "https://dealer.example",
        "30",
        survey.hash,
    ):
        assert words in told
    shown = shown_costs(survey.costs, language)
    (learnt,) = [section for section in document.sections if section.rows[1:] == shown.rows]
    assert learnt.rows[0] == (shown.title, *shown.against)
    assert len(document.sections) == 7
    # The words of another language stand nowhere.
    other = "Purpose" if language == "de" else "Zweck"
    assert other not in told


def test_words_of_a_survey_are_neither_marks_nor_html() -> None:
    document = ethics_document(survey_of())
    assert "Where &lt;b&gt;do&lt;/b&gt; you | work?" in document.page()
    assert "| Where \\<b\\>do\\</b\\> you \\| work? |" in document.markdown()
    assert "<script" not in document.page()
    # Colours of the reader's choice; on a phone each cell has the name of its column.
    assert "color:CanvasText;background:Canvas" in document.page()
    heads = {row[0] for section in document.sections for row in section.rows[:1]}
    assert heads
    assert all(f'data-head="{html.escape(head)}"' in document.page() for head in heads)


def test_it_says_nothing_of_who_is_not_there() -> None:
    told = ethics_document(
        survey_of(
            dealing=Nobody(), mechanism="rr", invitations=False, draft=_once(), keep_days=None
        )
    ).markdown()
    assert "dealer" not in told.lower()
    assert "second sum" not in told
    assert "table of invitations, and perhaps names" not in told
    assert "Anybody with the link may answer" in told
    assert "until the operators delete the survey" in told


def _once() -> Draft:
    return Draft.from_dict(DRAFT | {"waves": 1})


def test_the_command_writes_a_page_and_markdown(tmp_path: Path) -> None:
    file = tmp_path / "survey.json"
    file.write_bytes(survey_of().to_bytes())
    for name, begins in (("e.html", "<!doctype html>"), ("e.md", "# Ethik und Datenschutz")):
        out = tmp_path / name
        words = ["survey", "ethics", str(file), "-o", str(out), "--language", "de"]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        assert out.read_text().startswith(begins)
    refused = CliRunner().invoke(cli, ["survey", "ethics", str(file), "-o", "e.pdf"])
    assert "out must be a name that ends in .html or .md" in str(refused.exception)
