"""Options that several commands share, and the way results are printed."""

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Console

from jrr._base import checks
from jrr.cli.counts import COUNT
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.estimates import POPULATIONS
from jrr.mechanisms.request import Frequency
from jrr.planning.choice import AUTO, cardless_words, check_word, mechanism_words
from jrr.planning.defaults import COLLUDERS, DEALER_ABOVE, LOST, MAX_BYTES
from jrr.planning.numbers import NUMBER_WORDS, NumberPlan, plan_number
from jrr.planning.plans import DELTA, Plan, plan
from jrr.privacy.views import PlanView

F = TypeVar("F", bound=Callable[..., Any])


class MechanismType(click.ParamType[str]):
    """A family of mechanisms, in any case; asked for when it is used, since more may register."""

    name = "name"

    def __init__(self, *, cards: bool = True) -> None:
        self._cards = cards  # whether also those that deal cards

    @property
    def _words(self) -> tuple[str, ...]:
        return mechanism_words() if self._cards else (AUTO, *cardless_words())

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
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


class FrequencyType(click.ParamType[Frequency]):
    """0.1, or an interval 0.05:0.2."""

    name = "F|LOW:HIGH"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Text to a number or a pair."""
        try:
            numbers = tuple(float(part) for part in str(value).split(":"))
        except ValueError:
            self.fail(f"must be a number or LOW:HIGH, got {value!r}", param, ctx)
        if len(numbers) > 2:
            self.fail(f"must be a number or LOW:HIGH, got {value!r}", param, ctx)
        return numbers if len(numbers) == 2 else numbers[0]


class RangeType(click.ParamType[tuple[float, float]]):
    """The ends of a number: LOW:HIGH."""

    name = "LOW:HIGH"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Text to two numbers."""
        try:
            low, high = (float(part) for part in str(value).split(":"))
        except ValueError:
            self.fail(f"must be LOW:HIGH, two numbers, got {value!r}", param, ctx)
        return low, high


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


number_options = all_of(
    click.option(
        "--range", "ends", type=RangeType(), required=True, help="Smallest and largest number."
    ),
    click.option("--mean", type=float, help="Its mean, if known."),
    click.option("--sd", type=float, help="Its standard deviation, if known."),
)


def make_number_plan(
    ends: tuple[float, float],
    *,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    view: PlanView,
    delta: float,
    closed_deck: bool = False,
    **survey: Any,
) -> NumberPlan:
    """The plan for the mean of a number that the shared options ask for."""
    with waiting("planning"):
        return plan_number(
            low=ends[0],
            high=ends[1],
            dealer_epsilon=dealer_cap(dealer_epsilon, no_dealer_cap),
            view=view,
            delta=delta if view == "everything" else None,
            announced=not closed_deck,
            **survey,
        )


interval_options = all_of(
    click.option(
        "--population",
        type=click.Choice(POPULATIONS),
        default="respondents",
        show_default=True,
        help="Whom errors speak of: with sample, those of whom the respondents are one.",
    ),
    click.option(
        "--population-size", type=COUNT, help="People whom the sample was drawn from, if known."
    ),
)


simultaneous_option = click.option(
    "--simultaneous", is_flag=True, help="Intervals that hold for all answers at once."
)


delta_option = click.option(
    "--delta",
    type=float,
    default=DELTA,
    show_default=True,
    callback=lambda _context, _option, delta: checks.real(
        "delta", delta, "in 0..1, and less than 1", 0.0, 1.0, open_high=True
    ),
    help="δ against a collector who has everything else.",
)
view_option = click.option(
    "--view",
    type=click.Choice(("cards", "everything")),
    default="cards",
    show_default=True,
    help="everything: keep (ε, δ) against a collector that knows everybody else's answer.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")


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
people_option = click.option(
    "-n", "n", type=COUNT, default=10_000, show_default=True, help="Contributors."
)
epsilon_option = click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    show_default=True,
    help="ε of one report beside the colluders' cards, or at δ by --view everything.",
)
colluders_option = click.option(
    "-M",
    "--colluders",
    type=COUNT,
    help="Contributors who may give their cards to the collector.  [default: "
    f"{COLLUDERS}, or everybody else]",
)
mechanism_option = click.option(
    "--mechanism",
    type=MechanismType(),
    default="auto",
    show_default=True,
    help="Which family; auto takes the most accurate.",
)
lost_option = click.option(
    "--lost",
    type=float,
    default=LOST,
    show_default=True,
    help="Share of cards that are dealt and never reported with.",
)
closed_deck_option = click.option(
    "--closed-deck",
    is_flag=True,
    help="MRR: cards that nearly cancel, instead of a dealer that announces the sum of the used "
    "cards at the end: for files, and where the dealer is gone by then.",
)
answer_options = all_of(
    click.option("-k", "k", type=COUNT, default=2, show_default=True, help="Possible answers."),
    click.option(
        "-f",
        "--frequency",
        type=FrequencyType(),
        help="What is known of the answer: 0.1, or an interval 0.05:0.2.",
    ),
)
guarantee_options = all_of(people_option, epsilon_option, colluders_option)
card_options = all_of(mechanism_option, lost_option, closed_deck_option, dealer_options)

# What a survey is: how many people, which guarantee, what is known beforehand.
survey_options = all_of(guarantee_options, answer_options, card_options)


def dealer_cap(dealer_epsilon: float | None, no_dealer_cap: bool) -> float | None:
    """The cap that was asked for: None is the default, infinity none at all."""
    if no_dealer_cap:
        if dealer_epsilon is not None:
            raise ArgumentError("--dealer-epsilon and --no-dealer-cap must not be given together")
        return math.inf
    return dealer_epsilon


def make_plan(
    *,
    n: int,
    epsilon: float,
    colluders: int | None,
    k: int,
    frequency: Frequency,
    mechanism: str,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    view: PlanView = "cards",
    delta: float | None = None,
    max_bytes: int = MAX_BYTES,
    lost: float = LOST,
    closed_deck: bool = False,
) -> Plan:
    """The plan that the shared options ask for; δ is of the view "everything" alone."""
    delta = delta if view == "everything" else None
    cap = dealer_cap(dealer_epsilon, no_dealer_cap)
    with waiting("planning"):
        return plan(
            n,
            epsilon,
            colluders,
            k=k,
            dealer_epsilon=cap,
            delta=delta,
            view=view,
            mechanism=mechanism,
            frequency=frequency,
            max_bytes=max_bytes,
            lost=lost,
            announced=not closed_deck,
        )


def print_json(document: Any) -> None:
    """One line; an unbounded ε is the word "unbounded", since JSON has no infinity."""
    print(json.dumps(plain(document), ensure_ascii=False, allow_nan=False))


def plain(document: Any) -> Any:
    """The document with numbers that JSON can say."""
    if isinstance(document, dict):
        return {str(key): plain(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [plain(value) for value in document]
    if isinstance(document, float) and math.isinf(document):
        return "unbounded"
    if isinstance(document, float) and math.isnan(document):
        return None
    return document


def console(to_error: bool = False) -> Console:
    """Where tables and sentences go."""
    return Console(highlight=False, markup=False, stderr=to_error)
