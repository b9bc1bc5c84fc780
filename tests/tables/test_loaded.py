"""From a survey's export to analyses in one call."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import OutcomeRegression, Regression, two_way
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.operator import new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from jrr.tables import estimate_survey, read_margins
from jrr.tables.loaded import LoadedSurvey
from tests.client.in_process import House

PEOPLE = 96
SECTOR = {
    "name": "sector",
    "kind": "choice",
    "labels": ["office", "workshop"],
    "text": "Where?",
    "sensitive": False,
}
HAPPY = {"name": "happy", "kind": "yes-no", "text": "Happy?", "sensitive": False}
YEARS = {"name": "years", "kind": "number", "low": 0, "high": 40, "text": "?", "sensitive": False}
TITLES = {"cheated": "Cheated?", "stole": "Stole?"}


def asked(
    mechanism: str = "mrr", after: Survey | None = None, verified: bool = False, **more: Any
) -> Survey:
    listed = [{"name": name, "kind": "yes-no", "text": text} for name, text in TITLES.items()]
    draft = {"title": "T", "epsilon": 6.0, "questions": [SECTOR, HAPPY, YEARS, *listed]} | more
    dealt = mechanism != "rr"
    settings: dict[str, Any] = {"colluders": 0, "dealer_epsilon": 20.0} if dealt else {}
    return SurveyRequest(
        draft=Draft.from_dict(draft),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)) if dealt else Nobody(),
        mechanism=mechanism,
        **(settings | {"min_cell": 5, "after": after, "verified": verified}),
    ).survey()


def truths() -> list[dict[str, Any]]:
    found = []
    for at in range(PEOPLE):
        office, cheats = at % 2 == 0, (at // 2) % 4 == 0 or at % 8 == 1
        happy = (at // 8) % 4 != 0 if cheats else (at // 8) % 4 == 0
        found.append(
            {
                "sector": "office" if office else "workshop",
                "happy": "yes" if happy else "no",
                "cheated": "yes" if cheats else "no",
                "years": at % 40,
                "stole": "yes" if cheats or at % 16 == 5 else "no",
            }
        )
    return found


def exported(folder: Path, survey: Survey, by: str | None = None) -> LoadedSurvey:
    home = House(survey, folder / "servers")
    home.answered(truths())
    operator = home.everybody
    operator.close(Ending(by=by))
    written = export_survey(operator, folder / "answers.parquet")
    document = folder / "survey.json"
    document.write_bytes(survey.to_bytes())
    return jrr.load_survey(document, written["answers"])


def test_a_wave_knows_how_many_answered_the_one_before(tmp_path: Path) -> None:
    """48 of 60 people of wave 2 answered wave 1; the export says so, and no more are counted."""
    first = asked("rr", waves=2)
    second = asked("rr", after=first, waves=2)
    invited = new_invitations(108)
    loaded, apps = [], None
    for survey, some in ((first, slice(0, 96)), (second, slice(48, 108))):
        home = House(survey, tmp_path / survey.hash)
        home.apps = apps = apps or home.apps
        people = truths()[: len(invited[some])]
        home.answered(people, invited[some])
        home.everybody.close(Ending())
        written = export_survey(home.everybody, tmp_path / f"{survey.wave}.parquet")
        loaded.append(jrr.load_survey(survey, written["answers"]))
    before, now = loaded
    estimates = [one.total("cheated", population="sample") for one in (now, before)]
    found = now.change(before, "cheated", population="sample")
    expected = jrr.difference(estimates[0], estimates[1], same_deck=False, shared=48)
    assert found.to_dict() == expected.to_dict()
    worst = jrr.difference(estimates[0], estimates[1], same_deck=False, shared=60)
    back = before.change(now, "cheated", population="sample")
    assert back.stderr == pytest.approx(worst.stderr)
    assert worst.stderr[1] > found.stderr[1]


@pytest.mark.slow_variants("even", "ask one")
@pytest.mark.parametrize("split", ["even", "together", "ask one"])
def test_change_among_pairs_is_that_of_the_collector(tmp_path: Path, split: str) -> None:
    """72 people answer both waves; in the second all of them say the opposite."""
    more: dict[str, Any] = {"waves": 2, "cells": ["sector"], "split": split.split()[0]}
    more |= {"split": "together", "ask": 1} if split == "ask one" else {}
    first = asked(**more)
    second = asked(after=first, **more)
    invited, people = new_invitations(120), truths()
    other = {"yes": "no", "no": "yes"}
    turned = [one | {name: other[one[name]] for name in TITLES} for one in people]
    homes, apps = [], None
    for survey, told, some in ((first, people, slice(96)), (second, turned, slice(24, 120))):
        home = House(survey, tmp_path / survey.hash)
        home.apps = apps = apps or home.apps
        mine = told if survey is first else [*told[24:], *told[:24]]
        home.answered(mine, invited[some])
        home.everybody.close(Ending())
        homes.append(home)
    early = jrr.load_survey(first, _export(homes[0], tmp_path / "early.parquet"))
    now = jrr.load_survey(second, _export(homes[1], tmp_path / "now.parquet"))
    with pytest.raises(ArgumentError, match="jrr survey close WAVE --again"):
        now.change(early, "cheated", paired=True)
    homes[0].everybody.close(Ending(announcement=2))
    before = jrr.load_survey(first, _export(homes[0], tmp_path / "before.parquet"))
    assert before.total("cheated").to_dict() == early.total("cheated").to_dict()
    theirs = homes[1].everybody.change(first, paired=True)["changes"]
    for name in TITLES:
        found = now.change(before, name, paired=True)
        assert found.frequencies == pytest.approx(theirs[name]["difference"])
        assert found.stderr == pytest.approx(theirs[name]["stderr"])
        both = theirs[name]["n_both"]
        assert both == theirs[name]["n_now"] == theirs[name]["n_before"]
        assert both == 72 if split != "ask one" else 20 < both < 52
        truth = np.mean([2 * (one[name] == "no") - 1 for one in people[24:]])
        assert abs(found.frequencies[1] - truth) < 5 * found.stderr[1] + 0.3 * (both < 72)
        groups = now.changes(before, name, "sector")
        assert set(groups) == {"office", "workshop"}
        for sector, gap in groups.items():
            mine = [one for one in people[24:] if one["sector"] == sector]
            truth = np.mean([2 * (one[name] == "no") - 1 for one in mine])
            assert abs(gap.frequencies[1] - truth) < 5 * gap.stderr[1] + 0.4 * (both < 72)
    with pytest.raises(ArgumentError, match="earlier must be the wave before"):
        before.change(now, "cheated", paired=True)


def _export(home: House, file: Path) -> str:
    return export_survey(home.everybody, file)["answers"]


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> LoadedSurvey:
    return exported(tmp_path_factory.mktemp("masked"), asked(verified=True), "sector")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LoadedSurvey:
    return exported(tmp_path_factory.mktemp("plain"), asked("rr"))


def test_groups_and_totals_are_those_of_the_export(masked: LoadedSurvey) -> None:
    found = estimate_survey(masked.path, by="sector")
    for name in masked.sensitive:
        assert masked.total(name).to_dict() == found[name].estimate.to_dict()
        groups = {group.name: group.estimate for group in masked.groups(name, "sector")}
        for group in found[name].groups:
            mine = groups[group.name]
            assert mine.frequencies == pytest.approx(group.estimate.frequencies)
            assert mine.stderr == pytest.approx(group.estimate.stderr)
    assert masked.closed_by("cheated") == ("sector",)
    with pytest.raises(ArgumentError, match=r"by happy need .* the groups of sector, once"):
        masked.groups("cheated", "happy")


def test_margins_of_cells_are_known_before_they_are_closed(masked: LoadedSurvey) -> None:
    for group in masked.groups("cheated", "sector"):
        before = masked.survey.by_name["cheated"].margin_of(group.estimate.n)
        assert 1.96 * group.estimate.stderr[1] == pytest.approx(before, rel=0.02)


def test_weights_by_a_file(masked: LoadedSurvey, tmp_path: Path) -> None:
    file = tmp_path / "margins.csv"
    file.write_text("sector,people\noffice,900\nworkshop,100\n", "utf-8")
    assert read_margins(file) == {"sector": {"office": 900.0, "workshop": 100.0}}
    found = masked.weighted("cheated", file)
    groups = {g.name: g.estimate.frequencies[1] for g in masked.groups("cheated", "sector")}
    expected = 0.9 * groups["office"] + 0.1 * groups["workshop"]
    assert found.estimate.frequencies[1] == pytest.approx(expected)
    assert found.design_effect[1] > 1.2
    file.write_text("sector,people\noffice,many\n", "utf-8")
    with pytest.raises(ArgumentError, match="line 2: people must be a number"):
        masked.weighted("cheated", file)
    for wrong in ({"sector": "office"}, ["sector"], {("sector",): 3}):
        with pytest.raises(ArgumentError, match="margins must be question -> answer -> people"):
            masked.weighted("cheated", wrong)  # type: ignore[arg-type]
    for people in ("1e-300", "1e308", "0", "nan"):
        file.write_text(f"sector,people\noffice,{people}\nworkshop,1\n", "utf-8")
        with pytest.raises(ArgumentError, match="people of office must be a number in 1e-9"):
            masked.weighted("cheated", file)
    file.write_text("sector,people\noffice,1\noffice,2\n", "utf-8")
    with pytest.raises(ArgumentError, match="office must stand once"):
        read_margins(file)
    file.write_text("sector\noffice\n", "utf-8")
    with pytest.raises(ArgumentError, match="a column 'people'"):
        read_margins(file)


def test_regressions_through_cells_and_person_by_person(
    masked: LoadedSurvey, plain: LoadedSurvey
) -> None:
    for survey, method in ((masked, "shares of cells"), (plain, "exact likelihood")):
        fit = survey.regress("cheated ~ sector")
        assert isinstance(fit, Regression)
        assert (fit.method, fit.n) == (method, PEOPLE)
        assert fit.names == ("(intercept)", "sector=workshop")
        people = truths()
        share = [
            np.mean([one["cheated"] == "yes" for one in people if one["sector"] == sector])
            for sector in ("office", "workshop")
        ]
        predicted = fit.predict({"sector": ["office", "workshop"]}, 0.9999)
        assert (predicted.low < share).all()
        assert (predicted.high > share).all()
    as_predictor = plain.regress("happy ~ cheated + sector", link="identity")
    assert isinstance(as_predictor, OutcomeRegression)
    effect, error = as_predictor.effect
    assert abs(effect - 0.5) < 4 * error < 0.8
    assert as_predictor.outcome.names[-1] == "cheated"
    of_two = plain.regress("stole ~ cheated", link="identity")
    assert isinstance(of_two, OutcomeRegression)
    assert of_two.effect[0] > 3 * of_two.effect[1]
    # Within cells nobody's answer is known: what else differs between them would be taken for it.
    for formula in ("cheated ~ happy", "cheated ~ sector + happy", "happy ~ cheated + sector"):
        with pytest.raises(ArgumentError, match=r"results by .*happy need a sum of the cards"):
            masked.regress(formula)
    with pytest.raises(ArgumentError, match="years makes no cells, and masked answers are known"):
        masked.regress("cheated ~ sector + years")
    with pytest.raises(ArgumentError, match="weights must be left out where sums"):
        masked.regress("cheated ~ sector", weights=np.ones(PEOPLE))
    for formula in (
        "cheated",
        "cheated ~ cheated",
        "happy ~ sector",
        "happy ~ cheated:sector",
        "happy ~ log(cheated)",
    ):
        with pytest.raises(ArgumentError, match="formula must be"):
            plain.regress(formula)


def test_regressions_of_numbers_and_of_more_than_two_answers(tmp_path: Path) -> None:
    """A number is explained in its own unit; it was as shares of its range, without a word."""
    days = {"name": "days", "kind": "number", "low": 10, "high": 30, "text": "?"}
    mood = {"name": "mood", "kind": "scale", "low": 1, "high": 3, "text": "?"}
    made = asked(questions=[SECTOR, HAPPY, days, mood], epsilon=12.0)
    held = House(made, tmp_path / "servers")
    people = [
        {"sector": ("office", "workshop")[at % 2], "happy": "yes", "days": 12 + 10 * (at % 2)}
        | {"mood": 1 + at % 3}
        for at in range(PEOPLE)
    ]
    held.answered(people)
    held.everybody.close(Ending(by="sector"))
    survey = jrr.load_survey(made, export_survey(held.everybody, tmp_path / "a.parquet")["answers"])
    found = survey.regress("days ~ sector", link="identity")
    assert isinstance(found, Regression)
    groups = [one.mean for one in survey.means("days", "sector").values()]
    assert found.coefficients == pytest.approx([groups[0], groups[1] - groups[0]])
    assert np.abs(found.coefficients - [12, 10]).max() < 3
    sampled = survey.means("days", "sector", population="sample").values()
    assert found.stderr[0] == pytest.approx(next(iter(sampled)).stderr, rel=0.05)
    shares = [one.estimate.frequencies[2] for one in survey.groups("mood", "sector")]
    for value in ("3", 2):
        of_three = survey.regress("mood ~ sector", link="identity", value=value)
        assert isinstance(of_three, Regression)
        assert of_three.coefficients == pytest.approx([shares[0], shares[1] - shares[0]])
    for formula, words in (
        ("mood ~ sector", r"value must be one of the answers to mood: \['1', '2', '3'\]"),
        ("happy ~ mood", "value must be one of the answers to mood"),
        ("days ~ sector", "link must be 'identity' where a number is explained"),
        ("happy ~ days", "on the right than days, which is a number"),
    ):
        with pytest.raises(ArgumentError, match=words):
            survey.regress(formula)


def test_pairs_changes_and_refusals(
    masked: LoadedSurvey, plain: LoadedSurvey, tmp_path: Path
) -> None:
    table = plain.two_way("cheated", "stole")
    excess, error = table.dependence(1, 1)
    assert excess > 4 * error
    for of_two in (masked.two_way, lambda *names: masked.regress(" ~ ".join(names))):
        with pytest.raises(ArgumentError, match=r"as one question \(cross, in the draft\)"):
            of_two("cheated", "stole")
    difference = plain.change(masked, "cheated")
    errors = [survey.total("cheated").stderr[1] for survey in (plain, masked)]
    assert difference.stderr[1] == pytest.approx(np.hypot(*errors))
    assert abs(difference.frequencies[1]) < 4 * difference.stderr[1]
    # Nothing says who answered both: those who were drawn count as the same people.
    whole = plain.change(masked, "cheated", population="sample")
    drawn = [one.total("cheated", population="sample").stderr[1] for one in (plain, masked)]
    sampling = np.array([s**2 - e**2 for s, e in zip(drawn, errors, strict=True)])
    assert whole.stderr[1] ** 2 == pytest.approx(np.sum(np.square(errors)) + 2 * sampling.sum())
    apart = plain.change(masked, "cheated", population="sample", shared=0)
    assert apart.stderr[1] == pytest.approx(np.hypot(*drawn))
    with pytest.raises(ArgumentError, match="shared must be at most 96"):
        plain.change(masked, "cheated", shared=97)
    with pytest.raises(ArgumentError, match="name must be one of"):
        plain.change(masked, "happy")
    with pytest.raises(ArgumentError, match="answers to the survey"):
        jrr.load_survey(masked.survey, plain.path)
    with pytest.raises(ArgumentError, match="exported as Parquet"):
        jrr.load_survey(None, tmp_path / "answers.csv")
    with pytest.raises(ArgumentError, match="name must be"):
        masked.item("happy")
    with pytest.raises(ArgumentError, match="a question about a number"):
        masked.mean("cheated")
    # With the sentences by which a plan refuses them.
    for survey, words in ((masked, "years makes no cells"), (plain, "years makes no groups")):
        with pytest.raises(ArgumentError, match=words):
            survey.groups("cheated", "years")
    with pytest.raises(ArgumentError, match="years makes no cells"):
        masked.regress("cheated ~ years")
    assert repr(difference).startswith("Difference(95%: 0: ")


def test_questions_that_share_a_coin_are_known(tmp_path: Path) -> None:
    survey = exported(tmp_path, asked(split="together"), "sector")
    items = [survey.item(name) for name in survey.sensitive]
    assert items[0].shared is not None
    assert items[0].shared == items[1].shared
    assert survey.survey.together[0].keep == items[0].shared.keep
    with pytest.raises(ArgumentError, match="single reports say nothing of pairs"):
        survey.two_way("cheated", "stole")


def test_questions_asked_of_some_say_so_in_every_analysis(tmp_path: Path) -> None:
    third = {"name": "lied", "kind": "yes-no", "text": "Lied?"}
    listed = [{"name": name, "kind": "yes-no", "text": text} for name, text in TITLES.items()]
    wish: dict[str, Any] = {"split": "together", "ask": 2}
    made = asked(questions=[SECTOR, HAPPY, YEARS, *listed, third], **wish)
    assert made.share_asked("cheated") == pytest.approx(2 / 3)
    assert made.share_asked("cheated", "stole") == pytest.approx(1 / 3)
    assert made.share_asked("cheated", "cheated") == pytest.approx(2 / 3)
    held = House(made, tmp_path / "servers")
    held.answered([one | {"lied": "no"} for one in truths()])
    held.everybody.close(Ending(by="sector"))
    written = export_survey(held.everybody, tmp_path / "answers.parquet")
    survey = jrr.load_survey(None, written["answers"])
    told = estimate_survey(survey.path, by="sector")["cheated"]
    assert survey.item("cheated").asked == survey.cells("cheated").asked == pytest.approx(2 / 3)
    assert survey.cells("cheated").total().stderr == pytest.approx(told.estimate.stderr)
    groups = {group.name: group.estimate.stderr for group in survey.groups("cheated", "sector")}
    for group in told.groups:
        assert groups[group.name] == pytest.approx(group.estimate.stderr)
    one, two, _ = survey._asked_both("cheated", "stole")
    pairs = two_way(one, two)
    both = survey.asked("cheated") & survey.asked("stole")
    assert pairs.n == both.sum() < survey.asked("cheated").sum()
    drawn = two_way(one, two, population="sample").stderr
    assert (pairs.stderr <= drawn).all()  # the same where an estimate leaves 0..1
    assert (pairs.stderr < drawn).any()


def test_pairs_that_nobody_was_asked(tmp_path: Path) -> None:
    made = asked(split="together", ask=1)
    assert made.share_asked("cheated", "stole") == 0
    held = House(made, tmp_path / "servers")
    held.answered(truths())
    held.everybody.close(Ending(by="sector"))
    written = export_survey(held.everybody, tmp_path / "answers.parquet")
    with pytest.raises(ArgumentError, match="nobody who was asked both; plan for it"):
        jrr.load_survey(None, written["answers"]).two_way("cheated", "stole")
