"""What people read before the first question is short and easy, in every variant and language."""

import re
from pathlib import Path

import pytest

from tools.reading_ease import HARDEST, MOST_WORDS, VARIANTS, ease, first_screen, syllables

DOCUMENT = Path(__file__).parents[2] / "docs" / "answer-page.md"
# As texts were before: too hard, which the formulas must notice.
HARD = {
    "en": "The one number: whoever thinks it 10% likely that you have a certain answer can come to "
    "think it at most 45.1% likely, with all your answers together and whatever else they know, "
    "as long as they do not know your cards.",
    "de": "Ihr eigenes Gerät verändert Ihre Antworten auf die so gekennzeichneten Fragen zufällig, "
    "bevor irgendetwas gesendet wird; die anderen werden gesendet, wie sie sind.",
}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_variant(name: str, language: str) -> None:
    found = ease(first_screen(VARIANTS[name], language), language)
    assert found.words <= MOST_WORDS
    assert found.grade <= HARDEST


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_hard_text_is_found_hard(language: str) -> None:
    assert ease(HARD[language], language).grade > HARDEST + 2


@pytest.mark.parametrize(
    ("word", "language", "count"),
    [
        ("changes", "en", 2),
        ("device", "en", 2),
        ("people", "en", 2),
        ("asked", "en", 1),
        ("protected", "en", 3),
        ("100", "en", 3),
        ("geheimnis", "de", 3),
        ("Antworten", "de", 3),
        ("geschützten", "de", 3),
        ("sie", "de", 1),
    ],
)
def test_syllables(word: str, language: str, count: int) -> None:
    assert syllables(word, language) == count


def test_the_formulas() -> None:
    """By hand: six words of one syllable in one sentence; four words, of 3, 1, 2 and 1."""
    english = 0.39 * 6 + 11.8 - 15.59
    assert ease("The cat sat on the mat.", "en").grade == pytest.approx(english)
    # "Antworten" is long and has three syllables; "gut" and "sind" have one.
    german = 0.1935 * 25 + 0.1672 * 4 + 0.1297 * 25 - 0.0327 * 50 - 0.875
    assert ease("Antworten sind immer gut.", "de").grade == pytest.approx(german)


def test_the_document_tells_the_hardest_variant() -> None:
    told = re.findall(r"^\| (English|German) \| (\d+) \| ([\d.]+) \|$", DOCUMENT.read_text(), re.M)
    found = []
    for name, language in (("English", "en"), ("German", "de")):
        scores = [ease(first_screen(facts, language), language) for facts in VARIANTS.values()]
        most = max(score.words for score in scores)
        found.append((name, str(most), f"{max(score.grade for score in scores):.1f}"))
    assert told == found
