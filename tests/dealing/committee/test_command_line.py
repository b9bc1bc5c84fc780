"""A committee and groups of contributors on the command line, as people run them."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jrr.dealing import kinds
from jrr.dealing.committee import group as dealing_group
from jrr.errors import DamagedError, UnreachableError
from jrr.research.processes import free_port
from jrr.survey.survey import read_survey
from tests.dealing.committee.parties import certificate, identity, peers
from tests.dealing.committee.servers import Committee
from tests.e2e import answer_all, enrol_all

PATIENCE = 600.0  # seconds for a command on a busy machine


def jrr(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "jrr.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def result_of(process: "subprocess.Popen[str]") -> Any:
    code, out, err = finished(process)
    assert code == 0, err
    assert out.count("\n") == 1
    return json.loads(out)


# A committee ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_three_operators_deal_from_their_command_lines(
    committee: Committee, tmp_path: Path
) -> None:
    file = tmp_path / "survey.json"
    described = [
        f"{party.url},127.0.0.1:{free_port()},{party.folder / 'party.pem'}"
        for party in committee.parties
    ]
    made = result_of(
        jrr(
            *("survey", "create", "--people", 11, "-e", 1, "--mechanism", "drr"),
            *("--question", "Do you?", "--collector", committee.collector.url),
            *(part for one in described for part in ("--party", one)),
            *("--set", "colluders=1", "--set", "capacity=12", "-o", file, "--json"),
        )
    )
    survey = read_survey(file.read_bytes())
    assert made["survey"] == survey.hash
    assert isinstance(survey.dealing, kinds.Committee)
    assert survey.dealing.enrols
    assert survey.dealing.threshold == 1
    assert survey.dealing.addresses == tuple(party.url for party in committee.parties)
    operator, people = committee.begin(survey, 12)
    enrol_all(survey, people)
    # Each operator has one token. The collector's is told n afterwards.
    commands = [
        jrr("survey", "deal", file, "--party-token", f"{number}:{party.token}", "--json")
        for number, party in enumerate(committee.parties)
    ]
    for command in commands:
        assert result_of(command) == {"survey": survey.hash, "n": 12}
    opened = result_of(
        jrr(
            *("survey", "open", file, "-n", 12, "--json"),
            *("--collector-token", committee.collector.token),
        )
    )
    assert opened["collector"] == "open"
    assert Counter(committee.hand(survey, secret) for secret in people) == {0: 6, 1: 6}
    assert all(receipt.carded for receipt in answer_all(survey, people, [1] * 12))
    operator.close()


def test_a_committee_s_mistakes_on_the_command_line(tmp_path: Path) -> None:
    from jrr.cli.app import run

    pem = tmp_path / "party.pem"
    pem.write_text(certificate(0))
    common = ["survey", "create", "--people", "11", "--mechanism", "drr", "--question", "?"]
    common += ["--collector", "http://c"]
    one = f"http://a,127.0.0.1:7000,{pem}"
    out = ["-o", str(tmp_path / "survey.json")]
    for wrong in (
        ["--party", one, "--dealer", "http://d"],
        ["--party", one],
        ["--party", one, "--party", one, "--party", one],
        ["--party", f"http://a,127.0.0.1:7000,{tmp_path / 'missing.pem'}"],
        ["--party", f"http://a,nowhere,{pem}"] * 3,
        ["--party", "http://a"],
    ):
        assert run([*common, *wrong, *out]) == 2, wrong
    assert not (tmp_path / "survey.json").exists()
    assert run(["survey", "deal", str(tmp_path / "survey.json"), "--party-token", "0:x"]) == 2


@pytest.mark.slow
def test_a_demonstration_with_a_committee_says_the_same_things(tmp_path: Path) -> None:
    with_committee = jrr("demo", "--committee", "-n", 60, "--json", "--out", tmp_path / "one")
    alone = jrr("demo", "--in-process", "-n", 60, "--json", "--out", tmp_path / "two")
    first, second = result_of(with_committee), result_of(alone)
    assert set(first) == set(second)
    assert first["mechanism"] in ("JRR", "DRR")  # there were cards to deal
    assert 50 < first["reports"] <= 60  # some vanish with their card
    assert 50 < second["reports"] <= 60
    assert (tmp_path / "one" / "report.html").exists()


@pytest.mark.parametrize("more", [["--in-process"], ["--seed", "1"]], ids=str)
def test_a_committee_needs_servers(more: list[str], tmp_path: Path) -> None:
    from jrr.cli.app import run

    assert run(["demo", "-n", "60", "--committee", "--out", str(tmp_path), *more]) == 2


# A group of contributors ------------------------------------------------------------------------


def group_file(folder: Path, count: int, **more: Any) -> Path:
    members = [
        {"link": f"{peer.host}:{peer.port}", "certificate": peer.certificate}
        for peer in peers(count)
    ]
    file = folder / "group.json"
    file.write_text(json.dumps({"name": "first deal", "members": members} | more))
    return file


def commands(file: Path, members: Sequence[int]) -> "list[subprocess.Popen[str]]":
    return [
        jrr(
            *("survey", "deal-in-group", file, "--index", me, "--json"),
            *("--certificate", identity(me).certificate, "--key", identity(me).key),
        )
        for me in members
    ]


@pytest.mark.slow
@pytest.mark.slow_variants("7]")
@pytest.mark.parametrize("count", [3, 7, pytest.param(16, marks=pytest.mark.slow)])
def test_a_group_deals_among_itself(count: int, tmp_path: Path) -> None:
    file = group_file(tmp_path, count)
    found = [result_of(command) for command in commands(file, range(count))]
    assert sorted(one["shuffled_id"] for one in found) == list(range(1, count + 1))
    pairs: dict[int, list[int]] = {}
    for one in found:
        number = one["shuffled_id"]
        lonely = count % 2 == 1 and number == count
        assert one["card"] == (0 if lonely else 1 if number % 2 == 0 else -1)
        assert one["pair"] == (number + 1) // 2
        pairs.setdefault(one["pair"], []).append(one["card"])
        assert one["bytes_sent"] > 0
    expected = [[-1, 1]] * (count // 2) + [[0]] * (count % 2)
    assert sorted(map(sorted, pairs.values())) == sorted(expected)


@pytest.mark.slow
def test_a_group_in_which_one_is_missing_says_who(tmp_path: Path) -> None:
    file = group_file(tmp_path, 3)
    missing = [
        jrr(
            *("survey", "deal-in-group", file, "--index", me, "--join", 2),
            *("--certificate", identity(me).certificate, "--key", identity(me).key),
        )
        for me in (0, 1)
    ]
    said = [finished(command) for command in missing]
    for code, out, err in said:
        assert (code, out) == (UnreachableError.exit_code, "")
        assert err.count("\n") == 1
        assert err.startswith("jrr: error: ")
    assert any("parties [2] did not come within 2 s" in err for _, _, err in said)


def test_members_files_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    from jrr.cli.app import run

    options = ["--index", "0", "--certificate", "c.pem", "--key", "c.key", "--join", "0.2"]
    file = group_file(tmp_path, 3)
    good = json.loads(file.read_text())
    wrongs: list[Any] = [
        good | {"members": good["members"][:2]},
        good | {"members": good["members"] * 6},
        good | {"members": [{"link": "x"}] * 3},
        good | {"members": 5},
        good | {"threshold": 2},
        good | {"threshold": 0},
        {"members": good["members"]},
        [],
        5,
    ]
    for wrong in wrongs:
        file.write_text(json.dumps(wrong))
        assert run(["survey", "deal-in-group", str(file), *options]) == DamagedError.exit_code, (
            wrong
        )
    file.write_text("{")
    assert run(["survey", "deal-in-group", str(file), *options]) == DamagedError.exit_code
    assert run(["survey", "deal-in-group", str(tmp_path / "none.json"), *options]) == 2
    file.write_text(json.dumps(good))
    for index in ("-1", "3"):
        assert run(["survey", "deal-in-group", str(file), "--index", index, *options[2:]]) == 2


def test_a_certificate_that_is_not_there_or_has_another_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from jrr.cli.app import run

    base = ["survey", "deal-in-group", str(group_file(tmp_path, 3)), "--index", "0"]
    own, other = identity(0), identity(1)
    for certificate_file, key, words in (
        ("nope.pem", own.key, "certificate and key must be files that exist, got 'nope.pem'"),
        (own.certificate, "nope.key", "certificate and key must be files that exist"),
        (own.certificate, other.key, "certificate and key must be a certificate in PEM and its"),
    ):
        assert run([*base, "--certificate", certificate_file, "--key", key]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


def test_one_certificate_for_two_members_is_refused_at_once(tmp_path: Path) -> None:
    """As a survey refuses it: one person would sit on two chairs."""
    from jrr.cli.app import run

    file = group_file(tmp_path, 3)
    document = json.loads(file.read_text())
    document["members"][2]["certificate"] = document["members"][1]["certificate"]
    file.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:

        async def never(*_: Any) -> None:
            raise AssertionError("it begins to deal")

        patch.setattr(dealing_group, "deal_among", never)
        shown = identity(0)
        options = ["--index", "0", "--certificate", shown.certificate, "--key", shown.key]
        assert run(["survey", "deal-in-group", str(file), *options]) == DamagedError.exit_code
