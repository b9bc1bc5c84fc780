"""What all waves of a study promise the people who are asked in each of them.

Every wave adds its own losses to those before. The first document says what the whole study loses
at most; a later one lists the earlier waves with their hashes and losses, and may promise the same
or less, but never more. Two views are promised: of the collector, and of dealers and collector
together.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import ArgumentError
from jrr.privacy.cost_table import added
from jrr.protocol.documents import bytes_from_hex

_LOSSES = ("everything", "delta", "dealer")
_AGAINST = ("the collector (view: everything)", "dealer and collector together (view: dealer)")
# Promises are rounded up to so many digits: waves that are planned alike for other numbers of
# people differ in the last digits of what they lose.
_DIGITS = Context(prec=9, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class WaveLoss:
    """What all answers of one wave, or of several, lose."""

    everything: float  # ε to the collector, who has all reports; it holds at `delta`
    delta: float
    dealer: float  # ε to dealers and collector together

    @property
    def has_cards(self) -> bool:
        """Whether knowing cards makes a difference; only a known card can tell all."""
        return self.dealer != self.everything or math.isinf(self.dealer)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: loss_to_json(getattr(self, name)) for name in _LOSSES}

    def is_within(self, promised: "WaveLoss") -> bool:
        """Whether this is at most what was promised."""
        return all(getattr(self, name) <= getattr(promised, name) for name in _LOSSES)

    def rounded_up(self) -> "WaveLoss":
        """As it is promised."""
        return WaveLoss(*(_rounded_up(getattr(self, name)) for name in _LOSSES))

    def shown(self) -> tuple[str, str]:
        """Both losses, as people read them."""
        return show_guarantee(self.everything, self.delta), show_guarantee(self.dealer, 0.0)

    def __str__(self) -> str:
        shown = zip(self.shown(), _AGAINST, strict=True)
        return " and ".join(f"{loss} against {whom}" for loss, whom in shown)


@dataclass(frozen=True)
class EarlierWave:
    """A wave that was before, and the document that says so."""

    survey: str  # its hash
    loss: WaveLoss


@dataclass(frozen=True)
class Study:
    """What all waves lose at most, and what those before this one have lost."""

    promised: WaveLoss  # of all waves
    earlier: tuple[EarlierWave, ...] = ()  # in order

    def check(self, this: WaveLoss) -> None:
        """Refuse a wave after which more is lost than was promised.

        Args:
            this: What this wave loses.

        Raises:
            ArgumentError: The message has the figures.
        """
        losses = [one.loss for one in self.earlier]
        before, in_all = total(losses), total([*losses, this])
        if in_all.is_within(self.promised):
            return
        shown = zip(
            *(loss.shown() for loss in (before, this, in_all, self.promised)), _AGAINST, strict=True
        )
        figures = "; ".join(
            f"against {whom}: {lost} before, {more} in this wave, {sums} in all, promised {most}"
            for lost, more, sums, most, whom in shown
        )
        raise ArgumentError(
            "epsilon must be less: this wave breaks what people were promised for the whole study "
            f"({figures})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "promised": self.promised.to_dict(),
            "earlier": [{"survey": one.survey} | one.loss.to_dict() for one in self.earlier],
        }

    @classmethod
    def from_dict(cls, document: Any) -> "Study":
        """The study that `to_dict` wrote.

        Raises:
            ArgumentError: It is anything else.
        """
        if not isinstance(document, dict) or set(document) != {"promised", "earlier"}:
            raise ArgumentError("study must be an object of promised and earlier")
        if not isinstance(document["earlier"], list):
            raise ArgumentError("earlier waves of the study must be a list")
        return cls(_read_loss(document["promised"]), tuple(map(_read_earlier, document["earlier"])))


def first_wave(this: WaveLoss, waves: int) -> Study:
    """What a study promises whose waves each lose what the first one does."""
    return Study(total([this] * waves).rounded_up())


def next_wave(before: Study, last: EarlierWave, this: WaveLoss, left: int) -> Study:
    """What a study promises from a later wave on: never more than before.

    Args:
        before: What the wave before this one said.
        last: That wave.
        this: What this wave loses.
        left: How many waves there are from this one on; each to come may lose what this one does,
            as far as the promise allows.

    Raises:
        ArgumentError: This wave breaks the promise.
    """
    earlier = (*before.earlier, last)
    so_far = [one.loss for one in earlier]
    Study(before.promised, earlier).check(this)
    planned = total([*so_far, *[this] * left]).rounded_up()
    promised = WaveLoss(
        *(min(getattr(planned, name), getattr(before.promised, name)) for name in _LOSSES)
    )
    return Study(promised, earlier)


def dealer_left(before: Study, last: EarlierWave, left: int) -> float:
    """What a promise leaves to dealers and collector together, for each wave to come.

    Args:
        before: What the wave before said.
        last: That wave.
        left: How many waves are to come.
    """
    if math.isinf(before.promised.dealer):
        return math.inf
    lost = total(one.loss for one in (*before.earlier, last)).dealer
    # A hair less: what questions lose is added up, each sum rounded up.
    return (before.promised.dealer - lost) / max(left, 1) * (1 - 2**-44)


def total(losses: Iterable[WaveLoss]) -> WaveLoss:
    """What several waves lose together, none of it too small."""
    waves = list(losses)
    return WaveLoss(*(added(getattr(one, name) for one in waves) for name in _LOSSES))


def _rounded_up(loss: float) -> float:
    return loss if math.isinf(loss) else float(_DIGITS.create_decimal_from_float(loss))


def loss_to_json(loss: float) -> float | str:
    """As documents have it."""
    return "unbounded" if math.isinf(loss) else loss


def loss_from_json(name: str, value: object) -> float:
    """The loss in a document."""
    if value == "unbounded":
        return math.inf
    return checks.real(name, value, "a number >= 0 or unbounded", 0.0)


def _read_loss(document: Any, also: Sequence[str] = ()) -> WaveLoss:
    if not isinstance(document, dict) or set(document) != {*_LOSSES, *also}:
        raise ArgumentError(f"losses of waves must be objects of {', '.join((*also, *_LOSSES))}")
    return WaveLoss(*(loss_from_json(f"{name} of the study", document[name]) for name in _LOSSES))


def _read_earlier(document: Any) -> EarlierWave:
    loss = _read_loss(document, ("survey",))
    if bytes_from_hex(document["survey"]) is None:
        allowed = "64 hexadecimal digits"
        raise checks.refusal("survey of an earlier wave", document["survey"], allowed)
    return EarlierWave(document["survey"], loss)
