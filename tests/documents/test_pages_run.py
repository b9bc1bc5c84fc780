"""Every command and every line of Python in README and docs runs, in order, from a clean folder.

Addresses of the example hosts become those of servers that run here; LINK and INVITATION become the
link and an unused invitation of the survey that the page made last. What comments
`<!-- meanwhile: … -->` say is done by `Reader.let_happen`.
"""

import csv
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import pytest

from jrr.cli.app import run
from jrr.errors import ArgumentError
from jrr.research.processes import Running, running
from tests.documents.page_answers import answer
from tests.documents.page_blocks import Block, blocks, commands, printed, unfenced_commands

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "clients/js/README.md"])
PRINTS = {"numbers.md", "scale.md"}  # comments say what is printed, to the letter
# Generated from what the commands say; and pages that tests of their own run.
ELSEWHERE = {"cli.md", "theory.md", "analysis.md"}
INVITATIONS = "invitations.csv"  # as commands call it unless told
SHELL = re.compile(r"[|;<>&$*~]|^(?!jrr )")  # a command that needs a shell


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


RUNNING_PAGES = [
    pytest.param(page, id=name_of(page))
    for page in PAGES
    if page.name not in ELSEWHERE
    and any(block.kind in ("python", "console") for block in blocks(page.read_text("utf-8")))
]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Running]]:
    """A dealer and a collector, for the pages that speak of them."""
    folder = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        yield {role: stack.enter_context(running(role, folder)) for role in ("dealer", "collector")}


class Reader:
    """Somebody who follows a page in an empty folder."""

    def __init__(self, page: Path, servers: Mapping[str, Running]) -> None:
        self.page = page
        self.names: dict[str, object] = {}
        self.servers = {role: server.url for role, server in servers.items()}
        self.tokens = {role: server.token for role, server in servers.items()}
        self.used: set[str] = set()  # invitations
        self.people: list[str] = []  # invitations of those who answered last

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.kind == "python":
            shown = io.StringIO()
            with redirect_stdout(shown):
                exec(compile(block.text, str(self.page), "exec"), self.names)
            if self.page.name in PRINTS:
                assert shown.getvalue().splitlines() == printed(block)
        elif block.kind == "file":
            Path(block.value).parent.mkdir(parents=True, exist_ok=True)
            Path(block.value).write_text(self.filled(block.text), "utf-8")
        elif block.kind == "meanwhile":
            self.let_happen(block.value)
        elif block.kind == "console":
            for command in commands(block):
                line = self.filled(command.line)
                expected = ArgumentError.exit_code if command.refused else 0
                assert self.type(line) == expected, line

    def let_happen(self, event: str) -> None:
        """What others do between two blocks."""
        if turn := re.fullmatch(r"the (\w+)'s operator goes on", event):
            for role, token in self.tokens.items():
                os.environ[f"JRR_{role.upper()}_TOKEN"] = token if role == turn[1] else ""
        elif event == "somebody has both tokens":
            for role, token in self.tokens.items():
                os.environ[f"JRR_{role.upper()}_TOKEN"] = token
        elif answered := re.fullmatch(r"(\d+) people( of \S+)? answer (\S+)", event):
            file = (answered[2] or f" of {INVITATIONS}").removeprefix(" of ")
            self.people = self.invitations(int(answered[1]), file)
            answer(Path(answered[3]), self.people)
        elif again := re.fullmatch(r"the same people answer (\S+)", event):
            answer(Path(again[1]), self.people)
        else:
            raise AssertionError(f"nobody knows how to do this: {event}")

    def type(self, line: str) -> int:
        """Run one command, within this process where no shell is needed."""
        words = shlex.split(line, comments=True)
        if not SHELL.search(shlex.join(words)) and words[0] == "jrr":
            return run(words[1:])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line], env={**os.environ, "PATH": path}, check=False
        )
        return done.returncode

    def filled(self, text: str) -> str:
        """The text with addresses that answer, and with a link and an invitation of one's own."""
        for role, address in self.servers.items():
            text = text.replace(f"https://{role}.example", address)
        if re.search(r"\bINVITATION\b", text):
            text = re.sub(r"\bINVITATION\b", self.invitations(1)[0], text)
        if re.search(r"\bLINK\b", text):
            text = re.sub(r"\bLINK\b", self.links()[0], text)
        return text

    def invitations(self, count: int, source: str = INVITATIONS) -> list[str]:
        """So many that nobody has used."""
        with open(source, newline="") as file:
            free = [row["invitation"] for row in csv.DictReader(file)]
        free = [text for text in free if text not in self.used][:count]
        assert len(free) == count
        self.used.update(free)
        return free

    def links(self) -> list[str]:
        """Of the survey for which invitations were made."""
        with open(INVITATIONS, newline="") as file:
            return [row["program_link"] for row in csv.DictReader(file)]


@pytest.mark.slow_variants("docs/which-mechanism.md]", "docs/scale.md]", "docs/security.md]")
@pytest.mark.parametrize("page", RUNNING_PAGES)
def test_page_runs(
    page: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = page.read_text("utf-8")
    networked = re.search(r"--collector https://collector\.example", text)
    servers = request.getfixturevalue("servers") if networked else {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for role, server in servers.items():
        monkeypatch.setenv(f"JRR_{role.upper()}_TOKEN", server.token)
    shutil.copytree(ROOT / "examples", "examples")
    reader = Reader(page, servers)
    for block in blocks(text):
        try:
            reader.follow(block)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{capfd.readouterr().err[-2000:]}") from None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_stands_where_nothing_runs_it(page: Path) -> None:
    if page.name not in ELSEWHERE:
        assert unfenced_commands(page.read_text("utf-8")) == []


def test_what_is_not_run_is_little_and_says_why() -> None:
    left_out = {
        name_of(page): [
            block.value for block in blocks(page.read_text("utf-8")) if block.kind == "not run"
        ]
        for page in PAGES
    }
    assert all(len(reason.split()) >= 3 for reasons in left_out.values() for reason in reasons)
    assert sum(map(len, left_out.values())) <= 12
