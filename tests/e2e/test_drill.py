"""The operator's drill of docs/operations.md: backup, loss, restore, another token."""

import shutil
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from jrr import RR
from jrr.client.http import Admin
from jrr.errors import JrrError
from jrr.research.processes import running
from jrr.servers.common.tokens import new_token, token_digest
from tests.e2e import ask, path_of, upload_body
from tests.e2e.test_processes import alone, installed
from tests.e2e.test_reloading import until

pytestmark = pytest.mark.heavy


def test_backup_loss_restore_and_another_token(tmp_path: Path) -> None:
    tokens, config = tmp_path / "tokens", tmp_path / "collector.toml"
    config.write_text(f'admin_token_file = "{tokens}"\n')
    config.chmod(0o600)
    first, second = new_token(), new_token()
    tokens.write_text(f"alice={token_digest(first)}")
    survey = alone(RR(2, 1.0))
    path = path_of(survey, "reports")
    folder, more = tmp_path / "server", ("--config", str(config))

    with running("collector", folder, None, *more, token_in_environment=False) as server:
        people = installed(replace(server, token=first), survey, 6)
        bodies = [upload_body(survey, secret, 1) for secret in people]
        assert [ask(server.url, "POST", path, body).status for body in bodies[:3]] == [201] * 3
        with (  # as `sqlite3 collector.db ".backup copy.db"`
            closing(sqlite3.connect(folder / "collector.db")) as database,
            closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
        ):
            database.backup(copy)
        assert ask(server.url, "POST", path, bodies[3]).status == 201

    for file in folder.glob("collector.db*"):
        file.unlink()
    shutil.copy(tmp_path / "copy.db", folder / "collector.db")
    with running("collector", folder, None, *more, token_in_environment=False) as server:
        # Who came before the backup counts once; who came after it is lost, and may come again.
        statuses = [ask(server.url, "POST", path, body).status for body in bodies]
        assert statuses == [200] * 3 + [201] * 3
        admin = f"/v1/admin/surveys/{survey.hash}"
        assert Admin(server.url, first).get(admin)["reports"] == 6

        tokens.write_text(f"bob={token_digest(second)}")
        server.process.send_signal(signal.SIGHUP)

        def is_over() -> bool:
            try:
                Admin(server.url, first).get(admin)
            except JrrError:
                return True
            return False

        assert until(is_over)
        assert Admin(server.url, second).get(admin)["reports"] == 6
