"""Frequent strings that nobody listed: words, the search by prefixes, what it tells of people."""

import itertools
import json
import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from jrr import MRR, OUE, RR, HeavyHitters, JrrError, PrefixSearch, SeededRandom, Words
from jrr.estimation.estimates import Estimate
from jrr.mechanisms import hashing
from jrr.telemetry.words import NO_PREFIX, fingerprint, fingerprints, places
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

pytestmark = pytest.mark.heavy

LETTERS = Words("abc", 3)
BITS = Words("01", 4, fixed=True)


# Words ------------------------------------------------------------------------------------------


def all_strings(words: Words) -> set[str]:
    lengths = [words.length] if words.fixed else range(words.length + 1)
    return {"".join(s) for n in lengths for s in itertools.product(words.alphabet, repeat=n)}


@pytest.mark.parametrize("words", [LETTERS, BITS, Words("ab", 1), Words("xyz", 2, fixed=True)])
def test_extensions_are_all_strings_once(words: Words) -> None:
    rows = words.extended(NO_PREFIX, words.length)
    found = words.strings(rows)
    assert sorted(found) == sorted(all_strings(words))
    assert (words.symbols(found) == rows).all()
    assert len(np.unique(fingerprints(rows))) == len(rows)


@pytest.mark.parametrize("words", [LETTERS, BITS])
def test_every_string_is_found_below_its_prefix(words: Words) -> None:
    strings = sorted(all_strings(words))
    rows = words.symbols(strings)
    for length in range(1, words.length + 1):
        prefixes = words.extended(NO_PREFIX, length)
        at = places(prefixes, rows)
        assert (prefixes[at] == rows[:, :length]).all()
        assert (
            places(prefixes[:1], rows)[(rows[:, :length] != prefixes[0]).any(axis=1)] == 1
        ).all()
        longer = words.extended(prefixes[:2], words.length)
        below = set(words.strings(longer))
        expected = [s for s, place in zip(strings, at, strict=True) if place < 2]
        assert below == set(expected)


def test_fingerprints_do_not_change() -> None:
    """Devices and collectors of different versions must agree."""
    rows = Words("0123456789", 6).symbols(["", "7", "401", "123456"])
    assert fingerprints(rows).tolist() == PINNED
    assert fingerprints(rows[:, :2]).tolist() != PINNED


def test_one_device_needs_no_arrays_and_says_the_same() -> None:
    words = Words("0123456789", 9)
    strings = ["", "7", "401", "123456", "999999999"]
    rows = words.symbols(strings)
    assert [words.symbols_of(string) for string in strings] == [row.tobytes() for row in rows]
    for length in range(1, 10):
        alone = [fingerprint(row.tobytes()) for row in rows[:, :length]]
        assert alone == fingerprints(rows[:, :length]).tolist()
    search = HeavyHitters(words, 2.0)
    for seed, string in enumerate(strings * 20):
        (report,) = search.respond([string], SeededRandom(seed)).tolist()
        assert search.respond_one(string, SeededRandom(seed)) == report


PINNED = [651375721, 2018837419, 1615907479, 3059274760]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Words("a", 3), "alphabet"),
        (lambda: Words("aa", 3), "alphabet"),
        (lambda: Words("ab", 0), "length"),
        (lambda: Words("ab", 3, fixed=1), "fixed"),  # type: ignore[arg-type]
        (lambda: LETTERS.symbols(["abca"]), "strings"),
        (lambda: LETTERS.symbols(["x"]), "strings must be of the characters 'abc'"),
        (lambda: LETTERS.symbols([7]), "strings"),  # type: ignore[list-item]
        (lambda: BITS.symbols(["01"]), "strings"),
        (lambda: Words.from_dict({}), "document"),
        (lambda: HeavyHitters(LETTERS, 0.0), "epsilon"),
        (lambda: HeavyHitters("abc", 1.0), "words must be jrr.Words"),  # type: ignore[arg-type]
        (lambda: HeavyHitters(LETTERS, 1.0, levels=(1, 2)), "levels"),
        (lambda: HeavyHitters(LETTERS, 1.0, levels=(2, 1, 3)), "levels"),
        (lambda: HeavyHitters(Words("01", 40, fixed=True), 1.0, levels=(40,)), "levels"),
        (lambda: HeavyHitters(LETTERS, 1.0, keep=0), "keep"),
        (lambda: HeavyHitters(LETTERS, 1.0).find([], 3), "reports must be at least one"),
        (lambda: HeavyHitters(LETTERS, 1.0).find([(0, ["1", 1])]), "report_from_json returned"),  # type: ignore[arg-type]
        (lambda: HeavyHitters(LETTERS, 1.0).find([7], 3), "report_from_json returned"),
        (lambda: HeavyHitters(LETTERS, 1.0, levels=(1, 3)).find([(0, 1, 1)], 3), "reports"),
        (lambda: HeavyHitters(LETTERS, 1.0).find([(9, 1, 1)], 3), "level"),
        (lambda: HeavyHitters(LETTERS, 1.0).find([(0, 1, 99)], 3), "value"),
        (lambda: HeavyHitters(LETTERS, 1.0).find([(0, 1, 1)], 99), "top"),
        (lambda: HeavyHitters.from_dict({}), "document"),
        (lambda: HeavyHitters(LETTERS, 1.0).report_from_json([0]), "document"),
        (lambda: PrefixSearch.start(LETTERS, 4).answered(RR(3, p=1.0).estimate([0])), "estimate"),
    ],
)
def test_refusals_name_the_argument(call: Any, named: str) -> None:
    with pytest.raises(JrrError, match=named):
        call()


