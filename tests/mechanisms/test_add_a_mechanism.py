"""A mechanism in one file goes through every room: the promise of CONTRIBUTING.md.

The mechanism of examples/add_a_mechanism.py is JRR at a corner of its parameters, so JRR is the
oracle of everything that it says of itself.
"""

import csv
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from examples.add_a_mechanism import Corner
from jrr.cli.app import run
from jrr.dealing.committee.cards import card_of, deck_of
from jrr.dealing.deck import Deck, card_from_json, card_to_json
from jrr.dealing.decks import SurveyDecks
from jrr.dealing.kinds import Dealers
from jrr.mechanisms import registry
from jrr.mechanisms.request import Request
from jrr.planning import choice
from jrr.research.audit import audit
from jrr.research.audit.views import CardsView, DealerView
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import read_upload, report_message, upload
from jrr.survey.survey import read_survey
from jrr.tables.perturbing import alone
from tests import bare_plans
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

SIZES = [6, 7, 100]
PROBABILITIES = [0.6, 0.75, 0.9]


@pytest.fixture(autouse=True)
def announced() -> Iterator[None]:
    """The one line in the registry."""
    registry.register("Corner", "examples.add_a_mechanism")
    yield
    del registry._MODULES["Corner"]
    registry.families.cache_clear()


def twin(mechanism: Corner) -> jrr.JRR:
    return jrr.JRR(mechanism.n, mechanism.p, s=1 - mechanism.p)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("p", PROBABILITIES)
