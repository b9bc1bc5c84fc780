"""Reports of the encodings from given words: Python, the stored vectors and JavaScript agree."""

import itertools
import json
import shutil
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr._base.randomness import Words
from tests.golden import make_encodings, make_subsets

GOLDEN: list[dict[str, Any]] = json.loads(make_encodings.PATH.read_text())
UNARY = [case for case in GOLDEN if case["mechanism"]["mechanism"] != "OLH"]
HASHED = [case for case in GOLDEN if case["mechanism"]["mechanism"] == "OLH"]
ROWS = 4096  # reports whose bytes are drawn before their tie words


def named(case: dict[str, Any]) -> str:
    return ",".join(str(value) for value in case["mechanism"].values())


every_case = pytest.mark.parametrize("case", GOLDEN, ids=named)
every_unary = pytest.mark.parametrize("case", UNARY, ids=named)
every_hashed = pytest.mark.parametrize("case", HASHED, ids=named)


class Replay:
    """A source of given words."""

    def __init__(self, words: Sequence[int | str]) -> None:
        self.tape = [int(word) for word in words]
        self.at = 0

    def words(self, count: int) -> Words:
        taken = self.tape[self.at : self.at + count]
        assert len(taken) == count, "more words were drawn than there are"
        self.at += count
        return np.array(taken, np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])

    def used_up(self) -> bool:
        return self.at == len(self.tape)


def card_of(vector: dict[str, Any]) -> Any:
    """The card as `respond_one` takes it."""
    card = vector["card"]
    return bytes.fromhex(card) if isinstance(card, str) else card


def report_of(report: Any) -> Any:
    """A report of `respond_one` or `respond` as the vectors write it."""
    if isinstance(report, bytes | np.ndarray):
        return bytes(report).hex()
    seed, value = report
    return {"seed": str(seed), "value": int(value)}


def cards_of(vectors: Sequence[dict[str, Any]]) -> Any:
    """The cards of some vectors, all with a card or all without, as `respond` takes them."""
    cards = [card_of(vector) for vector in vectors]
    if cards[0] is None:
        return None
    if isinstance(cards[0], bytes):
        return np.frombuffer(b"".join(cards), np.uint8).reshape(len(cards), -1)
    return cards


