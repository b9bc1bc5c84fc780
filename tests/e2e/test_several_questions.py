"""Surveys of several questions over HTTP: one invitation, one upload, a result for each."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jrr.cli.app import run
from jrr.client.fleet import drive_all
from jrr.client.http import ResultsWaitError
from jrr.client.operator import EstimateWish, new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ProtocolError
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.protocol.states import CLOSED
from jrr.survey.contributor import contribute, fetch_hands
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked
from tests.e2e import LIMITS, Pair, ask
from tests.statistics_rules import SURE

DOCUMENT: dict[str, Any] = {
    "title": "Health at work",
    "epsilon": 6.0,
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": "Where do you work?",
            "labels": ["office", "workshop"],
            "sensitive": False,
        },
        {
            "name": "age",
            "kind": "number",
            "text": "Age?",
            "low": 15,
            "high": 80,
            "sensitive": False,
        },
        {"name": "drinks", "kind": "yes-no", "text": "Do you drink at work?"},
        {"name": "mood", "kind": "scale", "text": "How are you?", "prefer_not": True},
        {"name": "pills", "kind": "several", "text": "Which?", "labels": ["red", "blue"]},
        {"name": "days", "kind": "number", "text": "Days ill?", "low": 0, "high": 20},
        {
            "name": "welding",
            "kind": "yes-no",
            "text": "Ever without a mask?",
            "only_if": {"sector": "workshop"},
        },
    ],
}


def survey_at(
    pair: Pair, people: int, document: dict[str, Any] | Draft = DOCUMENT, **more: Any
) -> Survey:
    options: dict[str, Any] = {"dealing": Dealers((pair.dealer.url,)), "min_cell": 5} | more
    return SurveyRequest(
        draft=document if isinstance(document, Draft) else Draft.from_dict(document),
        people=people,
        collector=pair.collector.url,
        **options,
    ).survey()


def made_up_answers(number: int) -> dict[str, Any]:
    """Somebody's answers, each in a known share of people."""
    answers: dict[str, Any] = {
        "sector": "workshop" if number % 2 else "office",
        "age": 20.0 + number % 50,
        "drinks": "yes" if number % 5 == 0 else "no",
        "mood": None if number % 10 == 9 else 1 + number % 5,
        "pills": ["red", "blue"] if number % 4 == 0 else ["blue"] if number % 4 == 1 else [],
        "days": 5.0,
    }
    if number % 2:
        answers["welding"] = "yes" if number % 3 == 0 else "no"
    return answers


def answers_for(survey: Survey, secret: bytes, number: int) -> dict[str, Any]:
    """The answers to what this person is asked."""
    left_out = not_asked(survey, pseudonym(secret, survey.collector_salt, COLLECTOR))
    answers = made_up_answers(number).items()
    asked = {question.name for question in survey.questions} - set(left_out)
    return {name: answer for name, answer in answers if name in asked}


def answer_survey(survey: Survey, secrets: list[bytes], first: int = 0, **more: Any) -> list[Any]:
    conversations = [
        contribute(survey, secret, answers_for(survey, secret, first + at), LIMITS, **more)
        for at, secret in enumerate(secrets)
    ]
    return asyncio.run(drive_all(conversations))


