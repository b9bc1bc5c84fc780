"""The page that a demonstration leaves: what came out, and what contributors are told."""

from pathlib import Path
from typing import Any

from jrr._base.wording import show_guarantee
from jrr.errors import MissingExtraError
from jrr.mechanisms.registry import mechanism_class
from jrr.planning.plans import DELTA, Plan
from jrr.reporting import page
from jrr.reporting.explain import OUTSIDE, adversaries, contributor_text
from jrr.research.demo import DemoSurvey

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
        from jrr.research.draw_demo import draw_survey

        drawn = draw_survey(survey, out / "survey.png")
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
