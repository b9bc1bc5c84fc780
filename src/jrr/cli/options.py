"""Options that several commands share, and the plans that they ask for."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from jrr._base import checks
from jrr._base.randomness import SeededRandom
from jrr.cli.progress import waiting
from jrr.cli.values import COUNT, CountRange, FrequencyType, RangeType
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.estimates import POPULATIONS
from jrr.mechanisms.request import COLLUDERS, DEALER_ABOVE, LOST
from jrr.planning.choice import AUTO, MAX_BYTES, cardless_words, check_word, mechanism_words
from jrr.planning.numbers import NUMBER_WORDS, NumberPlan, plan_number
from jrr.planning.plans import DELTA, Plan, plan

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P")


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def is_given(option: str) -> bool:
    """Whether an option of the command that runs was typed."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT


class MechanismType(click.ParamType[str]):
    """A family of mechanisms, in any case; asked for when it is used, since more may register."""

    name = "name"

    def __init__(self, *, cards: bool = True) -> None:
        self._cards = cards  # whether also those that deal cards

    @property
    def _words(self) -> tuple[str, ...]:
        return mechanism_words() if self._cards else (AUTO, *cardless_words())

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The word in lower case, or a refusal that lists all of them."""
        if isinstance(value, str) and value.lower() in NUMBER_WORDS:
            return value.lower()  # with --number; without it a plan refuses them
        try:
            return check_word(value, self._words)
        except JrrError as error:
            self.fail(str(error), param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """All words, in the help."""
        return f"[{'|'.join(self._words)}]"


number_options = all_of(
    click.option(
        "--range", "ends", type=RangeType(), required=True, help="Smallest and largest number."
    ),
    click.option("--mean", type=float, help="Its mean, if known."),
    click.option("--sd", type=float, help="Its standard deviation, if known."),
)
population_option = click.option(
    "--population",
    type=click.Choice(POPULATIONS),
    default="respondents",
    help="Whom errors speak of: with sample, those of whom the respondents are one.",
)
population_options = all_of(
    population_option,
    click.option(
        "--population-size", type=COUNT, help="People whom the sample was drawn from, if known."
    ),
)
level_option = click.option(
    "--level",
    type=float,
    default=0.95,
    callback=lambda _context, _option, level: checks.level(level),
    help="Of the intervals.",
)
simultaneous_option = click.option(
    "--simultaneous", is_flag=True, help="Intervals that hold for all answers at once."
)
interval_options = all_of(level_option, simultaneous_option, population_options)
delta_option = click.option(
    "--delta",
    type=float,
    default=DELTA,
    callback=lambda _context, _option, delta: checks.real(
        "delta", delta, "in 0..1, and less than 1", 0.0, 1.0, open_high=True
    ),
    help="δ against a collector who has everything else.",
)
view_option = click.option(
    "--view",
    type=click.Choice(("cards", "everything")),
    default="cards",
    help="everything: keep (ε, δ) against a collector that knows everybody else's answer.",
)
dealer_options = all_of(
    click.option(
        "--dealer-epsilon",
        type=float,
        help=f"ε against dealer and collector together.  [default: epsilon + {DEALER_ABOVE:g}]",
    ),
    click.option(
        "--no-dealer-cap", is_flag=True, help="Trust the dealer without bound; marked in output."
    ),
)
mechanism_option = click.option(
    "--mechanism",
    type=MechanismType(),
    default="auto",
    help="Which family; auto takes the most accurate.",
)
lost_option = click.option(
    "--lost",
    type=float,
    default=LOST,
    help="Share of cards that are dealt and never reported with.",
)
closed_deck_option = click.option(
    "--closed-deck",
    is_flag=True,
    help="MRR: cards that nearly cancel, instead of a dealer that announces the sum of the used "
    "cards at the end: for files, and where the dealer is gone by then.",
)
max_bytes_option = click.option(
    "--max-bytes",
    type=CountRange(1),
    default=MAX_BYTES,
    help="Most bytes of a report in an automatic choice.",
)
guarantee_options = all_of(
    click.option("-n", "n", type=COUNT, default=10_000, help="Contributors."),
    click.option(
        "-e",
        "--epsilon",
        type=float,
        default=1.0,
        help="ε of one report beside the colluders' cards, or at δ by --view everything.",
    ),
    click.option(
        "-M",
        "--colluders",
        type=COUNT,
        help="Contributors who may give their cards to the collector.  [default: "
        f"{COLLUDERS}, or everybody else]",
    ),
)
answer_options = all_of(
    click.option("-k", "k", type=COUNT, default=2, help="Possible answers."),
    click.option(
        "-f",
        "--frequency",
        type=FrequencyType(),
        help="What is known of the answer: 0.1, or an interval 0.05:0.2.",
    ),
)
card_options = all_of(mechanism_option, lost_option, closed_deck_option, dealer_options)

# What a survey is: how many people, which guarantee, what is known beforehand.
survey_options = all_of(guarantee_options, answer_options, card_options)


def make_plan(**options: Any) -> Plan:
    """The plan that the shared options ask for."""
    return _planned(plan, **options)


def make_number_plan(ends: tuple[float, float], **options: Any) -> NumberPlan:
    """The same for the mean of a number between two ends."""
    return _planned(plan_number, low=ends[0], high=ends[1], **options)


def _planned(
    make: Callable[..., P],
    *,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    closed_deck: bool,
    view: str = "cards",
    delta: float | None = None,
    **survey: Any,
) -> P:
    """A plan by options as they are called on the command line."""
    cap = dealer_cap(dealer_epsilon, no_dealer_cap)
    with waiting("planning"):
        return make(
            dealer_epsilon=cap,
            announced=not closed_deck,
            view=view,
            delta=delta if view == "everything" else None,  # it is of that view alone
            **survey,
        )


def dealer_cap(dealer_epsilon: float | None, no_dealer_cap: bool) -> float | None:
    """The cap that was asked for: None is the default, infinity none at all."""
    if no_dealer_cap:
        if dealer_epsilon is not None:
            raise ArgumentError("--dealer-epsilon and --no-dealer-cap must not be given together")
        return math.inf
    return dealer_epsilon


def seeded(seed: int | None) -> SeededRandom | None:
    """Reproducible randomness, where a seed is given; None is the system's."""
    return None if seed is None else SeededRandom(seed)
