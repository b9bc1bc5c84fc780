"""Admin tokens: several, with names and last days; wrong ones are logged."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

from jrr.errors import ArgumentError
from jrr.servers.common.tokens import TokenGuard, new_token, read_tokens, token_digest


def test_several_tokens_with_names_and_last_days() -> None:
    today = datetime.now(UTC).date()
    first, second, old = new_token(), new_token(), new_token()
    setting = (
        f"{token_digest(first)} bob={token_digest(second)}@{today} "
        f"eve={token_digest(old)}@{today - timedelta(days=1)}"
    )
    guard = TokenGuard(setting)
    assert [guard.who(token) is not None for token in (first, second, old, "")] == [
        True,
        True,
        False,
        False,
    ]
    guard.replace(token_digest(old))  # without a restart
    assert [guard.who(token) is not None for token in (first, second, old)] == [False, False, True]
    with pytest.raises(ArgumentError):
        guard.replace("nothing")
    assert guard.who(old) is not None


@pytest.mark.parametrize(
    "setting",
    ["", " ", "0" * 63, "A" * 64, f"a b={'0' * 64}", f"{'0' * 64}@2027-02-30", f"={'0' * 64}"],
)
def test_settings_that_are_no_tokens(setting: str) -> None:
    with pytest.raises(ArgumentError, match="admin_token_sha256 must be 64") as refused:
        read_tokens(setting)
    assert "0000" not in str(refused.value)


def test_wrong_tokens_are_logged_once_and_keep_nobody_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    right = new_token()
    guard = TokenGuard(f"alice={token_digest(right)}")
    with caplog.at_level(logging.WARNING):
        for _ in range(200):
            assert guard.who(new_token()) is None
            guard.note_wrong()
    holder = guard.who(right)
    assert holder is not None
    assert holder.name == "alice"
    assert len(caplog.records) == 1  # not one for each of them
    assert right not in caplog.text


def test_the_hash_of_nothing_is_no_token() -> None:
    with pytest.raises(ArgumentError, match="empty text"):
        read_tokens(token_digest(""))
