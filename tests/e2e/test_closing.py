"""How a survey ends: looked at first at all servers, closed whole or not at all, by groups."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jrr.cli.app import run
from jrr.client.fleet import drive_all
from jrr.client.http import Admin
from jrr.client.operator import Tokens, new_invitations
from jrr.client.survey_operator import SurveyOperator
from jrr.research.processes import Running, running
from jrr.survey.identity import invitation_secret
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.survey_contributor import contribute_survey
from jrr.survey.survey_creation import SurveyRequest
from jrr.survey.surveys import Survey
from tests.e2e import LIMITS, Pair, Recorder, proxy

SECTORS = ("office", "workshop", "ship", "farm")
DOCUMENT: dict[str, Any] = {
    "title": "Work",
    "epsilon": 6.0,
    "items": [
        {
            "name": "sector",
            "kind": "choice",
            "text": "Where?",
            "labels": list(SECTORS),
            "sensitive": False,
        },
        {
            "name": "shift",
            "kind": "choice",
            "text": "When?",
            "labels": ["day", "night"],
            "sensitive": False,
        },
        {"name": "bribed", "kind": "yes-no", "text": "Have you taken a bribe?"},
        {"name": "mood", "kind": "scale", "text": "How are you?", "low": 1, "high": 3},
    ],
}
PARTS = {"bribed", "mood"}
# 8 in the office, 7 in the workshop, 3 at sea, 2 on a farm; half of them at night.
PEOPLE = ["office"] * 8 + ["workshop"] * 7 + ["ship"] * 3 + ["farm"] * 2


@dataclass(frozen=True)
class Hands:
    """A survey whose servers are in different hands, and what their operators type."""

    survey: Survey
    servers: tuple[Running, ...]  # dealers
    collector: Running
    folder: Path
    jrr: Callable[..., Any]

    @property
    def at_collector(self) -> tuple[str, ...]:
        return ("--collector-token", self.collector.token)

    def at_dealer(self, number: int = 0) -> tuple[str, ...]:
        token = self.servers[number].token
        return ("--dealer-token", token if len(self.servers) == 1 else f"{number}:{token}")

    @property
    def everywhere(self) -> tuple[str, ...]:
        dealers = [word for at in range(len(self.servers)) for word in self.at_dealer(at)]
        return (*self.at_collector, *dealers)

    def close(self, *words: object, refused: bool = False) -> Any:
        return self.jrr("campaign", "close", self.folder / "survey.json", *words, refused=refused)

    def show(self, *words: object) -> Any:
        return self.jrr("campaign", "show", self.folder / "survey.json", *words)

    def states(self) -> set[str]:
        """Of every part at every server."""
        return {
            one.admin.get(f"/v1/admin/campaigns/{part.campaign.hash}")["state"]
            for one in (*self.servers, self.collector)
            for part in self.survey.parts
        }

    def announcements(self) -> list[bool]:
        """Whether the first dealer has announced, of each part."""
        paths = [f"/v1/admin/campaigns/{part.campaign.hash}" for part in self.survey.parts]
        return [self.servers[0].admin.get(path)["announced"] for path in paths]


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running("dealer", tmp_path_factory.mktemp("second")) as dealer:
        yield dealer


@pytest.fixture
def jrr(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(*words: object, refused: bool = False) -> Any:
        """What a command says: a document, or its refusal."""
        code = run([*map(str, words), "--json"])
        shown = capsys.readouterr()
        assert (code != 0) == refused, shown.err
        return shown.err if refused else json.loads(shown.out)

    return call


def begun(
    pair: Pair,
    folder: Path,
    jrr: Callable[..., Any],
    people: list[str],
    servers: tuple[Running, ...] = (),
    urls: tuple[str, ...] = (),
) -> Hands:
    """A survey that these people have answered; it is still open."""
    servers = servers or (pair.dealer,)
    survey = SurveyRequest(
        questionnaire=Questionnaire.from_dict(DOCUMENT),
        people=40,
        collector=pair.collector.url,
        dealers=urls or tuple(one.url for one in servers),
        min_cell=5,
    ).survey()
    assert all(part.campaign.announces for part in survey.parts)
    alone = len(servers) == 1
    tokens = Tokens(
        dealer=servers[0].token if alone else None,
        dealers={} if alone else {at: one.token for at, one in enumerate(servers)},
        collector=pair.collector.token,
    )
    operator = SurveyOperator.by_tokens(survey, tokens)
    operator.install()
    invitations = new_invitations(len(people) + 5)
    operator.invite(invitations)
    operator.open()
    steps = [
        contribute_survey(
            survey,
            invitation_secret(invitation),
            {
                "sector": sector,
                "shift": ("day", "night")[at % 2],
                "bribed": ("yes", "no")[at % 2],
                "mood": 1 + at % 3,
            },
            LIMITS,
        )
        for at, (invitation, sector) in enumerate(zip(invitations, people, strict=False))
    ]
    found = asyncio.run(drive_all(steps))
    assert [one for one in found if isinstance(one, Exception)] == []
    (folder / "survey.json").write_bytes(survey.to_bytes())
    return Hands(survey, servers, pair.collector, folder, jrr)


def groups_shown(hands: Hands, by: str) -> dict[str, tuple[tuple[str, int], ...]]:
    """Of every part: which groups have a result, and of how many people."""
    estimates = hands.show(*hands.at_collector, "--by", by)["estimates"]
    return {
        part: tuple(sorted((one["name"], one["n"]) for one in facts["groups"]))
        for part, facts in estimates.items()
    }


MERGED = (("office", 8), ("ship + farm", 5), ("workshop", 7))


def test_a_close_that_is_refused_closes_nothing_and_another_grouping_can_be_chosen(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    hands = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    for words in (hands.everywhere, (*hands.at_collector, "--names", tmp_path / "names")):
        refused = hands.close(*words, "--by", "sector", refused=True)
        assert "got 2 in the group 'farm', 3 in the group 'ship'" in refused
        assert "nothing was closed" in refused
        assert "--merge-small" in refused
        assert hands.states() == {"open"}
    assert not (tmp_path / "names").exists()
    assert "by must be one of" in hands.close(*hands.everywhere, "--by", "age", refused=True)
    assert hands.states() == {"open"}
    hands.close(*hands.everywhere, "--by", "shift")
    assert hands.states() == {"closed"}
    assert groups_shown(hands, "shift") == dict.fromkeys(PARTS, (("day", 10), ("night", 10)))
    assert "are told once" in hands.close(*hands.everywhere, "--by", "sector", refused=True)


@pytest.mark.parametrize("count", [1, 2])
def test_the_grouping_goes_through_the_files_and_comes_back_with_the_sums(
    sqlite_pair: Pair, second: Running, tmp_path: Path, jrr: Callable[..., Any], count: int
) -> None:
    hands = begun(sqlite_pair, tmp_path, jrr, PEOPLE, (sqlite_pair.dealer, second)[:count])
    names = tmp_path / "names"
    by = ("--by", "sector", "--merge-small")
    assert "--names" in hands.close(*hands.at_collector, *by, refused=True)
    assert hands.states() == {"open"}  # there was nowhere to write the names to
    hands.close(*hands.at_collector, *by, "--names", names)
    sums = []
    for number in range(count):
        mine = names if count == 1 else tmp_path / f"names.{number}"
        written = json.loads(mine.read_text())
        assert set(written) == PARTS
        for naming in written.values():
            assert (naming["by"], naming["merged"]) == ("sector", {"ship + farm": ["ship", "farm"]})
            sizes = {group: len(serials) for group, serials in naming["serials"].items()}
            assert sizes == {"office": 8, "workshop": 7, "ship + farm": 5}
        # Written again without the option, the names are the same: the collector has kept it.
        hands.close(*hands.at_collector, "--names", names)
        assert json.loads(mine.read_text()) == written
        file = tmp_path / f"sums{number}"
        missing = hands.close(*hands.at_dealer(number), "--names", mine, refused=True)
        assert "nothing was announced" in missing
        assert hands.announcements() == [number > 0] * 2
        for _ in range(2):
            hands.close(*hands.at_dealer(number), "--names", mine, "--sums", file)
        assert {one["by"] for one in json.loads(file.read_text()).values()} == {"sector"}
        sums += ["--sums", file]
    for _ in range(2):
        hands.close(*hands.at_collector, *sums)
    assert groups_shown(hands, "sector") == dict.fromkeys(PARTS, MERGED)
    # Other sums, of the same grouping or of another, are refused and change nothing.
    for change in (_another, _of_everybody):
        for number in range(count):
            file = tmp_path / f"sums{number}"
            told = json.loads(file.read_text())
            file.write_text(json.dumps({part: change(one) for part, one in told.items()}))
        refused = hands.close(*hands.at_collector, *sums, refused=True)
        assert "other sums are here already" in refused
    assert groups_shown(hands, "sector") == dict.fromkeys(PARTS, MERGED)


def _another(told: dict[str, Any]) -> dict[str, Any]:
    """Sums of the same groups, one of them another."""
    groups = told["sums"]
    office = groups["office"] | {"sum": groups["workshop"]["sum"]}
    return told | {"sums": groups | {"office": office}}


def _of_everybody(told: dict[str, Any]) -> dict[str, Any]:
    """Sums of all reports together."""
    kept = {name: value for name, value in told.items() if name != "merged"}
    return kept | {"by": None, "sums": {"": told["sums"]["office"]}}


def test_the_preview_shows_sizes_and_what_would_be_merged(
    sqlite_pair: Pair,
    tmp_path: Path,
    jrr: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    hands = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    found = hands.close(*hands.everywhere, "--by", "sector", "--dry-run")
    assert "got 2 in the group 'farm'" in found["refused"]
    for part in PARTS:
        sizes = {one["name"]: one["cards"] for one in found["closing"][part]["groups"]}
        assert sizes == {"office": [8], "workshop": [7], "ship": [3], "farm": [2]}
        assert found["closing"][part]["too_small"] == ["ship", "farm"]
        merged = found["if_merged"][part]
        assert merged["merged"] == {"ship + farm": ["ship", "farm"]}
        assert merged["too_small"] == []
    again = hands.close(*hands.everywhere, "--by", "sector", "--merge-small", "--dry-run")
    assert again["refused"] is None
    assert hands.states() == {"open"}
    folder = tmp_path / "few"
    folder.mkdir()
    few = begun(sqlite_pair, folder, jrr, ["ship", "farm"])
    refused = few.close(*few.everywhere, "--by", "sector", "--merge-small", refused=True)
    assert "choose another grouping than --by sector" in refused
    assert "--merge-small" not in refused  # it was given, and did not help
    deleting = (*hands.everywhere, "--by", "sector", "--discard-small", "--dry-run")
    assert hands.close(*deleting)["would_delete"] == dict.fromkeys(PARTS, 5)
    file = str(tmp_path / "survey.json")
    assert run(["campaign", "close", file, *hands.everywhere, "--by", "sector", "--dry-run"]) == 0
    words = capsys.readouterr().out
    assert "ship: 3 answers with a card: too few for a sum, 5 are needed" in words
    assert "ship + farm: 5 answers with a card" in words
    assert "Nothing was closed." in words
    assert run(["campaign", "close", file, *deleting]) == 0
    assert "--discard-small would delete 5 answers of 20" in capsys.readouterr().out
    assert "--by" in hands.close(*hands.everywhere, "--merge-small", refused=True)
    # The dealer is away, or its token is another's: said before, and nothing is closed.
    wrong = ("--dealer-token", "wrong" * 8)
    assert "401" in hands.close(*hands.at_collector, *wrong, refused=True)
    assert hands.states() == {"open"}


def test_a_dealer_that_is_away_is_noticed_before_anything_is_closed(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    seen = Recorder()
    with proxy(sqlite_pair.dealer.url, seen) as address:
        hands = begun(sqlite_pair, tmp_path, jrr, PEOPLE, urls=(address,))
        seen.refuse = True
        assert "nothing was closed" in hands.close(*hands.everywhere, refused=True)
        seen.refuse = False
        assert hands.states() == {"open"}
        hands.close(*hands.everywhere)
        assert hands.states() == {"closed"}


class Killed(BaseException):
    """The command is killed; nothing in it may notice."""


def test_killed_between_any_two_steps_the_same_command_comes_to_the_same_end(
    sqlite_pair: Pair,
    tmp_path: Path,
    jrr: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before every request that changes something, and again after it, before its reply is read."""
    hands = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    post, killed, told = Admin.post, set(), []

    def dying_post(self: Admin, path: str, *more: Any, **named: Any) -> Any:
        if (path, "before") not in killed:
            killed.add((path, "before"))
            raise Killed
        reply = post(self, path, *more, **named)
        if path.endswith("/announce"):
            told.append((path, json.dumps(reply)))
        if (path, "after") not in killed:
            killed.add((path, "after"))
            raise Killed
        return reply

    monkeypatch.setattr(Admin, "post", dying_post)
    for _ in range(100):
        with suppress(Killed):
            hands.close(*hands.everywhere, "--by", "sector", "--merge-small")
            break
    verbs = {path.rpartition("/")[2] for path, _ in killed}
    assert verbs == {"unknown", "close", "announce", "settle"}
    assert hands.states() == {"closed"}
    assert len(told) > len(set(told)) == 2  # one announcement of each part, however often asked
    assert groups_shown(hands, "sector") == dict.fromkeys(PARTS, MERGED)
