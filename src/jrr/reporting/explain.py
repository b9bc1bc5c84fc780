"""A plan in plain words: for contributors, for an ethics board, for whoever must decide.

Every sentence about privacy names the view it holds against. In the view "everything" a loss is
random, and two figures speak of it. ε is always that of (ε, δ)-differential privacy. The other
one, the loss that is exceeded with a chance of at most δ, is larger; beliefs are computed from
it, and it bears another name wherever it is printed (`sure_epsilon`).
"""

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

from jrr._base.wording import percentage_points, rounded_up, show_guarantee
from jrr.estimation.estimates import quantile
from jrr.planning.plans import DELTA, Plan
from jrr.privacy.cost_table import PRIOR, CostTable, cost_row, rounded_belief, same_in_every_wave
from jrr.reporting import catalogue

OUTSIDE = catalogue.text("en", "report.limits.outside")
_LEARN = {
    "report": "if all they see is what you send",
    "cards": "if they also see the secret cards of {people}, and nobody else's report",
    "everything": "if they are the collector, who has all reports, and even know how everybody "
    "else would answer{shown}",
    "dealer": "if those who deal the cards and the collector break their word and put together "
    "what they have",
}
_ANYBODY = (
    "to anybody who does not know this card, even to a collector who has all reports, everybody "
    "else's answer and any number of other people's cards"
)
_TOLD = ("cards", "everything", "dealer")  # views that contributors are told of beside the report


@dataclass(frozen=True)
class Adversary:
    """One line of "who can learn what"."""

    view: str  # as in Mechanism.epsilon
    who: str  # in plain words
    epsilon: float  # at δ
    delta: float  # 0 but in the view "everything"
    sure_epsilon: float  # exceeded with `chance` at most; beliefs are computed from it
    chance: float  # that more is learnt, or of a loss without bound; 0: never
    sentence: str


def meaning(epsilon: float, prior: float = PRIOR) -> str:
    """What a loss that is never exceeded means for one person."""
    if math.isinf(epsilon):
        return "some contributors' answers can become certain"
    return (
        f"an answer that was thought {shown_percent(prior)} likely can come to be thought at most "
        f"{shown_belief(epsilon, prior)} likely"
    )


def adversaries(plan: Plan, delta: float = DELTA, committee: bool = False) -> list[Adversary]:
    """Who can learn how much, from the weakest view to the strongest.

    delta: a chance with which the collector who has everything else may learn more. committee:
    cards are dealt by parties together, and not by a dealer.
    """
    m = plan.request.colluders
    people = _people(m)
    told = plan.mechanism.told_by_colluders
    dealer = "too many parties of the committee" if committee else "dealer"
    rest = f", everybody else's answer and the cards of {people}" if m else ""
    who = {
        "report": "to somebody who sees this one perturbed report",
        "truths": f"to somebody who sees this report and is told {told} by {people}",
        "cards": f"to somebody who sees this one report and the secret cards of {people}",
        "everything": "to a collector who has all reports"
        + (rest or " and everybody else's answer"),
        "dealer": f"to {dealer} and collector together, who see this report and its secret card",
    }
    if plan.mechanism.pure and plan.mechanism.deals:
        who = {"everything": _ANYBODY, "dealer": who["dealer"]}
    if not plan.mechanism.deals:
        who = {"report": "to anybody who sees the perturbed report, whatever else they know"}
    elif m == 0 and "cards" in who:  # nobody tells anything
        del who["truths"], who["cards"]
    rows = []
    for view, text in who.items():
        if view == "everything":
            epsilon, at, sure, chance = _informed(plan, delta)
        else:
            epsilon = sure = plan.guarantees.get(view, math.inf)
            at = chance = 0.0
        sentence = f"{text[0].upper()}{text[1:]}: {meaning(sure)}"
        if chance:
            word = "with" if math.isinf(sure) else "except with"
            sentence += f", {word} a chance of at most {_odds(chance)}"
            ever = plan.guarantees.get("dealer", math.inf)  # what holds with any card known
            if not math.isinf(ever):
                sentence += f", and at most {shown_belief(ever)} ever"
        sentence += f" ({show_guarantee(epsilon, at)})."
        rows.append(Adversary(view, text, epsilon, at, sure, chance, sentence))
    return rows


def _informed(plan: Plan, delta: float) -> tuple[float, float, float, float]:
    """ε, its δ, the loss that is exceeded rarely, and how rarely: or infinity, and its chance."""
    losses = plan.losses
    if losses is None or plan.mechanism.pure:  # a bound that holds outright
        bound = plan.surely()
        return bound, 0.0, bound, 0.0
    sure = plan.surely(delta)
    return plan.everything(delta), delta, sure, losses.revealed if math.isinf(sure) else delta


