"""Who answered the other waves of a panel, as an open question that nobody is asked.

The collector knows the same people in every wave. So cells can be crossed by it: wave 2 closes on
who answered wave 1 too, and wave 1 announces once more, of those who answered wave 2 as well. The
two sums are of the same people, whose answers can then be compared as pairs.
"""

from collections.abc import Mapping
from typing import Any

BEFORE = "answered_wave_before"  # whether somebody answered the wave before this one
AFTER = "answered_wave_after"  # the wave after; known when that is closed
NO, YES = "no", "yes"


def wave_answers(wave: int) -> dict[str, tuple[str, ...]]:
    """The same as an open question with its answers, in a wave of this number."""
    return {BEFORE: (NO, YES)} if wave > 1 else {}


def with_wave(covariates: Mapping[str, Any], before: bool) -> dict[str, Any]:
    """Somebody's answers, with whether they answered the wave before."""
    return {**covariates, BEFORE: YES if before else NO}
