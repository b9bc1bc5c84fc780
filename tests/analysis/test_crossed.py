"""Tables of two questions asked as one: covariances against simulation, margins, refusals."""

import numpy as np
import pytest

import jrr
from jrr.analysis import crossed_table
from jrr.errors import ArgumentError
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

COUNTS = np.array([70, 15, 5, 20, 25, 15])  # two answers by three
MASKED = jrr.MRR(150, own=3.0, card_rate=0.3, announced_rate=0.8, k=6)
CLOSED = jrr.MRR(150, own=3.0, card_rate=0.3, total_rate=0.2, k=6)
FACTORS = {"row": [[0, 0, 0], [1, 1, 1]], "column": [[0, 1, 0], [0, 1, 0]]}


def estimate(m: jrr.Mechanism, rng: jrr.SeededRandom, carded: int = 150) -> jrr.Estimate:
    values = np.random.default_rng(rng.word()).permutation(np.repeat(np.arange(6), COUNTS))
    if not isinstance(m, jrr.MRR):
        return m.estimate(m.respond(values, rng=rng))
    cards = m.deal(rng)[:carded]
    tally = m.tally(m.respond(values[:carded], cards, rng))
    if m.announced:
        tally = m.settle(tally, announced=m.announce(cards, rng=rng))
    if carded < len(values):
        tally += m.tally(m.respond(values[carded:], rng=rng))
    return m.estimate(tally)


@pytest.mark.statistical
@pytest.mark.slow_variants("*m2*")
@pytest.mark.parametrize(
    ("m", "carded"), [(MASKED, 150), (MASKED, 90), (CLOSED, 150), (jrr.RR(6, epsilon=3.0), 150)]
)
def test_margins_and_cells_err_as_much_as_stated(m: jrr.Mechanism, carded: int) -> None:
    rng = jrr.SeededRandom(29)
    true = COUNTS.reshape(2, 3) / 150
    tables = [crossed_table(estimate(m, rng, carded), 2, 3) for _ in range(500)]
    for factors in (*FACTORS.values(), np.eye(6)[1].reshape(2, 3)):
        found, errors = np.array([table.contrast(factors) for table in tables]).T
        aim, stated = float((true * factors).sum()), float(np.sqrt((errors**2).mean()))
        check(found, aim, stated)


def check(found: np.ndarray, true: float, spread: float) -> None:
    accepts_only(lambda mean: mean_test(found, mean, spread), true, true + OFF * spread)
    accepts_only(lambda sd: spread_test(found, sd), spread, (1 + OFF) * spread)


def test_cells_are_those_of_the_estimate() -> None:
    """Errors too, where no estimate leaves what is possible; and of samples of a population."""
    one = estimate(jrr.RR(6, epsilon=6.0), jrr.SeededRandom(1))
    for told in (one, one.for_population("sample"), one.for_population("sample", 400)):
        table = crossed_table(told, 2, 3)
        assert table.shares.ravel().tolist() == told.frequencies.tolist()
        assert table.stderr.ravel() == pytest.approx(told.stderr, rel=1e-6)
        assert table.contrast(np.ones((2, 3))) == pytest.approx((1.0, 0.0), abs=1e-7)


def test_what_cannot_be_a_table() -> None:
    m = jrr.RR(5, epsilon=2.0)
    five = m.estimate([0, 1, 2, 3, 4] * 20)
    assert crossed_table(five, 2, 2).shares.shape == (2, 2)  # beside "prefer not to say"
    for rows, columns in ((2, 3), (1, 5), (3, 3)):
        with pytest.raises(ArgumentError, match="rows"):
            crossed_table(five, rows, columns)
    for other in (
        jrr.OUE(k=4, epsilon=1.0),
        jrr.JRR(n=20, p=0.5, rho=-0.9, k=4),
        jrr.MRR(20, own=3.0, card_rate=0.3, announced_rate=0.8, coin=jrr.Subset(4, 2)),
    ):
        cards, rng = other.deal(jrr.SeededRandom(2)), jrr.SeededRandom(3)
        if isinstance(other, jrr.MRR):
            cards = None  # the coin is the same
        reports = other.respond([0, 1, 2, 3] * 5, cards, rng)
        with pytest.raises(ArgumentError, match="estimate must be of RR, or of MRR whose coin"):
            crossed_table(other.estimate(reports), 2, 2)
