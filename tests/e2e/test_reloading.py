"""SIGHUP: tokens are read again, and the server goes on."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from jrr.client.http import Admin
from jrr.errors import JrrError
from jrr.research.processes import running
from jrr.servers.common.tokens import new_token, token_digest
from tests.e2e import ask


def until(what: Callable[[], bool]) -> bool:
    for _ in range(1200):
        if what():
            return True
        time.sleep(0.1)
    return False


def test_on_sighup_tokens_are_read_again(tmp_path: Path) -> None:
    config, tokens = tmp_path / "collector.toml", tmp_path / "tokens"
    first, second = new_token(), new_token()

    def write(text: str) -> None:
        tokens.write_text(f"{text}\n")

    # A file of their own, as in a container.
    config.write_text(f'admin_token_file = "{tokens}"\n')
    config.chmod(0o600)
    write(token_digest(first))
    more = ("--config", str(config))
    with running("collector", tmp_path, None, *more, token_in_environment=False) as server:
        path = f"/v1/admin/surveys/{'0' * 64}"

        def is_right(token: str) -> bool:
            try:
                Admin(server.url, token).get(path)
            except JrrError as error:
                return "no such survey" in str(error)
            return True

        assert (is_right(first), is_right(second)) == (True, False)
        write(f"old={token_digest(first)}@2020-01-01 new={token_digest(second)}")
        server.process.send_signal(signal.SIGHUP)
        assert until(lambda: is_right(second))
        assert not is_right(first)
        write("nothing")  # a mistake: it goes on with what it has
        server.process.send_signal(signal.SIGHUP)
        log = tmp_path / "collector.log"
        assert until(lambda: "settings could not be read again" in log.read_text())
        assert is_right(second)
        assert ask(server.url, "GET", "/readyz").status == 200
    assert server.process.returncode == 0
