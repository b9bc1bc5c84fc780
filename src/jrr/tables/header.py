"""What a file of cards or reports says about itself, so that reading it needs no flags."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from jrr._base import checks
from jrr.errors import JrrError
from jrr.mechanisms import Mechanism, from_dict

VERSION = 1
KINDS = ("cards", "reports", "sealed reports")


@dataclass(frozen=True)
class Header:
    """Stored in the schema of Parquet and Arrow files, and in a JSON file beside a CSV file."""

    holds: str  # one of KINDS
    mechanism: Mechanism
    decks: tuple[str, ...] = ()  # names of the decks that the cards came from
    colluders: int = 0  # how many were planned for, for showing the guarantee
    question: str = ""  # the column that was asked about
    labels: tuple[str, ...] = ()  # what the values 0..k-1 mean; none: the numbers themselves
    other: str | None = None  # the label that stands for all labels not listed
    declined: str | None = None  # the label of those who prefer not to say
    shuffled: bool = False
    rows: int | None = field(default=None, compare=False)  # written where the format has no count

    def __post_init__(self) -> None:
        checks.one_of("holds", self.holds, KINDS)
        if self.labels and len(self.labels) != self.mechanism.k:
            raise checks.refusal("labels", self.labels, f"{self.mechanism.k} labels, one per value")
        for name in (self.other, self.declined):
            if name is not None and name not in self.labels:
                raise checks.refusal("labels", self.labels, f"such that {name!r} is one of them")

    @property
    def names(self) -> tuple[str, ...]:
        """A label for every value."""
        return self.labels or tuple(str(value) for value in range(self.mechanism.k))

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(
            {
                "jrr": VERSION,
                "holds": self.holds,
                "mechanism": self.mechanism.to_dict(),
                "decks": list(self.decks),
                "colluders": self.colluders,
                "question": self.question,
                "labels": list(self.labels),
                "other": self.other,
                "declined": self.declined,
                "shuffled": self.shuffled,
                "rows": self.rows,
            },
            sort_keys=True,
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str, where: str) -> "Header":
        """The header that `to_json` wrote; anything else is refused, naming the file."""
        try:
            document = json.loads(text)
            if not isinstance(document, dict):
                raise JrrError("it is not a JSON object")
            return cls._from_document(document)
        except RecursionError:
            raise JrrError(f"{where}: the header must be flat JSON") from None
        except ValueError as error:  # JrrError and malformed JSON
            raise JrrError(f"{where}: the header cannot be used: {error}") from None

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> "Header":
        version = checks.integer("jrr", document.get("jrr"), 1)
        if version > VERSION:
            raise JrrError(
                f"it was written by a newer jrr (schema version {version}, this one reads "
                f"{VERSION}): update jrr"
            )
        names = set(cls.__dataclass_fields__) | {"jrr"}
        if set(document) != names:
            raise checks.refusal("fields", sorted(document), f"exactly {sorted(names)}")
        rows = document["rows"]
        return cls(
            checks.one_of("holds", document["holds"], KINDS),
            from_dict(document["mechanism"]),
            _words("decks", document["decks"]),
            checks.integer("colluders", document["colluders"], 0),
            _word("question", document["question"]),
            _words("labels", document["labels"]),
            None if document["other"] is None else _word("other", document["other"]),
            None if document["declined"] is None else _word("declined", document["declined"]),
            _flag("shuffled", document["shuffled"]),
            None if rows is None else checks.integer("rows", rows, 0),
        )

    def merged(self, other: "Header", where: str) -> "Header":
        """The header of both files together; they must hold the same kind of reports."""
        mine = replace(self, decks=(), shuffled=False)
        theirs = replace(other, decks=(), shuffled=False)
        if mine != theirs:
            different = next(
                name
                for name in self.__dataclass_fields__
                if getattr(mine, name) != getattr(theirs, name) and name != "rows"
            )
            raise JrrError(
                f"{where} must hold the same kind of reports as the files before it, got another "
                f"{different}: {getattr(theirs, different)!r:.200}"
            )
        decks = tuple(sorted({*self.decks, *other.decks}))
        return replace(self, decks=decks, shuffled=self.shuffled and other.shuffled, rows=None)


def _word(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise checks.refusal(argument, value, "a text")
    return value


def _words(argument: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list of texts")
    return tuple(_word(argument, entry) for entry in value)


def _flag(argument: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise checks.refusal(argument, value, "true or false")
    return value
