"""Ports for servers of demonstrations and tests: nobody is told of one that another has."""

import os
import socket
import subprocess
import sys

import pytest

from jrr.errors import ArgumentError
from jrr.research import processes
from jrr.research.processes import free_port

ASK = "from jrr.research.processes import free_port; print(free_port(2)); input()"


def choosing(monkeypatch: pytest.MonkeyPatch, *first: int) -> None:
    """The next ports that are tried, instead of any."""
    waiting = [port - 10_000 for port in first]
    monkeypatch.setattr("secrets.randbelow", lambda _: waiting.pop(0))


def given_back() -> int:
    """A port that was free a moment ago, and that nobody has."""
    port = free_port()
    os.close(processes._RESERVED.pop())
    return port


def test_no_port_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, free = free_port(), free_port(1), given_back()
    choosing(monkeypatch, one, other, other + 1, one, free)
    assert free_port() == free


def test_another_process_is_not_told_of_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        theirs = int(process.stdout.readline())
        free = given_back()
        choosing(monkeypatch, theirs, theirs + 1, theirs + 2, free)
        assert free_port() == free
        process.stdin.write("\n")


def test_a_port_where_somebody_listens_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    port = given_back()
    with socket.create_server(("127.0.0.1", port)):
        choosing(monkeypatch, *[port] * 100)
        with pytest.raises(ArgumentError, match="none was found"):
            free_port()
