"""From what somebody typed to the value that is perturbed, and the receipt for it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Rng
from jrr.mechanisms.numbers import Numbers
from jrr.survey import messages
from jrr.survey.campaign import Campaign


@dataclass(frozen=True)
class Receipt:
    """The collector has committed the report."""

    campaign: str
    carded: bool
    before: bool = field(default=False, compare=False)  # it had the report already
    # What the parties of a committee say of why somebody who enrolled was dealt no card.
    left_out: tuple[str, ...] = field(default=(), compare=False, repr=False)


def read_answer(campaign: Campaign, answer: str | float, rng: Rng = None) -> int:
    """The value that a label, in capitals or not, or a number 0..k-1 stands for.

    Where the answer is a number between two ends, it is rounded by chance to one of the steps
    from one to the other, of which there may be only one.
    """
    if campaign.number is not None:
        return _rounded(campaign, campaign.number, answer, rng)
    if not isinstance(answer, str):
        return checks.integer("answer", answer, 0, campaign.mechanism.k - 1)
    found = find_label(campaign.labels, answer)
    # Not repeated in the refusal: it may be somebody's answer with a slip of the pen.
    if found is None:
        raise ArgumentError(
            f"answer must be one of {', '.join(map(repr, campaign.labels)):.500}, got another text"
        )
    return found


def _rounded(campaign: Campaign, ends: tuple[float, float], answer: str | float, rng: Rng) -> int:
    try:
        number = float(answer)
        steps = Numbers(*ends, campaign.mechanism).steps([number], rng)
    except (ValueError, ArgumentError):  # not repeated: it is somebody's answer
        allowed = f"a number from {ends[0]:g} to {ends[1]:g}"
        raise ArgumentError(f"answer must be {allowed}, got another") from None
    return int(steps[0])


def find_label(labels: Sequence[str], text: str) -> int | None:
    """Where a text stands among labels; capitals and blanks around it matter only if they must.

    Args:
        labels: All different.
        text: As somebody typed it.

    Returns:
        Its place; None where it is none of them, or could be two.

    Example:
        >>> find_label(("No", "Yes"), "yes "), find_label(("a", "A", "b"), "A")
        (1, 1)
    """
    wanted = text.strip()
    for same in (str, str.casefold):
        places = [at for at, label in enumerate(labels) if same(label) == same(wanted)]
        if len(places) == 1:
            return places[0]
    return None


def read_attributes(campaign: Campaign, attributes: Mapping[str, str]) -> dict[str, str]:
    """The public attributes, of which none may be missing.

    Raises:
        ArgumentError: One that the campaign declares was not given; the message names it.
    """
    for name, values in campaign.covariates.items():
        if name not in attributes:
            example = f"--covariate {shlex.quote(name)}={shlex.quote(values[0])}"
            raise ArgumentError(
                f"covariate {name} must be given, as {example}: one of "
                f"{messages.known_values(campaign, name)}"
            )
    return dict(attributes)
