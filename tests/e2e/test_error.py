"""The estimator's error over the network is the one that was predicted.

One survey of many decks is many surveys: every block of people has a deck of its own. The
dealer's key is fresh, so these tests may fail by bad luck once in a hundred million runs.
"""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr import DRR, RR
from jrr._base.randomness import SeededRandom
from jrr.dealing.deck import card_from_json
from jrr.protocol.documents import hashed
from jrr.protocol.identity import dealer_role, pseudonym
from tests.e2e import Pair, ask_many, cards_of, path_of, upload_body
from tests.statistics_rules import OFF, P_VALUE, UNSEEDED, accepts_only, mean_test, spread_test

accepts_unseeded = partial(accepts_only, least=UNSEEDED)
DECKS, N, YES = 450, 10, 6
MECHANISM = DRR(N, truth=0.3)


@pytest.fixture(scope="module")
def surveys(sqlite_pair: Pair) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cards by place in a block and by block, and the estimated number of yes in every block."""
    survey = sqlite_pair.survey(MECHANISM, capacity=DECKS * N)
    operator, people = sqlite_pair.begin(survey, DECKS * N)
    cards = cards_of(sqlite_pair.dealer.url, survey, people)
    query = f"SELECT pseudonym, block FROM seats WHERE survey = '{survey.hash}'"
    block_of = {bytes(name): block for name, block in sqlite_pair.rows("dealer", query)}
    hands: list[list[int]] = [[] for _ in range(DECKS)]
    ones = np.zeros(DECKS, np.int64)
    source = SeededRandom(11)
    bodies = []
    for secret, document in zip(people, cards, strict=True):
        block = block_of[hashed(pseudonym(secret, survey.hash, dealer_role(0)))]
        card = card_from_json(MECHANISM, document)
        assert isinstance(card, int)
        report = MECHANISM.respond_one(int(len(hands[block]) < YES), card, source)
        hands[block].append(card)
        ones[block] += int(report)
        bodies.append(upload_body(survey, secret, report, carded=True))
    replies = ask_many(sqlite_pair.collector.url, path_of(survey, "reports"), bodies)
    assert {reply.status for reply in replies} == {201}
    operator.close()
    counted = [MECHANISM.tally(np.repeat([0, 1], [N - k, k]), True) for k in range(N + 1)]
    found = np.array([MECHANISM.estimate(tally).counts[1] for tally in counted])[ones]
    # The server's own figure is that of all blocks together.
    assert operator.estimate("answer")["estimate"]["counts"][1] == pytest.approx(found.sum())
    return np.array(hands).T, found


@pytest.mark.slow
@pytest.mark.statistical
def test_the_error_is_as_predicted(
    surveys: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    _, estimates = surveys
    predicted = float(np.sqrt(MECHANISM.variance([N - YES, YES])[1]))
    accepts_unseeded(
        lambda sd: spread_test(estimates, sd), right=predicted, wrong=(1 - OFF) * predicted
    )
    accepts_unseeded(
        lambda mean: mean_test(estimates, mean, predicted), right=YES, wrong=YES * (1 - OFF)
    )
    # And without cards it would have been larger.
    alone = RR(2, p=float(MECHANISM.moments.p[1]))
    assert spread_test(estimates, float(np.sqrt(alone.variance([N - YES, YES])[1]))) < P_VALUE


@pytest.mark.slow
@pytest.mark.statistical
def test_decks_are_dealt_independently(
    surveys: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    signs = 2 * surveys[0] - 1
    assert (signs.sum(axis=0) == 0).all()  # every deck is exactly balanced
    agreements = (signs[:, 1:] * signs[:, :-1]).sum(axis=0)
    sd = float(np.sqrt(N**2 / (N - 1)))  # of the product of two random balanced orders
    accepts_unseeded(lambda shift: mean_test(agreements, shift, sd), right=0.0, wrong=OFF * N)
    accepts_unseeded(lambda width: spread_test(agreements, width), right=sd, wrong=(1 - OFF) * sd)
    assert mean_test((signs * signs).sum(axis=0), 0.0, sd) < P_VALUE  # the same order twice


@pytest.mark.slow
@pytest.mark.statistical
def test_cards_do_not_favour_whoever_comes_first(
    surveys: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    signs = 2 * surveys[0] - 1
    first = signs[: N // 2].sum(axis=0)  # of those whose names were known first
    sd = float(np.sqrt(N / 2 * (1 - (N / 2 - 1) / (N - 1))))
    accepts_unseeded(lambda mean: mean_test(first, mean, sd), right=0.0, wrong=OFF * N / 2)
