"""The editor, the preview and planning: what a form says is what the library makes of it."""

import html
import json
import math
import re
import tomllib

import pytest

from jrr.console.editing import changed, new_document, read_document, what_is_wrong
from jrr.console.numbers import read_number
from jrr.console.pages import Form
from jrr.console.plan_tables import (
    MECHANISMS,
    PlanWish,
    losses,
    margins,
    people_needed,
    yes_no_questions,
)
from jrr.errors import ArgumentError
from jrr.estimation.estimates import quantile
from jrr.planning.plans import plan
from jrr.survey.consent import consent_text
from jrr.survey.draft import Draft
from jrr.survey.draft_toml import draft_toml
from jrr.survey.plan import PlanOptions, plan_draft
from jrr.survey.survey import read_survey
from tests.console import CSRF, WORK, Servers, Visitor

EVIL = "</textarea><script>alert(1)</script>\"'\\ é 𝛆"
FIELDS = {
    "languages": "en de",
    "title.en": "Work",
    "title.de": "Arbeit",
    "by.en": "University",
    "by.de": "Universität",
    "epsilon": "2",
    "waves": "1",
    "split": "even",
    "question0.kind": "choice",
    "question0.text.en": "Where?",
    "question0.text.de": "Wo?",
    "question0.labels.en": "office\r\nfield\r\n",
    "question0.labels.de": "Büro\nFeld",
    "question1.kind": "yes-no",
    "question1.text.en": "Have you taken a bribe?\r\nEver?",
    "question1.text.de": "Bestochen?",
    "question1.sensitive": "yes",
    "question1.only_question.0": "where",
    "question1.only_answers.0": "office",
    "question1.only_question.1": "",
    "question1.only_answers.1": "",
    "question2.kind": "number",
    "question2.text.en": "Have you taken days off?",
    "question2.text.de": "Tage?",
    "question2.low": "0",
    "question2.high": "30",
    "question2.sensitive": "yes",
}


def test_a_form_is_the_document_of_a_file() -> None:
    document = read_document(Form(list(FIELDS.items())))
    assert what_is_wrong(document) == ""
    asked = Draft.from_dict(document)
    assert asked.languages == ("en", "de")
    assert (asked.by, asked.contact) == ({"en": "University", "de": "Universität"}, None)
    assert [question.name for question in asked.questions] == [
        "where",
        "have_taken",
        "have_taken_2",
    ]
    assert asked.questions[1].text["en"] == "Have you taken a bribe?\nEver?"
    assert asked.questions[0].labels == (
        {"en": "office", "de": "Büro"},
        {"en": "field", "de": "Feld"},
    )
    assert asked.questions[1].only_if == {"where": ("office",)}
    assert (asked.questions[2].low, asked.questions[2].high) == (0.0, 30.0)
    again = Draft.from_dict(tomllib.loads(draft_toml(asked)))
    assert again == asked


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": "0"}, "Privacy, ε must be a finite number above 0, at most 700, got 0"),
        ({"ask": "3"}, "Questions asked of each person must be 'auto' or 'all'"),
        ({"waves": "x"}, "Waves must be a whole number from 1 to 1,000, got 'x'"),
        ({"by.de": "x" * 501, "by.en": "x"}, "Who asks must be 1 to 500 characters"),
        ({"analyses": "foo"}, "Analyses, a line each must be one of"),
        ({"question0.labels.de": "Büro"}, "Answers, a line each, in “where”, must"),
        ({"question2.low": "x"}, "From, in “have_taken_2”, must be a finite number"),
        ({"question2.high": "-4"}, "To, in “have_taken_2”, must be above"),
        ({"question1.margin": "0"}, "Wanted margin, in “have_taken”, must be above 0"),
        ({"question1.weight": "x"}, "Weight, in “have_taken”, must be a finite number"),
        ({"question1.name": "where"}, "Questions must have different names, got 'where' twice"),
        (
            {"question1.section.en": "x"},
            "Words above the question, in “have_taken”, must be 1 to 2,000 characters",
        ),
        (
            {"question2.only_question.0": "nothing"},
            "Asked only if, in “have_taken_2”, must name a question before it",
        ),
    ],
)
def test_what_is_wrong_names_the_field_in_the_pages_words(
    wrong: dict[str, str], words: str
) -> None:
    document = read_document(Form(list((FIELDS | wrong).items())))
    assert words in what_is_wrong(document)


