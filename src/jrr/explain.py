"""A plan in plain words: for contributors, for an ethics board, for whoever must decide.

Every sentence about privacy names the view it holds against.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from jrr.estimate import quantile
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.unary import Unary
from jrr.plan import DELTA, Plan

PRIOR = 0.1  # the guess whose change illustrates an ε
_TOLD = ("cards", "everything", "dealer")  # views that contributors are told of beside the report


@dataclass(frozen=True)
class Adversary:
    """One line of "who can learn what"."""

    view: str  # as in Mechanism.epsilon, or "everything"
    who: str  # in plain words
    epsilon: float
    delta: float  # the chance that more is learnt; 0: never
    sentence: str


def belief(epsilon: float, prior: float = PRIOR) -> float:
    """The strongest belief that somebody who thought `prior` likely can come to."""
    if math.isinf(epsilon):
        return 1.0
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def meaning(epsilon: float, prior: float = PRIOR) -> str:
    """What an ε means for one person."""
    if math.isinf(epsilon):
        return "some contributors' answers can become certain (ε unbounded)"
    return (
        f"an answer that was thought {_percent(prior)} likely can come to be thought at most "
        f"{_percent(belief(epsilon, prior), up=True)} likely (ε = {show_epsilon(epsilon)})"
    )


def adversaries(plan: Plan, delta: float = DELTA) -> list[Adversary]:
    """Who can learn how much, from the weakest view to the strongest.

    delta: the chance that the collector who has everything else may learn more.
    """
    m = plan.request.colluders
    people = "1 contributor" if m == 1 else f"up to {m:,} contributors"
    told = (
        "whether they reported truthfully"
        if isinstance(plan.mechanism, JRR | OLH)
        else "their answers and reports"
    )
    rest = f", everybody else's answer and the cards of {people}" if m else ""
    who = {
        "report": "to somebody who sees this one perturbed report",
        "truths": f"to somebody who sees this report and is told {told} by {people}",
        "cards": f"to somebody who sees this report and the secret cards of {people}",
        "everything": "to a collector who has all reports"
        + (rest or " and everybody else's answer"),
        "dealer": "to dealer and collector together, who see this report and its secret card",
    }
    if not deals(plan.mechanism):
        who = {"report": "to anybody who sees the perturbed report, whatever else they know"}
    elif m == 0:  # nobody tells anything
        del who["truths"], who["cards"]
    rows = []
    for view, text in who.items():
        open_to_chance = view == "everything"
        epsilon = plan.everything(delta) if open_to_chance else plan.guarantees[view]
        sentence = f"{text[0].upper()}{text[1:]}: {meaning(epsilon)}"
        if open_to_chance and delta:
            sentence += f", except with a chance of {_odds(delta)}"
        rows.append(Adversary(view, text, epsilon, delta * open_to_chance, f"{sentence}."))
    return rows


def deals(mechanism: Mechanism) -> bool:
    """Whether there are cards, and so a dealer."""
    return mechanism.moments.deck is not None


def instructions(mechanism: Mechanism) -> str:
    """What a contributor's device does, in one sentence."""
    if isinstance(mechanism, DRR):
        own = (
            f", with probability {_chance(mechanism.own)} a value it draws at random"
            if mechanism.own
            else ""
        )
        return (
            f"With probability {_chance(mechanism.truth)} the device reports your true answer, "
            f"with probability {_chance(mechanism.dealt)} the answer on a secret card that it was "
            f"dealt{own}; nobody is told which."
        )
    if isinstance(mechanism, JRR):
        return (
            f"The device was dealt a secret card: with a plus card it reports your true answer "
            f"with probability {_chance(mechanism.p + mechanism.s)}, with a minus card with "
            f"probability {_chance(mechanism.p - mechanism.s)}, otherwise another answer; the "
            "collector does not know your card."
        )
    if isinstance(mechanism, Unary):
        cards = {
            "none": "",
            "joint": ", each leaned towards or away from the truth by a secret card",
            "dealt": ", each leaned towards yes or no by a secret card",
        }[mechanism.coupling]
        return (
            f'The device asks itself "is this my answer?" for each of the {mechanism.k} answers '
            f"and reports yes with probability {_chance(mechanism.p)} where it is, "
            f"{_chance(mechanism.q)} where it is not{cards}."
        )
    if isinstance(mechanism, OLH):
        cards = ", leaned by a secret card" if deals(mechanism) else ""
        return (
            f"The device sorts all answers at random into {mechanism.g} groups and reports the "
            f"group of your answer with probability {_chance(mechanism.p)}, otherwise another "
            f"group{cards}."
        )
    p = _chance(float(mechanism.moments.p[0]))
    return (
        f"The device reports your true answer with probability {p}, otherwise another answer "
        "drawn at random; nobody is told which."
    )


