"""Tallies: counts that merge, travel as JSON and keep carded and card-less apart."""

import json
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import jrr

Mechanism = jrr.RR | jrr.JRR | jrr.DRR

RR3 = jrr.RR(k=3, p=0.5)
JOINT = jrr.JRR(n=10, p=0.6, s=0.2)
DEALT = jrr.DRR(n=10, truth=0.3, own=0.1, k=3, deck=[5, 3, 2])

every_mechanism = pytest.mark.parametrize("mechanism", [RR3, JOINT, DEALT], ids=str)


def some_reports(k: int, count: int = 1000) -> Any:
    return jrr.SeededRandom(1).words(count) % np.uint64(k)


class TestCounting:
    def test_counts(self) -> None:
        tally = JOINT.tally([0, 1, 1, 1, 0], True)
        assert (tally.carded, tally.n_carded) == ((2, 3), 5)
        assert (tally.cardless, tally.n_cardless) == ((0, 0), 0)
        assert tally.n == 5
        assert tally.mechanism == JOINT.to_dict()

    def test_values_nobody_reported_count_zero(self) -> None:
        assert DEALT.tally([1], True).carded == (0, 1, 0)
        assert RR3.tally([0]).cardless == (1, 0, 0)

    @pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, ">i4", np.uint64])
    def test_any_whole_number_type(self, kind: Any) -> None:
        for mechanism in (RR3, JOINT, DEALT):
            reports = some_reports(mechanism.k)
            expected = [int((reports == v).sum()) for v in range(mechanism.k)]
            tally = mechanism.tally(reports.astype(kind), mechanism.deals)
            assert np.add(tally.carded, tally.cardless).tolist() == expected

    def test_booleans_and_lists(self) -> None:
        assert JOINT.tally([True, False, True], True) == JOINT.tally([1, 0, 1], True)
        assert JOINT.tally(np.array([1, 0, 1], bool)[::2], True).carded == (0, 2)

    def test_without_cards_everybody_is_cardless(self) -> None:
        for tally in (RR3.tally([0, 1, 2, 2]), RR3.tally([0, 1, 2, 2], carded=False)):
            assert (tally.carded, tally.cardless) == ((0, 0, 0), (1, 1, 2))

    def test_carded_and_cardless_apart(self) -> None:
        tally = JOINT.tally([0, 1, 1, 0, 1], carded=[True, True, False, False, False])
        assert (tally.carded, tally.n_carded) == ((1, 1), 2)
        assert (tally.cardless, tally.n_cardless) == ((1, 2), 3)
        assert JOINT.tally([0, 1], carded=True) == JOINT.tally([0, 1], True)
        assert JOINT.tally([0, 1], carded=np.True_) == JOINT.tally([0, 1], True)
        assert JOINT.tally([0, 1], carded=False).cardless == (1, 1)

    @pytest.mark.parametrize(
        ("carded", "shown"),
        [
            ([1, 0], "int64"),
            ([1.0, 0.0], "float64"),
            (["yes", "no"], "U3"),
            ([True, None], "object"),
            ([True], r"\(1,\)"),
            ([True, False, True], r"\(3,\)"),
            ([[True, False]], r"\(1, 2\)"),
            (1, "int64"),
            ("yes", "U3"),
        ],
    )
    def test_wrong_flags(self, carded: Any, shown: str) -> None:
        with pytest.raises(jrr.JrrError, match=f"carded must be .*{shown}"):
            JOINT.tally([0, 1], carded=carded)

    @pytest.mark.parametrize("carded", [True, [True, False]])
    def test_rr_has_no_carded(self, carded: Any) -> None:
        with pytest.raises(jrr.JrrError, match="carded must be False for RR"):
            RR3.tally([0, 1], carded=carded)


class TestMerging:
    @every_mechanism
    def test_a_merge_is_the_tally_of_all(self, mechanism: Mechanism) -> None:
        reports = some_reports(mechanism.k)
        flags = None if mechanism is RR3 else some_reports(2) == 0
        whole = mechanism.tally(reports, flags)
        for cuts in ([500], [1, 2, 999], [100, 200, 300]):
            parts = [
                mechanism.tally(part, None if flags is None else flags[places])
                for part, places in zip(
                    np.split(reports, cuts), np.split(np.arange(1000), cuts), strict=True
                )
            ]
            assert sum(parts[1:], parts[0]) == whole
            assert sum(parts) == whole
            assert sum(reversed(parts)) == whole

    def test_adding_leaves_the_parts_alone(self) -> None:
        first, second = JOINT.tally([0, 1], True), JOINT.tally([1], True)
        assert (first + second).carded == (1, 2)
        assert (first.carded, second.carded) == ((1, 1), (0, 1))

    @pytest.mark.parametrize(
        "other",
        [
            jrr.JRR(n=12, p=0.6, s=0.2),
            jrr.JRR(n=10, p=0.6, s=0.19),
            jrr.RR(p=0.6),
            jrr.DRR(n=10, truth=0.2),
        ],
        ids=str,
    )
    def test_another_mechanism_is_refused(self, other: Mechanism) -> None:
        stranger = other.tally([0, 1], other.deals)
        with pytest.raises(jrr.JrrError, match="of one mechanism"):
            JOINT.tally([0, 1], True) + stranger
        with pytest.raises(jrr.JrrError, match="reports must be a tally of"):
            JOINT.estimate(stranger)

    @pytest.mark.parametrize("other", [1, None, "tally", (1, 1)])
    def test_anything_else_is_refused(self, other: Any) -> None:
        with pytest.raises(TypeError):
            JOINT.tally([0, 1], True) + other
        with pytest.raises(TypeError):
            other + JOINT.tally([0, 1], True)


