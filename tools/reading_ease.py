"""How easily what people read before the first question is understood, in school grades.

    python tools/reading_ease.py       # every variant of the text, in both languages

English is measured by the grade of Flesch and Kincaid (1975): 0.39 words per sentence + 11.8
syllables per word - 15.59. German is measured by the first Wiener Sachtextformel (Bamberger and
Vanecek, 1984): 0.1935 MS + 0.1672 SL + 0.1297 IW - 0.0327 ES - 0.875, where MS, IW and ES are the
hundredths of words with three or more syllables, with more than six letters and with one
syllable, and SL is the number of words per sentence. Both name the school grade whose pupils
understand a text; twelve-year-olds are in grade 6.

What is measured is all that stands on the first screen but the survey's own title and the buttons:
who asks, whom to ask, which answers are changed, what can be found out, and the name of the fold.
Syllables are counted by groups of vowels, and a number has as many as it has digits. A line that
ends without a full stop, such as a heading, is a sentence of its own.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from jrr.privacy.cost_table import CostRow, CostTable, cost_row, same_in_every_wave
from jrr.survey.consent import protection

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "clients" / "js" / "texts"
MOST_WORDS = 90  # before the first question
HARDEST = 6.0  # grade
EXAMPLE = {"who": "The University of Example", "collector": "survey.example", "count": "8"}
CONTACT = "study@university.example"
_ALONE = cost_row(1.0, 0.0, "report", None)
_CARDS = cost_row(1.0, 0.0, "everything", 3.0)
_AT_A_DELTA = cost_row(1.0, 1e-9, "everything", 3.0)
_MUCH = cost_row(9.0, 0.0, "everything", 11.0)


def _facts(row: CostRow, *, some_open: bool = False, waves: int = 1) -> tuple[CostTable, bool]:
    return same_in_every_wave(row, row, questions=1, waves=waves), some_open


VARIANTS = {
    "no cards": _facts(_ALONE),
    "no cards, some open": _facts(_ALONE, some_open=True),
    "cards": _facts(_CARDS),
    "cards, some open": _facts(_CARDS, some_open=True),
    "cards, some open, 3 waves": _facts(_CARDS, some_open=True, waves=3),
    "cards, holds at a δ": _facts(_AT_A_DELTA),
    "hardly hidden": _facts(_MUCH, some_open=True),
}


_WORD = re.compile(r"[\w@][\w@.'’-]*\w|\w")
_SENTENCE_END = re.compile(r"[.!?:…](?=\s|$)|\n")
_GERMAN_VOWELS = re.compile(r"aa|ai|au|äu|ee|ei|eu|ie|oo|[aeiouyäöü]")
_ENGLISH_VOWELS = re.compile(r"[aeiouy]+")


@dataclass(frozen=True)
class Ease:
    """How long and how hard a text is."""

    words: int
    grade: float


def words_of(text: str) -> list[str]:
    """The words and numbers of a text."""
    return _WORD.findall(text)


def syllables(word: str, language: str) -> int:
    """How many syllables a word has, by its groups of vowels."""
    if word.isdigit():
        return len(word)
    small = word.lower()
    if language == "de":
        return max(1, len(_GERMAN_VOWELS.findall(small)))
    count = len(_ENGLISH_VOWELS.findall(small))
    silent_e = small.endswith("e") and not re.search(r"[^aeiouy]le$", small)
    silent_ed = re.search(r"[^aeiouytd]ed$", small)
    silent_es = re.search(r"[^aeiouyscxzgh]es$", small)
    return max(1, count - bool(silent_e or silent_ed or silent_es))


def ease(text: str, language: str) -> Ease:
    """Words and grade of a text.

    Args:
        text: What is read; every line ends a sentence.
        language: "en" or "de".
    """
    words = words_of(text)
    sentences = [part for part in _SENTENCE_END.split(text) if words_of(part)]
    counts = [syllables(word, language) for word in words]
    length = len(words) / len(sentences)
    if language == "en":
        grade = 0.39 * length + 11.8 * sum(counts) / len(words) - 15.59
        return Ease(len(words), grade)

    def hundredths(hits: int) -> float:
        return 100 * hits / len(words)

    many = hundredths(sum(count >= 3 for count in counts))
    long = hundredths(sum(len(word) > 6 for word in words))
    single = hundredths(sum(count == 1 for count in counts))
    grade = 0.1935 * many + 0.1672 * length + 0.1297 * long - 0.0327 * single - 0.875
    return Ease(len(words), grade)


def page_text(key: str, language: str) -> str:
    """A text of the answer page."""
    texts = (TEXTS / f"{language}.js").read_text("utf-8")
    (found,) = re.findall(rf'^  {key}: "(.*)",$', texts, flags=re.MULTILINE)
    return str(found)


def first_screen(facts: tuple[CostTable, bool], language: str) -> str:
    """What is read before the first question of a survey."""
    who = page_text("survey_who", language).format(**EXAMPLE)
    where = page_text("goes_to", language).format(**EXAMPLE)
    contact = page_text("contact", language).format(contact=CONTACT)
    fold = page_text("details", language)
    return "\n".join([f"{who} {where}", contact, protection(*facts, language), fold])


def main() -> None:
    """A table of all variants."""
    print(f"{'':26} English: words, grade   German: words, grade")
    for name, facts in VARIANTS.items():
        found = [ease(first_screen(facts, language), language) for language in ("en", "de")]
        print(f"{name:26}" + "".join(f"{one.words:14}{one.grade:9.1f}" for one in found))


if __name__ == "__main__":
    main()
