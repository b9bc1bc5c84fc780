"""`jrr plan --two-phase`: both phases of a survey, and whether they pay."""

from typing import Any

from rich.table import Table

from jrr._base.wording import aligned
from jrr.cli.options import console, dealer_cap, print_json
from jrr.cli.progress import waiting
from jrr.planning.plans import FREQUENCIES
from jrr.planning.two_phases import TwoPhasePlan, plan_two_phases

SHOWN = (0.0, 0.01, 0.05, *FREQUENCIES[2:])


def show_two_phases(
    first_share: float, max_bytes: int, survey: dict[str, Any], *, as_json: bool
) -> None:
    """Plan both phases and print the errors, the rule and the options of either."""
    refused = {"k": survey["k"], "frequency": survey["frequency"]}
    with waiting("planning two phases"):
        phases = plan_two_phases(
            survey["n"],
            survey["epsilon"],
            survey["colluders"],
            dealer_cap(survey["dealer_epsilon"], survey["no_dealer_cap"]),
            survey["mechanism"],
            first_share=first_share,
            lost=survey["lost"],
            announced=not survey["closed_deck"],
            max_bytes=max_bytes,
            **refused,
        )
        document = as_document(phases)
    if as_json:
        print_json(document)
        return
    screen = console()
    screen.print(_errors(document))
    screen.print(when_it_pays(phases), soft_wrap=True)
    if not phases.pays:
        return
    first, second = document["first"]["options"], document["second"]["options"]
    screen.print(f"\nFirst phase, people drawn at random: {first}", soft_wrap=True)
    screen.print(f"Second phase, everybody else:        {second}", soft_wrap=True)
    screen.print(
        "SHARE is the first phase's estimate as a whole percent, such as 0.03, not below 0 and "
        "not above 1. For campaigns these are options of `jrr campaign create`. For files, the "
        f"first phase is `jrr perturb --epsilon {phases.request.epsilon:g}`, and `jrr deal` with "
        "the second list deals the second phase's cards. Nobody answers in both phases. `jrr "
        "estimate FIRST SECOND --pool` adds up the reports.",
        soft_wrap=True,
    )


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
    title = "Standard error of the share of yes, in percentage points, at a true share of"
    table = Table(title=title, title_justify="left", title_style="")
    table.add_column("")
    rows = document["stderr"]
    for row in rows:
        table.add_column(f"{100 * row['frequency']:g}%", justify="right")
    names = {"one_phase": "one phase", "two_phases": "two phases"}
    best = document["any_mechanism"]
    if best != document["one_phase"]:
        names["any_mechanism"] = f"one phase of {best['mechanism']}"
    values = [100 * row[key] for key in names for row in rows]
    shown = aligned(values)
    for at, name in enumerate(names.values()):
        table.add_row(name, *shown[at * len(rows) : (at + 1) * len(rows)])
    return table