def costs_of_plan(plan: Plan, delta: float = DELTA, waves: int = 1) -> CostTable:
    """What the answer to one question tells, asked so many times.

    Args:
        plan: How it is asked.
        delta: Of one wave, against a collector who has everything else.
        waves: How often the same people are asked.
    """
    if plan.mechanism.deals:
        epsilon, at, _, _ = _informed(plan, delta)
        row = cost_row(epsilon, at, "everything", plan.guarantees.get("dealer", math.inf))
    else:
        row = cost_row(plan.guarantees["report"], 0.0, "report", None)
    return same_in_every_wave(row, row, questions=1, waves=waves)


def contributor_text(plan: Plan, delta: float = DELTA, committee: bool = False) -> str:
    """What a contributor should be told before answering, in words for everybody."""
    helper = "the parties that deal the cards" if committee else "the dealer, who deals the cards"
    lines = ["Your own device changes your answer at random before anything is sent."]
    if plan.mechanism.deals:
        lines.append(
            f"Two sides take part: {helper}, and the collector, who receives what is sent. The "
            "first never sees what you send, the second never sees your card."
        )
    lines.append(plan.mechanism.instructions())
    lines.append(
        "So what is sent does not tell your answer. It makes answers a little more or less likely. "
        f"Somebody who thinks an answer of yours {shown_percent(PRIOR)} likely can come to think "
        "it, at the very most,"
    )
    people = _people(plan.request.colluders)
    shown = f" and the secret cards of {people}" if plan.request.colluders else ""
    for row in adversaries(plan, delta, committee):
        if row.view not in _LEARN:
            continue
        seen = _LEARN[row.view].format(people=people, shown=shown)
        if plan.mechanism.pure and row.view == "everything":
            seen = (
                "if they do not know your card, even if they are the collector, who has all "
                "reports, and know everybody else's answer and card"
            )
        if not plan.mechanism.deals:
            seen = "if they see what you send, whatever else they know"
        sure = row.sure_epsilon
        but = "with" if math.isinf(sure) else "but for"
        rarely = f" ({but} a chance of at most {_odds(row.chance)})" if row.chance else ""
        likely = "certain" if math.isinf(sure) else f"{shown_belief(sure)} likely"
        lines.append(f"- {likely} {seen}{rarely}: {show_guarantee(row.epsilon, row.delta)}.")
    lines.append(
        "ε is the measure of what can be learnt; 0 is nothing. If you take part several times, or "
        "in several such surveys, the ε add up, and so do the chances."
    )
    return "\n".join(lines)


def consent(plan: Plan, question: str = "the question", delta: float = DELTA) -> str:
    """A paragraph for an ethics board."""
    request, rows = plan.request, adversaries(plan, delta)
    margin = rounded_up(100 * quantile(0.95) * plan.stderr(), 2)
    text = (
        f"{request.n:,} participants answer {_quoted(question)} through "
        f"{plan.mechanism.title}: each participant's device perturbs the answer at random "
        "before it leaves the device, so that no report tells by itself whether it is true. "
        f"{rows[0].sentence} "
    )
    if len(rows) > 1:
        text += "".join(f"{row.sentence} " for row in rows[1:] if row.view in _TOLD)
        text += (
            "The last bound is kept by a cap chosen in advance. "
            if plan.request.dealer_epsilon is not None
            else "No cap on the dealer was set: dealer and collector must not collude. "
        )
    text += (
        "These bounds hold for every participant and every answer, whatever is known of that "
        "participant beforehand. The published result is an unbiased estimate of a share "
        f"with an expected margin of error of ±{percentage_points(margin)} (95%)."
    )
    return text


def _quoted(question: str) -> str:
    """A whole question stands in quotes; "whether they ..." does not."""
    return f"the question “{question}”" if question.endswith("?") else question


def _people(number: int) -> str:
    return "1 contributor" if number == 1 else f"up to {number:,} contributors"


def shown_belief(epsilon: float, prior: float = PRIOR) -> str:
    """The strongest belief, in percent, never too small."""
    return shown_percent(rounded_belief(epsilon, prior))


def _odds(chance: float) -> str:
    """Rounded up: what is shown is never less than what holds."""
    if chance >= 1e-2:
        return f"{rounded_up(100 * chance, 3)}%"
    down = Context(prec=3, rounding=ROUND_FLOOR)
    return f"1 in {int(down.divide(Decimal(1), Decimal(repr(chance)))):,}"


def shown_percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:g}%"
