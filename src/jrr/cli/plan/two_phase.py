"""`jrr plan two-phase`: both phases of a survey, and whether they pay."""

from typing import Any

import click
from rich.table import Table

from jrr.cli.options import card_options, dealer_cap, guarantee_options, max_bytes_option
from jrr.cli.output import Line, json_option, make_table, show, unwrapped
from jrr.cli.plan.shown import rows_aligned
from jrr.cli.progress import waiting
from jrr.planning.two_phases import FIRST_SHARE, SHOWN, TwoPhasePlan, plan_two_phases

HOW = (
    "SHARE is the first phase's estimate as a whole percent, such as 0.03, not below 0 and not "
    "above 1. For `jrr survey create`, -n is --people, and -M and -f are --set colluders=… and "
    "--set frequency=…. For files, the first phase is `jrr file perturb --epsilon {epsilon:g}`, "
    "and `jrr file deal` with the second list deals the second phase's cards. Nobody answers in "
    "both phases. `jrr file pool FIRST SECOND` adds up the reports."
)


@click.command()
@guarantee_options
@card_options
@click.option(
    "--first", type=float, default=FIRST_SHARE, help="Share of the people who are asked first."
)
@max_bytes_option
@json_option
def two_phase(
    first: float,
    closed_deck: bool,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    **survey: Any,
) -> None:
    """Say whether it pays to ask a few people first, and plan for the others by what they say.

    A yes-or-no question. `jrr file pool` adds up the reports of both phases.

    \b
    jrr plan two-phase -n 1000000 -e 0.1 -M 10000 --mechanism jrr --first 0.02
    """  # noqa: D301 - click reads the \b
    with waiting("planning two phases"):
        phases = plan_two_phases(
            dealer_epsilon=dealer_cap(dealer_epsilon, no_dealer_cap),
            first_share=first,
            announced=not closed_deck,
            **survey,
        )
        document = as_document(phases)
    lines: list[Line] = [_errors(document), unwrapped(when_it_pays(phases))]
    if phases.pays:
        few, others = document["first"]["options"], document["second"]["options"]
        lines += [
            unwrapped(f"\nFirst phase, people drawn at random: {few}"),
            unwrapped(f"Second phase, everybody else:        {others}"),
            unwrapped(HOW.format(epsilon=phases.request.epsilon)),
        ]
    show(document, *lines)


def as_document(phases: TwoPhasePlan) -> dict[str, Any]:
    """The plan as plain values."""
    r = phases.request
    second = r.n - phases.first.request.n
    limit = r.dealer_epsilon
    cap = "--no-dealer-cap" if limit is None else f"--dealer-epsilon {limit:g}"
    closed = "" if r.announced else " --closed-deck"
    return {
        "n": r.n,
        "epsilon": r.epsilon,
        "colluders": r.colluders,
        "first": {
            "n": phases.first.request.n,
            "mechanism": phases.first.mechanism.to_dict(),
            "options": f"-n {phases.first.request.n} -e {r.epsilon:g} --mechanism rr",
        },
        "second": {
            "n": second,
            "options": f"-n {second} -e {r.epsilon:g} -M {min(r.colluders, second - 1)} "
            f"--mechanism {phases.kind} {cap} --lost {r.lost:g}{closed} -f SHARE",
        },
        "one_phase": phases.one_phase.mechanism.to_dict(),
        "any_mechanism": phases.any_mechanism.mechanism.to_dict(),
        "pays": [list(interval) for interval in phases.pays],
        "stderr": [
            {
                "frequency": f,
                "any_mechanism": phases.any_mechanism.stderr(f),
                "one_phase": phases.one_phase.stderr(f),
                "two_phases": phases.stderr(f),
                "second_mechanism": phases.second(f).mechanism.to_dict(),
            }
            for f in SHOWN
        ],
    }


def when_it_pays(phases: TwoPhasePlan) -> str:
    """The rule in words."""
    if not phases.pays:
        return (
            f"Two phases do not pay: {phases.one_phase.mechanism.name} in one phase is about as "
            "accurate or more accurate at every true share."
        )
    ranges = " or ".join(f"{100 * low:g}% to {100 * high:g}%" for low, high in phases.pays)
    worst = max(phases.over_one_phase(percent / 100) for percent in range(101))
    better = phases.any_mechanism
    still = ""
    if all(better.stderr(f) <= phases.stderr(f) for f in SHOWN):
        still = f" One phase of {better.mechanism.name} is more accurate still."
    return (
        f"Two phases pay if the true share is {ranges}; elsewhere they have a standard error up "
        f"to {100 * max(0.0, worst - 1):.1f}% larger.{still}"
    )


def _errors(document: dict[str, Any]) -> Table:
    rows, best = document["stderr"], document["any_mechanism"]
    names = {"one_phase": "one phase", "two_phases": "two phases"}
    if best != document["one_phase"]:
        names["any_mechanism"] = f"one phase of {best['mechanism']}"
    errors = rows_aligned([[100 * row[key] for row in rows] for key in names])
    return make_table(
        ("", *(f"{100 * row['frequency']:g}%" for row in rows)),
        ((name, *line) for name, line in zip(names.values(), errors, strict=True)),
        title="Standard error of the share of yes, in percentage points, at a true share of",
    )