# Privacy ----------------------------------------------------------------------------------------


def transcripts(strings: tuple[str, ...], mechanism_p: float) -> dict[Any, float]:
    """Everything that is seen of a search with two levels: all reports, all questions.

    The first two people are the first group, the others the second; plain RR.
    """
    law: defaultdict[Any, float] = defaultdict(float)
    start = PrefixSearch.start(Words("ab", 2, fixed=True), keep=1, levels=(1, 2))

    def answers(search: PrefixSearch, group: tuple[str, ...]) -> Any:
        values = search.values(group)
        lie = (1 - mechanism_p) / (search.k - 1)
        for reports in itertools.product(range(search.k), repeat=len(group)):
            pairs = zip(reports, values, strict=True)
            yield reports, math.prod(mechanism_p if y == x else lie for y, x in pairs)

    for first, chance in answers(start, strings[:2]):
        mechanism = RR(start.k, p=mechanism_p)
        second = start.answered(mechanism.estimate(np.array(first)))
        asked = tuple(second.words.strings(second.prefixes))
        for reports, more in answers(second, strings[2:]):
            law[first, asked, reports] += chance * more
    return law


@pytest.mark.parametrize("person", [0, 1, 2])
def test_each_person_loses_what_one_report_loses(person: int) -> None:
    """All strings, all reports: n = 3, by somebody who has everything and knows the others'."""
    p = 0.6
    laws = {}
    for strings in itertools.product(("aa", "ab", "ba", "bb"), repeat=3):
        laws[strings] = transcripts(strings, p)
        assert sum(laws[strings].values()) == pytest.approx(1)
    worst = 0.0
    for strings, law in laws.items():
        for other in ("aa", "ab", "ba", "bb"):
            changed = (*strings[:person], other, *strings[person + 1 :])
            worst = max(worst, *(abs(math.log(law[s] / laws[changed][s])) for s in law))
    assert worst == pytest.approx(RR(3, p=p).epsilon())


# Estimates --------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_shares_are_unbiased_with_the_stated_error() -> None:
    """Of all who reported, though one group in two told whole strings."""
    search = HeavyHitters(BITS, 2.0, keep=16, levels=(2, 4))
    strings = ["0110"] * 60 + ["1111"] * 30 + ["0001"] * 110
    rng = np.random.default_rng(4)
    shares, errors = [], []
    for _ in range(1_000):
        found = search.find(search.respond(strings, rng), top=16)
        if "0110" in found.strings:
            at = found.strings.index("0110")
            shares.append(found.frequencies[at])
            errors.append(found.stderr[at])
    assert len(shares) > 990  # it is as good as always among those above 0
    sd = math.sqrt(np.mean(np.square(errors)))
    accepts_only(lambda mean: mean_test(shares, mean, sd), 0.3, 0.3 + OFF * sd)
    accepts_only(lambda s: spread_test(shares, s), sd, sd * (1 + OFF))


@pytest.mark.statistical
def test_intervals_hold_for_all_strings_at_once() -> None:
    """95% of lists of everything that was asked about hold; narrowed by 30% far fewer do."""
    search = HeavyHitters(BITS, 3.0, keep=16, levels=(4,))
    strings = ["0110"] * 100 + ["1111"] * 50 + ["0001"] * 150
    truth = {s: c / len(strings) for s, c in Counter(strings).items()}
    rng = np.random.default_rng(6)
    right = wrong = 0
    runs = 300
    for _ in range(runs):
        found = search.find(search.respond(strings, rng), top=16)
        low, high = found.interval()
        middle, half = (low + high) / 2, (high - low) / 2
        shown = np.array([truth.get(s, 0.0) for s in found.strings])
        off = np.abs(shown - middle)
        right += bool((off <= half).all())
        wrong += bool((off <= half * (1 - OFF)).all())
    assert right >= 0.95 * runs - 4 * math.sqrt(0.0475 * runs)
    assert wrong < 0.95 * runs - 4 * math.sqrt(0.0475 * runs)


