"""Golden vectors of telemetry: (what is asked, what a device holds, words) -> a line of JSON.

    python -m tests.golden.make_telemetry

writes telemetry.json beside this file. `words` are all the words that a report takes, in the order
in which they are drawn, as decimal strings; `report` is what a device sends. Of rounds, `memory` is
what the device keeps, and `remembered` the words that made it. `dealt` is a card of a level's
group.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jrr
from tests.golden.make_encodings import Recorder

PATH = Path(__file__).with_name("telemetry.json")
LETTERS = jrr.Words("abcé🙂", 6, cut=True)
DIGITS = jrr.Words("0123456789", 4, fixed=True)
DAILY = [
    jrr.Longitudinal(jrr.RR(k=3, p=0.6), jrr.RR(k=3, p=0.8)),
    jrr.Longitudinal(jrr.OUE(k=5, epsilon=1.0), jrr.RR(k=5, p=0.7)),
    jrr.Longitudinal(jrr.RR(p=0.75)),
    jrr.Longitudinal(jrr.DRR(40, truth=0.3), jrr.RR(p=0.9)),
]
SEARCHES = [
    jrr.HeavyHitters(LETTERS, 2.0, keep=10, levels=(2, 5, 6)),
    jrr.HeavyHitters(DIGITS, 0.5, keep=3, levels=(1, 4)),
]
TREES = [
    jrr.RangeTree.for_epsilon(0, 10, bins=64, epsilon=1.0),
    jrr.RangeTree.for_epsilon(-1.1, 0.7, bins=27, epsilon=3.0, branching=3, clip=True),
    jrr.RangeTree.for_epsilon(0, 1, bins=16, epsilon=1.0, cards="masked", n=80),
]
MEANS = [
    jrr.Numbers(0, 24, jrr.RR(p=0.75), clip=True),
    jrr.Numbers(-1.5, 7.25, jrr.Piecewise(2.0, steps=8)),
    jrr.Numbers(0, 100, jrr.DRR(40, truth=0.3)),
]
HELD = {
    0: ["", "a", "cab", "é🙂", "abcabcabc", "🙂🙂🙂🙂🙂🙂"],
    1: ["0000", "4711", "9999"],
}


def words(seed: int) -> Recorder:
    """A source of so many random words as are asked for, which keeps them."""
    random = jrr.SeededRandom(seed)
    return Recorder(iter(random.word, None))


def rounds(daily: jrr.Longitudinal) -> Iterator[dict[str, Any]]:
    """Every value, with and without a card."""
    for seed in range(3):
        source = words(seed)
        memory = daily.remember_one(source)
        remembered, source.drawn = source.drawn, []
        cards = [None] if not daily.deals else [None, *sorted(set(daily.deal().tolist()))]
        for value in range(daily.k):
            for card in cards:
                source.drawn = []
                report = daily.report_to_json(daily.respond_one(value, memory, card, source))
                yield {
                    **{"remembered": remembered, "memory": list(memory), "held": value},
                    **{"card": card, "words": source.drawn, "report": report},
                }


def strings(at: int, search: jrr.HeavyHitters) -> Iterator[dict[str, Any]]:
    """Every string at several levels."""
    for seed in range(6):
        for string in HELD[at]:
            source = words(seed)
            report = search.report_to_json(search.respond_one(string, source))
            yield {"held": string, "words": source.drawn, "report": report}


def numbers(tree: jrr.RangeTree) -> Iterator[dict[str, Any]]:
    """Numbers at edges and between them, and with cards of a level."""
    edges = tree.edges.tolist()
    for seed in range(3):
        for number in (*edges[:3], *edges[-3:], edges[5], (edges[0] + edges[-1]) / 3):
            source = words(seed)
            report = tree.report_to_json(tree.respond_one(number, source))
            yield {"held": number, "words": source.drawn, "report": report}
    for level, mechanism in enumerate(tree.mechanisms):
        if mechanism.deals:
            source = words(level)
            card = [0] * (mechanism.k - 1) + [2]
            assert mechanism.card_format is not None
            held = mechanism.card_format.check_card(card)
            (value,) = tree.values([edges[1]], level).tolist()
            told = mechanism.respond_one(value, held, source)
            report = tree.report_to_json((level, told))
            dealt = {"level": level, "card": card}
            yield {"held": edges[1], "dealt": dealt, "words": source.drawn, "report": report}


def means(asked: jrr.Numbers) -> Iterator[dict[str, Any]]:
    """Both ends, numbers between them, and beyond where they are clipped."""
    low, width = asked.low, asked.high - asked.low
    beyond = [low - 3, asked.high + 0.5] if asked.clip else []
    for seed in range(4):
        for number in (low, asked.high, low + width / 3, low + 0.875 * width, *beyond):
            for card in (None, 0, 1) if asked.deals else (None,):
                source = words(seed)
                report = asked.report_to_json(asked.respond_one(number, card, source))
                yield {"held": number, "card": card, "words": source.drawn, "report": report}


def document() -> list[dict[str, Any]]:
    """Everything, as telemetry.json holds it."""
    cases = [(daily, rounds(daily)) for daily in DAILY]
    more = [(search, strings(at, search)) for at, search in enumerate(SEARCHES)]
    trees = [(tree, numbers(tree)) for tree in TREES]
    some = [(asked, means(asked)) for asked in MEANS]
    return [
        {"asked": asked.to_dict(), "vectors": list(vectors)}  # type: ignore[attr-defined]
        for asked, vectors in (*cases, *more, *trees, *some)
    ]


def text() -> str:
    """The document with one line per vector, so that a change can be read."""
    cases = (
        '{"asked": '
        + json.dumps(case["asked"])
        + ', "vectors": [\n'
        + ",\n".join(json.dumps(vector) for vector in case["vectors"])
        + "\n]}"
        for case in document()
    )
    return "[\n" + ",\n".join(cases) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text())
