"""Golden decks of masks: the cards that given words make, on every machine.

    python -m tests.golden.make_masked_decks

writes masked_decks.json beside this file: parameters, the seed of the words, the cards.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jrr

PATH = Path(__file__).with_name("masked_decks.json")
MECHANISMS = [
    jrr.MRR(12, own=3.0, card_rate=0.8, total_rate=0.3),
    jrr.MRR(12, own=3.0, card_rate=0.01, total_rate=0.3),
    jrr.MRR(40, own=2.1, card_rate=0.05, total_rate=0.08),
    jrr.MRR(40, own=2.1, card_rate=2.5, total_rate=3.0),
    jrr.MRR(12, own=3.0, card_rate=0.03, announced_rate=1.0),
    jrr.MRR(6, own=3.0, card_rate=0.3, total_rate=0.8, k=3),
    jrr.MRR(6, own=3.0, card_rate=0.3, announced_rate=0.8, k=4, coin="oue"),
]


def document() -> list[dict[str, Any]]:
    """Everything, as masked_decks.json holds it."""
    return [
        {
            "mechanism": mechanism.to_dict(),
            "seed": seed,
            "cards": np.asarray(mechanism.deal(jrr.SeededRandom(seed))).tolist(),
        }
        for mechanism in MECHANISMS
        for seed in range(3)
    ]


def text() -> str:
    """The document with one line per deck, so that a change can be read."""
    return "[\n" + ",\n".join(json.dumps(deck) for deck in document()) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text())
