"""Groups as a report names them, in its language."""

import pytest

from jrr.client.report import group_words

WORDS = {"office": "Büro", "workshop": "Werkstatt", "elsewhere": "anderswo"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("office", "Büro"),
        ("workshop + elsewhere", "Werkstatt + anderswo"),
        ("office + workshop + elsewhere", "Büro + Werkstatt + anderswo"),
        ("office + nowhere", "office + nowhere"),  # no group of these values
    ],
)
def test_every_value_of_a_merged_group_is_translated(name: str, shown: str) -> None:
    assert group_words(name, tuple(WORDS), WORDS) == shown


def test_a_value_that_looks_like_a_merged_group_stays_one() -> None:
    words = {"a": "A", "b": "B", "a + b": "beide"}
    assert group_words("a + b", tuple(words), words) == "beide"