def test_what_stands_around_questions_is_kept() -> None:
    more = {
        "question2.section.en": "Now the last one.",
        "question2.section.de": "Nun die letzte.",
        "question2.or_more": "yes",
    }
    asked = Draft.from_dict(read_document(Form(list((FIELDS | more).items()))))
    assert asked.questions[2].section == {"en": "Now the last one.", "de": "Nun die letzte."}
    assert (asked.questions[2].or_less, asked.questions[2].or_more) == (False, True)


def test_a_question_may_be_asked_after_several_answers(visitor: Visitor) -> None:
    """What the editor shows of an imported question, it sends again."""
    questions = [
        {"name": name, "kind": "yes-no", "sensitive": False, "text": {"en": f"{name}?"}}
        for name in ("drives", "smokes")
    ]
    only = {"drives": ["yes"], "smokes": ["yes", "no"]}
    asked = {"name": "last", "kind": "yes-no", "text": {"en": "Last?"}, "only_if": only}
    about = {"title": {"en": "Ways"}, "languages": ["en"], "epsilon": 1}
    document = about | {"questions": [*questions, asked]}
    shown = visitor.post("/drafts/import", text=json.dumps(document)).body
    fields = dict(re.findall(r'name="(question2\.only_answers\.\d)" value="([^"]*)"', shown))
    assert fields == {
        "question2.only_answers.0": "yes",
        "question2.only_answers.1": "yes; no",
        "question2.only_answers.2": "",
    }
    more = {
        f"question2.only_question.{at}": name for at, name in enumerate(("drives", "smokes", ""))
    }
    last = {"languages": "en", "question2.kind": "yes-no", "question2.text.en": "Last?"}
    saved = read_document(Form(list((last | fields | more).items())))
    assert saved["questions"][0]["only_if"] == only


def test_buttons_add_move_and_remove_questions_and_languages() -> None:
    document = new_document()
    for kind in ("yes-no", "choice", "several", "scale", "number"):
        document, about = changed(document, f"add:{kind}")
        assert about == len(document["questions"]) - 1
    kinds = [question["kind"] for question in document["questions"]]
    document, about = changed(document, "up:4")
    assert (about, [question["kind"] for question in document["questions"]]) == (
        3,
        [*kinds[:3], kinds[4], kinds[3]],
    )
    document, about = changed(document, "down:4")
    assert about == 4
    document, _ = changed(document, "remove:0")
    assert len(document["questions"]) == 4
    document, _ = changed(document, "language:de")
    assert all(set(question["text"]) == {"en", "de"} for question in document["questions"])
    document, _ = changed(document, "drop:en")
    assert document["languages"] == ["de"]
    before = json.dumps(document)
    for nothing in ("up:99", "remove:-1", "add:nonsense", "drop:de", "x", ""):
        assert json.dumps(changed(document, nothing)[0]) == before
    with pytest.raises(Exception, match="language"):
        changed(document, "language:<b>")


def test_then_and_now_goes_through_the_editor(visitor: Visitor) -> None:
    document, _ = changed(new_document(), "add:then-and-now")
    document["title"]["en"] = "T"
    document["questions"][0] |= {"name": "bribed", "text": {"en": "In 2025, in 2026?"}}
    draft = Draft.from_dict(document)
    assert draft.sensitive[0].crossed == (("then", 2), ("now", 2))
    (asked,) = draft.to_dict()["questions"]  # as a survey that exists is taken for a new one
    fields = {"question0.kind": "choice", "question0.name": "bribed", "question0.sensitive": "yes"}
    fields |= {"question0.text.en": "?", "question0.crossed": json.dumps(asked["crossed"])}
    fields["question0.labels.en"] = "\n".join(one["en"] for one in asked["labels"])
    again = read_document(Form([*fields.items(), ("title.en", "T")]))
    assert Draft.from_dict(again).sensitive[0].crossed == draft.sensitive[0].crossed


