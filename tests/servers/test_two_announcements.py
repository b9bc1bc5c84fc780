"""A dealer that announces twice, as planned: never more, over crashes and restored backups."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jrr.dealing.kinds import Dealers
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.store import DealerStore
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from tests.servers.surveys import COLLECTOR, DEALER
from tests.servers.test_dealer import Server, deal_to


def survey_for(announcements: int) -> Survey:
    document = {
        "title": "T",
        "announcements": announcements,
        "questions": [{"name": "q0", "kind": "yes-no", "text": "?"}],
    }
    return SurveyRequest(
        draft=Draft.from_dict(document),
        people=20,
        dealing=Dealers((DEALER,)),
        mechanism="mrr",
        collector=COLLECTOR,
        invitations=False,
        min_cell=5,
        colluders=0,
        verified=False,  # reports are made up
    ).survey()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "dealer", survey_for(2))
    yield made
    made.engine.dispose()


def close(server: Server, request: Any) -> tuple[int, Any]:
    return server.admin("close", {"request": request})


def test_two_are_announced_and_no_third(server: Server) -> None:
    dealt = deal_to(server, 12)
    first, second = server.request(dealt), server.request(dealt[:6], announcement=2)
    assert close(server, second)[0] == 409  # not before the first
    status, told = close(server, first)
    assert (status, told["burned"]) == (200, False)
    assert close(server, first)[1]["sums"] == told["sums"]
    assert close(server, server.request(dealt[:11]))[1]["type"].endswith("announced")
    status, more = close(server, second)
    assert (status, more["burned"]) == (200, True)
    assert more["sums"]["questions"]["q0"][""]["cards"] == 6
    assert close(server, second)[1]["sums"] == more["sums"]
    assert close(server, server.request(dealt[:7], announcement=2))[1]["type"].endswith("announced")
    assert close(server, server.request(dealt[:7], announcement=3))[0] == 422
    assert not list((server.folder / "keys").glob("*.key"))


def test_later_sums_are_given_up_with_the_key(server: Server) -> None:
    dealt = deal_to(server, 12)
    first = server.request(dealt)
    told = close(server, first)[1]
    assert server.admin("close", {"request": None, "without_sum": True})[1]["burned"]
    assert close(server, first)[1]["sums"] == told["sums"]
    assert close(server, server.request(dealt[:6], announcement=2))[0] == 410


def test_an_older_database_can_only_repeat_what_was_announced(
    server: Server, tmp_path: Path
) -> None:
    dealt = deal_to(server, 12)
    server.engine.dispose()
    backup = tmp_path / "backup"
    shutil.copytree(server.folder, backup, ignore=shutil.ignore_patterns("keys"))
    first, other = server.request(dealt), server.request(dealt[:11])
    told = close(server, first)[1]["sums"]
    # The database goes back to before; what lies beside the key does not.
    shutil.copytree(server.folder / "keys", backup / "keys")
    restored = Server(backup, server.survey, is_new=False)
    assert close(restored, other)[1]["type"].endswith("announced")
    assert restored.person("cards", 30)[0] == 503
    assert close(restored, first)[1]["sums"] == told
    restored.engine.dispose()


def test_a_crash_before_the_commit_changes_no_noise(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    dealt = deal_to(server, 12)
    first, other = server.request(dealt), server.request(dealt[:11])
    seen: list[Any] = []
    tell = DealerStore.tell

    def crash(self: DealerStore, held: Any, told: Any, **more: Any) -> None:
        seen.append(json.loads(json.dumps(told["announced"][0]["sums"])))
        raise OSError("the machine goes down")

    monkeypatch.setattr(DealerStore, "tell", crash)
    assert close(server, first)[0] == 503
    monkeypatch.setattr(DealerStore, "tell", tell)
    assert server.show()["state"] == "open"
    assert close(server, other)[1]["type"].endswith("announced")
    assert close(server, first)[1]["sums"] == seen[0]


def test_a_request_that_is_refused_notes_nothing(server: Server) -> None:
    dealt = deal_to(server, 12)
    few = server.request(dealt[:3])
    assert close(server, few)[0] == 422
    assert not list((server.folder / "keys").glob("*.told"))
    assert close(server, server.request(dealt))[0] == 200


class Step(NamedTuple):
    """Of the dealer at the end; it crashes before or after it."""

    owner: type
    name: str
    when: str


STEPS = [
    Step(KeyFiles, "note_announcement", "before"),
    Step(KeyFiles, "note_announcement", "after"),
    Step(DealerStore, "tell", "before"),
    Step(DealerStore, "tell", "after"),
]


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_of_the_second_makes_no_third(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Step
) -> None:
    """And then the database is the backup from before it; what lies beside the key is not."""
    dealt = deal_to(server, 12)
    first = close(server, server.request(dealt))[1]["sums"]
    backup = tmp_path / "backup"
    shutil.copytree(server.folder, backup, ignore=shutil.ignore_patterns("keys"))
    wanted, other = (server.request(dealt[:some], announcement=2) for some in (6, 7))
    plain = getattr(step.owner, step.name)

    def crash(*given: Any, **more: Any) -> Any:
        if step.when == "after":
            plain(*given, **more)
        raise OSError("the machine goes down")

    monkeypatch.setattr(step.owner, step.name, crash)
    assert close(server, wanted)[0] == 503
    monkeypatch.setattr(step.owner, step.name, plain)
    shutil.copytree(server.folder / "keys", backup / "keys")
    restored = Server(backup, server.survey, is_new=False)
    told = set()
    for at in (server, restored, server):
        replies = [close(at, one) for one in (wanted, other, wanted)]
        told |= {json.dumps(said["sums"]) for code, said in replies if code == 200}
    assert len(told) == 1  # however often, and wherever, it is asked
    assert close(server, server.request(dealt))[1]["sums"] == first
    assert close(restored, server.request(dealt))[1]["sums"] == first
    restored.engine.dispose()
