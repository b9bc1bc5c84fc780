"""Golden vectors of subset selection: (mechanism, value, words) -> report.

    python -m tests.golden.make_subsets

writes subsets.json beside this file. `words` are all the words that a report takes, in the order in
which they are drawn, as decimal strings; a report is its packed bytes in hexadecimal. One vector
has two equal words, after which all of them are drawn again.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jrr
from tests.golden.make_encodings import Recorder

PATH = Path(__file__).with_name("subsets.json")
LAST = 2**64 - 1
MECHANISMS = [
    jrr.SS(2, d=1, p=0.75),
    jrr.SS(3, d=2, p=0.8),
    jrr.SS(8, d=2, p=0.475),
    jrr.SS(10, d=3, p=1.0),  # the true value is always in
    jrr.SS(64, d=17, p=0.5),
    jrr.SS(17, d=16, p=0.95),
]


def vectors(mechanism: jrr.SS, seed: int) -> Iterator[dict[str, Any]]:
    """Words around the threshold, at both ends, and random."""
    random = jrr.SeededRandom(seed)
    edge = 2 * mechanism.truth_words
    firsts = [word for word in (0, edge - 1, edge, LAST, random.word()) if 0 <= word <= LAST]
    for first in firsts:
        for value in sorted({0, mechanism.k // 2, mechanism.k - 1}):
            keys = [random.word() for _ in range(mechanism.k)]
            yield vector(mechanism, value, [first, *keys])
    keys = [random.word() for _ in range(mechanism.k)]
    tied = [keys[-1], *keys[1:]]
    yield vector(mechanism, 0, [0, *tied, *keys])


def vector(mechanism: jrr.SS, value: int, words: list[int]) -> dict[str, Any]:
    """One report."""
    source = Recorder(iter(words))
    report = mechanism.respond_one(value, None, source)
    return {"words": source.drawn, "value": value, "report": report.hex()}


def document() -> list[dict[str, Any]]:
    """Everything, as subsets.json holds it."""
    return [
        {"mechanism": mechanism.to_dict(), "vectors": list(vectors(mechanism, seed))}
        for seed, mechanism in enumerate(MECHANISMS)
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