@pytest.mark.slow_variants("postgresql", "sqlite-even", "sqlite-together-all")
@pytest.mark.parametrize(("split", "ask"), [("even", "all"), ("together", "all"), ("together", 2)])
def test_from_the_invitation_to_the_results(pair: Pair, split: str, ask: int | str) -> None:
    people = 300
    survey = survey_at(pair, people, DOCUMENT | {"split": split, "ask": ask})
    assert len(survey.together) == (split == "together")
    operator, secrets = pair.begin(survey, people)
    receipts = answer_survey(survey, secrets[:250])
    assert all(receipt.carded and not receipt.before for receipt in receipts)
    # Cards that were fetched and never reported with: sums are announced, so they cost nothing.
    asyncio.run(drive_all([fetch_hands(survey, secret, 5.0) for secret in secrets[250:270]]))
    counts = operator.show()["collector"]
    assert counts["reports"] == 250
    assert counts["invited"] == people
    for question, concerned in (("drinks", 250), ("welding", 125)):
        expected = concerned * survey.share_asked(question)
        spread = 7 * (expected * (1 - survey.share_asked(question))) ** 0.5
        assert abs(counts["questions"][question] - expected) <= spread
    operator.close()
    answers = [made_up_answers(at) for at in range(250)]
    found = operator.estimates(EstimateWish(level=SURE))

    def inside(question: str, truth: list[float]) -> None:
        low, high = np.array(found[question]["estimate"]["interval"]).T
        assert np.all((low <= truth) & (truth <= high)), (question, low, truth, high)

    def share(wanted: Any) -> list[float]:
        yes = float(np.mean([wanted(one) for one in answers]))
        return [1 - yes, yes]

    inside("drinks", share(lambda one: one["drinks"] == "yes"))
    inside("pills.1", share(lambda one: "red" in one["pills"]))
    inside("pills.2", share(lambda one: "blue" in one["pills"]))
    moods = [5 if one["mood"] is None else one["mood"] - 1 for one in answers]
    inside("mood", list(np.bincount(moods, minlength=6) / len(answers)))
    welders = [one["welding"] == "yes" for one in answers if "welding" in one]
    inside("welding", [1 - float(np.mean(welders)), float(np.mean(welders))])
    low, high = found["days"]["mean"]["interval"]
    assert low <= 5.0 <= high
    # The key of all decks is burned, and nobody's serial number is left.
    assert not (pair.dealer.folder / "keys" / f"{survey.hash}.key").exists()
    query = f"SELECT COUNT(*) FROM serials WHERE survey = '{survey.hash}'"
    assert pair.rows("collector", query) == [(0,)]


def test_answers_come_together_once_and_the_same_again(pair: Pair) -> None:
    # All are asked everything, and what is forged would prove nothing.
    survey = survey_at(pair, 20, DOCUMENT | {"split": "even"}, verified=False)
    operator, secrets = pair.begin(survey, 20)
    bodies: list[bytes] = []
    steps = contribute(survey, secrets[0], made_up_answers(1), LIMITS)
    receipt = _drive(steps, bodies)
    assert not receipt.before
    path = f"/v1/surveys/{survey.hash}/reports"
    again = ask(pair.collector.url, "POST", path, bodies[0])
    assert again.status == 200
    other = json.loads(bodies[0])
    other["open"]["age"] = 70.0
    assert ask(pair.collector.url, "POST", path, json.dumps(other).encode()).status == 409
    other = json.loads(bodies[0])
    other["reports"]["drinks"]["report"] += 1
    assert ask(pair.collector.url, "POST", path, json.dumps(other).encode()).status == 409
    # Another person's upload with somebody's card leaves nothing of itself.
    bodies.clear()
    _drive(contribute(survey, secrets[1], made_up_answers(1), LIMITS), bodies, send=False)
    stolen, mine = json.loads(bodies[0]), json.loads(bodies[0])
    stolen["reports"]["welding"]["serials"] = other["reports"]["welding"]["serials"]
    refused = ask(pair.collector.url, "POST", path, json.dumps(stolen).encode())
    assert refused.status == 409
    assert refused.json["type"].endswith("serial-used")
    assert operator.show()["collector"]["questions"]["drinks"] == 1
    assert ask(pair.collector.url, "POST", path, json.dumps(mine).encode()).status == 201
    assert operator.show()["collector"]["reports"] == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body["reports"].pop("welding"),
        lambda body: body["open"].update(sector="office"),
        lambda body: body["open"].pop("age"),
        lambda body: body["open"].update(sector="elsewhere"),
        lambda body: body["open"].update(more=1),
        lambda body: body["reports"]["mood"].update(report=7),
        lambda body: body["reports"]["drinks"].pop("serials"),
        lambda body: body["reports"]["drinks"].update(carded=1),
        lambda body: body["reports"].update(other={"carded": False, "report": 0}),
    ],
    ids=[
        "asked and missing",
        "not asked and there",
        "open missing",
        "open unknown",
        "open too many",
        "wrong report",
        "no serials",
        "wrong flag",
        "unknown question",
    ],
)
def test_uploads_that_do_not_fit_are_refused_whole(sqlite_pair: Pair, spoil: Any) -> None:
    survey = survey_at(sqlite_pair, 20)
    operator, secrets = sqlite_pair.begin(survey, 20)
    bodies: list[bytes] = []
    _drive(contribute(survey, secrets[0], made_up_answers(1), LIMITS), bodies, send=False)
    document = json.loads(bodies[0])
    spoil(document)
    path = f"/v1/surveys/{survey.hash}/reports"
    reply = ask(sqlite_pair.collector.url, "POST", path, json.dumps(document).encode())
    assert reply.status == 422, reply
    assert operator.show()["collector"]["reports"] == 0


