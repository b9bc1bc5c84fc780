"""The page of a report: accessible, escaped, whole without a network, in every language."""

import itertools
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from jrr.privacy.cost_table import CostTable, belief, cost_row, same_in_every_wave
from jrr.reporting.catalogue import known_languages, text
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.numerals import Numerals, mean_decimals, sentence, share_decimals
from jrr.reporting.report_facts import (
    Grouping,
    Participation,
    Perturbation,
    ReportedAnswer,
    ReportedGroup,
    ReportedGroups,
    ReportedQuestion,
    SurveyReport,
)
from jrr.reporting.report_page import MOST_BARS, STYLE, report_page
from jrr.reporting.report_words import guarantee_in_words, limits_in_words, method_statement

BAD = "<script>alert('x')</script>\" onload=\"y&amp;"
EPSILONS = {"report": 0.9, "cards": 1.0, "everything": 1.2, "dealer": 3.0}


def learnt(delta: float = 0.0) -> CostTable:
    """Of three questions in two waves."""
    one = cost_row(0.4, delta, "everything", 1.0)
    wave = cost_row(1.2, delta, "everything", 3.0)
    return same_in_every_wave(one, wave, questions=3, waves=2)


def answer(label: str, value: float) -> ReportedAnswer:
    return ReportedAnswer(
        label=label, value=value, stderr=0.02, low=value - 0.04, high=value + 0.04
    )


def perturbation(**more: Any) -> Perturbation:
    facts: dict[str, Any] = {
        "mechanism": "MRR",
        "title": "masked randomized response",
        "brief": "MRR (n 600, p 0.9)",
        "parameters": {"n": 600},
        "answers": 1,
        "epsilons": {view: loss / 3 for view, loss in EPSILONS.items()},
    }
    return Perturbation(**facts | more)


YES_NO = ReportedQuestion(
    name="drinks",
    text=f"Do you drink? {BAD}",
    kind="yes-no",
    perturbation=perturbation(),
    n=1480,
    carded=1400,
    cardless=80,
    answers=(answer("no", 0.7), answer("yes", 0.3)),
)
SEVERAL = ReportedQuestion(
    name="pills",
    text="Which?",
    kind="several",
    perturbation=perturbation(answers=2),
    asked_if=f"“Where?” with {BAD}",
    n=700,
    answers=(answer(BAD, 0.2), answer("blue", -0.02)),
)
NUMBER = ReportedQuestion(
    name="days",
    text="Days?",
    kind="number",
    perturbation=perturbation(),
    n=1480,
    ends=(0.0, 20.0),
    answers=(ReportedAnswer(label="", value=5.125, stderr=0.25, low=4.6, high=5.7),),
)
WAITS = ReportedQuestion(
    name="later", text="Later?", kind="yes-no", perturbation=perturbation(), reason=BAD
)
GROUPS = Grouping(
    name="sector",
    text=f"Where? {BAD}",
    questions=(
        ReportedGroups(
            question="drinks",
            groups=(
                ReportedGroup(label=BAD, n=800, answers=YES_NO.answers),
                ReportedGroup(label="shop", n=680, answers=YES_NO.answers),
            ),
            hidden=2,
        ),
        ReportedGroups(
            question="pills",
            groups=(ReportedGroup(label="shop", n=700, answers=SEVERAL.answers),),
            hidden=1,
        ),
    ),
)
REFUSED = Grouping(name="age", text="Age?", questions=(), reason=BAD)
REPORT = SurveyReport(
    title=f"Health {BAD}",
    language="en",
    identity="ab" * 32,
    version="1.2.3",
    made="2026-01-31T12:00:00Z",
    final=True,
    opens="2026-01-01T00:00:00Z",
    closes="2026-01-31T00:00:00Z",
    wave=1,
    waves=2,
    level=0.95,
    simultaneous=False,
    population="respondents",
    population_size=None,
    participation=Participation(answered=1480, invited=2000, dealt=1450, carded=1400, cardless=80),
    questions=(YES_NO, SEVERAL, NUMBER, WAITS),
    open_questions={"sector": f"Where? {BAD}", "age": "Age?"},
    groupings=(GROUPS, REFUSED),
    min_cell=20,
    colluders=5,
    epsilons=EPSILONS,
    deltas=dict.fromkeys(EPSILONS, 0.0),
    learnt=learnt(),
    deals=True,
    announces=True,
    verified=False,
    one_liar=(40.0, 40.0),
    by_invitation=True,
)


