"""How plans come to a mechanism: the families of which it offers the best member."""

from typing import TYPE_CHECKING

from jrr.mechanisms.parts.describing import Describing

if TYPE_CHECKING:
    from jrr.mechanisms.families import Family


class Planned(Describing):
    """What a plan may choose."""

    @classmethod
    def families(cls) -> "tuple[Family, ...]":
        """The ways in which a plan may choose this mechanism."""
        return ()
