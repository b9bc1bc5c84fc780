"""A panel over HTTP: two waves, the second sums of those who answered both, change among pairs."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from jrr.client.fleet import drive_all
from jrr.client.http import Admin
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.protocol.identity import invitation_secret
from jrr.research.processes import Running, free_port, running
from jrr.survey.contributor import contribute
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from tests.e2e import LIMITS, Pair
from tests.e2e.test_closing import Killed, Servers
from tests.e2e.test_closing import jrr as jrr

PEOPLE, FIRST, BOTH = 40, 32, 24  # wave 2 is answered by the last 32: 24 answer both
DOCUMENT: dict[str, Any] = {
    "title": "Work",
    "epsilon": 6.0,
    "waves": 2,
    "analyses": ["totals", "pairs"],
    "questions": [
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


@dataclass(frozen=True)
class Panel:
    """Two waves at the same servers."""

    before: Servers
    now: Servers

    def change(self, *words: object) -> Any:
        both = self.now.folder / "survey.json", "--since", self.before.folder / "survey.json"
        found = self.now.jrr("survey", "change", *both, *self.now.at_collector, *words)
        return found["changes"]

    @property
    def told(self) -> int:
        """Announcements of wave 1 that the dealer counts."""
        (dealer,) = self.before.servers
        path = f"/v1/admin/surveys/{self.before.survey.hash}"
        return int(dealer.admin.get(path)["announced"])


def panel(
    pair: Pair,
    folder: Path,
    jrr: Callable[..., Any],
    planned: int = 400,
    verified: bool | None = None,
) -> Panel:
    """Both waves are answered; neither is closed. Every other person says yes in both."""
    invitations = new_invitations(PEOPLE)
    waves: list[Servers] = []
    for some in (invitations[:FIRST], invitations[PEOPLE - FIRST :]):
        survey = SurveyRequest(
            draft=Draft.from_dict(DOCUMENT),
            people=planned,
            collector=pair.collector.url,
            dealing=Dealers((pair.dealer.url,)),
            min_cell=5,
            verified=verified,
            after=waves[0].survey if waves else None,
        ).survey()
        masked = {one.name for one in survey.sensitive if one.mechanism.announced}
        assert masked == {"bribed"} | ({"mood"} if planned > 40 or waves else set())
        operator = Operator.by_tokens(
            survey, Tokens(dealer=pair.dealer.token, collector=pair.collector.token)
        )
        operator.install()
        operator.invite(invitations)
        operator.open()
        steps = [
            contribute(survey, invitation_secret(one), answers(invitations.index(one)), LIMITS)
            for one in some
        ]
        found = asyncio.run(drive_all(steps))
        assert [one for one in found if isinstance(one, Exception)] == []
        place = folder / f"wave{survey.wave}"
        place.mkdir()
        (place / "survey.json").write_bytes(survey.to_bytes())
        waves.append(Servers(survey, (pair.dealer,), pair.collector, place, jrr))
    return Panel(*waves)


def answers(person: int) -> dict[str, Any]:
    """The same in both waves."""
    return {"shift": "day", "bribed": ("no", "yes")[person % 2], "mood": 1 + person % 3}


def results(at: Servers) -> Any:
    """The wave's own, beside which there are second sums once they were told."""
    found = at.show(*at.at_collector)["estimates"]
    return {
        name: {f: v for f, v in one.items() if f != "later_sums"} for name, one in found.items()
    }


