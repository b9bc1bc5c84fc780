"""Header: what a file of cards or reports says about itself, so that reading it needs no flags."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSums
from jrr.mechanisms.base import Mechanism, checked_mechanism
from jrr.mechanisms.numbers import NumberRange, Numbers
from jrr.telemetry.asked import asked_from_dict

if TYPE_CHECKING:
    from jrr.mechanisms.rr import RR
    from jrr.telemetry.longitudinal import Longitudinal

VERSION = 1
KINDS = ("cards", "reports", "sealed reports")
VIEWS = ("report", "truths", "cards", "dealer")  # views of which a file states ε


SEARCHED = {  # what has files of its own -> how they are read (jrr.tables.levels)
    "HeavyHitters": "`jrr file heavy-hitters find` or jrr.tables.find",
    "RangeTree": "`jrr file quantiles estimate` or jrr.tables.distribution",
}
# What a pipeline of somebody else may leave out of a header, and what it means then.
_LEFT_OUT: dict[str, Any] = {
    "decks": [],
    "colluders": 0,
    "question": "",
    "labels": [],
    "other": None,
    "declined": None,
    "shuffled": False,
    "rows": None,
}
_NEEDED = {"jrr", "holds", "mechanism"}
_FIELDS = _NEEDED | set(_LEFT_OUT) | {"number", "sums", "later_sums", "shared", "share_asked"}


class SharedBudget(NamedTuple):
    """What the answers of one person to several questions lose together.

    Attributes:
        epsilon: the most that all of them lose, in the view that reports promise.
        questions: which they are.
        block: whether one coin perturbed them together; otherwise each had a coin of its own.
    """

    epsilon: float
    questions: tuple[str, ...]
    block: bool = False


@dataclass(frozen=True)
class Header:
    """Stored in the schema of Parquet and Arrow files, and in a JSON file beside a CSV file.

    Attributes:
        holds: "cards", "reports" or "sealed reports".
        mechanism: the one that dealt the cards or made the reports.
        decks: names of the decks that the cards came from.
        colluders: how many were planned for, for showing the guarantee.
        question: the column that was asked about.
        labels: what the values 0..k-1 mean; empty where they are the numbers themselves.
        other: the label that stands for all labels not listed.
        declined: the label of those who prefer not to say.
        shuffled: whether the rows are in random order.
        number: where the answer is a number whose mean is asked for, its range.
        sums: where reports hold masks, what dealers told of them.
        later_sums: what they told in later announcements, as of those who answered two waves.
        permanent: where reports are of what devices remember, what made that (`of_rounds`).
        shared: where a person answered other questions too, what all of them lose together.
        share_asked: the share of those who answered that were asked this question.
        rows: how many there are, where the format has no place of its own for that.

    Raises:
        ArgumentError: where labels do not fit the mechanism.

    Example:
        >>> import jrr
        >>> header = Header("reports", jrr.RR(k=2, p=0.75), labels=("no", "yes"))
        >>> Header.from_json(header.to_json(), "smokes.csv.json") == header
        True
    """

    holds: str
    mechanism: Mechanism
    _: KW_ONLY
    decks: tuple[str, ...] = ()
    colluders: int = 0
    question: str = ""
    labels: tuple[str, ...] = ()
    other: str | None = None
    declined: str | None = None
    shuffled: bool = False
    number: NumberRange | None = None
    sums: CardSums | None = None
    later_sums: tuple[CardSums, ...] = ()
    shared: SharedBudget | None = None
    permanent: "RR | None" = None
    share_asked: float = 1.0
    rows: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checks.one_of("holds", self.holds, KINDS)
        if self.permanent is None:
            _check_mechanism(self.mechanism)
        elif self.holds != "reports":
            raise checks.refusal("permanent", self.permanent, f"None for {self.holds}")
        if self.labels and len(self.labels) != self.mechanism.k:
            raise checks.refusal("labels", self.labels, f"{self.mechanism.k} labels, one per value")
        for name in (self.other, self.declined):
            if name is not None and name not in self.labels:
                raise checks.refusal("labels", self.labels, f"such that {name!r} is one of them")
        if self.number is not None and (self.labels or self.mechanism.k != 2):
            raise checks.refusal("number", self.number, "None where answers have labels")
        if self.sums is not None and not (self.mechanism.masked and self.holds == "reports"):
            raise checks.refusal("sums", self.sums, "None but for reports that hold masks")

    @classmethod
    def of_rounds(cls, asked: "Longitudinal", **more: Any) -> "Header":
        """The header of reports of a round.

        Args:
            asked: what devices were asked.
            more: other attributes.
        """
        return cls("reports", asked.fresh, permanent=asked.permanent, **more)

    @cached_property
    def asked(self) -> Any:
        """What estimates the reports: the mechanism, or the Longitudinal that it belongs to."""
        if self.permanent is None:
            return self.mechanism
        parts = {"fresh": self.mechanism.to_dict(), "permanent": self.permanent.to_dict()}
        return asked_from_dict({"mechanism": "Longitudinal"} | parts)

    @property
    def names(self) -> tuple[str, ...]:
        """A label for every value."""
        return self.labels or tuple(str(value) for value in range(self.mechanism.k))

    @property
    def numbers(self) -> Numbers | None:
        """The question about a number; None where answers are values."""
        if self.number is None:
            return None
        low, high, clip = self.number
        return Numbers(low, high, self.mechanism, clip=clip)

    @property
    def guarantees(self) -> dict[str, float]:
        """View -> ε of one report, with the colluders that were planned for."""
        m = self.mechanism
        colluders = self.colluders if m.deals else 0
        return {view: m.epsilon(view, colluders) for view in VIEWS}

    def with_rows(self, rows: int) -> "Header":
        """The same header, which says how many rows there are.

        Args:
            rows: how many.
        """
        return replace(self, rows=rows)

    def binding(self) -> bytes:
        """What a sealed report is bound to: everything but what shuffling and merging change."""
        bound = replace(_of_any_file(self), holds="sealed reports", rows=None)
        return b"jrr sealed report 1:" + hashlib.sha256(bound.to_json().encode()).digest()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        # A file without a number, sums or other questions reads as it always did.
        more: dict[str, Any] = {}
        if self.number is not None:
            more["number"] = self.number._asdict()
        if self.sums is not None:
            more["sums"] = self.sums.to_document()
        if self.later_sums:
            more["later_sums"] = [one.to_document() for one in self.later_sums]
        if self.share_asked != 1:
            more["share_asked"] = self.share_asked
        if self.shared is not None:
            more["shared"] = self.shared._asdict() | {"questions": list(self.shared.questions)}
        for name in _LEFT_OUT:
            value = getattr(self, name)
            more[name] = list(value) if isinstance(value, tuple) else value
        return more | {"jrr": VERSION, "holds": self.holds, "mechanism": self.asked.to_dict()}

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str) -> "Header":
        """The header that `to_json` wrote.

        Args:
            text: the JSON.
            where: the file it stands in, for the refusal.

        Raises:
            DamagedError: for anything else, or a header that a newer jrr wrote.
        """
        try:
            return cls.from_dict(json.loads(text))
        except RecursionError:
            raise DamagedError(f"{where}: the header must be flat JSON") from None
        except ValueError as error:  # a refusal, or malformed JSON
            raise DamagedError(f"{where}: the header cannot be used: {error}") from None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Header":
        """The header that `to_dict` wrote.

        Args:
            document: what `to_dict` returned.

        Raises:
            ArgumentError: for anything else, or a header that a newer jrr wrote.
        """
        if not isinstance(document, Mapping):
            raise ArgumentError("it is not a JSON object")
        version = checks.integer("jrr", document.get("jrr"), 1)
        if version > VERSION:
            raise ArgumentError(
                f"it was written by a newer jrr (schema version {version}, this one reads "
                f"{VERSION}): update jrr"
            )
        unknown = set(document) - _FIELDS
        if unknown or not set(document) >= _NEEDED:
            allowed = f"{sorted(_NEEDED)}, perhaps some of {sorted(_FIELDS - _NEEDED)}"
            raise checks.refusal("fields", sorted(document), allowed)
        document = {**_LEFT_OUT, **document}
        rows, sums = document["rows"], document.get("sums")
        asked: Any = asked_from_dict(document["mechanism"])
        permanent = getattr(asked, "permanent", None)  # of a Longitudinal
        mechanism = getattr(asked, "fresh", asked)
        if permanent is None:
            _check_mechanism(mechanism)
        width = 1 if mechanism.k == 2 else mechanism.k
        return cls(
            checks.one_of("holds", document["holds"], KINDS),
            mechanism,
            decks=_words("decks", document["decks"]),
            colluders=checks.integer("colluders", document["colluders"], 0),
            question=checks.text("question", document["question"]),
            labels=_words("labels", document["labels"]),
            other=_text_or_none("other", document["other"]),
            declined=_text_or_none("declined", document["declined"]),
            shuffled=_flag("shuffled", document["shuffled"]),
            number=_range(document.get("number")),
            sums=None if sums is None else CardSums.from_document(sums, width),
            later_sums=tuple(
                CardSums.from_document(one, width) for one in document.get("later_sums", ())
            ),
            shared=_shared(document.get("shared")),
            permanent=permanent,
            share_asked=checks.real(
                "share_asked", document.get("share_asked", 1), "in (0, 1]", 0.0, 1.0, open_low=True
            ),
            rows=None if rows is None else checks.integer("rows", rows, 0),
        )

    def merged(self, other: "Header", where: str) -> "Header":
        """The header of both files together.

        Args:
            other: the header of the other file.
            where: that file, for the refusal.

        Raises:
            ArgumentError: where the two do not hold the same kind of reports.
        """
        mine, theirs = (_of_any_file(one) for one in (self, other))
        if mine != theirs:
            different = next(
                name
                for name in self.__dataclass_fields__
                if getattr(mine, name) != getattr(theirs, name) and name != "rows"
            )
            raise ArgumentError(
                f"{where} must hold the same kind of reports as the files before it, got another "
                f"{different}: {getattr(theirs, different)!r:.200}"
            )
        decks = tuple(sorted({*self.decks, *other.decks}))
        shuffled = self.shuffled and other.shuffled
        sums = None  # those of one file alone would be taken for those of all reports
        if self.sums is not None and other.sums is not None:
            sums = self.sums.with_others(other.sums)
        return replace(_of_any_file(self), decks=decks, shuffled=shuffled, sums=sums, rows=None)


def _of_any_file(header: Header) -> Header:
    """Without what is of the people in one file."""
    return replace(header, decks=(), shuffled=False, sums=None, later_sums=())


def _check_mechanism(value: object) -> None:
    """Refuse what a file cannot describe, when it is written and not when it is read."""
    name = type(value).__name__
    if name in SEARCHED:
        allowed = f"one whose reports are counted at once; {name}: {SEARCHED[name]}"
        raise checks.refusal("mechanism", value, allowed)
    if getattr(value, "behind_memory", False):  # the `fresh` of one
        allowed = (
            "one whose values are answers: shares without what devices remember would be wrong; of "
            "a Longitudinal see Header.of_rounds and jrr.write_reports"
        )
        raise checks.refusal("mechanism", value, allowed)
    checked_mechanism(value)


def _words(argument: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list of texts")
    return tuple(checks.text(argument, entry) for entry in value)


def _text_or_none(argument: str, value: object) -> str | None:
    return None if value is None else checks.text(argument, value)


def _range(value: object) -> NumberRange | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or set(value) != set(NumberRange._fields):
        raise checks.refusal("number", value, f"an object with exactly {NumberRange._fields}")
    return NumberRange.checked(**value)


def _shared(value: object) -> SharedBudget | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or set(value) != set(SharedBudget._fields):
        raise checks.refusal("shared", value, f"an object with exactly {SharedBudget._fields}")
    questions = _words("questions", value["questions"])
    epsilon = checks.epsilon("epsilon", value["epsilon"])
    return SharedBudget(epsilon, questions, _flag("block", value["block"]))


def _flag(argument: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise checks.refusal(argument, value, "true or false")
    return value
