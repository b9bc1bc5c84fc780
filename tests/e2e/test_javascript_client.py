"""The JavaScript client at real servers: every mechanism it speaks, one dealer, several, none."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, MRR, OLH, OUE, RR, SS, SUE, Piecewise, Window
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.mechanisms.base import Mechanism
from jrr.research.processes import Running, running
from jrr.survey.survey import Survey
from tests.clients.test_javascript import node_program
from tests.e2e import Pair, answer_of, ask, path_of, tally_of

SCRIPT = Path(__file__).with_name("answer_all.mjs")
PEOPLE = 12
MECHANISMS: list[Mechanism] = [
    RR(k=3, epsilon=1.0),
    JRR(n=20, p=0.6, s=0.25),
    DRR(n=21, truth=0.3, own=0.2, k=3),
    MRR(20, own=3.0, card_rate=0.4, total_rate=0.5),
    MRR(20, own=3.0, card_rate=0.4, announced_rate=0.5, k=3),
    MRR(20, own=3.0, card_rate=0.4, announced_rate=0.5, k=4, coin="oue"),
    SS(6, epsilon=1.0),
    SUE(9, epsilon=1.0),
    OUE(9, q=0.3, s=0.1, coupling="joint", n=20),
    OLH(7, g=3, p=0.6, s=0.2, coupling="joint", n=20),
]


@pytest.fixture(scope="module")
def second_dealer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running("dealer", tmp_path_factory.mktemp("second")) as second:
        yield second


def answer(
    survey: Survey, operator: Operator, values: list[float] | None = None
) -> list[dict[str, Any]]:
    operator.install()
    invitations = new_invitations(PEOPLE)
    operator.invite(invitations)
    (question,) = survey.sensitive
    given = values or [at % question.mechanism.k for at in range(PEOPLE)]
    people = {
        "link": survey.link,
        "invitations": invitations,
        "answers": [answer_of(survey, value, {"region": "süd"}) for value in given],
    }
    operator.open()
    if survey.dealing.enrols:
        people["storages"] = by_script(people | {"act": "enrol"})
        assert operator.deal() == PEOPLE
    sent = reports_of(by_script(people | {"act": "answer"}))
    assert len(sent) == PEOPLE
    return sent


def reports_of(bodies: list[str]) -> list[dict[str, Any]]:
    """The reports of the only sensitive question."""
    return [json.loads(body)["reports"]["answer"] for body in bodies]


def by_script(people: dict[str, Any]) -> Any:
    command = [node_program(), str(SCRIPT)]
    told = json.dumps(people).encode()
    done = subprocess.run(command, input=told, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.slow_variants("OLH", "MRR k=4]", "MRR k=2]", "SUE k=9]", "JRR")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name} k={m.k}")
def test_servers_take_its_reports(mechanism: Mechanism, sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(mechanism, groups={"region": ("nord", "süd")})
    operator = sqlite_pair.operator(survey)
    sent = answer(survey, operator)
    assert all(entry["carded"] is mechanism.deals for entry in sent)
    closed = operator.close()
    assert closed["collector"]["reports"] == PEOPLE
    found = operator.estimate("answer")["estimate"]
    assert found["n"] == PEOPLE
    if not mechanism.masked:  # of masks only the dealer knows what to take off
        counted = mechanism.estimate(tally_of(mechanism, sent)).to_dict()
        assert found["frequencies"] == counted["frequencies"]


@pytest.mark.slow_variants("DRR]")
@pytest.mark.parametrize(
    "mechanism",
    [
        JRR(n=9, p=0.6, s=0.25),
        DRR(n=11, truth=0.3, own=0.2, k=3),
        MRR(11, own=3.0, card_rate=0.4, announced_rate=0.5),
    ],
    ids=lambda m: m.name,
)
def test_they_enrol_and_come_back(mechanism: Mechanism, sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(
        mechanism,
        capacity=40,
        dealing=Dealers((sqlite_pair.dealer.url,), enrol_first=True),
        groups={"region": ("nord", "süd")},
    )
    operator = sqlite_pair.operator(survey)
    sent = answer(survey, operator)
    assert all(entry["carded"] for entry in sent)
    operator.close()
    found = operator.estimate("answer")["estimate"]
    assert found["n"] == PEOPLE
    if not mechanism.masked:
        dealt = survey.sensitive[0].for_people(PEOPLE)
        assert (
            found["frequencies"] == dealt.estimate(tally_of(dealt, sent)).to_dict()["frequencies"]
        )


@pytest.mark.slow_variants("Piecewise-16]")
@pytest.mark.parametrize(
    "mechanism",
    [
        MRR(20, own=3.0, card_rate=0.4, announced_rate=0.5),
        MRR(20, own=3.0, card_rate=0.05, announced_rate=0.05, coin=Window(12, 4)),
        Piecewise(epsilon=1.0),
    ],
    ids=lambda m: f"{m.name}-{m.steps}",
)
def test_numbers(mechanism: Mechanism, sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(
        mechanism,
        number=(0.0, 10.0),
        groups={"region": ("nord", "süd")},
    )
    operator = sqlite_pair.operator(survey)
    sent = answer(survey, operator, [at % 11 / 1.1 for at in range(PEOPLE)])
    assert all(type(entry["report"]) is int for entry in sent)
    closed = operator.close()
    assert closed["collector"]["settled"] is True
    assert operator.estimate("answer")["estimate"]["n"] == PEOPLE


def test_cards_of_two_dealers(sqlite_pair: Pair, second_dealer: Running) -> None:
    mechanism = MRR(20, own=3.0, card_rate=0.4, announced_rate=0.5)
    dealers = (sqlite_pair.dealer, second_dealer)
    survey = sqlite_pair.survey(
        mechanism,
        dealing=Dealers(tuple(one.url for one in dealers)),
        groups={"region": ("nord", "süd")},
    )
    tokens = Tokens(
        dealers={at: one.token for at, one in enumerate(dealers)},
        collector=sqlite_pair.collector.token,
    )
    sent = answer(survey, Operator.by_tokens(survey, tokens))
    assert all(len(entry["serials"]) == 2 and None not in entry["serials"] for entry in sent)
    closed = Operator.by_tokens(survey, tokens).close()
    assert closed["collector"]["settled"] is True
    assert ask(survey.collector, "GET", path_of(survey, "status")).json["state"] == "closed"
