"""`jrr audit-deck`: what it prints, its exit codes and its JSON."""

import hashlib
import json
from pathlib import Path

import pytest

import jrr
from jrr.cli.app import run
from jrr.survey.cut_and_choose import CommittedDealer, Notes, new_mark


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A deck with one card dealt, as files."""
    dealer = CommittedDealer(jrr.MRR(6, own=2.0, card_rate=0.4, total_rate=0.6), 4)
    promise = dealer.published.promise
    beacon, coin = (hashlib.sha256(name).digest() for name in (b"beacon", b"coin"))
    dealer.commit(beacon)
    notes = Notes((promise,), beacon, dealer.published.commitment, coin)
    dealer.open(coin)
    mark = new_mark()
    proof = dealer.deal(mark)
    dealer.close()
    documents = {
        "published": dealer.published.to_dict(),
        "notes": notes.to_dict(),
        "card": proof.to_dict(),
        "other": proof.to_dict() | {"place": 1},
        "late": replaced(dealer.published.to_dict()),
    }
    paths = {name: tmp_path / f"{name}.json" for name in documents}
    for name, document in documents.items():
        paths[name].write_text(json.dumps(document))
    paths["mark"] = Path(mark.hex())
    return paths


def replaced(document: dict[str, object]) -> dict[str, object]:
    return document | {"coin": "00" * 32}


def test_an_honest_deck(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    base = ["audit-deck", str(files["published"]), "--notes", str(files["notes"])]
    assert run(base) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No cheating found: 3 of 4 decks were opened" in said
    assert "passes with chance 1/4 at most" in said
    assert run([*base, "--card", str(files["card"]), "--mark", str(files["mark"]), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["passed"]
    assert facts["chance"] == 0.25
    assert facts["card_faults"] == []


def test_cheating_ends_with_1(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    notes = ["--notes", str(files["notes"])]
    assert run(["audit-deck", str(files["late"]), *notes]) == 1
    assert "the coin is not the one of its source" in " ".join(capsys.readouterr().out.split())
    own = ["--card", str(files["other"])]
    assert run(["audit-deck", str(files["published"]), *notes, *own]) == 1
    assert "not under the root" in " ".join(capsys.readouterr().out.split())


def test_refusals(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit-deck", str(files["published"])]) == 2
    assert run(["audit-deck", str(files["notes"]), "--notes", str(files["notes"])]) == 2
    assert "cut_and_choose version must be 1" in capsys.readouterr().err
