"""Cards, shuffling and secure aggregation side by side: the table of alternatives."""

import math
from functools import cache

import pytest

import jrr
from jrr.planning.alternatives import FREQUENCIES, Alternative, alternatives
from jrr.privacy.shuffled import shuffled_delta, shuffled_epsilon

pytestmark = pytest.mark.heavy

N, DELTA = 10_000, 1e-6
# Variance of an estimated count at frequencies 0, 0.1 and 0.5, computed apart from this library.
REFERENCE: dict[float, dict[str, tuple[float, ...]]] = {
    0.1: {
        "RR": (999_167, 999_167, 999_167),
        "JRR, tuned to each frequency": (96_045, 428_166, 999_167),
        "DRR, no cap on the dealer": (95_131,) * 3,
        "DRR, dealer capped at 1": (202_466,) * 3,
        "shuffled RR, by a closed form": (35_037,) * 3,
        "shuffled RR, by the law of the count": (1_408,) * 3,
        "secure aggregation with geometric noise": (200,) * 3,
    },
    1.0: {
        "RR": (9_207, 9_207, 9_207),
        "JRR, tuned to each frequency": (5_826, 7_048, 9_207),
        "DRR, no cap on the dealer": (5_823,) * 3,
        "DRR, dealer capped at 2": (7_399,) * 3,
        "shuffled RR, by a closed form": (320,) * 3,
        "shuffled RR, by the law of the count": (34,) * 3,
        "secure aggregation with geometric noise": (1.8,) * 3,
    },
}
CAPS = {0.1: 1.0, 1.0: 2.0}
# What the library found, to notice a change: ε behind a shuffler, and the variance of shuffled RR
# that keeps the same ε.
GOLDEN = {
    0.1: {
        "JRR, then shuffled": (0.037826, 8_264),
        "DRR, then shuffled": (0.010713, 83_301),
        "DRR, capped, then shuffled": (0.0066832, 196_892),
    },
    1.0: {
        "JRR, then shuffled": (0.046692, 5_621),
        "DRR, then shuffled": (0.045211, 5_962),
        "DRR, capped, then shuffled": (0.039902, 7_494),
    },
}


@cache
def rows(epsilon: float) -> dict[str, Alternative]:
    made = alternatives(N, epsilon, DELTA, dealer_epsilon=CAPS[epsilon])
    return {row.name: row for row in made}


@pytest.mark.slow_variants("0.1]")
@pytest.mark.parametrize("epsilon", REFERENCE)
def test_variances_are_those_of_the_reference(epsilon: float) -> None:
    found = rows(epsilon)
    masked = {name for name in found if name.startswith("MRR")}
    assert set(found) == set(REFERENCE[epsilon]) | set(GOLDEN[epsilon]) | masked
    assert len(masked) == 2
    for name in masked:
        least = found["secure aggregation with geometric noise"].variance[0.1]
        assert least < found[name].variance[0.1] < found["RR"].variance[0.1] / 4.9
    for name, expected in REFERENCE[epsilon].items():
        shown = [found[name].variance[frequency] for frequency in FREQUENCIES]
        digits = 1 if expected[0] < 10 else 0
        assert tuple(round(value, digits) for value in shown) == expected, name


@pytest.mark.slow_variants("0.1]")  # another table of alternatives takes seconds
@pytest.mark.parametrize("epsilon", GOLDEN)
def test_cards_and_a_shuffler(epsilon: float) -> None:
    found = rows(epsilon)
    for name, (reached, variance) in GOLDEN[epsilon].items():
        row = found[name]
        assert row.epsilon == pytest.approx(reached, rel=2e-5)
        assert row.shuffled_rr_variance is not None
        assert row.shuffled_rr_variance == pytest.approx(variance, rel=2e-4)
        assert row.compositions == "all"
        # Behind a shuffler cards gain at most a few hundredths, and may lose much.
        assert min(row.variance.values()) > 0.97 * row.shuffled_rr_variance
        mechanism = row.mechanism
        assert mechanism is not None
        worst = max(shuffled_delta(mechanism, row.epsilon, ones=ones) for ones in (0, 999, 5_000))
        assert worst <= row.delta


@pytest.mark.slow_variants("0.1]")
@pytest.mark.parametrize("epsilon", GOLDEN)
def test_guarantees_are_kept(epsilon: float) -> None:
    found = rows(epsilon)
    for name, row in found.items():
        assert row.epsilon <= epsilon, name
        assert row.delta in (0.0, DELTA)
        assert row.guarantee
        assert row.trust
        shuffled = "shuffled" in name
        assert ("counts" in row.guarantee) == shuffled
        assert ("shuffler" in row.trust) == shuffled
        assert ("dealer" in row.trust) == isinstance(row.mechanism, jrr.JRR | jrr.DRR | jrr.MRR)
    assert found["RR"].if_they_collude <= epsilon
    assert found["DRR, no cap on the dealer"].if_they_collude == math.inf
    assert found[f"DRR, dealer capped at {CAPS[epsilon]:g}"].if_they_collude <= CAPS[epsilon]
    assert found["secure aggregation with geometric noise"].if_they_collude == math.inf
    local = found["shuffled RR, by the law of the count"]
    assert local.if_they_collude == local.mechanism.epsilon() > epsilon  # type: ignore[union-attr]


def test_the_cap_is_two_above_unless_said() -> None:
    names = [row.name for row in alternatives(100, 1.0, 1e-3)]
    assert "DRR, dealer capped at 3" in names


def test_listed_compositions_are_named_and_exact() -> None:
    rows = {row.name: row for row in alternatives(400, 0.5, compositions="listed")}
    row = rows["DRR, then shuffled"]
    assert row.compositions == "only 0, 40, 200 of the others hold 1"
    assert row.mechanism is not None
    each = [shuffled_epsilon(row.mechanism, DELTA, ones=ones) for ones in (0, 40, 200)]
    assert row.epsilon == max(each)
    assert rows["RR"].compositions == "all"
    assert rows["secure aggregation with geometric noise"].compositions == ""


def test_for_many_people_rr_is_listed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jrr.planning.alternatives.MOST_COMPARED", 399)
    rows = {row.name: row for row in alternatives(400, 0.5, compositions="listed")}
    for name in ("RR", "DRR, then shuffled", "shuffled RR, by the law of the count"):
        assert rows[name].compositions == "only 0, 40, 200 of the others hold 1"
    assert rows["shuffled RR, by a closed form"].compositions == "all"
    each = [jrr.shuffled_rr(400, 0.5, DELTA, ones=ones).epsilon() for ones in (0, 40, 200)]
    made = rows["shuffled RR, by the law of the count"].mechanism
    assert made is not None
    assert made.epsilon() == min(each)
    whole = {row.name: row for row in alternatives(400, 0.5)}
    assert made.epsilon() == pytest.approx(
        whole["shuffled RR, by the law of the count"].if_they_collude, rel=1e-3
    )


def test_plain_rr_is_not_shown_twice() -> None:
    """Where cards are not worth dealing there are none to shuffle."""
    names = [row.name for row in alternatives(20, 0.5, 1e-3, colluders=15)]
    assert "JRR, then shuffled" not in names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"k": 3}, "k must be 2"),
        ({"compositions": "some"}, "compositions must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"colluders": 100}, "colluders must be"),
        ({"dealer_epsilon": -1.0}, "dealer_epsilon must be"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(jrr.JrrError, match=words):
        alternatives(100, 0.5, **arguments)  # type: ignore[arg-type]