def test_toml_of_any_text_is_read_back() -> None:
    document = WORK | {"title": EVIL, "languages": ["en", "de"]}
    questions = [
        WORK["questions"][0] | {"text": EVIL, "labels": [EVIL, "b"]},
        *WORK["questions"][1:],
    ]
    two = {"en": f"{EVIL}\nsecond line", "de": "x"}
    questions[1] = questions[1] | {"only_if": {"sector": [EVIL]}, "text": two}
    asked = Draft.from_dict(document | {"questions": questions})
    assert Draft.from_dict(tomllib.loads(draft_toml(asked))) == asked


def test_a_draft_from_the_first_word_to_a_survey(servers: Servers, visitor: Visitor) -> None:
    page = visitor.post("/drafts/new")
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert found is not None
    draft = found[1]
    assert "Not ready yet" in page.words
    side = visitor.post(f"{draft}/quick", **FIELDS, version="0")
    assert "iframe" in side.body
    frame = re.search(r'src="/console/preview/([^/]+)/page/#survey=([^"]+)"', side.body)
    assert frame is not None
    assert "Have you taken a bribe?" in visitor.get(draft).body
    exported = visitor.get(f"{draft}/survey.toml")
    asked = Draft.from_dict(tomllib.loads(exported.body))
    assert asked == Draft.from_dict(read_document(Form(list(FIELDS.items()))))
    again = visitor.post("/drafts/import", text=exported.body)
    assert "Have you taken a bribe?" in again.body
    assert visitor.post("/drafts/import", text="= no TOML").status == 422
    created = visitor.post(
        f"{draft}/create", people="100", dealers=servers.dealer.url, min_cell="3"
    )
    assert "Nobody can answer before it is opened" in created.words
    installed = re.search(r"/surveys/([0-9a-f]{64})/open", created.body)
    assert installed is not None
    survey = read_survey(visitor.get(f"/surveys/{installed[1]}/files/document.json").raw)
    assert survey.questions == tuple(question.as_asked for question in asked.questions)
    assert survey.collector == servers.collector.url
    assert visitor.get(draft).status == 404  # it has become a survey
    made = visitor.request(
        "POST",
        f"/console/surveys/{survey.hash}/invite",
        {
            "csrf": visitor.csrf(),
            "count": "5",
            "format": "csv",
            "page": "https://page.example/page/",
            "token0": servers.dealer.token,
        },
    )
    lines = made.body.splitlines()
    assert lines[0] == "link,invitation,program_link,name,spare"
    assert len(lines) == 6
    shown = servers.operator(survey).show()
    assert {name: one["invited"] for name, one in shown.items()} == {"dealer": 5, "collector": 5}


def test_words_before_consent_and_times_are_the_surveys(servers: Servers, visitor: Visitor) -> None:
    page = visitor.post("/drafts/new")
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert found is not None
    draft, words = found[1], f"Approved by the board. {EVIL}"
    one = {"consent.en": words, "opens": "2026-01-31T08:00", "closes": "2199-12-31T20:30"}
    half = visitor.post(f"{draft}/quick", **FIELDS, **one, version="0")
    told = "What people read before they agree must be a text for each of en, de"
    assert told in half.words  # in every language or in none
    both = one | {"consent.de": "Genehmigt."}
    side = visitor.post(f"{draft}/quick", **FIELDS, **both, version="0")
    frame = re.search(r"#survey=http://[^/]+(/[^\"]+)\"", side.body)
    assert frame is not None
    shown = json.loads(visitor.request("GET", frame[1]).raw)
    assert shown["consent"]["texts"]["en"].startswith(words)
    again = visitor.get(draft)  # the draft keeps it
    assert 'value="2199-12-31T20:30"' in again.body
    assert html.escape(words, quote=False)[:30] in again.body
    assert "<script>alert" not in again.body
    for name, wrong, told in (
        ("opens", "tomorrow", "Opening time must be a time as"),
        ("closes", "2026-01-30T08:00", "Closing time must be later than the opening time"),
        ("logo", "too large", "Logo must be a PNG in base64"),
    ):
        refused = visitor.post(f"{draft}/quick", **(FIELDS | both | {name: wrong}), version="0")
        assert "Not ready yet" in refused.words
        assert told in refused.words
    visitor.post(f"{draft}/quick", **FIELDS, **both, version="0")
    assert "until 2199-12-31 20:30 UTC" in visitor.get(f"{draft}/create").words
    made = visitor.post(f"{draft}/create", people="100", dealers=servers.dealer.url)
    installed = re.search(r"/surveys/([0-9a-f]{64})/open", made.body)
    assert installed is not None
    survey = read_survey(visitor.get(f"/surveys/{installed[1]}/files/document.json").raw)
    assert survey.consent["en"].startswith(words)
    assert survey.consent["de"].startswith("Genehmigt.")
    assert "ε" in consent_text(survey, "en")[len(words) :]  # what it costs follows in any case
    opens, closes = "2026-01-31T08:00:00Z", "2199-12-31T20:30:00Z"
    assert (survey.opens, survey.closes) == (opens, closes)
    assert "until 2199-12-31 20:30 UTC" in visitor.get(f"/surveys/{installed[1]}").words
    past = both | {"opens": "", "closes": "2026-01-30T08:00"}
    page = visitor.post("/drafts/new")
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert found is not None
    visitor.post(f"{found[1]}/quick", **FIELDS, **past, version="0")
    over = visitor.post(f"{found[1]}/create", people="100", dealers=servers.dealer.url)
    assert (over.status, "a time in the future" in over.words) == (422, True)


