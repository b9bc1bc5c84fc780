"""Masked randomized response: cards are whole numbers that are added to the answer (MRR).

A contributor perturbs the answer with an own coin, as in plain randomized response, and adds a
secret whole number. Nobody who does not know that number learns more than ε, whatever else they
know; whoever does learns what the coin lets through. In the sum of all reports the numbers cancel:
those of a closed deck nearly add up to 0, or the dealer announces their sum with a little noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr.errors import ArgumentError
from jrr.estimation.estimates import BlockEstimate, Estimate
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally, WeightedTally
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng
from jrr.mechanisms.coins.block import Block
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.coins.named import coin_of, coins_for
from jrr.mechanisms.coins.window import Window, windows_tried
from jrr.mechanisms.marked_arrays import MarkedReports, spend
from jrr.mechanisms.masked_optimum import (
    LEAST_CARD_RATE,
    Design,
    best_design,
    design_for,
    own_cap,
    worth_of,
)
from jrr.mechanisms.masking import Masking
from jrr.mechanisms.registry import baseline
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Family, Request, least
from jrr.privacy.views import View


@dataclass(frozen=True, init=False)
class MRR(Masking):
    """Masked randomized response for decks of n contributors over k values.

    Args:
        n: contributors per deck, at least 2.
        own: the privacy loss of the contributor's own coin: what somebody who knows the card can
            learn of the answer.
        card_rate: a: cards have Pr[z] proportional to e^(-a |z|).
        total_rate: b, for a closed deck: its cards have Pr[z] proportional to
            e^(-a Σ|z| - b |Σz|). 0 where sums are announced.
        announced_rate: e, for announced sums: the dealer adds noise of Pr[s] proportional to
            e^(-e |s|) to the sum. 0 for a closed deck.
        k: possible values; 2 unless a coin says it. Two need one number, more one for each value.
        coin: what the device does on its own: `Choice(k)` tells one of the values (the default),
            `Bits(k)` decides for every value (better for many values), `Subset(k, size)` names
            some of them (better for some dozen), `Block(sizes)` answers several items together,
            `Window(steps, width)` tells numbers (`jrr.Numbers`). In documents: "rr", "oue",
            ["subset", size], ["block", sizes…], ["window", steps, width].
        p: the coin's strength instead of own: of `Choice` the chance that it tells the truth, of
            `Bits` the chance that it leaves the mark of a value that is not held at 0.
        alone: the same for somebody without a card; by default the largest that keeps ε.
        dealers: how many dealers give everybody a card, all of which are added; for announced
            sums. What holds for one dealer then holds as long as one of them keeps its cards to
            itself (docs/theory.md, Theorem 31).
        announcements: for announced sums: in how many of them the dealer may count a card, each
            sum with noise of its own (docs/theory.md, Theorem 27b).

    Example:
        >>> m = MRR(1_000, own=3.0, card_rate=0.3, total_rate=0.8)
        >>> round(m.epsilon("everything", colluders=500), 4), round(m.epsilon("dealer"), 4)
        (0.9771, 3.0)
    """

    n: int
    p: float  # strength of the coin: the chance of its truth
    card_rate: float
    total_rate: float
    announced_rate: float
    k: int
    coin: Coin  # what the device does on its own
    alone: float  # strength of the coin without a card
    dealers: int  # whose cards are added
    announcements: int  # sums that a card may be in
    name: ClassVar[str] = "MRR"
    title: ClassVar[str] = "masked randomized response"
    parameters: ClassVar[tuple[str, ...]] = (
        "n",
        "p",
        "card_rate",
        "total_rate",
        "announced_rate",
        "k",
        "coin",
        "alone",
        "dealers",
        "announcements",
    )
    # In documents of one dealer, and of one announcement.
    omitted_parameters: ClassVar[tuple[str, ...]] = ("dealers", "announcements")
    colour: ClassVar[str] = "#7570b3"

    def __init__(
        self,
        n: int,
        own: float | None = None,
        *,
        card_rate: float = 0.0,
        total_rate: float = 0.0,
        announced_rate: float = 0.0,
        k: int | None = None,
        coin: Coin | str | Sequence[Any] = "rr",
        p: float | None = None,
        alone: float | None = None,
        dealers: int = 1,
        announcements: int = 1,
    ) -> None:
        checks.exactly_one(own=own, p=p)
        if k is None:
            k = coin.k if isinstance(coin, Coin) else 2
        k = checks.domain(k, 1 << 12)
        coin = coin_of(coin, k)
        if p is None:
            p = coin.truth_for(checks.epsilon("own", own))
        self._set(k=k, coin=coin, p=coin.check_truth("p", p))
        self._set_masks(n, card_rate, total_rate, announced_rate, dealers, announcements)
        if alone is None:
            alone = coin.truth_for(self._behind(self.step))
        self._set(alone=coin.check_truth("alone", alone))

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        """The best whose own coin is as strong as the cap on the dealer allows."""
        own = request.dealer_epsilon
        if own is not None and not own > request.epsilon:
            raise checks.refusal("dealer_epsilon", own, f"above epsilon={request.epsilon!r}")
        made = [m for m in _designed(request, own=own) if m is not None]
        if not made:
            raise checks.refusal("epsilon", request.epsilon, "large enough for cards of 16 bits")
        return cast(Self, least(made, request))

    # -- what it says of itself -------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; without those numbers that are nearly always 1."""
        document = super().to_dict() | {"coin": self.coin.document}
        for name in self.omitted_parameters:
            if document[name] == 1:
                del document[name]
        return document

    def for_dealers(self, dealers: int) -> Self:
        """The same where so many dealers give everybody a card, all of which are added."""
        fields = {name: getattr(self, name) for name in self.parameters}
        return type(self)(**(fields | {"dealers": dealers}))

    @property
    def own(self) -> float:
        """The privacy loss of the own coin."""
        return self.coin.loss(self.lie_words)

    @cached_property
    def lie_words(self) -> int:
        """Words of the own coin that make a lie, or set the bit of a value that is not held."""
        return self.coin.lie_words(self.p)

    @cached_property
    def _alone_words(self) -> int:
        """The same for somebody without a card."""
        return self.coin.lie_words(self.alone)

    @property
    def marks(self) -> int | None:
        """As the coin does; of several items it is not one number."""
        fixed = self.coin.fixed_sums
        if self.moments.exclusive or not fixed:
            return super().marks
        return fixed[0][2] if fixed[0][:2] == (0, self.k) else None

    @property
    def numbers(self) -> int:
        """How many whole numbers a card and a report have."""
        return self.coin.numbers

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        return self._coin_moments(self.lie_words, masked=True)

    def _coin_moments(self, words: int, *, masked: bool) -> Moments:
        p, q = self.coin.chances(words)
        if not masked:
            return self.coin.moments(float(p), float(q), float(p - q), None)
        alone = self._coin_moments(self._alone_words, masked=False)
        return self.coin.moments(
            float(p), float(q), float(p - q), self.masks, deck=self.n, cardless=alone
        )

    @property
    def steps(self) -> int:  # type: ignore[override]
        """From value 0 to value 1, where the coin tells numbers in between."""
        return self.coin.steps

    @property
    def _tellable(self) -> int:
        """How many values the coin takes: of numbers the steps and 0."""
        return self.k if self.steps == 1 else self.steps + 1

    @property
    def _range(self) -> tuple[int, int]:
        """The numbers that are reported: what the coin says and `limit` on either side."""
        return -self.limit, self.limit + self.coin.largest

    @property
    def most_support(self) -> int:
        """The largest number that the collector accepts."""
        return self._range[1]

    @property
    def report_format(self) -> MaskedFormat:
        """Whole numbers of 16 bits."""
        return MaskedFormat(self.numbers, *self._range, self.coin.words)

    def _left_out_of_brief(self) -> tuple[str, ...]:
        unused = ["alone", "total_rate" if self.announced else "announced_rate"]
        unused += ["coin"] if self.k == 2 and self.steps == 1 else []
        ones = [name for name in self.omitted_parameters if getattr(self, name) == 1]
        return (*unused, *ones)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        told = self.coin.instructions(1 - self.lie_words / SCALE)
        each = "" if self.numbers == 1 else " for each answer"
        return (
            f"{told}, adds a secret whole number{each} that it was dealt, and sends only the sum."
        )

    def item(self, number: int) -> "MRR":
        """Of a block: what the answers to one item are, taken by themselves.

        Its guarantees are the block's, which cover all items together.

        Args:
            number: of the item, from 0 on.

        Example:
            >>> m = MRR(1_000, own=3.0, card_rate=0.3, announced_rate=0.8, coin=Block((2, 2, 3)))
            >>> m.item(2).k, round(m.item(2).p, 4)
            (3, 0.7426)
        """
        coin = self._block("number", number)
        number = checks.integer("number", number, 0, len(coin.sizes) - 1)
        made = _Item(
            self.n,
            p=coin.item_truth(self.lie_words, number),
            card_rate=self.card_rate,
            total_rate=self.total_rate,
            announced_rate=self.announced_rate,
            k=coin.sizes[number],
            alone=coin.item_truth(self._alone_words, number),
            dealers=self.dealers,
            announcements=self.announcements,
        )
        made._set(whole=self, number=number)
        return made

    def _block(self, argument: str, value: object) -> Block:
        if not isinstance(self.coin, Block):
            raise checks.refusal(argument, value, f"left out: {self.brief()} is for one item")
        return self.coin

    # -- planning ---------------------------------------------------------------------------

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The best own coin and shares of the budget, or plain RR where that is better."""
        return (
            cls._family(
                cls.best,
                cards=True,
                best_informed=lambda request, delta: cls.best(request),
                pure=True,
                caption="secret numbers cancel in the sum",
            ),
        )

    @classmethod
    def windows(cls, request: Request, between: float) -> "list[MRR]":
        """The best with every window that plans for numbers compare."""
        cap = own_cap(request)

        def error(coin: Window) -> float:
            more = (coin.rounding(cap, between) - coin.rounding(cap)) / request.reporters
            return worth_of(request, coin, design_for(request, coin, cap)) + more

        best = sorted(windows_tried(cap, between), key=error)[:2]
        made = [_made(request, coin, None) for coin in best]
        return [m for m in made if m is not None and request.allows(m)]

    @classmethod
    def with_coin(cls, request: Request, coin: Coin) -> "MRR":
        """The most accurate MRR with this coin that keeps the request."""
        made = _made(request, coin, None)
        if made is None:
            allowed = f"large enough for {coin} and cards of 16 bits, and below the dealer's cap"
            raise checks.refusal("epsilon", request.epsilon, allowed)
        return made

    @classmethod
    def best(cls, request: Request) -> Mechanism:
        """The most accurate MRR that keeps the request, or plain RR where that is better."""
        made: list[Mechanism] = [baseline(request)]
        made += [m for m in _designed(request) if m is not None and request.allows(m)]
        return least(made, request)

    # -- privacy ----------------------------------------------------------------------------

    def _epsilon(self, view: View, colluders: int) -> float:
        if view == "dealer":
            return max(self.own, self._pure())
        if view == "report":
            # Of a single report the closing tells at most as much as the card: a + min(a, b).
            a, b = Fraction(self.card_rate), Fraction(self.total_rate)
            return max(self._behind(a + min(a, b)), self.coin.loss(self._alone_words))
        return self._pure()

    def _pure(self) -> float:
        return max(self._behind(self.step), self.coin.loss(self._alone_words))

    def _behind(self, step: Fraction) -> float:
        return self.coin.masked_loss(self.lie_words, step)

    # -- contributor ------------------------------------------------------------------------

    def respond_one(self, value: int | Sequence[int], card: Any = None, rng: Rng = None) -> Any:
        """One report: a whole number, or for more than two values 16 bits for each as bytes.

        Of a block the value is a list, with an answer to each item.
        """
        return self.respond_one_step(self.coin.check_value("value", value) * self.steps, card, rng)

    def respond_one_step(self, step: int, card: Any = None, rng: Rng = None) -> Any:
        """The same of a whole number of steps, where the coin tells numbers."""
        held = checks.symbol("value", step, self._tellable)
        source = randomness.source(rng)
        words = [source.word() for _ in range(self.report_format.words)]
        return self._marked(self.report_from_words(held, card, words), card)

    def report_from_word(self, value: int, card: Any, word: int) -> Any:
        """The same where the coin takes one word."""
        return self.report_from_words(value, card, [word])

    def report_from_words(self, value: int, card: Any, words: list[int]) -> Any:
        """The report that random 64-bit words make of a value, or step (docs/protocol.md).

        Args:
            value: the true one, or a step.
            card: the card; None without one.
            words: as many random 64-bit words as the coin takes.
        """
        lies = self._alone_words if card is None else self.lie_words
        return self.with_mask(self.coin.toss(value, words, lies), card)

    def with_mask(self, marks: list[int], card: Any) -> Any:
        """The report of what the coin said: the card is added, and the sum clamped.

        Args:
            marks: the numbers that the coin said.
            card: the card.
        """
        form = self.card_format
        low, high = self._range
        for one in self._by_dealer(card):
            numbers = form.numbers(form.check_card(one))
            marks = [min(max(mark + z, low), high) for mark, z in zip(marks, numbers, strict=True)]
        return marks[0] if self.numbers == 1 else np.array(marks, "<i2").tobytes()

    def _by_dealer(self, cards: Any) -> Sequence[Any]:
        """What each dealer dealt: of several dealers a list, those left out not being in it.

        The number grows by one dealer's card after another, and is clamped each time: so a
        dealer's card that was cut is clamped away before another dealer's card could show it.
        """
        if cards is None:
            return ()
        if self.dealers == 1:
            return (cards,)
        if not isinstance(cards, list | tuple) or not 1 <= len(cards) <= self.dealers:
            allowed = f"a list of what each of the {self.dealers} dealers dealt"
            raise checks.refusal("cards", cards, allowed)
        return cards

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true values; without cards plain RR at the whole ε.

        Of several dealers cards are a list, with what each of them dealt.
        """
        checked = self.coin.check_values("values", values)
        if self.steps > 1:
            checked = checked.astype(np.int64) * self.steps
        return self.respond_steps(checked, cards, rng)

    def respond_steps(
        self, steps: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """The same of whole numbers of steps, where the coin tells numbers."""
        checked = checks.symbols("values", steps, self._tellable)
        by_dealer = self._by_dealer(cards)
        low, high = self._range
        dealt = [self._check_cards(one, len(checked)) for one in by_dealer]
        for one in by_dealer:
            spend(one)
        source = randomness.source(rng)
        shape = (len(checked),) if self.numbers == 1 else (len(checked), self.numbers)
        out = np.empty(shape, np.int16)
        rows = max(1, randomness.BLOCK // self.report_format.words)
        lie = self.lie_words if dealt else self._alone_words
        for start in range(0, len(checked), rows):
            block = slice(start, start + rows)
            self.coin.toss_all(checked[block], lie, source, out[block])
            for one in dealt:
                added = np.add(out[block], one[block], dtype=np.int32)  # may need 17 bits
                np.clip(added, low, high, out=out[block], casting="unsafe")
        return MarkedReports.of(out, carded=cards is not None)

    # -- collector --------------------------------------------------------------------------

    def check_cardless(self, report: bytes) -> bytes:
        """What the coin says: without a card nothing is added."""
        numbers = np.frombuffer(report, "<i2")
        if not self.coin.can_say(numbers):
            allowed = f"of 0 to {self.coin.largest} where there was no card"
            raise checks.refusal("report", numbers.tolist(), allowed)
        return report

    def _from_sums(self, sums: Any, n: Any) -> Any:
        return self.coin.support(sums, n)

    @property
    def _supported(self) -> int:
        return sum(self.coin.items)

    def _estimated(
        self, tally: Tally | WeightedTally, decks: int | None, **population: Any
    ) -> Estimate:
        """As of any mechanism; of a block one whose `items` are the estimates of its items."""
        if not isinstance(self.coin, Block):
            return super()._estimated(tally, decks, **population)
        if not isinstance(tally, Tally):
            raise ArgumentError("weights must be None for a block: estimate item by item")
        return BlockEstimate(
            self.item(number).estimate(one, decks, **population)
            for number, one in enumerate(self._items_of(tally))
        )

    def _items_of(self, tally: Tally) -> list[Tally]:
        """The tally of each item of a block."""
        self._check_tally(tally)
        edges = np.cumsum((0, *self.coin.items)).tolist()
        return [
            replace(
                tally,
                mechanism=self.item(number).to_dict(),
                carded=tally.carded[start:end],
                cardless=tally.cardless[start:end],
            )
            for number, (start, end) in enumerate(pairwise(edges))
        ]

    def variance(self, counts: ArrayLike, decks: int = 1) -> Floats:
        """Variance of the estimated count of each value; of a block ask each `item`."""
        if isinstance(self.coin, Block):
            raise checks.refusal("counts", counts, "given to item(j).variance for each item j")
        return super().variance(counts, decks)

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value once masks are taken off, one row per run."""
        p, q = self.coin.chances(self.lie_words if with_cards else self._alone_words)
        support = self.coin.simulated_support(counts, runs, (float(p), float(q)), rng)
        total = int(counts.sum())
        return support + self._masks_left(total, runs, rng) if with_cards and total else support


def _designed(request: Request, own: float | None = None) -> list[MRR | None]:
    """The best MRR with each kind of coin; None where there is none."""
    strongest = own or request.dealer_epsilon or math.inf
    return [_made(request, coin, own) for coin in coins_for(request.k, strongest)]


def _made(request: Request, coin: Coin, own: float | None) -> MRR | None:
    """The best design, a hair's breadth on the private side of rounding."""
    design = best_design(request, coin) if own is None else design_for(request, coin, own)
    if design is None:
        return None
    for shrink in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10):
        made = _from_design(request, coin, design.scaled(1 - shrink))
        if made is not None and made.epsilon("cards") <= request.budget:
            return made
    return None


def _from_design(request: Request, coin: Coin, design: Design) -> MRR | None:
    if design.card_rate < LEAST_CARD_RATE:
        return None
    total, announced = design.closing_rate, 0.0
    if request.announced:
        total, announced = announced, total
    return MRR(
        request.n,
        design.own,
        card_rate=design.card_rate,
        total_rate=total,
        announced_rate=announced,
        coin=coin,
        announcements=max(1, request.announcements),
    )


class _Item(MRR):
    """One item of a block: its law is its own, what it loses is what the block does."""

    whole: MRR
    number: int

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        """Of all items of the block together: their coin is one."""
        return self.whole.epsilon(view, colluders, delta)

    def _pure(self) -> float:
        return self.whole._pure()

    def resized(self, n: int) -> Any:
        """The same item of the resized block."""
        return self.whole.resized(n).item(self.number)

    def for_dealers(self, dealers: int) -> Any:
        """The same item of the block for so many dealers."""
        return self.whole.for_dealers(dealers).item(self.number)

    def __eq__(self, other: object) -> bool:
        mine = (self.whole, self.number)
        return isinstance(other, _Item) and mine == (other.whole, other.number)

    def __hash__(self) -> int:
        return hash((self.whole, self.number))

    def __repr__(self) -> str:
        return f"{self.whole!r}.item({self.number})"
