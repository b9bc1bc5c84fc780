"""What contributors are told a campaign costs: against the collector that a survey really has."""

import json
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jrr.survey.addresses import split_link
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer, NoDealer

from jrr import DRR, JRR, MRR, OLH, RR, Mechanism
from jrr._base.wording import show_epsilon
from jrr.errors import JrrError, ProtocolError
from jrr.planning.plans import DELTA as PLANNED_DELTA
from jrr.survey.creation import CampaignRequest
from jrr.survey.limits import Limits, check_limits
from jrr.survey.promises import DELTA, informed_epsilon


def campaign(mechanism: Mechanism, **more: Any) -> Campaign:
    settings: dict[str, Any] = {
        "question": "Do you?",
        "labels": tuple(f"answer {value}" for value in range(mechanism.k)),
        "mechanism": mechanism,
        "dealer": DealerServer("https://dealer.example") if mechanism.deals else NoDealer(),
        "collector": "https://collector.example",
        "colluders": 5 if mechanism.deals else 0,
    }
    return Campaign(**(settings | more))


def test_one_delta_for_plans_and_campaigns() -> None:
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
        asked = campaign(mechanism, delta=delta)
        exact = mechanism.epsilon("everything", 5, delta)
        assert asked.cost == asked.guarantee("everything") == exact
        assert exact > mechanism.epsilon("cards", 5)
        document = json.loads(asked.to_bytes())
        assert document["jrr_campaign"] == 1
        assert document["guarantees"]["everything"] == {"epsilon": exact, "delta": delta}
        assert f" at δ = {delta:g} against the collector, who has all reports" in asked.cost_line
        assert asked.cost_line.endswith("(view: everything)")
        assert Campaign.from_bytes(asked.to_bytes()) == asked
        check_limits(asked, Limits(exact, delta=delta))
        with pytest.raises(ProtocolError, match="more than your limit"):
            check_limits(asked, Limits(exact * (1 - 1e-9), delta=delta))
        with pytest.raises(ProtocolError, match="more than your limit"):
            check_limits(asked, Limits(mechanism.epsilon("cards", 5), delta=delta))


def test_the_figure_of_a_survey_that_was_tried() -> None:
    """JRR, n = 1,000, ε = 0.1 in the view cards, 5 colluders: ten times that to the collector."""
    asked = CampaignRequest(
        question="Q?",
        n=1_000,
        epsilon=0.1,
        dealer_epsilon=math.inf,
        colluders=5,
        mechanism="jrr",
        collector="https://collector.example",
        dealer="https://dealer.example",
    ).campaign()
    assert asked.guarantee("cards") <= 0.1
    assert asked.cost > 1.0  # without a cap even more, where the deck is uneven
    with pytest.raises(ProtocolError, match="view: everything"):
        check_limits(asked, Limits(1.0))


def test_without_cards_everything_is_the_report() -> None:
    asked = campaign(RR(3, 1.0))
    assert asked.cost == RR(3, 1.0).epsilon() == asked.guarantee("everything")
    assert (asked.cost_view, asked.cost_delta) == ("report", 0.0)
    assert "δ" not in asked.cost_line


def test_strangers_who_may_take_cards_have_the_dealers_view() -> None:
    asked = campaign(DRR(200, truth=0.3, own=0.1), invitations=False)
    assert (asked.cost_view, asked.cost) == ("dealer", asked.guarantee("dealer"))


@pytest.mark.parametrize("announced", [False, True])
def test_strangers_who_take_all_other_masks_learn_nothing_from_them(announced: bool) -> None:
    mechanism = MRR.for_epsilon(1.0, n=200, announced=announced)
    asked = campaign(mechanism, invitations=False)
    assert asked.cost_view == "everything"
    assert asked.cost <= mechanism.epsilon("everything", colluders=199) <= 1.0
    assert "everybody else's answer and card (view: everything)" in asked.cost_line


def test_less_than_what_holds_cannot_be_promised_of_everything_either() -> None:
    honest = campaign(JRR(100, p=0.6, s=0.2))
    honest.check_everything()
    for factor, fine in ((1.0, True), (1.5, True), (math.nextafter(1.0, 0.0), False), (0.5, False)):
        promised = dict(honest.promised or {})
        promised["everything"] *= factor
        made = Campaign.from_bytes(replace(honest, promised=promised).to_bytes())
        if fine:
            made.check_everything()
        else:
            with pytest.raises(ProtocolError, match="less than what holds"):
                made.check_everything()


@pytest.mark.parametrize(
    "everything", [None, 1.0, {}, {"epsilon": 1.0}, {"epsilon": 1, "delta": 1}]
)
def test_what_stands_in_the_document_is_checked(everything: Any) -> None:
    document = json.loads(campaign(JRR(100, p=0.6, s=0.2)).to_bytes())
    document["guarantees"]["everything"] = everything
    data = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    with pytest.raises(JrrError):
        Campaign.from_bytes(data.encode())


