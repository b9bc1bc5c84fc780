"""Drafts of surveys that are being written, in the collector's database; they hold no answers."""

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from jrr.console.pages import not_here

METADATA = sa.MetaData()
TABLE = sa.Table(
    "console_drafts",
    METADATA,
    sa.Column("draft", sa.String(32), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),  # grows with every step
    sa.Column("writer", sa.String(32), nullable=False),  # the window that wrote it last
    # JSON: as in a file of TOML, perhaps unfinished.
    sa.Column("document", sa.Text, nullable=False),
)
SETTINGS = "survey_settings"  # in that JSON: what a survey has beside its draft
CHOICES = -1  # version of what is no draft: what was chosen when a survey was created
NO_SETTINGS: dict[str, Any] = {
    **{"consent": {}, "opens": "", "closes": "", "logo": ""},
    "form": {},  # what the page that creates the survey is filled in with
}


@dataclass
class StoredDraft:
    """One of them."""

    document: dict[str, Any]  # of a jrr.survey.draft.Draft, perhaps unfinished
    name: str = field(default_factory=lambda: secrets.token_hex(16))
    version: int = 0
    settings: dict[str, Any] = field(default_factory=NO_SETTINGS.copy)
    writer: str = ""

    @property
    def title(self) -> str:
        """In the first language that has one."""
        title = self.document.get("title", "")
        texts = [title] if isinstance(title, str) else list(title.values())
        return next((text for text in texts if text.strip()), "Untitled")

    @property
    def path(self) -> str:
        """Below the console."""
        return f"/drafts/{self.name}"


def make_table(engine: sa.Engine) -> None:
    """Make room for drafts, once."""
    with engine.begin() as connection:
        METADATA.create_all(connection)


def all_drafts(connection: sa.Connection) -> list[StoredDraft]:
    """Every draft, by title."""
    rows = connection.execute(sa.select(TABLE).where(TABLE.c.version != CHOICES))
    drafts = [_draft(row) for row in rows]
    return sorted(drafts, key=lambda draft: draft.title.casefold())


def find_draft(connection: sa.Connection, name: str) -> StoredDraft:
    """One draft."""
    is_draft = (TABLE.c.draft == name) & (TABLE.c.version != CHOICES)
    row = connection.execute(sa.select(TABLE).where(is_draft)).one_or_none()
    if row is None:
        raise not_here("there is no such draft")
    return _draft(row)


def _draft(row: Any) -> StoredDraft:
    document = json.loads(row.document)
    settings = NO_SETTINGS | document.pop(SETTINGS, {})
    return StoredDraft(document, row.draft, row.version, settings, row.writer)


def keep_choices(engine: sa.Engine, survey: str, form: dict[str, str]) -> None:
    """Keep what was chosen when a survey was created: its document has only what follows of it."""
    add_draft(engine, StoredDraft({}, survey[:32], CHOICES, {"form": form}))


def choices_of(connection: sa.Connection, survey: str) -> dict[str, str]:
    """The same; nothing of a survey that was not created here."""
    is_its = (TABLE.c.draft == survey[:32]) & (TABLE.c.version == CHOICES)
    row = connection.execute(sa.select(TABLE).where(is_its)).one_or_none()
    return {} if row is None else dict(_draft(row).settings["form"])


def add_draft(engine: sa.Engine, draft: StoredDraft) -> None:
    """Write a new draft."""
    with engine.begin() as connection:
        connection.execute(TABLE.insert().values(**_row(draft)))


def change_draft(engine: sa.Engine, draft: StoredDraft, windows: str, *, is_step: bool) -> bool:
    """Write what was changed, unless somebody was faster; whether it was written.

    Args:
        engine: Of the database.
        draft: With the version that was seen before it was changed.
        windows: As "LAST:OWN": the one that had written what was seen, and the one that writes.
        is_step: Whether this is one: what was seen before it may not be written after it.
    """
    last, _, own = windows.partition(":")
    row = _row(draft) | {"version": draft.version + is_step, "writer": own[:32]}
    same = (TABLE.c.draft == draft.name) & (TABLE.c.version == draft.version)
    same &= TABLE.c.writer.in_((last, own))
    with engine.begin() as connection:
        return connection.execute(sa.update(TABLE).where(same).values(**row)).rowcount == 1


def _row(draft: StoredDraft) -> dict[str, Any]:
    body = json.dumps(draft.document | {SETTINGS: draft.settings}, ensure_ascii=False)
    return {"draft": draft.name, "version": draft.version, "writer": draft.writer, "document": body}


def drop_draft(engine: sa.Engine, name: str) -> None:
    """Forget a draft."""
    with engine.begin() as connection:
        connection.execute(sa.delete(TABLE).where(TABLE.c.draft == name))
