"""The law of the loss in the view "everything", kept for all who ask for it."""

from functools import lru_cache
from typing import TYPE_CHECKING

from jrr.privacy.informed.distribution import Losses

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism


@lru_cache(maxsize=8)  # large decks take seconds
def losses_of_everything(mechanism: "Mechanism", colluders: int) -> Losses | None:
    """The law of the loss of one person; None where it is not known.

    Args:
        mechanism: Which all answer by.
        colluders: Who show their cards; without cards nobody else matters.
    """
    return mechanism.losses(colluders if mechanism.deals else 0)
