"""A whole survey in one process, several ways at once, and the page that it leaves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.errors import MissingExtraError
from jrr.estimation.estimates import Estimate
from jrr.mechanisms.base import Cards, Mechanism, Rng
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.registry import families, mechanism_class
from jrr.mechanisms.request import LOST
from jrr.planning.plans import DELTA, Plan, plan
from jrr.reporting import page
from jrr.reporting.explain import OUTSIDE, adversaries, contributor_text
from jrr.reporting.plots import COLOURS, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAMILIES = ("rr", "jrr", "drr", "mrr")
VANISHING = LOST  # the share of people who take a card and never report: what plans expect


@dataclass(frozen=True)
class DemoRun:
    """One mechanism's run of the survey."""

    plan: Plan
    estimate: Estimate

    @property
    def mechanism(self) -> Mechanism:
        """What was run."""
        return self.plan.mechanism


@dataclass(frozen=True)
class DemoSurvey:
    """The same question asked through several mechanisms."""

    n: int
    truth: float  # the true share of yes among those who report
    vanished: int  # people who took a card and never reported
    chosen: str  # which outcome the plan would have picked
    outcomes: dict[str, DemoRun]


def run(
    n: int = 10_000,
    yes: float = 0.1,
    epsilon: float = 1.0,
    colluders: int = 5,
    dealer_epsilon: float | None = None,
    mechanism: str = "auto",
    vanishing: float = VANISHING,
    rng: Rng = None,
    progress: Callable[[str], None] = lambda step: None,
) -> DemoSurvey:
    """Ask n people, of whom a share `yes` would truthfully say yes; value 1 is yes.

    A share `vanishing` of them takes a card and is never heard of again.
    """
    n = checks.integer("n", n, 2)
    yes = checks.real("yes", yes, "in 0..1", 0.0, 1.0)
    vanishing = checks.real("vanishing", vanishing, "in 0..0.9", 0.0, 0.9)
    reporters = n - round(vanishing * n)
    values = (np.arange(reporters) < round(yes * reporters)).astype(np.uint8)

    def planned(family: str) -> Plan:
        progress(f"planning {family}")
        return plan(
            n,
            epsilon,
            colluders,
            dealer_epsilon=dealer_epsilon,
            mechanism=family,
            lost=vanishing,
        )

    plans = {family: planned(family) for family in FAMILIES}
    chosen = planned(mechanism).mechanism
    outcomes = {}
    for family, family_plan in plans.items():
        progress(f"dealing {family} cards")
        cards = family_plan.mechanism.deal(rng)
        progress(f"asking {reporters:,} people by {family}")
        outcomes[family] = DemoRun(family_plan, _asked(family_plan.mechanism, cards, values, rng))
    picked = next(
        family for family, family_plan in plans.items() if family_plan.mechanism == chosen
    )
    return DemoSurvey(n, float(values.mean()), n - reporters, picked, outcomes)


def _asked(
    mechanism: Mechanism, cards: Cards | None, values: NDArray[np.uint8], rng: Rng
) -> Estimate:
    """Those who report answer; of masked reports the dealer then announces the sum of the masks."""
    reports = mechanism.respond(values, None if cards is None else cards[: len(values)], rng)
    if isinstance(mechanism, MRR) and mechanism.announced and cards is not None:
        announced = mechanism.announce(cards, np.arange(len(values)), rng)
        return mechanism.estimate(reports, announced=announced)
    return mechanism.estimate(reports)


NAMES = {"rr": "RR", "jrr": "JRR", "drr": "DRR", "mrr": "MRR"}
LONG = {family: f"{mechanism_class(name).title} ({name})" for family, name in NAMES.items()}


def demo_summary(survey: DemoSurvey, seconds: float) -> dict[str, Any]:
    """What came out, as numbers."""
    chosen = survey.outcomes[survey.chosen]
    low, high = chosen.estimate.interval()
    return {
        "reports": chosen.estimate.n,
        "truth": survey.truth,
        "estimate": float(chosen.estimate.frequencies[1]),
        "stderr": float(chosen.estimate.stderr[1]),
        "interval": [float(low[1]), float(high[1])],
        "rr_stderr": float(survey.outcomes["rr"].estimate.stderr[1]),
        "mechanism": chosen.mechanism.name,
        "vanished": survey.vanished,
        "by_mechanism": {
            name: {
                "stderr": float(survey.outcomes[family].estimate.stderr[1]),
                "everything": survey.outcomes[family].plan.everything(DELTA),
                "dealer": survey.outcomes[family].plan.guarantees["dealer"],
            }
            for family, name in NAMES.items()
        },
        "seconds": round(seconds, 3),
    }