def test_privacy_and_variance_are_those_of_its_twin(n: int, p: float) -> None:
    mechanism = Corner(n, p)
    for colluders in (0, 1, 3, n - 1):
        for view in ("report", "cards", "dealer"):
            expected = twin(mechanism).epsilon(view, colluders)
            assert mechanism.epsilon(view, colluders) == pytest.approx(expected, rel=1e-14)
        truths = mechanism.epsilon("truths", colluders)
        assert truths >= twin(mechanism).epsilon("truths", colluders)
    counts = (n - n // 3, n // 3)
    assert mechanism.variance(counts) == pytest.approx(twin(mechanism).variance(counts))
    assert mechanism.epsilon("everything", 1, 1e-6) == mechanism.epsilon("dealer")


def test_the_same_words_make_the_same_reports() -> None:
    mechanism = Corner(1_000, 0.7)
    values = np.arange(1_000) % 3 == 0
    rng = [jrr.SeededRandom(5), jrr.SeededRandom(5)]
    cards = [mechanism.deal(rng[0]), twin(mechanism).deal(rng[1])]
    assert cards[0] is not None
    assert cards[1] is not None
    assert np.array_equal(cards[0], cards[1])
    reports = mechanism.respond(values, cards[0], rng[0])
    assert np.array_equal(reports, twin(mechanism).respond(values, cards[1], rng[1]))
    word = iter(jrr.SeededRandom(6).words(90).tolist())
    for card in (1, -1, 0):
        for value in (0, 1) * 15:
            drawn = next(word)
            expected = twin(mechanism).report_from_word(value, card, drawn)
            assert mechanism.report_from_word(value, card, drawn) == expected


def test_plan_and_compare() -> None:
    plan = bare_plans.plan(1_000, 1.0, 3, mechanism="Corner")
    assert isinstance(plan.mechanism, Corner)
    assert (
        plan.guarantees["cards"] <= 1.0 < Corner(1_000, plan.mechanism.p + 1e-6).epsilon("cards", 3)
    )
    rows = {row.name: row for row in bare_plans.plan(1_000, 1.0, 3).compare()}
    assert rows["Corner"].mechanism == plan.mechanism
    assert rows["Corner"].expected_stderr == plan.stderr()
    assert jrr.Plan.from_dict(json.loads(plan.to_json())) == plan


def test_documents_and_reports_as_json() -> None:
    mechanism = Corner(100, 0.7)
    assert jrr.from_dict(mechanism.to_dict()) == mechanism
    assert jrr.from_json(mechanism.to_json()) == mechanism
    for report in (0, 1):
        document = mechanism.report_to_json(report, carded=True)
        assert mechanism.report_from_json(document) == report
    with pytest.raises(jrr.JrrError, match="report must be"):
        mechanism.report_from_json({"carded": True, "report": 2})


def test_files_and_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Path("people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["bribe"], *(["yes" if i < 300 else "no"] for i in range(900))])
    survey = ["-n", "1000", "-e", "2", "--no-dealer-cap", "--mechanism"]
    assert run(["plan", *survey, "corner", "--plot", "plan.png"]) == 0
    assert "Chosen: Corner (n 1,000" in capsys.readouterr().out
    assert run(["plan", "explain", *survey, "CORNER"]) == 0
    assert "With a plus card the device sends your true answer" in capsys.readouterr().out
    assert run(["file", "deal", *survey, "corner", "-o", "cards.csv", "--seed", "1"]) == 0
    source = ["people.csv", "--column", "bribe", "--cards", "cards.csv"]
    assert run(["file", "perturb", *source, "-o", "reports.parquet", "--seed", "2"]) == 0
    capsys.readouterr()
    assert run(["file", "estimate", "reports.parquet", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mechanism"]["mechanism"] == "Corner"
    estimate = document["estimate"]
    assert estimate["n"] == document["carded"] == 900
    low, high = estimate["interval"][document["labels"].index("yes")]
    assert low < 1 / 3 < high


@pytest.mark.statistical
def test_simulate_and_estimate() -> None:
    mechanism = Corner(60, 0.8)
    counts = (40, 20)
    estimates = jrr.simulate(mechanism, counts, 3_000, jrr.SeededRandom(3))[:, 1]
    spread = float(mechanism.variance(counts)[1]) ** 0.5
    accepts_only(lambda mean: mean_test(estimates, mean, spread), 20.0, 20 + OFF * spread)
    accepts_only(lambda sd: spread_test(estimates, sd), spread, (1 + OFF) * spread)


@pytest.mark.slow
@pytest.mark.statistical
def test_audit_finds_no_fault_and_a_planted_one() -> None:
    mechanism = Corner(8, 0.7)
    for view in (CardsView(mechanism, 2),):
        claimed = mechanism.epsilon("cards", 2)
        assert not audit(view, claimed, 60_000, 1).violates
        assert audit(view, 0.7 * claimed, 60_000, 1).violates
    assert mechanism.epsilon("dealer") == np.inf
    assert audit(DealerView(mechanism), 2.0, 60_000, 1).violates


def test_decks_from_a_key() -> None:
    mechanism = Corner(101, 0.7)
    deck, same = (Deck(m, bytes(32), 7) for m in (mechanism, twin(mechanism)))
    cards = [deck.card(i) for i in range(101)]
    assert cards == [same.card(i) for i in range(101)]
    assert sorted(cards) == [-1] * 50 + [0] + [1] * 50
    assert card_from_json(mechanism, card_to_json(mechanism, -1)) == -1
    with pytest.raises(jrr.JrrError, match="card must be"):
        card_from_json(mechanism, 2)


def request_of(mechanism: str, people: int, epsilon: float, **more: Any) -> SurveyRequest:
    return SurveyRequest(
        draft=one_question("Have you ever taken a bribe?"),
        people=people,
        epsilon=epsilon,
        mechanism=mechanism,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
        **more,
    )


def test_a_survey_from_document_to_estimate() -> None:
    asked = request_of("corner", 400, 2.0, colluders=3, dealer_epsilon=np.inf).survey()
    survey = read_survey(asked.to_bytes())
    assert survey.hash == asked.hash
    (question,) = survey.sensitive
    mechanism = question.mechanism
    assert isinstance(mechanism, Corner)
    assert question.guarantee("cards") >= mechanism.epsilon("cards", 3)
    decks = SurveyDecks(
        {question.salt: mechanism}, {question.salt: question.name}, bytes(range(32))
    )
    rng = jrr.SeededRandom(4)
    stored = []
    for person in range(400):
        dealt = decks.cards(*decks.place(person))["answer"]
        card = int(card_from_json(mechanism, dealt["card"]))
        report = mechanism.respond_one(int(person < 100), card, rng)
        name = bytes([person % 256] * 32)
        body = upload(name, {}, {"answer": report_message(mechanism, report, True, None)})
        stored.append(read_upload(survey, body).reports["answer"].report)
    rows = np.frombuffer(b"".join(stored), np.uint8).reshape(400, -1)
    low, high = mechanism.estimate(mechanism.report_format.unpack(rows), carded=True).interval()
    assert low[1] < 0.25 < high[1]


def test_a_committee_can_deal_it() -> None:
    mechanism = Corner(7, 0.7)
    elements = deck_of(mechanism)
    assert sorted(card_of(mechanism, element) for element in elements) == [-1, -1, -1, 0, 1, 1, 1]
    with pytest.raises(jrr.JrrError, match="do not add up"):
        card_of(Corner(8, 0.7), 3)


def test_another_package_announces_it_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    document = Corner(10, 0.7).to_dict()
    monkeypatch.delitem(registry._MODULES, "Corner")
    point = EntryPoint("Corner", "examples.add_a_mechanism", "jrr.mechanisms")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    registry._announced.cache_clear()
    registry.families.cache_clear()
    try:
        assert jrr.from_dict(document) == Corner(10, 0.7)
        assert "corner" in registry.families()
    finally:
        monkeypatch.undo()
        registry._announced.cache_clear()
        registry.families.cache_clear()
        registry._MODULES["Corner"] = "examples.add_a_mechanism"  # as the fixture left it


def test_a_family_says_itself_whether_it_deals_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, surveys and the command line ask it, and keep no list of names."""
    assert "corner" in choice.mechanism_words()
    assert "corner" not in choice.cardless_words()
    (family,) = Corner.families()
    without = (replace(family, key="coin", cards=False, best=jrr.RR.best),)
    monkeypatch.setattr(Corner, "families", classmethod(lambda cls: without))
    registry.families.cache_clear()
    assert "coin" in choice.cardless_words()
    assert alone("Coin", 2, 1.0, 100) == jrr.RR(2, 1.0)
    with pytest.raises(jrr.JrrError, match="one with cards"):
        request_of("COIN", 100, 1.0)


def test_every_family_that_says_it_has_no_cards_has_none() -> None:
    """And those that have cards are told so by a request that is large enough for them."""
    for key, family in registry.families().items():
        dealt = set()
        for n, k, cap in ((100, 2, None), (100, 8, 3.0), (10_000, 8, 3.0), (1_000_000, 8, 3.0)):
            with suppress(jrr.JrrError):  # some are for two answers only, or for many
                dealt.add(family.best(Request(n, 1.0, 0, k, cap)).deals)
        assert (True in dealt) == family.cards, key
