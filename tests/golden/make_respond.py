"""Golden vectors of the mapping (mechanism, value, card, word) -> report.

    python -m tests.golden.make_respond

writes respond.json beside this file. Words lie at and next to every threshold, at both ends
of the range, and at random; they are decimal strings, because not every JSON reader holds 64
bits. `card` is null for a contributor without a card.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jrr

PATH = Path(__file__).with_name("respond.json")
SCALE = 2**63
RANDOM_WORDS = 4

Mechanism = jrr.RR | jrr.JRR | jrr.DRR | jrr.MRR

MECHANISMS: list[jrr.RR | jrr.JRR | jrr.DRR] = [
    jrr.RR(k=2, p=0.75),
    jrr.RR(k=2, epsilon=0.1),
    jrr.RR(k=2, p=1.0),
    jrr.RR(k=3, p=0.4),
    jrr.RR(k=3, epsilon=1.0),
    jrr.RR(k=64, epsilon=1.0),
    jrr.JRR(n=10, p=0.6, s=0.25),
    jrr.JRR(n=10_000, p=0.52, rho=-0.9),
    jrr.JRR(n=11, p=0.55, s=0.45),  # s = 1 - p: a plus card always tells the truth
    jrr.JRR(n=10, p=0.7, s=0.0),
    jrr.JRR(n=10, p=0.5, s=0.2, k=5),
    jrr.JRR(n=10, p=0.7, s=1 - 0.7, k=5),
    jrr.JRR(n=11, p=0.3, s=0.3, k=5),  # s = p: a minus card always lies
    jrr.JRR(n=10, p=0.3, s=0.3, k=4),  # the same where 2^63 does not split into equal parts
    jrr.DRR(n=10, truth=0.3),
    jrr.DRR(n=10_000, truth=0.05, own=0.02),
    jrr.DRR(n=7, truth=0.1, own=0.2),
    jrr.DRR(n=10, truth=0.25, own=0.1, deck=[7, 3]),
    jrr.DRR(n=10, truth=0.25, own=0.75),  # no room for the card
    jrr.DRR(n=12, truth=0.2, k=4),
    jrr.DRR(n=10, truth=0.2, own=0.3, k=4),
    jrr.DRR(n=10, truth=1 / 3, own=0.1, k=4, deck=[5, 0, 3, 2]),
    jrr.DRR(n=10, truth=1 / 3, k=3, deck=[0, 9, 1]),
    # Small probabilities have digits below 2^-63: they show which way each is rounded.
    jrr.JRR(n=10, p=0.6, s=1e-5),
    jrr.JRR(n=10, p=0.5, s=1e-5, k=4),
    jrr.DRR(n=10, truth=1e-5, own=3e-6),
    jrr.DRR(n=10, truth=3e-5, own=1e-5, k=3),
    # Uneven decks; the first is a group of four with exactly one liar.
    jrr.JRR(n=12, p=0.75, s=0.5, plus=9),
    jrr.JRR(n=10, p=0.6, s=0.25, plus=7),
    jrr.JRR(n=10, p=0.6, rho=-0.35 / 0.9, plus=7),
    jrr.JRR(n=10, p=0.6, s=jrr.JRR(n=10, p=0.6, s=0.0, plus=7).most_lean, plus=7),
    jrr.JRR(n=11, p=0.55, s=1e-5, plus=3),
    jrr.JRR(n=10, p=0.5, s=0.3, k=5, plus=4),
]
MASKED = [  # a whole number is added to the coin's answer, and the sum clamped
    jrr.MRR(10, own=3.0, card_rate=0.8, total_rate=0.3),
    jrr.MRR(10, p=0.9, card_rate=7.0, announced_rate=0.3),
]


def thresholds(mechanism: Mechanism) -> set[int]:
    """The numbers below 2^63 where some report may change."""
    if isinstance(mechanism, jrr.DRR):
        law = mechanism.law
        own = (law.own // mechanism.k * part for part in range(mechanism.k + 1))
        drawn = itertools.accumulate(mechanism.deck)
        dealt = (law.own + law.dealt * cards // mechanism.n for cards in drawn)
        return {0, SCALE, *own, *dealt}
    if isinstance(mechanism, jrr.MRR):
        lies = [mechanism.lie_words, jrr.RR(p=mechanism.alone).lie_words]
    elif isinstance(mechanism, jrr.RR):
        lies = [mechanism.lie_words]
    else:
        lies = [mechanism.law.lie_plus, mechanism.law.lie_minus, mechanism.law.lie_blank]
    steps = ((lie // (mechanism.k - 1), part) for lie in lies for part in range(mechanism.k))
    return {0, SCALE, *(step * part for step, part in steps)}


def words(mechanism: Mechanism) -> list[int]:
    """Random words, and the last before and the first two at every threshold."""
    near = (2 * u + step for u in thresholds(mechanism) for step in (-1, 0, 1))
    random = jrr.SeededRandom([*MECHANISMS, *MASKED].index(mechanism)).words(RANDOM_WORDS).tolist()
    return sorted({word for word in (*near, *random) if 0 <= word < 2**64})


def cards(mechanism: Mechanism) -> list[int | None]:
    """Every card, and none."""
    if isinstance(mechanism, jrr.DRR):
        return [None, *range(mechanism.k)]
    if isinstance(mechanism, jrr.MRR):
        return [None, 0, 3, -2, mechanism.limit + 1, -mechanism.limit - 1]
    return [None] if isinstance(mechanism, jrr.RR) else [None, 1, -1, 0]


def vectors(mechanism: Mechanism) -> Iterator[dict[str, Any]]:
    """The reports of one mechanism."""
    values = (0, 1) if mechanism.k == 2 else (1, mechanism.k - 1)
    for word, value, card in itertools.product(words(mechanism), values, cards(mechanism)):
        report = mechanism.report_from_word(value, card, word)
        yield {"word": str(word), "value": value, "card": card, "report": report}


def document() -> list[dict[str, Any]]:
    """Everything, as respond.json holds it."""
    return [
        {"mechanism": mechanism.to_dict(), "vectors": list(vectors(mechanism))}
        for mechanism in (*MECHANISMS, *MASKED)
    ]


def text() -> str:
    """The document with one line per vector, so that a change can be read."""
    cases = (
        '{"mechanism": '
        + json.dumps(case["mechanism"])
        + ', "vectors": [\n'
        + ",\n".join(json.dumps(vector) for vector in case["vectors"])
        + "\n]}"
        for case in document()
    )
    return "[\n" + ",\n".join(cases) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text())