@pytest.mark.parametrize("with_numba", [True, False])
def test_the_most_frequent_strings_are_found(
    with_numba: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_numba:
        monkeypatch.setattr(hashing, "hash_support", lambda: None)
    words = Words("abcdefghijklmnopqrstuvwxyz", 6)
    rare = ["".join(s) for s in itertools.product("pqrs", repeat=5)]
    strings = ["anna"] * 4_000 + ["bertha"] * 3_000 + ["eva"] * 2_000 + rare
    search = HeavyHitters(words, 3.0, keep=10)
    assert search.levels == (2, 3, 4, 5, 6)
    found = search.find(search.respond(strings, SeededRandom(3)), top=3)
    assert found.strings == ("anna", "bertha", "eva")
    assert json.loads(json.dumps(found.to_dict()))["asked"] > 100
    assert len(found) == 3


def test_strings_that_perhaps_nobody_sent_are_marked() -> None:
    """Most of the top 100 are noise: three strings were sent, and every other one is marked."""
    search = HeavyHitters(Words("0123456789", 4), 3.0, keep=100)
    sent = {"11": 3_000, "6": 2_000, "384": 1_000}
    strings = [string for string, people in sent.items() for _ in range(people)]
    found = search.find(search.respond(strings, np.random.default_rng(5)), top=100)
    marked = found.may_be_absent()
    assert len(marked) == len(found) > 50
    assert [s for s, absent in zip(found.strings, marked, strict=True) if not absent] == list(sent)
    assert found.to_dict()["may_be_absent"] == list(marked)
    assert sum(found.may_be_absent(0.01)) <= sum(marked)


def test_nothing_frequent_is_no_failure() -> None:
    search = HeavyHitters(LETTERS, 0.5, keep=3, levels=(1, 3))
    found = search.find(search.respond(["a", "b"] * 20, SeededRandom(1)), top=3)
    assert 1 <= len(found) <= 3


def test_a_device_alone_and_json() -> None:
    search = HeavyHitters(LETTERS, 2.0, keep=3, levels=(1, 3))
    assert HeavyHitters.from_dict(json.loads(json.dumps(search.to_dict()))) == search
    rng = SeededRandom(5)
    lines = [json.dumps(search.report_to_json(search.respond_one(s, rng))) for s in ["cab"] * 400]
    received = [search.report_from_json(json.loads(line)) for line in lines]
    assert search.find(received, top=1).strings == ("cab",)


# With cards -------------------------------------------------------------------------------------


def masked_search(
    strings: list[str], epsilon: float, announced: bool, seed: int
) -> tuple[PrefixSearch, list[Any]]:
    """Every group is dealt cards of its own; reports of people, one by one."""
    rng = np.random.default_rng(seed)
    words = Words("0123456789", 3)
    search = PrefixSearch.start(words, keep=6, candidates=130)
    groups = np.array_split(rng.permutation(len(strings)), len(search.levels))
    used = []
    while search.found is None:
        group = [strings[i] for i in groups[search.level]]
        m = MRR.for_epsilon(epsilon, n=len(group), announced=announced, k=search.k)
        cards = m.deal(rng)
        tally = m.tally(m.respond(search.values(group), cards, rng))
        if announced:
            tally = m.settle(tally, announced=m.announce(cards, rng=rng))
        search = search.answered(m.estimate(tally), population_size=len(strings))
        used.append(m)
    return search, used


@pytest.mark.parametrize("announced", [True, False])
def test_with_masked_cards(announced: bool) -> None:
    strings = ["11"] * 300 + ["6"] * 200 + ["384"] * 150 + [str(i) for i in range(400, 550)]
    search, used = masked_search(strings, 1.0, announced, seed=2)
    assert search.found is not None
    assert set(search.found.strings[:3]) == {"11", "6", "384"}
    for m in used:
        assert m.epsilon("everything", colluders=m.n - 1) <= 1.0
        assert m.epsilon("dealer") <= 3.0
    low, high = search.found.interval(0.999)
    assert low[0] < 300 / 800 < high[0]
    with pytest.raises(JrrError, match="estimate"):
        search.answered(RR(search.k, p=1.0).estimate([0]))


def test_masked_cards_are_more_accurate() -> None:
    """The standard error of one prefix of 1,024, ε = 1: a quarter of that of OUE."""
    counts = np.zeros(1025)
    counts[0] = 10_000
    errors = [
        math.sqrt(m.variance(counts)[1])
        for m in (MRR.for_epsilon(1.0, n=10_000, announced=True, k=1025), OUE(1025, epsilon=1.0))
    ]
    assert errors[0] < 0.26 * errors[1]


def test_a_search_takes_any_estimate() -> None:
    search = PrefixSearch.start(LETTERS, keep=2, levels=(3,))
    m = OUE(search.k, epsilon=30.0)
    estimate = m.estimate(m.respond(search.values(["abc"] * 30 + ["b"] * 10), rng=SeededRandom(1)))
    assert isinstance(estimate, Estimate)
    done = search.answered(estimate)
    assert done.found is not None
    assert done.found.strings == ("abc", "b")
