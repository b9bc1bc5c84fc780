"""Nobody deals: no question has cards."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from jrr.dealing.interface import Dealing
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion


class Nobody(Dealing, frozen=True, tag="none"):
    """No cards."""

    deals: ClassVar[bool] = False

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Only what has no cards."""
        return not mechanism.deals

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse any question with cards."""
        if dealt:
            raise ArgumentError(
                f"dealing must not be 'none': the mechanism of {dealt[0].name!r} has cards"
            )