class TestAsValue:
    def test_equality_hash_and_immutability(self) -> None:
        first, second = JOINT.tally([0, 1], True), JOINT.tally([1, 0], True)
        assert first == second
        assert len({first, second, JOINT.tally([1, 1], True)}) == 2
        assert first != JOINT.tally([0, 1], carded=False)
        with pytest.raises(FrozenInstanceError):
            first.n_carded = 3  # type: ignore[misc]

    @every_mechanism
    def test_json_round_trip(self, mechanism: Mechanism) -> None:
        tally = mechanism.tally(some_reports(mechanism.k), mechanism.deals)
        text = tally.to_json()
        assert "\n" not in text
        again = jrr.Tally.from_json(text)
        assert again == tally
        assert again.to_json() == text
        assert (again + tally).n == 2000
        decks = mechanism.fewest_decks(tally.n_carded)
        counts = [mechanism.estimate(one, decks).counts for one in (again, tally)]
        assert np.array_equal(counts[0], counts[1])

    def test_json_is_what_it_was(self) -> None:
        assert JOINT.tally([0, 1, 1], True).to_json() == (
            '{"carded": [1, 2], "cardless": [0, 0], "decks": [""], '
            '"mechanism": {"k": 2, "mechanism": "JRR", "n": 10, "p": 0.6, "s": 0.2}, '
            '"n_carded": 3, "n_cardless": 0, "tally": 1}'
        )

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"tally": 2}, "version"),
            ({"tally": 0}, "version"),
            ({"tally": None}, "version"),
            ({"tally": "1"}, "version"),
            ({"extra": 1}, "extra"),
            ({"mechanism": "JRR"}, "mechanism"),
            ({"mechanism": None}, "mechanism"),
            ({"carded": 3}, "carded"),
            ({"carded": "12"}, "carded"),
            ({"carded": {"0": 1}}, "carded"),
            ({"carded": [1, -1]}, "carded"),
            ({"carded": [1, 2.0]}, "carded"),
            ({"carded": [True, 2]}, "carded"),
            ({"carded": [1, 4]}, "carded"),
            ({"carded": [1, 2, 0]}, "carded"),
            ({"cardless": [0, 1]}, "cardless"),
            ({"n_carded": -1}, "n_carded"),
            ({"n_carded": 3.5}, "n_carded"),
            ({"n_cardless": None}, "n_cardless"),
        ],
        ids=str,
    )
    def test_changed_json_is_refused(self, change: dict[str, Any], named: str) -> None:
        document = json.loads(JOINT.tally([0, 1, 1], True).to_json()) | change
        with pytest.raises(jrr.JrrError, match=named):
            jrr.Tally.from_json(json.dumps(document))

    def test_missing_fields_are_refused(self) -> None:
        document = json.loads(JOINT.tally([0, 1], True).to_json())
        for name in document:
            rest = {key: value for key, value in document.items() if key != name}
            with pytest.raises(jrr.JrrError, match="tally"):
                jrr.Tally.from_json(json.dumps(rest))

    @pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", '"tally"'])
    def test_other_text_is_refused(self, text: str) -> None:
        with pytest.raises(jrr.JrrError, match="tally"):
            jrr.Tally.from_json(text)

    @pytest.mark.parametrize(
        ("counts", "n"),
        [((1,), 1), ((1, 1), 2), ((1, 1, 1, 0), 3), ((1, 1, 1), 10)],
        ids=["one", "too few", "too many", "not adding up to n"],
    )
    def test_a_tally_that_does_not_fit_its_mechanism_gives_no_estimate(
        self, counts: tuple[int, ...], n: int
    ) -> None:
        """Such as one that was altered on the way."""
        nothing = (0,) * len(counts)
        with pytest.raises(jrr.JrrError):
            RR3.estimate(
                jrr.Tally(RR3.to_dict(), carded=nothing, cardless=counts, n_carded=0, n_cardless=n)
            )

    def test_a_carded_tally_of_rr_gives_no_estimate(self) -> None:
        with pytest.raises(jrr.JrrError):
            RR3.estimate(
                jrr.Tally(
                    RR3.to_dict(), carded=(1, 1, 1), cardless=(0, 0, 0), n_carded=3, n_cardless=0
                )
            )
