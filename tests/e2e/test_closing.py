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
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.protocol.identity import invitation_secret
from jrr.protocol.texts import admin_path
from jrr.research.processes import Running, running
from jrr.survey.contributor import contribute
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from tests.e2e import LIMITS, Pair, Recorder, proxy

SECTORS = ("office", "workshop", "ship", "farm")
DOCUMENT: dict[str, Any] = {
    "title": "Work",
    "epsilon": 6.0,
    "questions": [
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
QUESTIONS = {"bribed", "mood"}
# 8 in the office, 7 in the workshop, 3 at sea, 2 on a farm; half of them at night.
PEOPLE = ["office"] * 8 + ["workshop"] * 7 + ["ship"] * 3 + ["farm"] * 2


@dataclass(frozen=True)
class Servers:
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
        return self.jrr("survey", "close", self.folder / "survey.json", *words, refused=refused)

    def show(self, *words: object) -> Any:
        return self.jrr("survey", "show", self.folder / "survey.json", *words)

    def states(self) -> set[str]:
        """At every server."""
        path = admin_path(self.survey.hash)
        return {one.admin.get(path)["state"] for one in (*self.servers, self.collector)}

    def announcements(self) -> list[bool]:
        """Whether each dealer has announced sums."""
        path = admin_path(self.survey.hash)
        return [one.admin.get(path)["announced"] for one in self.servers]


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
    verified: bool | None = None,
) -> Servers:
    """A survey that these people have answered; it is still open."""
    servers = servers or (pair.dealer,)
    survey = SurveyRequest(
        draft=Draft.from_dict(DOCUMENT),
        people=40,
        collector=pair.collector.url,
        dealing=Dealers(urls or tuple(one.url for one in servers)),
        min_cell=5,
        verified=verified,
    ).survey()
    assert all(question.mechanism.announced for question in survey.sensitive)
    alone = len(servers) == 1
    tokens = Tokens(
        dealer=servers[0].token if alone else None,
        dealers={} if alone else {at: one.token for at, one in enumerate(servers)},
        collector=pair.collector.token,
    )
    operator = Operator.by_tokens(survey, tokens)
    operator.install()
    invitations = new_invitations(len(people) + 5)
    operator.invite(invitations)
    operator.open()
    steps = [
        contribute(
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
    return Servers(survey, servers, pair.collector, folder, jrr)


def groups_shown(at: Servers, by: str) -> dict[str, tuple[tuple[str, int], ...]]:
    """Of every question: which groups have a result, and of how many people."""
    estimates = at.show(*at.at_collector, "--by", by)["estimates"]
    return {
        question: tuple(sorted((one["name"], one["n"]) for one in facts["groups"]))
        for question, facts in estimates.items()
    }


MERGED = (("office", 8), ("ship + farm", 5), ("workshop", 7))


def test_a_close_that_is_refused_closes_nothing_and_another_grouping_can_be_chosen(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    at = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    for words in (at.everywhere, (*at.at_collector, "--request", tmp_path / "request")):
        refused = at.close(*words, "--by", "sector", refused=True)
        assert "got 2 in the group 'farm', 3 in the group 'ship'" in refused
        assert "nothing was closed" in refused
        assert "--merge-small" in refused
        assert at.states() == {"open"}
    assert not (tmp_path / "request").exists()
    assert "by must be one of" in at.close(*at.everywhere, "--by", "age", refused=True)
    assert at.states() == {"open"}
    at.close(*at.everywhere, "--by", "shift")
    assert at.states() == {"closed"}
    assert groups_shown(at, "shift") == dict.fromkeys(QUESTIONS, (("day", 10), ("night", 10)))
    assert "are announced once" in at.close(*at.everywhere, "--by", "sector", refused=True)


@pytest.mark.slow_variants("2]")
@pytest.mark.parametrize("count", [1, 2])
def test_the_grouping_goes_through_the_files_and_comes_back_with_the_sums(
    sqlite_pair: Pair, second: Running, tmp_path: Path, jrr: Callable[..., Any], count: int
) -> None:
    servers = (sqlite_pair.dealer, second)[:count]
    at = begun(sqlite_pair, tmp_path, jrr, PEOPLE, servers, verified=False)
    request = tmp_path / "request"
    by = ("--by", "sector", "--merge-small")
    assert "--request" in at.close(*at.at_collector, *by, refused=True)
    assert at.states() == {"open"}  # there was nowhere to write the request to
    at.close(*at.at_collector, *by, "--request", request)
    sums = []
    for number in range(count):
        mine = request if count == 1 else tmp_path / f"request.{number}"
        written = json.loads(mine.read_text())
        assert written["questions"].keys() == QUESTIONS
        assert (written["by"], written["merged"]) == (["sector"], {"ship + farm": ["ship", "farm"]})
        for groups in written["questions"].values():
            sizes = {group: len(serials) for group, serials in groups.items()}
            assert sizes == {"office": 8, "workshop": 7, "ship + farm": 5}
        # Written again without the option, the request is the same: the collector has kept it.
        at.close(*at.at_collector, "--request", request)
        assert json.loads(mine.read_text()) == written
        file = tmp_path / f"sums{number}"
        missing = at.close(*at.at_dealer(number), "--request", mine, refused=True)
        assert "nothing was announced" in missing
        assert at.announcements() == [one < number for one in range(count)]
        for _ in range(2):
            at.close(*at.at_dealer(number), "--request", mine, "--sums", file)
        assert json.loads(file.read_text())["sums"]["by"] == ["sector"]
        sums += ["--sums", file]
    for _ in range(2):
        at.close(*at.at_collector, *sums)
    assert groups_shown(at, "sector") == dict.fromkeys(QUESTIONS, MERGED)
    # Other sums, of the same grouping or of another, are refused and change nothing.
    for change in (_another, _of_everybody):
        for number in range(count):
            file = tmp_path / f"sums{number}"
            told = json.loads(file.read_text())
            file.write_text(json.dumps(told | {"sums": change(told["sums"])}))
        refused = at.close(*at.at_collector, *sums, refused=True)
        assert "other sums are here already" in refused
    assert groups_shown(at, "sector") == dict.fromkeys(QUESTIONS, MERGED)


def test_files_go_twice_where_cards_are_verified(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    at = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    document, request, sums = (str(tmp_path / name) for name in ("survey.json", "ask", "told"))
    collector = ["survey", "close", document, *at.at_collector, "--request", request]
    dealer = ["survey", "close", document, *at.at_dealer(), "--request", request, "--sums", sums]
    assert run([*collector, "--by", "sector", "--merge-small"]) == 0
    assert json.loads(Path(request).read_text())["slots"] is None
    assert run(dealer) == 0
    assert "both files go twice" in capsys.readouterr().out
    assert set(json.loads(Path(sums).read_text())) == {"request", "committed"}
    assert at.announcements() == [0]
    only_sums = (*at.at_collector, "--sums", sums)
    assert "request must say where to write" in at.close(*only_sums, refused=True)
    assert run([*collector, "--sums", sums]) == 0
    assert "Written" in capsys.readouterr().out
    assert json.loads(Path(request).read_text())["slots"].keys() == QUESTIONS
    assert run(dealer) == 0
    assert at.announcements() == [1]
    assert run([*collector, "--sums", sums]) == 0
    assert "Results are ready" in capsys.readouterr().out
    assert groups_shown(at, "sector") == dict.fromkeys(QUESTIONS, MERGED)


def _another(told: dict[str, Any]) -> dict[str, Any]:
    """Sums of the same groups, one of them another."""
    groups = told["questions"]["bribed"]
    office = groups["office"] | {"sum": groups["office"]["sum"] + 1}
    return told | {"questions": told["questions"] | {"bribed": groups | {"office": office}}}


def _of_everybody(told: dict[str, Any]) -> dict[str, Any]:
    """Sums of all reports together."""
    kept = {name: value for name, value in told.items() if name != "merged"}
    questions = {name: {"": groups["office"]} for name, groups in told["questions"].items()}
    return kept | {"by": [], "questions": questions}


def test_the_preview_shows_sizes_and_what_would_be_merged(
    sqlite_pair: Pair,
    tmp_path: Path,
    jrr: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DOCUMENT, "analyses", ["groups: sector"])
    at = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    found = at.close(*at.everywhere, "--by", "sector", "--dry-run")
    assert found["joined"] == {"groups: sector": "farm + ship"}
    assert "got 2 in the group 'farm'" in found["refused"]
    for question in QUESTIONS:
        sizes = {one["name"]: one["cards"][question] for one in found["closing"]["groups"]}
        assert sizes == {"office": [8], "workshop": [7], "ship": [3], "farm": [2]}
    assert found["closing"]["too_small"] == ["ship", "farm"]
    assert found["if_merged"]["merged"] == {"ship + farm": ["ship", "farm"]}
    assert found["if_merged"]["too_small"] == []
    again = at.close(*at.everywhere, "--by", "sector", "--merge-small", "--dry-run")
    assert again["refused"] is None
    assert at.states() == {"open"}
    folder = tmp_path / "few"
    folder.mkdir()
    few = begun(sqlite_pair, folder, jrr, ["ship", "farm"])
    refused = few.close(*few.everywhere, "--by", "sector", "--merge-small", refused=True)
    assert "choose another grouping than --by sector" in refused
    assert "--merge-small" not in refused  # it was given, and did not help
    deleting = (*at.everywhere, "--by", "sector", "--discard-small", "--dry-run")
    assert at.close(*deleting)["would_delete"] == 5
    file = str(tmp_path / "survey.json")
    assert run(["survey", "close", file, *at.everywhere, "--by", "sector", "--dry-run"]) == 0
    words = capsys.readouterr().out
    assert "ship: 3 answers with a card: too few for a sum, 5 are needed" in words
    one = at.survey.by_name["bribed"]
    assert f"ship + farm: 5 answers with a card (bribed {one.margin_words(5)}, mood ±" in words
    assert "Only together afterwards: groups: sector: farm + ship." in words
    for group in found["if_merged"]["groups"]:
        (cards,) = group["cards"]["bribed"]
        assert group["margins"]["bribed"] == one.margin_of(cards)
    assert "Nothing was closed." in words
    assert run(["survey", "close", file, *deleting]) == 0
    assert (
        "--discard-small would delete the answers of at least 5 people of 20"
        in capsys.readouterr().out
    )
    assert "--by" in at.close(*at.everywhere, "--merge-small", refused=True)
    # The dealer is away, or its token is another's: said before, and nothing is closed.
    wrong = ("--dealer-token", "wrong" * 8)
    assert "401" in at.close(*at.at_collector, *wrong, refused=True)
    assert at.states() == {"open"}
    assert run(["survey", "close", file, *at.everywhere, "--yes"]) == 0  # as it was planned
    assert "Only together afterwards: groups: sector: farm + ship." in capsys.readouterr().out


def test_a_dealer_that_is_away_is_noticed_before_anything_is_closed(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    seen = Recorder()
    with proxy(sqlite_pair.dealer.url, seen) as address:
        at = begun(sqlite_pair, tmp_path, jrr, PEOPLE, urls=(address,))
        seen.refuse = True
        assert "nothing was closed" in at.close(*at.everywhere, refused=True)
        seen.refuse = False
        assert at.states() == {"open"}
        at.close(*at.everywhere)
        assert at.states() == {"closed"}


class Killed(BaseException):
    """The command is killed; nothing in it may notice."""


def test_killed_between_any_two_steps_the_same_command_comes_to_the_same_end(
    sqlite_pair: Pair,
    tmp_path: Path,
    jrr: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before every request that changes something, and again after it, before its reply is read."""
    at = begun(sqlite_pair, tmp_path, jrr, PEOPLE)
    post, killed, told = Admin.post, set(), []

    def dying_post(self: Admin, path: str, *more: Any, **named: Any) -> Any:
        where = f"{self.address}{path}"
        if (where, "before") not in killed:
            killed.add((where, "before"))
            raise Killed
        reply = post(self, path, *more, **named)
        if reply.get("sums") is not None:
            told.append(json.dumps(reply))
        if (where, "after") not in killed:
            killed.add((where, "after"))
            raise Killed
        return reply

    monkeypatch.setattr(Admin, "post", dying_post)
    for _ in range(100):
        with suppress(Killed):
            at.close(*at.everywhere, "--by", "sector", "--merge-small")
            break
    acts = sorted(where.rpartition("/")[2] for where, when in killed if when == "after")
    # A close at each server; cards are verified, unless told otherwise.
    assert acts == ["challenge", "check", "close", "close", "commit", "sums"]
    assert at.states() == {"closed"}
    assert len(told) > len(set(told)) == 1  # one announcement, however often asked
    assert groups_shown(at, "sector") == dict.fromkeys(QUESTIONS, MERGED)
