"""Numbers of tokens have exactly their chances, however many piles there are."""

import math
from decimal import Decimal, localcontext

import pytest

import jrr
from jrr.mechanisms.masked_deck import draw_tokens
from jrr.mechanisms.token_laws import PileTokens, SplitTokens, TokenLaw
from tests.statistics_rules import accepts_only, chi_square, skewed

LAWS: list[TokenLaw] = [
    PileTokens(1, 0.4),
    PileTokens(3, 0.7),
    PileTokens(40, 1.1),
    PileTokens(5, 6.0),
    SplitTokens(9, 1, 1),
    SplitTokens(12, 2, 1),
    SplitTokens(7, 1, 30),
    SplitTokens(60, 25, 11),
    SplitTokens(0, 4, 4),
]


def weights(law: TokenLaw) -> list[Decimal]:
    """Exact weights of 0, 1, ... tokens; of a law without an end as far as they matter."""
    with localcontext() as context:
        context.prec = 60
        if isinstance(law, SplitTokens):
            left, right, most = law.left, law.right, law.most
            return [
                Decimal(math.comb(g + left - 1, left - 1))
                * math.comb(most - g + right - 1, right - 1)
                for g in range(most + 1)
            ]
        assert isinstance(law, PileTokens)
        rate, n = Decimal(law.rate), law.n
        return [math.comb(g + n - 1, n - 1) * (-rate * g).exp() for g in range(400)]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_proposals_that_are_taken_have_the_law(law: TokenLaw) -> None:
    """Enumerated: the chance of a proposal times the chance that it is taken is the weight."""
    weight = weights(law)
    largest = max(weight)
    assert weight[law.mode] == largest
    assert law.width * largest >= sum(weight)  # the condition under which chances are at most 1
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(1 / law.width)
        for tokens, expected in enumerate(weight):
            taken = law.exact_chance(tokens)
            assert taken <= 0
            proposed = -rate * abs(tokens - law.mode)
            found = (proposed + taken + 1).exp()
            assert abs(found * largest / expected - 1) < Decimal("1e-45")


@pytest.mark.parametrize("law", [*LAWS, PileTokens(10**8, 1.09), SplitTokens(10**8, 10**8, 10**7)])
def test_floating_point_is_as_near_as_it_says(law: TokenLaw) -> None:
    far = min(3 * law.width, 2_000, law.mode if law.most is None else law.most - law.mode)
    for step in {0, min(1, far), far // 2, far}:
        number, error = law.log_ratio(law.mode + step)
        assert abs(Decimal(number) - law.exact_log_ratio(law.mode + step)) <= Decimal(error)
        assert error < 1e-3


@pytest.mark.slow_variants("PileTokens(n=3", "SplitTokens(most=7")
@pytest.mark.parametrize("law", [*LAWS[:2], *LAWS[3:7]], ids=str)
def test_draws_have_the_law(law: TokenLaw) -> None:
    source, runs = jrr.SeededRandom(5), 4_000
    drawn = [draw_tokens(law, source) for _ in range(runs)]
    weight = [float(one) for one in weights(law)]
    chances = [one / sum(weight) for one in weight]
    likely = [g for g, chance in enumerate(chances) if runs * chance > 5]
    counts = [drawn.count(g) for g in likely]
    law_of_counts = [chances[g] for g in likely]
    rest = 1 - sum(law_of_counts)
    if rest > 1e-9:
        counts.append(runs - sum(counts))
        law_of_counts.append(rest)
    assert sum(counts) == runs
    accepts_only(lambda right: chi_square(counts, right), law_of_counts, skewed(law_of_counts))
