"""The files of the answer page, and the hash by which anybody can check a copy of them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from jrr.errors import DamagedError

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
START_FILE = "start.txt"  # names a survey, beside the page
NO_PART = (START_FILE, "index.js")  # index.js: what the package exports, and no page imports
# Of clients/js: the page itself, the client that it stands on, texts by language, and what only
# some surveys need.
FOLDERS = ("page", "src", "texts", "vendor", "verified")
_IN_PACKAGE = Path(__file__).with_name("client")  # where a built package has them
_IN_SOURCES = Path(__file__).parents[4] / "clients" / "js"


@dataclass(frozen=True)
class PageFile:
    """One file."""

    path: str  # below the server's root, as page/index.html
    body: bytes

    @property
    def kind(self) -> str:
        """Its content type."""
        return TYPES[Path(self.path).suffix]

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of its bytes."""
        return hashlib.sha256(self.body).hexdigest()


def page_files() -> tuple[PageFile, ...]:
    """Every file of the page, by name.

    Raises:
        DamagedError: They are not where the package should have them.
    """
    folder = next((place for place in (_IN_PACKAGE, _IN_SOURCES) if place.is_dir()), None)
    if folder is None:
        raise DamagedError(f"the answer page must lie in {_IN_PACKAGE}: install jrr again")
    paths = sorted(
        path
        for name in FOLDERS
        for path in (folder / name).iterdir()
        if path.suffix in TYPES and path.name not in NO_PART
    )
    return tuple(PageFile(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths)


def page_hash(files: tuple[PageFile, ...]) -> str:
    """One SHA-256 for all files: of lines of each file's own and its name, as sha256sum writes."""
    lines = "".join(f"{file.digest}  {file.path}\n" for file in files)
    return hashlib.sha256(lines.encode()).hexdigest()
