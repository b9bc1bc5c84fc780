"""Several items answered with one coin: how many of them each person is asked, and how exactly.

One coin for all items of a person leaves each answer far more of the budget than a coin for each.
Asking each person fewer items makes the coin stronger and the people per item fewer: the plan
finds the number that is best for the item that is hardest (docs/theory.md, section on blocks).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jrr._base import checks
from jrr._base.exact import private_side
from jrr.estimation.contrasts import Sampling
from jrr.mechanisms.coins.block import MOST_COMBINATIONS, Block
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.registry import mechanism_class
from jrr.mechanisms.request import LOST, Frequency, Request
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import most_asked, truth_of

AUTO, ALL = "auto", "all"
_SURELY = 4.0  # standard deviations by which fewer may be asked a question than expected


@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """How a set of questions is asked.

    Attributes:
        sizes: of each question the possible answers of its items: of "several of these" as many
            items as it has labels, of any other one.
        asked: how many of the questions each person is asked.
        n: people who answer.
        request: what each item must keep, for the people who are asked it.
        mechanism: of a person who is asked what the rates of cards are made for; without cards RR.
            It says what is promised: nobody loses more.
    """

    sizes: tuple[tuple[int, ...], ...]
    asked: int
    n: int
    request: Request
    mechanism: Any

    @cached_property
    def _coins(self) -> list[Coin]:
        """Of all who may lose the most."""
        return [_coin_for(sizes) for sizes in most_asked(self.sizes, self.asked)]

    @cached_property
    def keep(self) -> float:
        """The chance that all answers are taken as they are; otherwise all are drawn evenly.

        It is the same whichever items a person is asked, and so is the law of one item's reports.
        """
        if not self.mechanism.deals:
            return self.keep_alone
        step, budget = self.mechanism.step, self.request.budget
        cap = self.request.dealer_epsilon or math.inf

        def keeps(coin: Coin, lies: int) -> bool:
            return coin.masked_loss(lies, step) <= budget and coin.loss(lies) <= cap

        near = [_kept_by(coin, cap) for coin in self._coins]
        near += [_kept_behind(coin, budget, float(step)) for coin in self._coins]
        return self._kept(self.mechanism.p, near, keeps)

    @cached_property
    def keep_alone(self) -> float:
        """The same for somebody without cards."""
        budget = self.request.budget
        alone = self.mechanism.alone if self.mechanism.deals else self.mechanism.p
        near = [_kept_by(coin, budget) for coin in self._coins]
        return self._kept(alone, near, lambda coin, lies: coin.loss(lies) <= budget)

    def _kept(self, truth: float, near: list[float], keeps: Callable[[Coin, int], bool]) -> float:
        """The largest chance that keeps what is asked, on the private side of rounding.

        Args:
            truth: that of the truth of the one person that `mechanism` is of.
            near: what it is at most, but for rounding.
            keeps: whether a coin with so many lies keeps what is asked.
        """
        coins = self._coins
        if len(coins) == 1:
            p, q = coins[0].chances(coins[0].lie_words(truth))
            near = [float(p - q)]
        return private_side(
            min(near),
            0.0,
            lambda keep: all(keeps(one, one.lie_words(truth_of(keep, one.k))) for one in coins),
        )

    def item(self, number: int) -> Any:
        """The answers to one item of a question by themselves."""
        k = self.sizes[number][0]
        if not self.mechanism.deals:
            return RR(k, p=truth_of(self.keep, k))
        return type(self.mechanism)(
            self.n,  # cards: everybody is dealt one of every question
            p=truth_of(self.keep, k),
            card_rate=self.mechanism.card_rate,
            total_rate=self.mechanism.total_rate,
            announced_rate=self.mechanism.announced_rate,
            k=k,
            alone=truth_of(self.keep_alone, k),
            announcements=self.mechanism.announcements,
        )

    @property
    def share(self) -> float:
        """The share of people who are asked a question."""
        return self.asked / len(self.sizes)

    def stderr(self, number: int, frequency: Frequency = None) -> float:
        """Standard error of the share of an answer to one item, among all who answered.

        Args:
            number: of the question, from 0 on.
            frequency: what is known of that share; None: as the plan was told.
        """
        known = self.request.frequency if frequency is None else frequency
        request = Request(
            self.request.n,
            self.request.epsilon,
            k=self.sizes[number][0],
            frequency=known,
            lost=self.request.lost,
        )
        # Who is asked an item is a sample of those who answered, drawn whatever their answers are.
        drawn = request.sampling_variance(Sampling(fraction=self.share))
        return math.sqrt(request.expected_variance(self.item(number)) + drawn)


def plan_block(
    n: int,
    epsilon: float,
    sizes: Sequence[int | Sequence[int]],
    *,
    ask: int | str = AUTO,
    margins: Sequence[float] | None = None,
    dealer_epsilon: float | None = None,
    announced: bool | int = True,
    colluders: int | None = None,
    frequency: Frequency = None,
    lost: float = LOST,
    mechanism: str = "mrr",
    fewest: int = 0,
) -> BlockPlan:
    """The most accurate way to ask several items with one coin.

    Args:
        n: people who answer.
        epsilon: what all answers of a person together may tell at most.
        sizes: possible answers of each item; a list for a question with several items, of which
            each person is asked all or none.
        ask: how many of the questions each person is asked: a number, "all", or "auto" for the
            number with the smallest errors, the noise of who is asked what included. A closed deck
            is for all: a card of a question that is not asked would be lost.
        margins: how exact each question is to be, in any unit: "auto" makes the largest quotient
            of error and margin small. None: all alike.
        dealer_epsilon: what a dealer that colludes with the collector may learn at most of all
            answers together; None: ε + 2.
        announced: whether the dealer announces sums.
        colluders: as for `jrr.plan`; masks lose the same, however many there are.
        frequency: what is known of the answers beforehand.
        lost: the share of cards that are dealt and never reported with.
        mechanism: "mrr", or "rr" without cards.
        fewest: answers that a question needs for a result: "auto" asks each person so many
            questions that each of these has as many, but by a rare chance.

    Returns:
        The plan.

    Raises:
        ArgumentError: for fewer than two items, more asked than there are, or more than 4,096
            combinations of those who are asked together.

    Example:
        >>> made = plan_block(2_000, 2.0, [2] * 5, frequency=0.3)
        >>> made.asked, round(made.stderr(0), 4)
        (4, 0.0118)
    """
    listed = tuple(
        tuple(checks.integer("sizes", size, 2, MOST_COMBINATIONS) for size in items)
        for items in ([one] if isinstance(one, int) else one for one in sizes)
    )
    if sum(map(len, listed)) < 2:
        raise checks.refusal("sizes", list(sizes), "two items at least")
    wanted = (1.0,) * len(listed) if margins is None else tuple(margins)
    if len(wanted) != len(listed) or not all(margin > 0 for margin in wanted):
        raise checks.refusal("margins", margins, f"{len(listed)} numbers above 0")
    plans = []
    checks.integer("n", n, 2)
    for asked in _numbers_to_try(listed, ask if announced or ask != AUTO else ALL, n, fewest):
        if asked < len(listed) and not announced:
            raise checks.refusal("ask", ask, "'all' with a closed deck: other cards would be lost")
        people = max(2, round(n * asked / len(listed)))
        request = Request.with_defaults(
            people,
            epsilon,
            colluders=None if colluders is None else min(colluders, people - 1),
            k=max(map(max, listed)),
            dealer_epsilon=dealer_epsilon,
            frequency=frequency,
            lost=lost,
            announced=announced,
        )
        for coin in map(_coin_for, most_asked(listed, asked)):
            if mechanism == "rr":
                made: Any = RR(coin.k, epsilon=request.budget)
            else:
                made = mechanism_class("MRR").with_coin(request, coin)  # type: ignore[attr-defined]
            plan = BlockPlan(sizes=listed, asked=asked, n=n, request=request, mechanism=made)
            plans.append(plan)

    def worst(plan: BlockPlan) -> float:
        return max(plan.stderr(item) / margin for item, margin in enumerate(wanted))

    return min(plans, key=worst)


def _coin_for(sizes: tuple[int, ...]) -> Coin:
    return Choice(sizes[0]) if len(sizes) == 1 else Block(sizes)


def _kept_by(coin: Coin, loss: float) -> float:
    """How often a coin keeps all answers that loses so much."""
    return math.expm1(loss) / (math.expm1(loss) + coin.k) if loss < 700 else 1.0


def _kept_behind(coin: Coin, epsilon: float, step: float) -> float:
    """The same of one that loses ε behind masks of this rate: Theorem 28b, the other way round."""
    falls = [(size, math.exp(-step * (1 if size == 2 else 2))) for size in coin.items]
    spread = math.prod((1 + (size - 1) * fall) / size for size, fall in falls)
    left = 1 - spread - math.exp(epsilon) * (math.prod(fall for _, fall in falls) - spread)
    return min(1.0, spread * math.expm1(epsilon) / left) if left > 0 else 1.0


def _least(n: int, share: float) -> float:
    """Answers that a question has but by a rare chance, which is asked of a share of n people.

    Who is asked everything answers everything, however few people there are.
    """
    return n * share - _SURELY * math.sqrt(n * share * (1 - share)) if share < 1 else math.inf


def _numbers_to_try(
    sizes: tuple[tuple[int, ...], ...], ask: int | str, n: int, fewest: int
) -> list[int]:
    """Numbers of questions to ask, whose combinations can be told."""
    fitting = [
        asked
        for asked in range(1, min(len(sizes), MOST_COMBINATIONS.bit_length()) + 1)
        if all(math.prod(most) <= MOST_COMBINATIONS for most in most_asked(sizes, asked))
    ]
    if not fitting:
        allowed = f"questions of at most {MOST_COMBINATIONS:,} combinations each"
        raise checks.refusal("sizes", list(map(list, sizes)), allowed)
    if ask == AUTO:
        enough = [asked for asked in fitting if _least(n, asked / len(sizes)) >= fewest]
        if not enough:
            allowed = f"{fewest:,} for each question, of which {fitting[-1]} can be asked together"
            raise checks.refusal("n", n, allowed)
        return enough
    asked = len(sizes) if ask == ALL else checks.integer("ask", ask, 1, len(sizes))
    if asked not in fitting:
        allowed = f"at most {fitting[-1]}: more have above {MOST_COMBINATIONS:,} combinations"
        raise checks.refusal("ask", ask, allowed)
    return [asked]