def write_demo_page(
    survey: DemoSurvey, facts: dict[str, Any], out: Path, *, how: str, committee: bool
) -> str:
    """Write report.html and its picture; without matplotlib there is no picture.

    Args:
        survey: What was run.
        facts: As `demo_summary` makes them.
        out: The directory.
        how: One sentence on how people answered.
        committee: Whether parties dealt the cards together.

    Returns:
        Where the report is, in words.
    """
    out.mkdir(parents=True, exist_ok=True)
    chosen = survey.outcomes[survey.chosen]
    estimate, (low, high) = facts["estimate"], facts["interval"]
    parts = [
        page.paragraph(
            f"{survey.n:,} people were asked, {100 * survey.truth:.3g}% of whom would truthfully "
            f"say yes. {how} {survey.vanished:,} took a card and vanished. Every device changed "
            "its answer at random before sending it. The result "
            f"by {LONG[survey.chosen]}: {_percent(estimate)} yes, with an error of "
            f"±{100 * facts['stderr']:.2f} percentage points. The 95% interval is {_percent(low)} "
            f"to {_percent(high)}; intervals made like this hold the truth in 95 of 100 surveys."
        )
    ]
    said = f"Report: {out / 'report.html'}"
    try:
        drawn = _draw_survey(survey, out / "survey.png")
        parts.append(page.picture(drawn, "Estimates beside the truth"))
    except MissingExtraError as error:
        said += f"; no picture: {error}"
    rows = [
        {
            "the same people, asked by": LONG[family],
            "estimate": _percent(outcome.estimate.frequencies[1]),
            "standard error (points)": f"{100 * outcome.estimate.stderr[1]:.2f}",
            "95% interval": " to ".join(_percent(end[1]) for end in outcome.estimate.interval()),
            "a collector who knows all else learns": _learnt(outcome.plan, "everything"),
            "with the dealer": _learnt(outcome.plan, "dealer"),
        }
        for family, outcome in survey.outcomes.items()
    ]
    parts += [
        page.table(rows),
        page.paragraph(OUTSIDE),
    ]
    parts.append("<h2>What contributors are told</h2>")
    told = contributor_text(chosen.plan, committee=committee)
    parts += [page.paragraph(line) for line in told.splitlines()]
    parts.append("<h2>What somebody can learn of one contributor</h2>")
    learners = adversaries(chosen.plan, committee=committee)
    parts += [page.paragraph(adversary.sentence) for adversary in learners]
    page.write_page(out / "report.html", "A survey that learns nobody's secret", parts)
    return said


def _learnt(plan: Plan, view: str) -> str:
    """ε in one view, with its δ."""
    if view == "dealer":
        return show_guarantee(plan.guarantees["dealer"], 0.0)
    return show_guarantee(plan.everything(DELTA), 0.0 if plan.mechanism.pure else DELTA)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _draw_survey(survey: DemoSurvey, path: str | Path, level: float = 0.95) -> Path:
    """Estimates with their intervals beside the truth, and their standard errors."""
    figure = new_figure(8.0, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    names = list(survey.outcomes)
    _draw_intervals(left, survey, names, level)
    errors = {name: 100 * float(survey.outcomes[name].estimate.stderr[1]) for name in names}
    _draw_errors(right, errors)
    request = survey.outcomes[names[0]].plan.request
    figure.suptitle(
        f"{survey.n:,} people, {100 * survey.truth:.3g}% yes, ε = {request.epsilon:g} in the view "
        f"cards, {request.colluders} colluders",
        fontsize=10,
    )
    figures = ", ".join(f"{name} {error:.6g}" for name, error in errors.items())
    return save(figure, path, f"standard errors in points: {figures}")


def _draw_intervals(axes: "Axes", survey: DemoSurvey, names: Sequence[str], level: float) -> None:
    for row, name in enumerate(names):
        estimate = survey.outcomes[name].estimate
        low, high = estimate.interval(level)
        middle = 100 * float(estimate.frequencies[1])
        axes.errorbar(
            middle,
            row,
            xerr=[[middle - 100 * float(low[1])], [100 * float(high[1]) - middle]],
            fmt="o",
            color=COLOURS[name],
            capsize=4,
            linewidth=2,
        )
    axes.axvline(100 * survey.truth, color="black", linewidth=1, linestyle=":")
    axes.annotate(
        "truth",
        (100 * survey.truth, -0.45),
        ha="left",
        fontsize=8,
        textcoords="offset points",
        xytext=(4, 0),
    )
    axes.set_yticks(
        range(len(names)),
        [f"{name.upper()}: {families()[name].caption}" for name in names],
        fontsize=8,
    )
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlabel(f"estimated yes (%), {level:.0%} interval")


def _draw_errors(axes: "Axes", errors: Mapping[str, float]) -> None:
    names = list(errors)
    bars = axes.barh(
        range(len(names)), list(errors.values()), color=[COLOURS[name] for name in names]
    )
    axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=3)
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlim(0, 1.2 * max(errors.values()))
    axes.set_xlabel("standard error (points)")
