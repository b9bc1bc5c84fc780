"""What contributors are told a survey costs: against the collector that a survey really has."""

import json
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, MRR, OLH, RR, Mechanism
from jrr._base.wording import show_epsilon
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import JrrError, ProtocolError
from jrr.planning.plans import DELTA as PLANNED_DELTA
from jrr.protocol.documents import canonical_json
from jrr.protocol.texts import split_link
from jrr.reporting.numerals import Numerals
from jrr.survey.consent import consent_text
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.promises import DELTA, informed_epsilon
from jrr.survey.spending import Limits, check_limits
from jrr.survey.survey import Survey
from tests.survey import survey_by

COLLUDERS = 5


def with_colluders(mechanism: Mechanism, **more: Any) -> Survey:
    return survey_by(mechanism, colluders=COLLUDERS if mechanism.deals else 0, **more)


def request(mechanism: str, people: int = 500, **more: Any) -> SurveyRequest:
    """For one question within ε = 0.5, with a dealer where it has cards."""
    cardless = mechanism.lower() in ("rr", "olh", "ss")
    options: dict[str, Any] = {
        "draft": one_question("Q?"),
        "epsilon": 0.5,
        "collector": "https://collector.example",
        "dealing": Nobody() if cardless else Dealers(("https://dealer.example",)),
    }
    return SurveyRequest(people=people, mechanism=mechanism, **(options | more))


def test_one_delta_for_plans_and_surveys() -> None:
    assert DELTA == PLANNED_DELTA


CARDED = [
    JRR(1_000, p=0.525, rho=-0.9),
    JRR(100, p=0.6, s=0.2, k=3),
    DRR(200, truth=0.3, own=0.1),
    DRR(200, truth=0.3, own=0.1, k=3),
    OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=100),
]


@pytest.mark.parametrize("mechanism", CARDED, ids=str)
def test_the_cost_is_of_the_view_everything_at_its_delta(mechanism: Mechanism) -> None:
    for delta in (1e-6, 1e-3):
        made = with_colluders(mechanism, delta=delta)
        exact = mechanism.epsilon("everything", COLLUDERS, delta)
        assert made.cost == made.guarantee("everything") == exact
        assert exact > mechanism.epsilon("cards", COLLUDERS)
        document = json.loads(made.to_bytes())
        assert document["questions"][0]["everything"] == exact
        assert document["guarantees"]["everything"] == exact
        assert document.get("delta", DELTA) == delta == made.cost_delta
        assert Survey.from_bytes(made.to_bytes()) == made
        check_limits(made.sensitive, Limits(exact, delta=delta))
        for less in (exact * (1 - 1e-9), mechanism.epsilon("cards", COLLUDERS)):
            with pytest.raises(ProtocolError, match="more than your limit"):
                check_limits(made.sensitive, Limits(less, delta=delta))


def test_the_figure_of_a_survey_that_was_tried() -> None:
    """JRR, n = 1,000, ε = 0.1 in the view cards, 5 colluders: ten times that to the collector."""
    made = request("jrr", 1_000, epsilon=0.1, dealer_epsilon=math.inf, colluders=COLLUDERS).survey()
    assert made.guarantee("cards") <= 0.1
    assert made.cost > 1.0  # without a cap even more, where the deck is uneven
    with pytest.raises(ProtocolError, match="view: everything"):
        check_limits(made.sensitive, Limits(1.0))


def test_without_cards_everything_is_the_report() -> None:
    made = with_colluders(RR(3, 1.0))
    assert made.cost == RR(3, 1.0).epsilon() == made.guarantee("everything")
    assert (made.cost_view, made.cost_delta) == ("report", 0.0)


def test_strangers_who_may_take_cards_have_the_dealers_view() -> None:
    made = with_colluders(DRR(200, truth=0.3, own=0.1), invitations=False)
    assert (made.cost_view, made.cost) == ("dealer", made.guarantee("dealer"))


@pytest.mark.parametrize("announced", [False, True])
def test_strangers_who_take_all_other_masks_learn_nothing_from_them(announced: bool) -> None:
    mechanism = MRR.for_epsilon(1.0, n=200, announced=announced)
    made = with_colluders(mechanism, invitations=False)
    assert made.cost_view == "everything"
    assert made.cost <= mechanism.epsilon("everything", colluders=199) <= 1.0


def test_less_than_what_holds_cannot_be_promised_of_everything_either() -> None:
    honest = with_colluders(JRR(100, p=0.6, s=0.2))
    honest.check_everything()
    for factor, fine in ((1.0, True), (1.5, True), (math.nextafter(1.0, 0.0), False), (0.5, False)):
        informed = {name: loss * factor for name, loss in (honest.informed or {}).items()}
        changed = replace(honest, informed=informed, promised=None, study=None)
        made = Survey.from_bytes(changed.to_bytes())
        if fine:
            made.check_everything()
        else:
            with pytest.raises(ProtocolError, match="less than what holds"):
                made.check_everything()


@pytest.mark.parametrize("everything", [None, -1.0, "1", {}, {"epsilon": 1.0}])
def test_what_stands_in_the_document_is_checked(everything: Any) -> None:
    honest = json.loads(with_colluders(JRR(100, p=0.6, s=0.2)).to_bytes())
    for part in (honest["questions"][0], honest["guarantees"]):
        before = part["everything"]
        part["everything"] = everything
        with pytest.raises(JrrError):
            Survey.from_bytes(canonical_json(honest))
        part["everything"] = before
    Survey.from_bytes(canonical_json(honest))