def test_somebody_not_invited_gets_neither_card_nor_voice(sqlite_pair: Pair) -> None:
    survey = survey_at(sqlite_pair, 20)
    sqlite_pair.begin(survey, 5)
    stranger = invitation_secret(new_invitations(1)[0])
    steps = contribute(survey, stranger, made_up_answers(0), LIMITS)
    with pytest.raises(ProtocolError, match="not known here"):
        _drive(steps, [])


def test_a_closed_survey_takes_nothing_and_says_so(sqlite_pair: Pair) -> None:
    survey = survey_at(sqlite_pair, 20)
    operator, secrets = sqlite_pair.begin(survey, 20)
    answer_survey(survey, secrets[:12])
    operator.close()
    assert operator.show()["collector"]["state"] == CLOSED
    with pytest.raises(ProtocolError, match="closed"):
        _drive(contribute(survey, secrets[15], made_up_answers(0), LIMITS), [])


def test_without_cards_too(sqlite_pair: Pair) -> None:
    survey = survey_at(sqlite_pair, 200, dealing=Nobody(), mechanism="rr")
    operator, secrets = sqlite_pair.begin(survey, 200)
    receipts = answer_survey(survey, secrets)
    assert not any(receipt.carded for receipt in receipts)
    operator.close()
    low, high = operator.estimates(EstimateWish(level=SURE))["drinks"]["estimate"]["interval"][1]
    assert low <= 0.2 <= high


def test_pseudonyms_differ_between_servers_and_stay_within_a_panel(sqlite_pair: Pair) -> None:
    first = survey_at(sqlite_pair, 20, DOCUMENT | {"waves": 3})
    second = survey_at(sqlite_pair, 20, DOCUMENT | {"waves": 3}, after=first)
    third = survey_at(sqlite_pair, 20, DOCUMENT | {"waves": 3}, after=second)
    secret = invitation_secret(new_invitations(1)[0])
    assert [one.wave for one in (first, second, third)] == [1, 2, 3]
    names = [pseudonym(secret, one.collector_salt, COLLECTOR) for one in (first, second, third)]
    assert len(set(names)) == 1
    dealt = [pseudonym(secret, one.hash, one.dealing.roles[0]) for one in (first, second, third)]
    assert len({*dealt, *names}) == 4


def _drive(steps: Any, bodies: list[bytes], send: bool = True) -> Any:
    """Run a conversation; what would be sent to the collector goes into `bodies`."""
    from jrr.client.http import Http
    from jrr.protocol.steps import Call, Save

    http, reply = Http(), None
    try:
        while True:
            step = steps.send(reply)
            reply = None
            if isinstance(step, Save):
                bodies.append(step.body)
                if not send:
                    return None
            elif isinstance(step, Call):
                reply = http.call(step)
    except StopIteration as finished:
        return finished.value


@pytest.mark.slow_variants("postgresql]")
def test_change_between_waves_paired_and_unpaired(pair: Pair) -> None:
    """At a large ε reports are exact: the change among the same people is what it is."""
    document = {
        "title": "T",
        "epsilon": 80.0,  # one changed report would be too much
        "waves": 2,
        "questions": [
            {"name": "a", "kind": "yes-no", "text": "A?"},
            {"name": "hours", "kind": "number", "text": "Hours?", "low": 0, "high": 10},
        ],
    }
    first = survey_at(pair, 60, document, dealing=Nobody(), mechanism="rr")
    second = survey_at(pair, 60, document, dealing=Nobody(), mechanism="rr", after=first)
    operator, secrets = pair.begin(first, 0)
    again = pair.operator(second)
    again.install()
    invitations = new_invitations(60)
    operator.invite(invitations)
    again.invite(invitations)
    again.open()
    secrets = [invitation_secret(text) for text in invitations]
    # 40 people answer the first wave, the last 30 of them and 20 others the second.
    for survey, people, yes in ((first, range(40), 10), (second, range(10, 60), 25)):
        told = [
            {"a": "yes" if at < yes else "no", "hours": 10.0 if at < yes else 0.0} for at in people
        ]
        steps = [
            contribute(survey, secrets[at], one, LIMITS)
            for at, one in zip(people, told, strict=True)
        ]
        assert all(not isinstance(one, Exception) for one in asyncio.run(drive_all(steps)))
    operator.close()
    again.close()
    unpaired = again.change(first)["changes"]
    assert unpaired["a"]["difference"][1] == pytest.approx(15 / 50 - 10 / 40, abs=0.02)
    assert unpaired["hours"]["mean"]["change"] == pytest.approx(0.5, abs=0.2)
    paired = again.change(first, paired=True)["changes"]
    assert (paired["a"]["n_before"], paired["a"]["n_now"]) == (30, 30)
    assert paired["a"]["difference"][1] == pytest.approx(15 / 30, abs=0.02)
    with pytest.raises(ProtocolError, match="same people"):
        again.change(survey_at_other_panel(pair))


