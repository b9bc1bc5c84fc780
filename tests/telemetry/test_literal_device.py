"""docs/protocol.md suffices for a device in another language: one written from it alone."""

import json
import re
from pathlib import Path

import pytest

from tests.telemetry import literal_device

GOLDEN = Path(__file__).parents[1] / "golden" / "telemetry.json"
CASES = json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["asked"]["mechanism"]))
def test_it_sends_what_the_golden_vectors_say(case: dict) -> None:  # type: ignore[type-arg]
    for vector in case["vectors"]:
        words = iter([int(word) for word in vector["words"]])
        assert literal_device.line(case["asked"], vector, words.__next__) == vector["report"]
        assert next(words, None) is None  # as many as the library draws
        if "remembered" in vector:
            words = iter([int(word) for word in vector["remembered"]])
            assert literal_device.remembered(case["asked"], words.__next__) == vector["memory"]
            assert next(words, None) is None


def test_it_knows_nothing_of_the_library() -> None:
    text = Path(literal_device.__file__).read_text("utf-8")
    assert not re.search(r"^\s*(import|from) (jrr|tests|numpy)", text, re.MULTILINE)
