"""Waves add up what each really loses, and keep what the first one promised for all of them."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.privacy.cost_table import belief
from jrr.protocol.documents import canonical_json
from jrr.survey.consent import consent_text
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.plan import plan_draft
from jrr.survey.study import EarlierWave, Study, WaveLoss, dealer_left, first_wave, next_wave
from jrr.survey.survey import Survey
from tests import survey as shared


def asked(questions: int = 1, waves: int = 2) -> Draft:
    listed = [{"name": f"a{at}", "kind": "yes-no", "text": f"A{at}?"} for at in range(questions)]
    return shared.asked(*listed, waves=waves, languages=["en"])


def wave(
    epsilon: float = 1.0, after: Survey | None = None, draft: Draft | None = None, **more: Any
) -> Survey:
    options: dict[str, Any] = {"people": 1_000, "epsilon": epsilon, "after": after} | more
    return shared.survey_of(asked() if draft is None else draft, **options)


def test_the_dealers_line_counts_all_waves() -> None:
    survey = wave(1.0, draft=asked(waves=4))
    words = consent_text(survey, "en")
    assert belief(12.0) == pytest.approx(0.99994, abs=5e-6)
    assert "the whole study, 4 waves, ε = 4: from 10% to at most 85.9%" in words
    assert "the whole study, 4 waves, ε = 12: from 10% to at most 99.995%" in words
    assert survey.costs.study.together.belief == 0.99995


def test_a_second_wave_adds_what_it_costs() -> None:
    first = wave(1.0)
    second = wave(0.3, first)
    words = consent_text(second, "en")
    assert "the whole study, 2 waves, ε = 1.3: from 10% to at most 29%" in words
    assert "ε = 5.3: from 10% to at most 95.8%" in words  # 3 and 2.3
    assert second.costs.study.collector.epsilon == pytest.approx(1.3, abs=1e-12)
    second.check_after(first)
    assert Survey.from_bytes(second.to_bytes()) == second


def test_a_wave_that_breaks_the_promise_is_refused_with_the_figures() -> None:
    first = wave(1.0)
    with pytest.raises(
        ArgumentError, match=r"ε = 1 before, ε = 3 in .* ε = 4 in all, promised ε = 2"
    ):
        wave(3.0, first)
    assert wave(1.0, first, dealer_epsilon=4.0).losses.dealer <= 3.0  # no more is left
    wave(1.0, first)  # as much as promised


def test_waves_to_come_may_cost_what_is_left() -> None:
    first = wave(1.0, draft=asked(waves=3))
    second = wave(0.3, first, draft=asked(waves=3))
    # People of wave 2 are told that wave 3 costs no more than theirs.
    assert second.costs.study.collector.epsilon == pytest.approx(1.6, abs=1e-12)
    with pytest.raises(ArgumentError, match=r"in all, promised ε = 1\.6"):
        wave(0.31, second, draft=asked(waves=3))
    third = wave(0.2, second, draft=asked(waves=3))
    assert third.costs.study.collector.epsilon == pytest.approx(1.5, abs=1e-12)
    assert [one.survey for one in third.earlier] == [first.hash, second.hash]
    third.check_after(second)


def test_a_wave_without_cards_after_one_with_cards_still_counts_the_dealer() -> None:
    first = wave(1.0)
    second = wave(1.0, first, dealers=(), mechanism="rr")
    assert not second.deals
    row = second.costs.study
    assert (row.collector.view, row.together.view) == ("everything", "dealer")
    assert row.collector.epsilon == pytest.approx(2.0)
    assert row.together.epsilon == pytest.approx(4.0)  # 3 with the card of wave 1, and 1


MECHANISMS: dict[str, dict[str, Any]] = {
    "auto": {},
    "rr": {"dealers": (), "mechanism": "rr"},
    "drr": {"mechanism": "drr", "closed_deck": True, "people": 60},
    "jrr": {"mechanism": "jrr", "closed_deck": True, "people": 3_000},
    "closed mrr": {"mechanism": "mrr", "closed_deck": True},
    "two dealers": {"dealers": ("https://one.example", "https://two.example")},
    "no cap": {"dealer_epsilon": math.inf},
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("cap", [0.5, 2.0])
def test_the_stronger_adversary_never_has_the_smaller_figure(name: str, cap: float) -> None:
    """Nor has more of one's answers the smaller one."""
    tried = 0
    for epsilon, waves, questions in itertools.product((0.1, 1.0, 4.0), (1, 4), (1, 3)):
        capped = {"dealer_epsilon": epsilon + cap} | MECHANISMS[name]
        try:
            table = wave(epsilon, draft=asked(questions, waves), **capped).costs
        except ArgumentError as error:
            if "who deals must be left out" not in str(error):  # for so few, cards help nothing
                raise
            continue
        tried += 1
        rows = (table.answer, table.wave, table.study)
        for row in rows:
            assert row.together.epsilon >= row.collector.epsilon
            assert row.together.belief >= row.collector.belief
            for cell in (row.collector, row.together):
                assert cell.belief >= belief(cell.certain)
                assert cell.certain >= cell.epsilon
        for less, more in itertools.pairwise(rows):
            for whom in ("collector", "together"):
                assert getattr(less, whom).epsilon <= getattr(more, whom).epsilon
                assert getattr(less, whom).belief <= getattr(more, whom).belief
        assert table.study.collector.epsilon >= waves * table.wave.collector.epsilon * (1 - 1e-15)
        assert table.study.together.epsilon >= waves * table.wave.together.epsilon * (1 - 1e-15)
    assert tried == 12 or (tried >= 4 and name in ("drr", "jrr"))


