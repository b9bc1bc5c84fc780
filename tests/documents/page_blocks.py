"""What readers of a page of the documentation would type, in order.

A page is Markdown. These fenced blocks are run: `python`, and `console`, whose lines that begin
with "$ " are commands (a line "refused" below one says that it is refused). Comments above a block
say more of it: `<!-- file: NAME -->` writes it to that file, `<!-- not run: REASON -->` leaves it
out. A comment `<!-- meanwhile: EVENT -->` says what others do between two blocks. Everything else
is for reading.
"""

import re
from dataclasses import dataclass
from typing import Literal

_BLOCK = re.compile(
    r"^<!-- meanwhile: (?P<event>.+?) -->$"
    r"|(?:^<!-- (?P<note>not run|file): (?P<value>.+?) -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_INDENTED_COMMAND = re.compile(
    r"^ {4}(?:\$ |jrr |make |pip |python3? |curl |npm |node |docker )", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    kind: Literal["python", "console", "file", "meanwhile", "not run"]
    text: str
    value: str = ""  # the file's name, the event, or why it is not run


@dataclass(frozen=True)
class Command:
    """One command of a console block."""

    line: str
    refused: bool


def blocks(page: str) -> list[Block]:
    """All blocks of a page that are run, written or left out with a reason."""
    found = []
    for match in _BLOCK.finditer(page):
        kind, text, note, value = match["kind"], match["text"], match["note"], match["value"]
        if match["event"] is not None:
            found.append(Block("meanwhile", "", match["event"]))
        elif note == "not run":
            found.append(Block("not run", text, value))
        elif note == "file":
            found.append(Block("file", text, value))
        elif kind == "python":
            found.append(Block("python", text))
        elif kind in ("console", "sh", "shell", "bash"):
            found.append(Block("console", text))
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block; every other line must be the word refused."""
    found: list[Command] = []
    lines = block.text.replace("\\\n", " ").splitlines()
    for line in lines:
        if line.startswith("$ "):
            found.append(Command(line[2:], refused=False))
        elif line == "refused" and found:
            found[-1] = Command(found[-1].line, refused=True)
        else:
            raise AssertionError(f"neither a command nor 'refused': {line!r}")
    return found


def printed(block: Block) -> list[str]:
    """What comments of a Python block say that it prints: behind a print, or below the last one."""
    behind = re.findall(r"^print\(.*\)  # (.*?)(?:: .*)?$", block.text, re.MULTILINE)
    return behind + re.findall(r"^# (.*)$", block.text, re.MULTILINE)


def unfenced_commands(page: str) -> list[str]:
    """Commands in indented blocks, which nothing would run."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return [match.group() for match in _INDENTED_COMMAND.finditer(prose)]
