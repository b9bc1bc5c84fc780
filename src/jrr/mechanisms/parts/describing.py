"""What a mechanism says of itself: its name, parameters and moments, in JSON and in words."""

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from jrr._base.wording import of_hundred
from jrr.mechanisms.parts.arrays import Reports

if TYPE_CHECKING:
    from jrr.estimation.moments import Moments
    from jrr.mechanisms.report_formats import ReportFormat

WITH_MASKS = "one whose cards are whole numbers to add, as MRR"  # in refusals of all others


class Describing(ABC):
    """The facts that everything else is computed from, and their descriptions."""

    k: int
    steps: int = 1  # from value 0 to value 1, where numbers in between can be told (jrr.Numbers)
    behind_memory: bool = False  # its values are what devices remember (jrr.Longitudinal)
    name: ClassVar[str]  # as in documents and tables
    title: ClassVar[str]  # in words, for people
    parameters: ClassVar[tuple[str, ...]]  # fields of its JSON form, arguments of its constructor
    optional_parameters: ClassVar[tuple[str, ...]] = ()  # those that may be None
    omitted_parameters: ClassVar[tuple[str, ...]] = ()  # those that documents may leave out
    colour: ClassVar[str] = "#444444"  # in pictures
    told_by_colluders: ClassVar[str] = "their answers and reports"  # in the view `truths`

    def _set(self, **fields: Any) -> None:
        """Set fields of a value that is immutable from then on."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def moments(self) -> "Moments":
        """First and second moments of the reports (jrr.estimation.moments)."""

    @property
    @abstractmethod
    def report_format(self) -> "ReportFormat":
        """How reports are written: bytes, JSON, columns of a table."""

    @property
    def deals(self) -> bool:
        """Whether there are cards, and so a dealer."""
        return self.moments.deck is not None

    @property
    def masked(self) -> bool:
        """Whether cards are whole numbers that are added to answers, and must be taken off sums."""
        return self.moments.masks is not None

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; `jrr.from_dict` reads them back."""
        return {"mechanism": self.name} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, getattr(self, name)) for name in self.parameters)
        }

    def to_json(self) -> str:
        """One line of JSON; `jrr.from_json` reads it back."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        p = float(self.moments.p[0])
        return (
            f"{of_hundred(p, start=True)} the device sends your true answer, otherwise another "
            "answer drawn at random; nobody is told which."
        )

    def brief(self) -> str:
        """The name and parameters to four digits; all of them are in `to_dict`."""
        digits = {float: ".4g", int: ","}
        shown = (
            f"{key} {format(value, digits.get(type(value), ''))}"
            for key, value in self.to_dict().items()
            if key not in ("mechanism", *self._left_out_of_brief()) and value not in (None, "none")
        )
        return f"{self.name} ({', '.join(shown)})"

    def _left_out_of_brief(self) -> tuple[str, ...]:
        return ()

    def _in_refusals(self) -> str:
        return self.name

    def fewest_decks(self, carded: int) -> int:
        """The fewest decks that so many people with a card can have been dealt from."""
        deck = self.moments.deck
        return 1 if deck is None else max(1, -(-carded // deck))

    @abstractmethod
    def _check_reports(self, reports: ArrayLike) -> Reports:
        """The reports as an array, or a refusal."""