@pytest.mark.parametrize(("questions", "waves"), [(1, 1), (3, 1), (1, 4), (3, 4)])
def test_the_plan_tells_what_the_survey_does(questions: int, waves: int) -> None:
    draft = asked(questions, waves)
    planned = plan_draft(draft, 1_000, epsilon=1.0).costs
    made = wave(1.0, draft=draft).costs
    assert list(planned.rows) == list(made.rows)
    for ours, theirs in zip(planned.rows.values(), made.rows.values(), strict=True):
        for cell in ("collector", "together"):
            one, other = getattr(ours, cell), getattr(theirs, cell)
            assert (one.view, one.delta, one.belief) == (other.view, other.delta, other.belief)
            assert one.epsilon == pytest.approx(other.epsilon, rel=1e-12)


def _spoilt(document: bytes, spoil: Any) -> bytes:
    fields = json.loads(document)
    spoil(fields["study"])
    return canonical_json(fields)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda s: s["promised"].update(everything=1.2), "in all, promised"),
        (lambda s: s["promised"].update(dealer=5.0), "in all, promised"),
        (lambda s: s.update(earlier=[]), "1 earlier waves in wave 2"),
        (lambda s: s["earlier"][0].update(survey="0" * 64), "from the panel"),
        (lambda s: s["earlier"][0].update(survey="x"), "64 hexadecimal digits"),
        (lambda s: s["earlier"][0].pop("delta"), "objects of survey"),
        (lambda s: s["promised"].update(everything=-1), "a number >= 0"),
        (lambda s: s.update(more=1), "promised and earlier"),
        (lambda s: s.update(earlier=1), "a list"),
    ],
)
def test_documents_that_do_not_add_up_are_refused(spoil: Any, reason: str) -> None:
    second = wave(0.3, wave(1.0))
    with pytest.raises(DamagedError, match=reason):
        Survey.from_bytes(_spoilt(second.to_bytes(), spoil))


def test_what_the_wave_before_said_binds_the_next() -> None:
    first = wave(1.0)
    second = wave(0.3, first)
    earlier = second.earlier[0]
    silent = EarlierWave(earlier.survey, WaveLoss(0.1, 0.0, 0.2))
    liar = replace(second, study=Study(second.whole_study.promised, (silent,)))
    with pytest.raises(ProtocolError, match="with what they lose"):
        liar.check_after(first)
    generous = replace(second, study=Study(WaveLoss(3.0, 0.0, 9.0), second.earlier))
    with pytest.raises(ProtocolError, match=r"ε = 3 against .* after ε = 2 against"):
        generous.check_after(first)


@pytest.mark.parametrize("loss", [1.0, 0.9999999999999996, 0.1 + 0.2, 1 / 3, 12.3456789012345])
@pytest.mark.parametrize("waves", [1, 2, 3, 7, 32])
def test_a_promise_is_never_too_small_and_holds_waves_planned_alike(
    loss: float, waves: int
) -> None:
    """The same plan for another number of people differs in the last digits, never in the ninth."""
    this = WaveLoss(loss, 0.0, 3 * loss)
    promised = first_wave(this, waves).promised
    assert Fraction(promised.everything) >= waves * Fraction(loss)
    assert promised.everything <= waves * loss * (1 + 1e-8)
    study = first_wave(this, waves)
    for number in range(1, waves):
        alike = WaveLoss(math.nextafter(loss, 0.0), 0.0, 3 * loss)
        study = next_wave(study, EarlierWave(f"{number:064x}", this), alike, waves - number)
        assert study.promised.is_within(promised)
    earlier = tuple(EarlierWave(f"{number:064x}", this) for number in range(1, waves))
    with pytest.raises(ArgumentError, match="breaks what people were promised"):
        Study(promised, earlier).check(WaveLoss(loss * (1 + 1e-6), 0.0, 3 * loss))


def test_an_earlier_wave_that_can_tell_all_had_cards() -> None:
    """Unbounded losses are equal, and still those of cards: the table names the dealer too."""
    assert WaveLoss(math.inf, 0.0, math.inf).has_cards
    assert WaveLoss(1.0, 0.0, 3.0).has_cards
    assert not WaveLoss(1.0, 0.0, 1.0).has_cards


def test_a_later_wave_is_planned_within_what_the_promise_leaves_to_the_dealer() -> None:
    """With one announcement fewer, the last wave alone would choose a coin that costs more."""
    document: dict[str, Any] = {
        "title": "T",
        "epsilon": 6.0,
        "waves": 2,
        "questions": [
            {"name": "a", "kind": "yes-no", "text": "?"},
            {"name": "b", "kind": "scale", "text": "?", "low": 1, "high": 3},
        ],
    }
    asked = SurveyRequest(
        draft=Draft.from_dict(document),
        people=40,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
    )
    first = asked.survey()
    second = replace(asked, after=first).survey()
    assert replace(asked, draft=replace(asked.draft, waves=1)).survey().losses.dealer > 7
    assert second.losses.dealer <= dealer_left(first.whole_study, first.as_earlier, 1)
    assert second.whole_study.promised.is_within(first.whole_study.promised)
