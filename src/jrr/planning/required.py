"""How many people, or which ε, for a wanted margin of error."""

import math
from typing import Any

from jrr._base import checks
from jrr.estimation.estimates import Population, quantile
from jrr.mechanisms.request import LOST, Frequency
from jrr.planning.choice import AUTO
from jrr.planning.effects import fewest_even
from jrr.planning.plans import MechanismWord, plan
from jrr.privacy.views import PlanView


@checks.names_checked
def required_n(
    margin: float,
    epsilon: float,
    colluders: int | None = None,
    k: int = 2,
    dealer_epsilon: float | None = None,
    mechanism: MechanismWord | str = AUTO,
    frequency: Frequency = None,
    level: float = 0.95,
    most: int = 10**12,
    *,
    view: PlanView = "cards",
    delta: float | None = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
    lost: float = LOST,
    announced: bool | int = True,
) -> int:
    """The fewest contributors (an even number) whose margin of error is at most `margin`.

    Args:
        margin: half the width of a confidence interval of a frequency.
        epsilon: what the adversary may learn at most.
        colluders: how many contributors show the adversary their cards; None: 5, or everybody
            else where there are fewer.
        k: possible answers.
        dealer_epsilon: the cap on a dealer that colludes with the collector; None: ε + 2;
            math.inf gives it up.
        mechanism: a family, or "auto".
        frequency: what is known of the answer beforehand.
        level: of the interval.
        most: contributors beyond which the search gives up.
        view: who the adversary is, as for `plan`.
        delta: with view "everything", as for `plan`.
        population: whom the interval is to speak of, as for `Estimate.for_population`: with
            "sample" the noise of drawing the contributors counts too.
        population_size: people in that population; None: no end of them.
        lost: the share of cards that are dealt and never reported with, as for `plan`.
        announced: whether the dealer announces sums (the default), as for `plan`.

    Returns:
        The number of contributors.

    Raises:
        ArgumentError: if `most` contributors are not enough, or as `plan` does.

    Example:
        >>> import jrr
        >>> jrr.required_n(0.02, epsilon=1.0, mechanism="rr")
        8932
        >>> jrr.required_n(0.02, epsilon=1.0, mechanism="rr", population="sample")
        11358
    """
    margin = check_margin(margin)
    fewest_colluders = 0 if colluders is None else checks.integer("colluders", colluders, 0)
    z = quantile(level)
    asked: dict[str, Any] = {"k": k, "lost": lost, "announced": announced, "view": view}
    asked |= {"mechanism": mechanism, "frequency": frequency, "delta": delta}

    def enough(people: int) -> bool:
        chosen = plan(people, epsilon, colluders, dealer_epsilon=dealer_epsilon, **asked)
        error = chosen.stderr(population=population, population_size=population_size)
        return z * error <= margin

    fewest = max(1, fewest_colluders // 2 + 1)
    if population_size is not None:  # nobody can be asked who is not there
        people = checks.real(
            "population_size", population_size, f"at least {2 * fewest}", 2 * fewest
        )
        most = min(most, int(people))
    return fewest_even(
        enough,
        lambda: checks.refusal("margin", margin, f"reachable with at most {most} contributors"),
        least=2 * fewest,
        most=most,
    )


@checks.names_checked
def required_epsilon(
    margin: float,
    n: int,
    colluders: int | None = None,
    k: int = 2,
    dealer_epsilon: float | None = None,
    mechanism: MechanismWord | str = AUTO,
    frequency: Frequency = None,
    level: float = 0.95,
    *,
    dealer_above: float | None = None,
    view: PlanView = "cards",
    delta: float | None = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
    lost: float = LOST,
    announced: bool | int = True,
) -> float:
    """The smallest ε, to four digits, at which n contributors reach a margin of error.

    Args:
        margin: half the width of a confidence interval of a frequency.
        n: contributors per deck.
        colluders: how many contributors show the adversary their cards; None: 5, or everybody
            else where there are fewer.
        k: possible answers.
        dealer_epsilon: the cap on the dealer as a number; math.inf gives it up; None: ε + 2.
        mechanism: a family, or "auto".
        frequency: what is known of the answer beforehand.
        level: of the interval.
        dealer_above: the cap on the dealer as so much above ε, whatever ε turns out to be; None:
            2, unless dealer_epsilon is given.
        view: who the adversary is, as for `plan`.
        delta: with view "everything", as for `plan`.
        population: whom the interval is to speak of, as for `required_n`.
        population_size: people in that population; None: no end of them.
        lost: the share of cards that are dealt and never reported with, as for `plan`.
        announced: whether the dealer announces sums (the default), as for `plan`.

    Returns:
        ε, between 1e-6 and 20.

    Raises:
        ArgumentError: if no such ε is enough, or as `plan` does.

    Example:
        >>> import jrr
        >>> round(jrr.required_epsilon(0.02, 8_932, mechanism="rr"), 2)
        1.0
    """
    margin = check_margin(margin)
    if dealer_above is not None and dealer_epsilon is not None:
        raise checks.refusal("dealer_above", dealer_above, "None where dealer_epsilon is given")
    if dealer_above is not None:
        dealer_above = checks.real("dealer_above", dealer_above, "a number >= 0", 0.0)
    z = quantile(level)

    asked: dict[str, Any] = {"k": k, "lost": lost, "announced": announced, "view": view}
    asked |= {"mechanism": mechanism, "frequency": frequency, "delta": delta}

    def enough(epsilon: float) -> bool:
        cap = dealer_epsilon if dealer_above is None else epsilon + dealer_above
        chosen = plan(n, epsilon, colluders, dealer_epsilon=cap, **asked)
        error = chosen.stderr(population=population, population_size=population_size)
        return z * error <= margin

    low, high = 1e-6, 20.0
    if not enough(high):
        capped = "" if dealer_epsilon is None else f" and dealer_epsilon={dealer_epsilon!r}"
        reach = f"reachable by {n} people at epsilon <= {high}{capped}"
        raise checks.refusal("margin", margin, reach)
    if enough(low):
        return low
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def check_margin(margin: object) -> float:
    """Half the width of an interval of a frequency."""
    allowed = "in (0, 1), a share"
    return checks.real("margin", margin, allowed, 0.0, 1.0, open_low=True, open_high=True)