def test_a_smallest_batch_holds_for_changes_and_exports(sqlite_pair: Pair) -> None:
    document = {
        "title": "T",
        "epsilon": 12.0,
        "waves": 2,
        "questions": [{"name": "a", "kind": "yes-no", "text": "A?"}],
    }
    settings: dict[str, Any] = {
        "dealing": Nobody(),
        "mechanism": "rr",
        "min_cell": 1,
        "min_batch": 6,
    }
    first = survey_at(sqlite_pair, 30, document, **settings)
    second = survey_at(sqlite_pair, 30, document, **settings, after=first)
    operators = sqlite_pair.operator(first), sqlite_pair.operator(second)
    invitations = new_invitations(30)
    secrets = [invitation_secret(text) for text in invitations]
    # 20 people answer the first wave, 15 of them and 7 others the second: 5 only the first.
    for survey, operator, people in zip(
        (first, second), operators, (range(20), range(5, 27)), strict=True
    ):
        operator.install()
        operator.invite(invitations)
        operator.open()
        steps = [contribute(survey, secrets[at], {"a": "yes"}, LIMITS) for at in people]
        assert all(not isinstance(one, Exception) for one in asyncio.run(drive_all(steps)))
        with pytest.raises(ResultsWaitError, match="closed"):
            operator.export("csv")
        operator.close()
        assert len(operator.export("csv").splitlines()) == len(people) + 1
    moved = operators[1].change(first)["changes"]["a"]
    assert (moved["n_before"], moved["n_now"]) == (20, 22)
    refused = operators[1].change(first, paired=True)["changes"]["a"]
    assert "fewer than 6 people answered only one" in refused["refused"]


def test_pairs_are_people_who_answered_the_question_in_both_waves(sqlite_pair: Pair) -> None:
    """Nobody changes an answer; those who say yes leave the branch: the change is none."""
    document = {
        "title": "T",
        "epsilon": 20.0,
        "waves": 2,
        "questions": [
            DOCUMENT["questions"][0],
            {"name": "b", "kind": "yes-no", "text": "B?", "only_if": {"sector": "workshop"}},
        ],
    }
    first = survey_at(sqlite_pair, 40, document, dealing=Nobody(), mechanism="rr")
    second = survey_at(sqlite_pair, 40, document, dealing=Nobody(), mechanism="rr", after=first)
    operator, again = sqlite_pair.operator(first), sqlite_pair.operator(second)
    invitations = new_invitations(40)
    for one in (operator, again):
        one.install()
        one.invite(invitations)
        one.open()
    secrets = [invitation_secret(text) for text in invitations]
    stay = [{"sector": "workshop", "b": "no"}] * 20
    steps = [
        contribute(survey, secret, answers, LIMITS)
        for survey, others in (
            (first, {"sector": "workshop", "b": "yes"}),
            (second, {"sector": "office"}),
        )
        for secret, answers in zip(secrets, [*stay, *[others] * 20], strict=True)
    ]
    assert all(not isinstance(one, Exception) for one in asyncio.run(drive_all(steps)))
    operator.close()
    again.close()
    moved = again.change(first, paired=True)["changes"]["b"]
    assert (moved["n_before"], moved["n_now"]) == (20, 20)
    assert moved["difference"][1] == pytest.approx(0.0, abs=0.02)


def test_an_empty_question_blocks_no_other(sqlite_pair: Pair) -> None:
    document = DOCUMENT | {"waves": 2, "ask": "all"}
    first = survey_at(sqlite_pair, 30, document)
    second = survey_at(sqlite_pair, 30, document, after=first)
    for survey in (first, second):
        operator = sqlite_pair.operator(survey)
        operator.install()
        invitations = new_invitations(16)
        operator.invite(invitations)
        operator.open()
        secrets = [invitation_secret(text) for text in invitations]
        office = [made_up_answers(0)] * 12
        steps = [
            contribute(survey, secret, answers, LIMITS)
            for secret, answers in zip(secrets, office, strict=False)
        ]
        asyncio.run(drive_all(steps))
        operator.close()
    changes = sqlite_pair.operator(second).change(first)["changes"]
    assert "refused" in changes["welding"]  # nobody was asked
    assert "difference" in changes["drinks"]


