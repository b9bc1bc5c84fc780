"""Texts by language: the same keys and placeholders in each, and none is empty."""

import re
import string

import pytest

from jrr.reporting.catalogue import FALLBACK, known_languages, text, texts

OTHERS = [language for language in known_languages() if language != FALLBACK]


def placeholders(words: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(words) if name is not None}


def test_english_german_and_french_are_there() -> None:
    assert known_languages()[0] == FALLBACK == "en"
    assert {"de", "fr"} <= set(OTHERS)


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_keys_in_the_same_order(language: str) -> None:
    assert list(texts(language)) == list(texts(FALLBACK))


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_has_the_same_placeholders(language: str) -> None:
    for key, words in texts(FALLBACK).items():
        assert placeholders(texts(language)[key]) == placeholders(words), key


@pytest.mark.parametrize("language", known_languages())
def test_no_text_is_empty_or_untrimmed(language: str) -> None:
    # One stands between two names, the other between the digits of a number.
    spaced = {"report.method.and", "number.thousands"}
    for key, words in texts(language).items():
        assert words, key
        assert key in spaced or words == words.strip(), key
        assert "{}" not in words, key


@pytest.mark.parametrize("language", OTHERS)
def test_sentences_are_translated(language: str) -> None:
    same = [
        key
        for key, words in texts(language).items()
        if words == texts(FALLBACK)[key] and len(re.findall(r"[a-z]{3,}", words)) > 3
    ]
    assert not same


def test_a_language_that_is_not_there_is_told_in_english() -> None:
    assert text("xx", "yes") == "yes"
    assert text("de-AT", "yes") == "ja"
