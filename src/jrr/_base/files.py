"""Files that are whole or not there at all."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from jrr.errors import ArgumentError


def write_whole(path: Path, text: str, private: bool = False) -> None:
    """Write text under another name and rename it; private: only its owner may read it."""

    def write(partial: Path) -> None:
        mode = 0o600 if private else 0o666  # less what the user's umask takes away
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    replace_whole(path, write)


def write_whole_bytes(path: Path, data: bytes) -> None:
    """Write bytes under another name and rename it."""

    def write(partial: Path) -> None:
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    replace_whole(path, write)


@contextlib.contextmanager
def synced(path: str | Path, flags: int) -> Iterator[int]:
    """A private file or a folder, open; what was written into it is on the disk at the end."""
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Make a new name survive a power cut, where the system can."""
    with contextlib.suppress(OSError), synced(folder, os.O_RDONLY):
        pass


def write_once(path: Path, text: str) -> None:
    """Write a private file that does not exist yet; FileExistsError where it does."""
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    try:
        write_whole(partial, text, private=True)
        os.link(partial, path)  # unlike a rename, this never replaces
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def replace_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make a file beside `path`, then rename it; on failure nothing is left."""
    # A name nobody can guess: two runs do not meet, and no link can lie in wait.
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    if not path.parent.is_dir():
        raise ArgumentError(f"path must be in a directory that exists, got path={str(path)!r}")
    try:
        write(partial)
        partial.replace(path)
        _sync(path.parent)
    except OSError as error:  # name the file that was asked for, not its partial one
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