def test_a_late_keystroke_undoes_no_step(visitor: Visitor) -> None:
    page = visitor.post("/drafts/new")
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert found is not None
    step = visitor.post(found[1], **FIELDS, version="0", act="add:scale")
    assert 'id="question3"' in step.body
    visitor.post(f"{found[1]}/quick", **FIELDS, version="0")  # sent before, arrives after
    assert 'id="question3"' in visitor.get(found[1]).body
    other = visitor.post(found[1], **FIELDS, version="0", act="save")  # another window
    assert "another window of yours" in other.words  # kept, as a draft of its own
    assert 'id="question3"' not in other.body
    assert 'id="question3"' in visitor.get(found[1]).body


def test_a_preview_cannot_send_and_cannot_be_guessed(servers: Servers, visitor: Visitor) -> None:
    page = visitor.post("/drafts/import", text=json.dumps(WORK))
    frame = re.search(r'src="(/console/preview/[^/]+)/page/#survey=http://[^/]+([^"]+)"', page.body)
    assert frame is not None
    base, survey = frame[1], frame[2]
    stranger = Visitor(servers.collector.url)  # the page itself sends no cookie
    index = stranger.request("GET", f"{base}/page/")
    assert "frame-ancestors 'self'" in index.headers["content-security-policy"]
    assert "connect-src 'self';" in index.headers["content-security-policy"]
    assert stranger.request("GET", survey).status == 200
    for what in ("cards", "reports", "seats"):
        assert stranger.request("POST", f"{survey}/{what}", {}).status == 409
    assert stranger.request("GET", "/console/preview/guess/page/").status == 404
    for path in ("page/../../app.py", "page/..%2f..%2fapp.py", "src/nothing.js", "etc/passwd"):
        assert stranger.request("GET", f"{base}/{path}").status == 404


def test_texts_in_the_editor_stay_texts(visitor: Visitor) -> None:
    evil = dict.fromkeys(FIELDS, EVIL) | {"languages": "en", "question0.kind": "choice"}
    page = visitor.post("/drafts/new")
    found = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert found is not None
    fields = {name.replace(".de", ".en"): value for name, value in evil.items()}
    saved = visitor.post(found[1], **fields, act=EVIL, version="0")
    assert "<script>alert" not in saved.body
    assert "&lt;/textarea&gt;" in saved.body
    for path in ("/", f"/plan?draft={found[1][-32:]}", "/plan?people=<script>alert(1)</script>"):
        assert "<script>alert" not in visitor.get(path).body