def test_a_consent_text_of_ones_own_ends_with_the_cost() -> None:
    made = request(
        "jrr",
        collector="https://collector.example/",  # as people paste it
        consent={"en": "We ask you kindly.\n"},
    ).survey()
    text = consent_text(made, "en")
    assert text.startswith("We ask you kindly.\n\n")
    assert f"ε = {show_epsilon(made.cost)}" in text.removeprefix("We ask you kindly.\n\n")
    assert made.collector == "https://collector.example"
    assert split_link(f" {made.link}/ ") == split_link(made.link)


@pytest.mark.parametrize("consent", [None, {"en": "We ask you kindly."}], ids=["default", "own"])
@pytest.mark.parametrize("mechanism", ["rr", "jrr", "drr"])
@pytest.mark.parametrize("invitations", [True, False])
def test_a_consent_text_never_keeps_the_cost_of_another_mechanism(
    consent: dict[str, str] | None, mechanism: str, invitations: bool
) -> None:
    made = request(mechanism, consent=consent, invitations=invitations).survey()
    nobody: dict[str, Any] = {"dealing": Nobody(), "colluders": 0}
    changes: list[dict[str, Any]] = [
        nobody | {"mechanisms": {"answer": RR(2, epsilon)}} for epsilon in (0.25, 0.51, 1.0, 5.0)
    ]
    if mechanism != "rr":
        changes += [
            {"mechanisms": {"answer": DRR(500, truth, own=0.05)}} for truth in (0.2, 0.5, 0.8)
        ]
        changes += [{"delta": 1e-3}] if invitations else []
    for change in changes:
        anew = {"promised": None, "informed": None, "study": None} | change
        other = replace(made, **anew)
        assert Numerals("en").loss(other.cost, other.cost_delta) in consent_text(other, "en")


@pytest.mark.parametrize("word", ["oue-joint", "sue-dealt", "olh-joint", "ss", "drr"])
@pytest.mark.parametrize("consent", [None, {"en": "We ask you kindly."}], ids=["default", "own"])
def test_every_mechanism_has_a_consent_text_that_tells_its_cost(
    word: str, consent: dict[str, str] | None
) -> None:
    draft = one_question("Q?", labels=tuple("abcdefgh"))
    made = request(word, 2_000, draft=draft, epsilon=1.0, consent=consent).survey()
    assert f"ε = {show_epsilon(made.cost)}" in consent_text(made, "en")


def test_what_is_promised_cannot_be_changed() -> None:
    made = with_colluders(DRR(200, truth=0.3, own=0.1), groups={"region": ("north", "south")})
    given = {view: loss + 1.0 for view, loss in (made.promised or {}).items()}
    more = replace(made, promised=given, study=None)
    for one in (made, more, Survey.from_bytes(made.to_bytes())):
        before = one.guarantee("cards")
        for mapping in (one.promised, one.informed, one.mechanisms, one.covariates):
            with pytest.raises(TypeError):
                mapping["cards"] = 0.0  # type: ignore[index]
        given["cards"] = 0.0  # nor by whoever still holds what was given
        assert one.guarantee("cards") == before


@pytest.mark.parametrize("word", ["RR", "rr", "Rr", "JRR", "DRR", "AUTO", "OLH", "sS"])
def test_a_request_takes_the_word_of_a_mechanism_in_any_case(word: str) -> None:
    made = request(word)
    assert made.mechanism == word.lower()
    assert made.plan() == replace(made, mechanism=word.lower()).plan()
    cardless = word.lower() in ("rr", "olh", "ss")
    with pytest.raises(JrrError, match="one with cards") if cardless else nullcontext():
        replace(made, dealing=Dealers(("https://dealer.example",)))


def test_the_collector_is_never_said_to_have_the_view_cards_alone() -> None:
    """Whoever says collector and view: cards in one breath promises what does not hold."""
    source = Path(__file__).parents[2]
    files = [
        *(source / "src").rglob("*.py"),
        *(source / "docs").rglob("*.md"),
        source / "README.md",
    ]
    wrong = re.compile(r"collector[^.;\n]{0,60}\(view:? `?cards`?\)")
    assert [str(file) for file in files if wrong.search(file.read_text("utf-8"))] == []


def test_enrolment_keeps_the_promise_for_every_number_that_was_tried() -> None:
    enrol = Dealers(("https://dealer.example",), enrol_first=True)
    made = request("drr", 60, epsilon=1.0, dealer_epsilon=3.0, dealing=enrol).survey()
    (question,) = made.sensitive
    for n in (*range(59, 70), 99, 100, 151, 399):
        held = informed_epsilon(question.for_people(n), question.colluders, question.delta)
        assert held <= made.guarantee("everything")
    # A document that promises less is refused where it is dealt.
    informed = dict.fromkeys(made.informed or {}, 0.5)
    less = replace(made, informed=informed, promised=None, study=None)
    with pytest.raises(ProtocolError, match="view everything"):
        less.by_name["answer"].for_people(100)