def test_a_consent_text_of_ones_own_ends_with_the_cost() -> None:
    request = CampaignRequest(
        question="Q?",
        n=500,
        epsilon=0.5,
        mechanism="jrr",
        collector="https://collector.example/",  # as people paste it
        dealer="https://dealer.example//",
        consent="We ask you kindly.\n",
    )
    asked = request.campaign()
    assert asked.consent.startswith("We ask you kindly.\n\nYour answer costs you ε = ")
    assert asked.cost_line in asked.consent
    assert (asked.collector, asked.dealers) == (
        "https://collector.example",
        ("https://dealer.example",),
    )
    assert split_link(f" {asked.link}/ ") == split_link(asked.link)


@pytest.mark.parametrize("consent", [None, "We ask you kindly."], ids=["default", "own"])
@pytest.mark.parametrize("mechanism", ["rr", "jrr", "drr"])
@pytest.mark.parametrize("invitations", [True, False])
def test_a_consent_text_never_keeps_the_cost_of_another_mechanism(
    consent: str | None, mechanism: str, invitations: bool
) -> None:
    asked = CampaignRequest(
        question="Q?",
        n=500,
        epsilon=0.5,
        mechanism=mechanism,
        collector="https://collector.example",
        dealer=None if mechanism == "rr" else "https://dealer.example",
        consent=consent,
        invitations=invitations,
    ).campaign()
    assert replace(asked, nonce="another").consent == asked.consent
    changes: list[dict[str, Any]] = [
        {"mechanism": RR(2, epsilon), "dealer": NoDealer(), "colluders": 0}
        for epsilon in (0.25, 0.51, 1.0, 5.0)
    ]
    if mechanism != "rr":
        changes += [{"mechanism": DRR(500, truth, own=0.05)} for truth in (0.2, 0.5, 0.8)]
        changes += [{"delta": 1e-3}] if invitations else []
    for change in changes:
        with pytest.raises(JrrError, match="consent must name"):
            replace(asked, promised=None, **change)
        assert replace(asked, promised=None, consent="We ask.", **change).consent == "We ask."


@pytest.mark.parametrize("word", ["oue-joint", "sue-dealt", "olh-joint", "ss", "drr"])
@pytest.mark.parametrize("consent", [None, "We ask you kindly."], ids=["default", "own"])
def test_every_mechanism_has_a_consent_text_that_tells_its_cost(
    word: str, consent: str | None
) -> None:
    asked = CampaignRequest(
        question="Q?",
        n=2_000,
        epsilon=1.0,
        labels=tuple("abcdefgh"),
        mechanism=word,
        collector="https://collector.example",
        dealer=None if word == "ss" else "https://dealer.example",
        consent=consent,
    ).campaign()
    assert f"ε = {show_epsilon(asked.cost)}" in asked.consent


def test_what_is_promised_cannot_be_changed() -> None:
    asked = campaign(DRR(200, truth=0.3, own=0.1), covariates={"region": ("north", "south")})
    given = {view: loss + 1.0 for view, loss in (asked.promised or {}).items()}
    for made in (asked, replace(asked, promised=given), Campaign.from_bytes(asked.to_bytes())):
        assert made.promised is not None
        before = made.guarantee("cards")
        for mapping in (made.promised, made.covariates):
            with pytest.raises(TypeError):
                mapping["cards"] = 0.0  # type: ignore[index]
        given["cards"] = 0.0  # nor by whoever still holds what was given
        assert made.guarantee("cards") == before


@pytest.mark.parametrize("word", ["RR", "rr", "Rr", "JRR", "DRR", "AUTO", "OLH", "sS"])
def test_a_request_takes_the_word_of_a_mechanism_in_any_case(word: str) -> None:
    request = CampaignRequest(
        question="Q?", n=500, epsilon=0.5, mechanism=word, collector="https://collector.example"
    )
    assert request.mechanism == word.lower()
    assert request.plan() == replace(request, mechanism=word.lower()).plan()
    cardless = word.lower() in ("rr", "olh", "ss")
    with pytest.raises(JrrError, match="one with cards") if cardless else nullcontext():
        replace(request, dealer="https://dealer.example")


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
    asked = CampaignRequest(
        question="Q?",
        n=60,
        epsilon=1.0,
        dealer_epsilon=3.0,
        mechanism="drr",
        dealing="enrol",
        collector="https://collector.example",
        dealer="https://dealer.example",
    ).campaign()
    for n in (*range(59, 70), 99, 100, 151, 399):
        resized = asked.for_people(n)
        held = informed_epsilon(resized, asked.colluders, asked.delta)
        assert held <= asked.guarantee("everything")
    # A document that promises less is refused where it is dealt.
    promised = dict(asked.promised or {}) | {"everything": 0.5}
    with pytest.raises(ProtocolError, match="view everything"):
        replace(asked, promised=promised).for_people(100)