def by_card(case: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The vectors without a card, and those with one where the mechanism deals any."""
    without = [vector for vector in case["vectors"] if vector["card"] is None]
    carded = [vector for vector in case["vectors"] if vector["card"] is not None]
    assert without
    assert bool(carded) == (case["mechanism"]["n"] is not None)
    return [without, carded] if carded else [without]


class TestGoldenVectors:
    def test_they_are_up_to_date(self) -> None:
        assert make_encodings.PATH.read_text() == make_encodings.text()

    @every_case
    def test_one_report(self, case: dict[str, Any]) -> None:
        mechanism = jrr.from_dict(case["mechanism"])
        for vector in case["vectors"]:
            tape = Replay(vector["words"])
            report = mechanism.respond_one(vector["value"], card_of(vector), tape)
            assert report_of(report) == vector["report"], vector
            assert tape.used_up(), vector

    @every_case
    def test_an_array_of_one_report(self, case: dict[str, Any]) -> None:
        mechanism = jrr.from_dict(case["mechanism"])
        for vector in case["vectors"]:
            tape = Replay(vector["words"])
            (report,) = mechanism.respond([vector["value"]], cards_of([vector]), tape)
            assert report_of(report) == vector["report"], vector
            assert tape.used_up(), vector

    @every_unary
    def test_many_unary_reports(self, case: dict[str, Any]) -> None:
        """Bytes of up to 4096 reports first, then their tie words row by row."""
        mechanism = jrr.from_dict(case["mechanism"])
        width = -(-mechanism.k // 8)
        for some in by_card(case):
            vectors = list(itertools.islice(itertools.cycle(some), ROWS + 7))
            words: list[str] = []
            for block in (vectors[:ROWS], vectors[ROWS:]):
                words.extend(word for vector in block for word in vector["words"][:width])
                words.extend(word for vector in block for word in vector["words"][width:])
            self.check(mechanism, vectors, words)

    @every_hashed
    def test_many_hashed_reports(self, case: dict[str, Any]) -> None:
        """All seeds first."""
        mechanism = jrr.from_dict(case["mechanism"])
        for vectors in by_card(case):
            words = [vector["words"][at] for at in (0, 1) for vector in vectors]
            self.check(mechanism, vectors, words)

    @staticmethod
    def check(mechanism: Any, vectors: list[dict[str, Any]], words: list[str]) -> None:
        tape = Replay(words)
        values = [vector["value"] for vector in vectors]
        reports = mechanism.respond(values, cards_of(vectors), tape)
        assert [report_of(report) for report in reports] == [v["report"] for v in vectors]
        assert tape.used_up()

    def test_every_kind_is_there(self) -> None:
        kinds = {(case["mechanism"]["mechanism"], case["mechanism"]["coupling"]) for case in GOLDEN}
        couplings = ("none", "joint", "dealt")
        encodings = set(itertools.product(("SUE", "OUE"), couplings))
        assert kinds == encodings | {("OLH", "none"), ("OLH", "joint")}
        assert {8, 10, 64} <= {case["mechanism"]["k"] for case in UNARY}
        coupled = [case for case in UNARY if case["mechanism"]["n"] is not None]
        assert {case["mechanism"]["n"] % 2 for case in coupled} == {0, 1}
        for case in coupled:
            assert {vector["card"] is None for vector in case["vectors"]} == {True, False}
        signs = {v["card"] for case in HASHED for v in case["vectors"]}
        assert signs == {None, 1, -1, 0}
        seeds = {v["words"][0] for case in HASHED for v in case["vectors"]}
        values = {v["value"] for case in HASHED for v in case["vectors"]}
        assert {"0", str(2**64 - 1), str(2**32 - 1), str(2**32)} <= seeds
        assert {0, 2**32 - 1} <= values
        assert make_encodings.PATH.stat().st_size < 200_000

    @every_unary
    def test_every_threshold_is_met_from_both_sides(self, case: dict[str, Any]) -> None:
        """A number on either side of it, next to it where it is neither 0 nor 2^63."""
        seen: dict[int, set[int]] = {}
        m = case["mechanism"]
        for vector in case["vectors"]:
            words = [int(word) for word in vector["words"]]
            tape = iter(words[-(-m["k"] // 8) :])
            card = card_of(vector)
            for v in range(m["k"]):
                sign = 0 if card is None else 2 * (card[v // 8] >> v % 8 & 1) - 1
                ones = ones_of(m, v == vector["value"], sign)
                byte = words[v // 8] >> 8 * (v % 8) & 255
                u = byte << 55
                if byte == ones >> 55:
                    u |= next(tape) >> 9
                seen.setdefault(ones, set()).add(u)
        assert len(seen) == (2 if m["n"] is None else len(all_ones(m)))
        for ones, numbers in seen.items():
            if ones < 2**63:
                assert ones in numbers
            if ones & (2**55 - 1):  # else the number before has another byte
                assert ones - 1 in numbers
            elif ones:
                assert (ones >> 55) - 1 in {u >> 55 for u in numbers}


def ones_of(mechanism: dict[str, Any], held: bool, sign: int) -> int:
    """The documented thresholds: exact sums, down for the holder, up for everybody else."""
    q, s = mechanism["q"], Fraction(mechanism["s"])
    if held:
        p = 1 - q if mechanism["mechanism"] == "SUE" else 0.5
        return ((Fraction(p) + sign * s) * 2**63).__floor__()
    toward = 1 if mechanism["coupling"] == "dealt" else -1
    return ((Fraction(q) + toward * sign * s) * 2**63).__ceil__()


def all_ones(mechanism: dict[str, Any]) -> set[int]:
    return {ones_of(mechanism, held, sign) for held in (False, True) for sign in (-1, 0, 1)}


class TestJavaScript:
    """The JavaScript client, written from docs/protocol.md."""

    @staticmethod
    def run(path: Path) -> "subprocess.CompletedProcess[str]":
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed: the JavaScript encodings are not checked")
        script = make_encodings.PATH.with_name("encodings.mjs")
        return subprocess.run(
            [node, str(script), str(path)], capture_output=True, text=True, check=False
        )

    def test_it_agrees(self) -> None:
        done = self.run(make_encodings.PATH)
        assert done.returncode == 0, done.stderr
        assert f"{sum(len(case['vectors']) for case in GOLDEN)} vectors, 0 wrong" in done.stdout

    def test_it_agrees_on_subsets(self) -> None:
        done = self.run(make_subsets.PATH)
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("cases", [UNARY, HASHED], ids=["unary", "hashed"])
    def test_it_notices_a_wrong_report(self, cases: list[dict[str, Any]], tmp_path: Path) -> None:
        case = json.loads(json.dumps(cases[0]))
        report = case["vectors"][0]["report"]
        if isinstance(report, str):
            case["vectors"][0]["report"] = f"{int(report, 16) ^ 1:02x}"
        else:
            report["value"] ^= 1
        wrong = tmp_path / "wrong.json"
        wrong.write_text(json.dumps([case]))
        done = self.run(wrong)
        assert done.returncode == 1
        assert f"{len(case['vectors'])} vectors, 1 wrong" in done.stdout

    @pytest.mark.parametrize("extra", [True, False], ids=["too many", "too few"])
    def test_it_notices_another_number_of_words(self, extra: bool, tmp_path: Path) -> None:
        case = json.loads(json.dumps(UNARY[0]))
        words = case["vectors"][0]["words"]
        case["vectors"][0]["words"] = [*words, "0"] if extra else words[:-1]
        wrong = tmp_path / "wrong.json"
        wrong.write_text(json.dumps([case]))
        assert self.run(wrong).returncode == 1

    @pytest.mark.parametrize("content", ["[]", '[{"mechanism": {}, "vectors": []}]', ""])
    def test_it_notices_an_empty_file(self, content: str, tmp_path: Path) -> None:
        empty = tmp_path / "empty.json"
        empty.write_text(content)
        assert self.run(empty).returncode == 1


@pytest.mark.parametrize(
    ("mechanism", "carded"),
    [
        (jrr.SUE(10, epsilon=1.0), False),
        (jrr.OUE(64, epsilon=1.0), False),
        (jrr.OLH(100, epsilon=1.0), False),
        *itertools.product(
            [
                jrr.SUE(64, q=0.3, s=0.1, coupling="joint", n=11),
                jrr.OUE(10, q=0.3, s=0.3, coupling="joint", n=10),
                jrr.SUE(10, q=0.3, s=0.3, coupling="dealt", n=10),
                jrr.OUE(64, q=0.3, s=0.1, coupling="dealt", n=11),
                jrr.OLH(100, g=5, p=0.5, s=0.3, coupling="joint", n=11),
            ],
            (False, True),
        ),
    ],
    ids=str,
)
def test_an_array_of_one_is_the_one_report(mechanism: Any, carded: bool) -> None:
    """The same seed gives the same report and leaves both sources at the same word."""
    for seed in range(100):
        value = seed % mechanism.k
        cards = mechanism.deal(jrr.SeededRandom(1000 + seed))[:1] if carded else None
        card = None
        if cards is not None:
            card = int(cards[0]) if isinstance(mechanism, jrr.OLH) else cards[0].tobytes()
        many, one = jrr.SeededRandom(seed), jrr.SeededRandom(seed)
        (first,) = mechanism.respond([value], cards, many)
        assert report_of(first) == report_of(mechanism.respond_one(value, card, one))
        assert many.word() == one.word()
