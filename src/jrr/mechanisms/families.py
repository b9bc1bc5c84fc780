"""Families: the ways in which a plan may choose a mechanism, each with a name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.mechanisms.request import Request


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of mechanism with one kind of cards, and how to choose its parameters."""

    key: str  # what `plan(mechanism=...)` takes, such as "drr" or "oue-joint"
    label: str  # in tables and pictures
    cards: bool  # whether its mechanisms deal cards, unless plain RR is more accurate
    best: "Callable[[Request], Mechanism]"  # the most accurate that keeps the request
    # The same in the view "everything" at a δ; None where no law of that view is known.
    best_informed: "Callable[[Request, float], Mechanism] | None" = None
    pure: bool = False  # whether `best` keeps ε in that view without a δ
    encodes: bool = False  # for many values: compared and chosen automatically only for k > 2
    chosen: bool = True  # False: shown in comparisons, never planned with
    colour: str = "#444444"  # in pictures
    line: str = "-"  # in pictures, as matplotlib writes it
    caption: str = ""  # what happens, in a few words, beside its results