def test_the_plan_page_shows_what_the_library_plans(visitor: Visitor) -> None:
    page = visitor.get("/plan?people=4000&response=50&epsilon=1&questions=2&lost=3&trust=2")
    asked = Draft.from_dict(yes_no_questions(2))
    for mechanism in MECHANISMS:
        options = PlanOptions(dealer_epsilon=3.0, mechanism=mechanism, lost=0.03)
        planned = plan_draft(asked, 4_000, response=0.5, epsilon=1.0, options=options)
        margin = planned.questions[0].margin
        assert page.words.count(f"±{100 * margin:.2g} points") >= 1, mechanism
    more = visitor.get("/plan/more?people=400&response=50&epsilon=1&questions=1&margin=5")
    wish = PlanWish(draft=json.dumps(yes_no_questions(1), sort_keys=True), people=400, response=0.5)
    needed = people_needed(wish, 0.05, "mrr")
    assert needed is not None
    assert f"{needed:,}" in more.words
    made = plan(needed // 2, 1.0, dealer_epsilon=3.0, mechanism="mrr", announced=True)
    assert quantile(0.95) * made.stderr() <= 0.05 * 1.01
    for _, cells in losses(wish, is_quick=False):
        for cell in cells:
            assert str(cell) in more.words
    assert visitor.get("/plan?people=nobody").status == 422
    assert visitor.get("/plan?epsilon=-1").status == 422


def test_margins_of_a_draft_of_all_kinds() -> None:
    wish = PlanWish(draft=json.dumps(WORK), people=1_000, response=1.0, epsilon=4.0)
    table = margins(wish)
    assert [name for name, _ in table.rows] == [
        question["text"] for question in WORK["questions"][1:]
    ]
    assert table.best == "mrr"
    assert not math.isnan(float(table.rows[0][1][3].split()[0][1:]))


def test_a_form_from_nowhere_is_no_form(visitor: Visitor) -> None:
    reply = visitor.request("POST", "/console/drafts/new", None)
    assert reply.status == 403
    assert CSRF.search(reply.body) is None


def test_a_preview_promises_what_the_survey_promises(visitor: Visitor) -> None:
    page = visitor.post("/drafts/import", text=json.dumps(WORK | {"waves": 2}))
    frame = re.search(r'#survey=http://[^/]+(/[^"&]+)&amp;invitation=\w+"', page.body)
    assert frame is not None
    survey = read_survey(visitor.request("GET", frame[1]).raw)
    assert survey.waves == 2  # what people read is of all waves together


def test_a_decimal_comma_is_not_left_out(visitor: Visitor) -> None:
    assert "ε = 0.5" in visitor.get("/plan?epsilon=0.5").words
    refused = visitor.get("/plan?epsilon=0,5")
    assert refused.status == 422
    assert "with a point before decimals" in refused.words
    assert "1,200 answers expected" in visitor.get("/plan?people=2,000").words
    for text in ("0,5", "2,5", "62,5", "1,0000", "0,500", ",5", "1,,000"):
        with pytest.raises(ArgumentError, match="a point before decimals"):
            read_number("lost", text)
    assert [read_number("people", text) for text in ("2,000", "1,234,567.5", " 7 ")] == [
        2000,
        1234567.5,
        7,
    ]


def test_a_number_is_asked_for_as_a_part_of_its_range() -> None:
    def needed(high: float) -> int | None:
        number = {"name": "times", "kind": "number", "text": "Times?", "low": 0, "high": high}
        asked = {
            "title": "Plan",
            "questions": [{"name": "a", "kind": "yes-no", "text": "A"}, number],
        }
        return people_needed(PlanWish(draft=json.dumps(asked), epsilon=4.0), 0.02, "mrr")

    assert needed(20.0) == needed(2000.0)  # whatever its unit
    found = needed(20.0)
    assert found is not None
    assert found < 5_000  # with its usual margin, 0.03 of one time, it was hundreds of thousands


def test_the_plan_of_several_waves_says_what_all_of_them_cost(visitor: Visitor) -> None:
    page = visitor.post("/drafts/import", text=json.dumps(WORK | {"waves": 2}))
    draft = re.search(r'action="/console/drafts/([0-9a-f]{32})"', page.body)
    assert draft is not None
    for path in ("/plan", "/plan/more"):
        words = visitor.get(f"{path}?draft={draft[1]}&epsilon=4").words
        assert "the whole study, 2 waves" in words
        assert "waves together" not in visitor.get(f"{path}?questions=1").words


def test_a_draft_is_not_deleted_by_one_press(visitor: Visitor) -> None:
    page = visitor.post("/drafts/import", text=json.dumps(WORK))
    draft = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert draft is not None
    assert visitor.post(f"{draft[1]}/delete").status == 422
    assert visitor.get(draft[1]).status == 200
    assert "The draft is deleted." in visitor.post(f"{draft[1]}/delete", sure="yes").words
    assert visitor.get(draft[1]).status == 404