def survey_at_other_panel(pair: Pair) -> Survey:
    other = survey_at(pair, 20)
    pair.operator(other).install()
    return other


TOML = """
title = { en = "Work", de = "Arbeit" }
languages = ["en", "de"]
epsilon = 4
waves = 2

[[questions]]
name = "sector"
kind = "choice"
sensitive = false
text = { en = "Where?", de = "Wo?" }
labels = [{ en = "office", de = "Büro" }, { en = "workshop", de = "Werkstatt" }]

[[questions]]
name = "bribed"
kind = "yes-no"
text = { en = "Have you taken a bribe?", de = "Haben Sie sich bestechen lassen?" }

[[questions]]
name = "mood"
kind = "scale"
text = { en = "How are you?", de = "Wie geht es Ihnen?" }
prefer_not = true
"""


@pytest.mark.slow
def test_two_waves_from_the_command_line(
    sqlite_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)
    monkeypatch.chdir(tmp_path)
    Path("work.toml").write_text(TOML)
    addresses = ("--dealer", sqlite_pair.dealer.url, "--collector", sqlite_pair.collector.url)

    def jrr(*words: str, said: str | None = None) -> Any:
        if said is not None:
            monkeypatch.setattr("sys.stdin", io.StringIO(said))
        code = run([*words, "--json"])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return json.loads(shown.out)

    create = ("survey", "create", "work.toml", "--people", "12", *addresses, "--set", "min_cell=5")
    made = jrr(*create, "-o", "one.json")
    assert made["wave"] == 1
    assert made["guarantees"]["everything"] <= 4.0001
    jrr("survey", "invite", "one.json", "--count", "12", "-o", "people.csv")
    jrr("survey", "open", "one.json")
    second = jrr(*create, "-o", "two.json", "--after", "one.json")
    assert second["wave"] == 2
    jrr("survey", "invite", "two.json", "--from", "people.csv")
    jrr("survey", "open", "two.json")
    invitations = [line.split(",")[0] for line in Path("people.csv").read_text().splitlines()[1:]]
    for wave, link in enumerate((made["link"], second["link"])):
        for at, invitation in enumerate(invitations[:6]):
            answers = {"sector": "Büro", "bribed": "yes" if at < 3 else "no", "mood": None}
            answers["sector"] = "office" if at % 2 else "workshop"
            base = ("survey", "answer", link, "--invitation", invitation, "--limit", "9")
            words = (*base, "--state", f"state{at}", "--answers-from", "-", "--patience", "5")
            receipt = jrr(*words, said=json.dumps(answers))
            assert (receipt["carded"], receipt["earlier"]) == (True, False)
            assert jrr(*words, said="{}")["earlier"]
        file = ("one.json", "two.json")[wave]
        jrr("survey", "close", file)
        shown = jrr("survey", "show", file)
        assert shown["collector"]["reports"] == 6
        assert set(shown["estimates"]) == {"bribed", "mood"}
        jrr("survey", "export", file, "-o", f"{wave}.csv")
        columns = Path(f"{wave}.csv").read_text().splitlines()[0].split(",")
        assert {'"sector"', '"bribed"', '"bribed_carded"'} < set(columns)
    moved = jrr("survey", "change", "two.json", "--since", "one.json")["changes"]
    assert moved["bribed"]["n_before"] == moved["bribed"]["n_now"] == 6
    low, high = moved["bribed"]["interval"][1]
    assert low <= moved["bribed"]["difference"][1] <= high
    paired = jrr("survey", "change", "two.json", "--since", "one.json", "--paired")["changes"]
    assert "second sums" in paired["bribed"]["refused"]
    # A third wave was not announced; a limit that is too low is refused with what each costs.
    assert run([*create, "-o", "three.json", "--after", "two.json", "--json"]) == 2
    assert "wave" in capsys.readouterr().err
    costly = ["survey", "answer", second["link"], "--invitation", invitations[7], "--limit", "3"]
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    assert run([*costly, "--answers-from", "-", "--state", "other", "--json"]) == 4
    assert "bribed+mood ε = 4" in capsys.readouterr().err