def test_change_among_pairs_is_told_after_the_second_announcement(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    at = panel(sqlite_pair, tmp_path, jrr)
    before, now = at.before, at.now
    assert "must be closed first" in before.close(*before.everywhere, "--again", refused=True)
    before.close(*before.everywhere)
    shares = results(before)
    # Before the next wave is closed nobody knows who answered both: refused, nothing is changed.
    refused = before.close(*before.everywhere, "--again", refused=True)
    assert "wave" in refused
    assert (at.told, results(before)) == (1, shares)
    assert "counts one announcement" in now.close(*now.everywhere, "--again", refused=True)
    seen = now.close(*now.everywhere, "--by", "shift", "--dry-run")
    assert list(seen["lost"]) == ["pairs"]  # which closing so would rule out
    now.close(*now.everywhere)
    assert "--again" in at.change("--paired")["bribed"]["refused"]
    seen = before.close(*before.everywhere, "--again", "--dry-run")
    assert seen["refused"] is None
    assert [(one["name"], one["cards"]["bribed"]) for one in seen["closing"]["groups"]] == [
        ("yes", [BOTH])
    ]
    assert at.told == 1
    for _ in range(2):  # again, the same is told
        before.close(*before.everywhere, "--again")
    assert at.told == 2
    assert results(before) == shares  # of the wave itself nothing has changed
    paired, apart = at.change("--paired"), at.change()
    for name in ("bribed", "mood"):
        one = paired[name]
        assert "refused" not in one, one
        assert one["n_before"] == one["n_now"] == one["n_both"] == BOTH
        assert max(one["stderr"]) < max(one["unpaired_stderr"])
        assert abs(one["difference"][-1]) < 5 * one["stderr"][-1]
        assert "unpaired_stderr" not in apart[name]
    words = before.jrr("survey", "report", before.folder / "survey.json", *before.at_collector)
    assert [one["name"] for one in words["questions"]] == ["bribed", "mood"]


def test_the_second_announcement_goes_through_files(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    at = panel(sqlite_pair, tmp_path, jrr, verified=False)
    before, now = at.before, at.now
    before.close(*before.everywhere)
    now.close(*now.everywhere)
    request, sums = tmp_path / "request", tmp_path / "sums"
    assert "--request" in before.close(*before.at_collector, "--again", refused=True)
    for _ in range(2):
        before.close(*before.at_collector, "--again", "--request", request)
    written = json.loads(request.read_text())
    assert (written["announcement"], written["by"]) == (2, ["answered_wave_after"])
    assert {name: len(one["yes"]) for name, one in written["questions"].items()} == {
        "bribed": BOTH,
        "mood": BOTH,
    }
    # Another request than was noted is refused, before and after.
    other = tmp_path / "other"
    del written["questions"]["bribed"]["yes"][0]
    for _ in range(2):
        before.close(*before.at_dealer(), "--request", request, "--sums", sums)
        assert at.told == 2
    other.write_text(json.dumps(written))
    refused = before.close(
        *before.at_dealer(), "--request", other, "--sums", tmp_path / "more", refused=True
    )
    assert "another request" in refused
    assert "second sums" in at.change("--paired")["mood"]["refused"]
    for _ in range(2):
        before.close(*before.at_collector, "--again", "--sums", sums)
    assert at.change("--paired")["mood"]["n_both"] == BOTH


def test_killed_between_any_two_steps_of_the_second_announcement_it_is_told_once(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before every request that changes something, and after it, before its reply is read."""
    at = panel(sqlite_pair, tmp_path, jrr)
    for wave in (at.before, at.now):
        wave.close(*wave.everywhere)
    post, killed, told = Admin.post, set(), set()

    def dying_post(self: Admin, path: str, *more: Any, **named: Any) -> Any:
        where = f"{self.address}{path}"
        if (where, "before") not in killed:
            killed.add((where, "before"))
            raise Killed
        reply = post(self, path, *more, **named)
        if (reply.get("sums") or {}).get("announcement") == 2:
            told.add(json.dumps(reply["sums"]))
        if (where, "after") not in killed:
            killed.add((where, "after"))
            raise Killed
        return reply

    monkeypatch.setattr(Admin, "post", dying_post)
    for _ in range(100):
        with suppress(Killed):
            at.before.close(*at.before.everywhere, "--again")
            break
    acts = sorted(where.rpartition("/")[2] for where, when in killed if when == "after")
    assert acts == ["challenge", "check", "close", "close", "commit", "sums"]
    assert (len(told), at.told) == (1, 2)
    found = at.change("--paired")
    assert {one.get("n_now", str(one)) for one in found.values()} == {BOTH}
    assert {one["n_before"] for one in at.change("--paired").values()} == {BOTH}


@contextmanager
def dealer_killed(folder: Path, port: int) -> Iterator[Running]:
    """A dealer that is killed at the end, as if the machine lost its power."""
    with running("dealer", folder, port=port) as dealer:
        yield dealer
        dealer.process.kill()
        dealer.process.wait()


def test_a_dealer_killed_and_restored_from_a_backup_announces_nothing_else(
    sqlite_pair: Pair, tmp_path: Path, jrr: Callable[..., Any]
) -> None:
    """Neither of other cards nor, as they are verified, for other slots of noise."""
    folder, port = tmp_path / "dealer", free_port()
    with dealer_killed(folder, port) as dealer:
        at = panel(replace(sqlite_pair, dealer=dealer), tmp_path, jrr)
        for wave in (at.before, at.now):
            wave.close(*wave.everywhere)
    backup = tmp_path / "backup"
    shutil.copytree(folder, backup, ignore=shutil.ignore_patterns("keys"))
    request, other, sums = (tmp_path / name for name in ("request", "other", "sums"))
    at.before.close(*at.before.at_collector, "--again", "--request", request)
    with dealer_killed(folder, port) as dealer:
        again = replace(at.before, servers=(dealer,))
        again.close(*again.at_dealer(), "--request", request, "--sums", sums)
    at.before.close(*at.before.at_collector, "--again", "--sums", sums, "--request", request)
    named = json.loads(request.read_text())
    named["slots"]["bribed"]["yes"] ^= 1
    other.write_text(json.dumps(named))
    with dealer_killed(folder, port) as dealer:
        again = replace(at.before, servers=(dealer,))
        again.close(*again.at_dealer(), "--request", request, "--sums", sums)
    shutil.copytree(backup, folder, dirs_exist_ok=True)  # from before the second announcement
    with dealer_killed(folder, port) as dealer:
        again = replace(at.before, servers=(dealer,))
        for file in (request, other):  # the key is burned, whatever the database says
            words = (*again.at_dealer(), "--request", file, "--sums", tmp_path / "more")
            assert "burned" in again.close(*words, refused=True)
    assert not (tmp_path / "more").exists()
    at.before.close(*at.before.at_collector, "--again", "--sums", sums)
    assert at.change("--paired")["bribed"]["n_both"] == BOTH