class Outline(HTMLParser):
    """What a browser would make of a page, as far as the tests look at it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "line", "rect", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub("[ \n]+", " ", " ".join(self.words))


@pytest.fixture(scope="module", params=known_languages())
def outline(request: pytest.FixtureRequest) -> Outline:
    return Outline(report_page(replace(REPORT, language=request.param)))


def test_whatever_is_written_into_texts_stays_text(outline: Outline) -> None:
    allowed = {
        *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "footer"),
        *("section", "article", "h1", "h2", "h3", "h4", "p", "ul", "li", "a", "div", "figure"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("svg", "desc", "text", "line", "rect", "circle"),
    }
    assert {tag for tag, _ in outline.tags} <= allowed
    assert not [name for _, attrs in outline.tags for name in attrs if name.startswith("on")]
    # In the title of page and browser, question, condition, group, answer, reasons.
    assert outline.text.count(BAD) >= 8
    assert not outline.open  # every element is closed


def test_nothing_is_asked_of_any_server(outline: Outline) -> None:
    for tag, attrs in outline.tags:
        assert "src" not in attrs
        for name in ("href", "action", "style"):
            assert (attrs.get(name) or "#").startswith("#"), (tag, attrs)
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    policy = [attrs for tag, attrs in outline.tags if "http-equiv" in attrs]
    assert "default-src 'none'" in str(policy[0]["content"])


def test_who_listens_to_it_hears_the_same(outline: Outline) -> None:
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert tags.count("caption") == tags.count("table") == 8
    for tag, attrs in outline.tags:
        if tag == "th":
            assert attrs["scope"] in ("row", "col")
        if tag == "svg":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]
        if tag == "html":
            assert attrs["lang"] in known_languages()
    assert tags.count("svg") == tags.count("desc") == tags.count("figure") == 5
    targets = {attrs["id"] for tag, attrs in outline.tags if tag == "section"}
    assert {str(attrs["href"])[1:] for tag, attrs in outline.tags if tag == "a"} == targets


def test_numbers_are_written_as_people_write_them() -> None:
    english = Outline(report_page(REPORT)).text
    german = Outline(report_page(replace(REPORT, language="de"))).text
    assert "1,480 of 2,000 invited people answered (74.0%)" in english
    assert "Von 2.000 eingeladenen Menschen haben 1.480 geantwortet (74,0\xa0%)" in german
    assert "66.0% to 74.0%" in english
    assert "66,0\xa0% bis 74,0\xa0%" in german
    assert "−6.0% to 2.0%" in english
    assert "5.12 0.25 4.60 to 5.70" in english
    assert "Open from 2026-01-01 00:00 UTC to 2026-01-31 00:00 UTC." in english


def test_cards_that_were_lost_are_told() -> None:
    assert REPORT.participation.lost == 50
    words = Outline(report_page(REPORT)).text
    assert "cards that never came back with an answer 50 3.4% of those who fetched one" in words
    assert "50 of 1,450 people who fetched cards sent no answer made with them" in words
    unknown = replace(REPORT.participation, dealt=None)
    page = Outline(report_page(replace(REPORT, participation=unknown))).text
    assert unknown.lost is None
    assert "fetched a card not known here" in page


def test_groups_show_what_the_collector_shows_and_count_the_rest() -> None:
    words = Outline(report_page(REPORT)).text
    assert "Groups with fewer than 20 answers, not shown: 2." in words
    assert f"Not shown: {BAD}." in words
    # Of two answers one says all; of several choices every one.
    assert "shop 680 30.0% 26.0% to 34.0%" in words
    assert f"{BAD} shop 700 20.0%" in words
    assert "blue shop 700 −2.0%" in words


def test_the_method_statement_names_every_view_with_its_loss() -> None:
    words = method_statement(REPORT)
    assert "losses of single answers add up; answers that were changed together count once" in words
    for view, loss in EPSILONS.items():
        assert f"ε = {loss:g} to " in words, view
    assert "(view" not in words
    assert "All 5 perturbed answers" in words
    assert "masked randomized response (MRR)" in words
    assert "jrr 1.2.3" in words
    assert "all 2 waves together are at most ε = 2.4 to the collector and ε = 6 to dealer" in words
    at_delta = replace(REPORT, deltas={**REPORT.deltas, "everything": 1e-6})
    said = "ε = 1.2, except with a chance of at most 1 in 1,000,000 to a collector"
    assert said in method_statement(at_delta)
    alone = method_statement(replace(REPORT, deals=False, announces=False, colluders=0))
    assert "to anybody who sees this person's reports" in alone
    assert "card" not in alone
    assert "of 5 other people" not in method_statement(replace(REPORT, colluders=0))


def test_a_shown_loss_is_never_below_the_real_one() -> None:
    losses = dict.fromkeys(EPSILONS, 1.00001)
    assert "ε = 1.001 to" in method_statement(replace(REPORT, epsilons=losses))
    assert "ε unbounded to" in method_statement(
        replace(REPORT, epsilons=dict.fromkeys(EPSILONS, math.inf))
    )


def test_a_belief_is_told_only_of_a_loss_that_holds_outright() -> None:
    def after(epsilon: float) -> str:
        return f"{math.ceil(1000 * belief(epsilon)) / 10:g}%"

    words = " ".join(guarantee_in_words(REPORT))
    assert f"at most {after(2.4)} likely" in words  # two waves of 1.2
    assert f"could become at most {after(6.0)}" in words
    words = " ".join(guarantee_in_words(replace(REPORT, learnt=learnt(1e-6))))
    assert f"at most {after(6.0)} likely" in words
    assert after(2.4) not in words


def test_the_table_of_what_can_be_found_out_is_on_the_page() -> None:
    words = Outline(report_page(REPORT)).text
    for cell in (
        "ε = 0.4: from 10% to at most 14.3%",
        "ε = 1.2: from 10% to at most 27%",
        "ε = 2.4: from 10% to at most 55.1%",
        "ε = 6: from 10% to at most 97.9%",
    ):
        assert cell in words
    german = report_page(replace(REPORT, language="de"))
    assert "ε = 2,4: aus 10 % werden höchstens 55,1 %" in german.replace("\N{NO-BREAK SPACE}", " ")


def test_limits_are_those_of_this_survey() -> None:
    words = limits_in_words(REPORT)
    assert OUTSIDE in words  # a share is below 0
    assert any("This page shows 11 intervals" in one and "about 0.6 of" in one for one in words)
    assert any("asked of some people only" in one for one in words)
    calm = replace(REPORT, questions=(YES_NO,), groupings=(), simultaneous=True)
    assert len(limits_in_words(calm)) == 4
    assert any("by up to 40" in one for one in limits_in_words(calm))
    proved = limits_in_words(replace(calm, verified=True, one_liar=(2.2, 40.0)))
    assert any("hold an answer by up to 2.2" in one for one in proved)
    assert any("were verified" in one and "could have moved" in one for one in proved)
    assert not any("A dishonest dealer" in one for one in proved)
    assert len(limits_in_words(replace(calm, one_liar=(0.0, 0.0)))) == 3  # means only
    public = limits_in_words(replace(calm, by_invitation=False, deals=False))
    assert any("no invitations" in one for one in public)
    assert not any("dealer" in one for one in public)
    sample = limits_in_words(replace(calm, population="sample"))
    assert "random sample" in sample[0]


def test_a_page_without_groups_open_questions_or_results() -> None:
    bare = replace(
        REPORT, questions=(WAITS,), groupings=(), open_questions={}, waves=1, final=False
    )
    outline = Outline(report_page(bare))
    assert "not closed" in outline.text
    assert f"No result: {BAD}." in outline.text
    assert "svg" not in {tag for tag, _ in outline.tags}
    assert 'id="groups"' not in report_page(bare)


def test_pictures_of_very_many_answers_show_the_largest() -> None:
    many = tuple(answer(f"a{at}", at / 1000) for at in range(60))
    page = report_page(replace(REPORT, questions=(replace(YES_NO, answers=many),), groupings=()))
    assert f"the {MOST_BARS} largest of 60 answers" in page
    assert page.count('class="bar"') == MOST_BARS
    assert len(re.findall(r'<th scope="row">a\d', page)) == 60


def test_facts_as_json_have_no_infinity() -> None:
    facts = replace(REPORT, epsilons=EPSILONS | {"dealer": math.inf}).to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["epsilons"]["dealer"] == "unbounded"
    assert facts["participation"]["lost"] == 50


def test_decimals_follow_the_standard_error() -> None:
    assert [share_decimals(error) for error in (0.2, 0.02, 0.002, 0.0005, 0.0)] == [1, 1, 1, 2, 1]
    assert [mean_decimals(error) for error in (12.0, 0.25, 0.004, 0.0)] == [0, 2, 4, 2]
    assert Numerals("en").number(-0.004, 1) == "0.0"
    assert (
        Numerals("de").loss(1.23456, 1e-6)
        == "ε = 1,235, außer mit einer Wahrscheinlichkeit von höchstens 1 zu 1.000.000"
    )


def test_the_sentence_on_intervals_in_german() -> None:
    facts: dict[str, Any] = {"level": 0.95, "population": "sample", "population_size": 20_000}
    words = sentence(**facts, simultaneous=True, language="de")
    assert words.startswith("Alle Intervalle einer Frage gelten zugleich")
    assert "95\xa0%" in words
    assert "20.000 Menschen" in words
    assert text("en", "interval.sample_of", size="20,000") in sentence(**facts, simultaneous=False)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_are_far_enough_apart_to_be_read(scheme: str) -> None:
    """WCAG 2.1: 4.5 for text, 3 for what pictures are made of."""
    blocks = re.findall(r":root\{(.*?)\}", STYLE, re.DOTALL)
    values = re.findall(r"--(\w+):#(\w+)", blocks[("light", "dark", "print").index(scheme)])
    colours = {name: _luminance(code) for name, code in values}
    for front in ("ink", "soft", "link"):
        for back in ("page", "panel"):
            assert _contrast(colours[front], colours[back]) >= 4.5, (front, back)
    for front, back in (("bar", "page"), ("mark", "page"), ("error", "page"), ("error", "bar")):
        assert _contrast(colours[front], colours[back]) >= 3, (front, back)


def _luminance(code: str) -> float:
    whole = "".join(2 * digit for digit in code) if len(code) == 3 else code
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: float, second: float) -> float:
    high, low = max(first, second), min(first, second)
    return (high + 0.05) / (low + 0.05)