def contributor_text(plan: Plan, delta: float = DELTA) -> str:
    """What a contributor should be told before answering."""
    rows = adversaries(plan, delta)
    lines = [
        "Your answer is changed at random on your own device before it is sent.",
        instructions(plan.mechanism),
        rows[0].sentence,
    ]
    if len(rows) > 1:
        lines += [row.sentence for row in rows if row.view in _TOLD]
        lines.append("The dealer alone never sees a report; the collector never sees a card.")
    lines.append("Each survey that asks you again learns as much again: the ε add up.")
    return "\n".join(lines)


def consent(plan: Plan, question: str = "the question", delta: float = DELTA) -> str:
    """A paragraph for an ethics board."""
    request, rows = plan.request, adversaries(plan, delta)
    z = quantile(0.95)
    text = (
        f"{request.n:,} participants answer {question} through {NAMES[plan.mechanism.name]}, a "
        "form of randomized response: each participant's device perturbs the answer at random "
        "before it leaves the device, so that no report tells by itself whether it is true. "
        f"{rows[0].sentence} "
    )
    if len(rows) > 1:
        text += "".join(f"{row.sentence} " for row in rows if row.view in _TOLD)
        text += (
            "The last bound is kept by a cap chosen in advance. "
            if plan.request.dealer_epsilon is not None
            else "No cap on the dealer was set: dealer and collector must not collude. "
        )
    text += (
        "These bounds hold for every participant and every answer, whatever is known of that "
        "participant beforehand. The published result is an unbiased estimate of a share "
        f"with an expected margin of error of ±{_up(100 * z * plan.stderr(), 2)} percentage points "
        "(95%)."
    )
    return text


NAMES = {
    "RR": "randomized response",
    "JRR": "joint randomized response",
    "DRR": "dealt randomized response",
    "SUE": "symmetric unary encoding",
    "OUE": "optimised unary encoding",
    "OLH": "optimised local hashing",
}


def show_epsilon(epsilon: float) -> str:
    """Four digits, rounded up: what is shown is never less than what holds."""
    if math.isinf(epsilon):
        return "unbounded"
    return _up(epsilon, 4)


def _up(number: float, digits: int) -> str:
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))
    return f"{up.normalize():f}"


def _chance(probability: float) -> str:
    """Four digits, or as many as it takes not to look certain."""
    for digits in range(4, 18):
        shown = f"{probability:.{digits}g}"
        if 0 < float(shown) < 1 or probability in (0, 1):
            break
    return shown


def _odds(chance: float) -> str:
    """Rounded up: what is shown is never less than what holds."""
    if chance >= 1e-2:
        return f"{_up(100 * chance, 3)}%"
    down = Context(prec=3, rounding=ROUND_FLOOR)
    return f"1 in {int(down.divide(Decimal(1), Decimal(repr(chance)))):,}"


def _percent(share: float, up: bool = False) -> str:
    percent = 100 * share
    return f"{math.ceil(10 * percent) / 10 if up else percent:g}%"
