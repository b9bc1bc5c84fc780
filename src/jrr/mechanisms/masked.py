"""Masked randomized response: cards are whole numbers that are added to the answer (MRR).

A contributor perturbs the answer with an own coin, as in plain randomized response, and adds a
secret whole number. Nobody who does not know that number learns more than ε, whatever else they
know; whoever does learns what the coin lets through. In the sum of all reports the numbers cancel:
those of a closed deck nearly add up to 0, or the dealer announces their sum with a little noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Masks
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Mechanism, Reports, Rng, check_truth_probability
from jrr.mechanisms.families import Family
from jrr.mechanisms.marked_arrays import MarkedReports, spend
from jrr.mechanisms.masked_collecting import Coin, MaskedCollecting
from jrr.mechanisms.masked_dealing import LARGEST_CARD, MaskedDealing
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE, Design, best_design, design_for
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Request, least
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import marginal_moments, shift_block, shift_from_word, shifts
from jrr.privacy import loss
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.informed.frequency import Frequency
from jrr.privacy.informed.independent import independent_losses
from jrr.privacy.loss import IndependentLaw
from jrr.privacy.masked import masked_bits, masked_value
from jrr.privacy.views import View

COINS: tuple[Coin, ...] = ("rr", "oue")
MOST_DEALERS = 16
_UNCLAMPED_MORE = 3.5  # for each dealer more: the chance does not grow (by the exact law)
_UNCLAMPED = 14.0  # no card of a deck reaches the clamp but with chance e^-14: below 10^-6
_HALF = SCALE >> 1


@dataclass(frozen=True, init=False)
class MRR(MaskedDealing, MaskedCollecting):
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
        k: possible values. Two need one number; more need one for every value.
        coin: "rr": the own coin tells one of the k values; "oue": it decides for every value
            (better for many values).
        p: instead of own: the chance that the coin tells the truth; of "oue" the chance that it
            leaves the mark of a value that is not held at 0.
        alone: the same for somebody without a card; by default the largest that keeps ε.
        dealers: how many dealers give everybody a card, all of which are added; for announced
            sums. What holds for one dealer then holds as long as one of them keeps its cards to
            itself (docs/theory.md, Theorem 31).

    Example:
        >>> m = MRR(1_000, own=3.0, card_rate=0.3, total_rate=0.8)
        >>> round(m.epsilon("everything", colluders=500), 4), round(m.epsilon("dealer"), 4)
        (0.9771, 3.0)
    """

    n: int
    p: float  # chance of the own coin's truth
    card_rate: float
    total_rate: float
    announced_rate: float
    k: int
    coin: Coin
    alone: float  # chance of the truth without a card
    dealers: int  # whose cards are added
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
    )
    omitted_parameters: ClassVar[tuple[str, ...]] = ("dealers",)  # in documents of one dealer
    colour: ClassVar[str] = "#7570b3"

    def __init__(
        self,
        n: int,
        own: float | None = None,
        card_rate: float = 0.0,
        total_rate: float = 0.0,
        announced_rate: float = 0.0,
        k: int = 2,
        coin: Coin = "rr",
        *,
        p: float | None = None,
        alone: float | None = None,
        dealers: int = 1,
    ) -> None:
        allowed = f"at least {LEAST_CARD_RATE}, so that cards fit into 16 bits, and at most 700"
        rates = {
            "card_rate": checks.real("card_rate", card_rate, allowed, LEAST_CARD_RATE, 700.0),
            "total_rate": checks.real("total_rate", total_rate, "in 0..700", 0.0, 700.0),
            "announced_rate": checks.real(
                "announced_rate", announced_rate, "in 0..700", 0.0, 700.0
            ),
        }
        if (rates["total_rate"] > 0) == (rates["announced_rate"] > 0):
            raise ArgumentError(
                "exactly one of total_rate (closed deck) and announced_rate (announced sum) must "
                f"be above 0, got {total_rate!r} and {announced_rate!r}"
            )
        checks.exactly_one(own=own, p=p)
        k = checks.domain(k, 1 << 12)
        coin = checks.one_of("coin", coin, COINS if k > 2 else COINS[:1])  # type: ignore[assignment]
        faces = k if coin == "rr" else 2
        if p is None:
            p = RR(faces, epsilon=checks.epsilon("own", own)).p
        values = {
            "n": checks.integer("n", n, 2, 10**9),
            "k": k,
            "coin": coin,
            "p": check_truth_probability("p", p, faces),
            "dealers": checks.integer("dealers", dealers, 1, MOST_DEALERS),
        }
        for name, value in (values | rates).items():
            object.__setattr__(self, name, value)
        self._check_dealers()
        most = self._behind(self.step)
        if alone is None:
            alone = RR(faces, epsilon=most).p
        alone = check_truth_probability("alone", alone, faces)
        if loss.independent(faces, RR(faces, p=alone).lie_words) > most:
            raise checks.refusal("alone", alone, f"small enough to keep epsilon={most!r}")
        object.__setattr__(self, "alone", alone)

    def _check_dealers(self) -> None:
        if self.dealers == 1:
            return
        if not self.announced:
            raise checks.refusal("dealers", self.dealers, "1 for a closed deck")
        if 2 * self.limit + 1 > LARGEST_CARD:
            # A card that is cut must not show, whatever the cards of other dealers are.
            needed = f"larger where {self.dealers} dealers deal to {self.n} people"
            raise checks.refusal("card_rate", self.card_rate, needed)

    @classmethod
    def for_epsilon(
        cls,
        n: int,
        epsilon: float,
        own: float | None = None,
        *,
        lost: float = 0.01,
        announced: bool = True,
        k: int = 2,
    ) -> "MRR":
        """The most accurate MRR whose loss is ε and whose own coin's is `own`.

        Args:
            n: contributors per deck.
            epsilon: the loss against everybody who does not know the card.
            own: the loss against those who do; None: ε + 2.
            lost: the share of cards that are dealt and never reported with, for a closed deck.
            announced: whether the dealer announces the sum of the cards that were used; False
                asks for a closed deck.
            k: possible values.

        Raises:
            ArgumentError: where own is not above epsilon: only a smaller ε can then be reached.

        Example:
            >>> m = MRR.for_epsilon(10_000, 1.0)
            >>> 0.999999 < m.epsilon("everything", colluders=9_999) <= 1.0
            True
        """
        epsilon = checks.epsilon("epsilon", epsilon)
        cap = epsilon + 2 if own is None else checks.epsilon("own", own)
        if not cap > epsilon:
            raise ArgumentError(
                f"own must be above epsilon={epsilon!r}, got {own!r}: with it every ε below "
                f"{cap!r} can be reached"
            )
        request = Request(
            checks.integer("n", n, 2),
            epsilon,
            k=k,
            dealer_epsilon=cap,
            lost=lost,
            announced=announced,
        )
        made = [m for m in _designed(request, own=cap) if m is not None]
        if not made:
            raise checks.refusal("epsilon", epsilon, "large enough for cards of 16 bits")
        return least(made, request)

    # -- what it says of itself -------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; without the number of dealers where it is one."""
        document = super().to_dict()
        if document.get("dealers") == 1:
            del document["dealers"]
        return document

    def for_dealers(self, dealers: int) -> Mechanism:
        """The same where so many dealers give everybody a card, all of which are added."""
        fields = {name: getattr(self, name) for name in self.parameters}
        return type(self)(**(fields | {"dealers": dealers}))

    @property
    def pure(self) -> bool:
        """One formula holds for everybody who does not know the card."""
        return True

    @property
    def limit(self) -> int:
        """B: reports are brought into -B..B+1.

        As narrow as honest reports allow: a liar can send any number in it.
        """
        # 0.7 for each binary digit is a little more than the logarithm, and the same on every
        # machine and in every language.
        far = _UNCLAMPED + 0.7 * (self.n * self._width).bit_length()
        more = math.ceil(_UNCLAMPED_MORE * (self.dealers - 1) / self.card_rate)
        return min(math.ceil(far / self.card_rate) + more, 32_000)

    @property
    def most_support(self) -> int:
        """The largest number that the collector accepts."""
        return self.limit + 1

    @property
    def _faces(self) -> int:
        """How many outcomes the own coin has."""
        return self.k if self.coin == "rr" else 2

    @property
    def own(self) -> float:
        """The privacy loss of the own coin."""
        return self._bare(self.lie_words)

    @cached_property
    def lie_words(self) -> int:
        """Words of the own coin that make a lie, or set the bit of a value that is not held."""
        return RR(self._faces, p=self.p).lie_words

    @cached_property
    def _alone_words(self) -> int:
        """The same for somebody without a card."""
        return RR(self._faces, p=self.alone).lie_words

    @cached_property
    def masks(self) -> Masks:
        """How the cards are drawn."""
        if self.announced:
            return AnnouncedMasks(self.card_rate, self.announced_rate, self.dealers)
        return ClosedMasks(self.n, self.card_rate, self.total_rate)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        return self._coin_moments(self.lie_words, masked=True)

    def _coin_moments(self, words: int, *, masked: bool) -> Moments:
        lie = Fraction(words, SCALE)
        masks = self.masks if masked else None
        cardless = self._coin_moments(self._alone_words, masked=False) if masked else None
        if self.coin == "rr":
            plain = marginal_moments(self.k, lie)
            p, q, gain = (float(part[0]) for part in (plain.p, plain.q, plain.gain))
        else:
            p, q, gain = 0.5, float(lie), float(Fraction(1, 2) - lie)
        return Moments.same_for_all(
            p=p,
            q=q,
            gain=gain,
            deck=self.n if masked else None,
            exclusive=self.k == 2,
            masks=masks,
            cardless=cardless,
        )

    @property
    def report_format(self) -> MaskedFormat:
        """Whole numbers of 16 bits."""
        return MaskedFormat(
            self._width, -self.limit, self.limit + 1, 1 if self.coin == "rr" else self.k
        )

    def _left_out_of_brief(self) -> tuple[str, ...]:
        unused = ["alone", "total_rate" if self.announced else "announced_rate"]
        unused += ["coin"] if self.k == 2 else []
        return (*unused, "dealers") if self.dealers == 1 else tuple(unused)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        if self.coin == "rr":
            told = f"{of_hundred(float(self.moments.p[0]), start=True)} the device takes your true "
            told += "answer, otherwise another one drawn at random"
        else:
            told = "The device decides for every answer by a coin whether to mark it, yours oftener"
        number = "a secret whole number" if self.k == 2 else "a secret whole number for each answer"
        return f"{told}, adds {number} that it was dealt, and sends only the sum."

    # -- planning ---------------------------------------------------------------------------

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The best own coin and shares of the budget, or plain RR where that is better."""
        return (
            Family(
                key="mrr",
                label="MRR",
                cards=True,
                best=cls.best,
                best_informed=lambda request, delta: cls.best(request),
                pure=True,
                colour=cls.colour,
                caption="secret numbers cancel in the sum",
            ),
        )

    @classmethod
    def best(cls, request: Request) -> Mechanism:
        """The most accurate MRR that keeps the request, or plain RR where that is better."""
        made: list[Mechanism] = [RR.best(request)]
        made += [m for m in _designed(request) if m is not None and request.allows(m)]
        return least(made, request)

    # -- privacy ----------------------------------------------------------------------------

    @property
    def step(self) -> Fraction:
        """c: by e^c at most the weight of what is seen changes where a card is one more or less."""
        rates = (self.card_rate, self.total_rate, self.announced_rate)
        return sum(map(Fraction, rates), Fraction(0))

    def _epsilon(self, view: View, colluders: int) -> float:
        if view == "dealer":
            return max(self._bare(self.lie_words), self._behind(self.step))
        if view == "report":
            # Of a single report the closing tells at most as much as the card: a + min(a, b).
            a, b = Fraction(self.card_rate), Fraction(self.total_rate)
            alone = self._bare(self._alone_words)
            return max(self._behind(a + min(a, b)), alone)
        return self._behind(self.step)

    def _epsilon_of_everything(self, colluders: int, delta: float) -> float:
        checks.real("delta", delta, "in 0..1", 0.0, 1.0, open_high=True)
        pure = self._behind(self.step)
        return pure if delta == 0 else min(pure, super()._epsilon_of_everything(colluders, delta))

    def _bare(self, words: int) -> float:
        return loss.independent(self._faces, words)

    def _behind(self, step: Fraction) -> float:
        lie = Fraction(self.lie_words, SCALE)
        if self.coin == "oue":
            return masked_bits(lie, step)
        return masked_value(self.k, lie, step)

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: Frequency = None
    ) -> Losses:
        """A bound: what is private at ε is no more telling than plain RR at ε."""
        pure = self._behind(self.step)
        lie = math.floor(Fraction(SCALE) / (1 + Fraction(math.exp(pure)) * Fraction(1 + 2.0**-40)))
        return independent_losses(IndependentLaw(2, max(1, lie)), colluders, frequency)

    # -- contributor ------------------------------------------------------------------------

    def coin_from_words(self, value: int, words: list[int], *, carded: bool = True) -> list[int]:
        """What the own coin makes of a value: one number, or one for each (docs/protocol.md)."""
        lie = self.lie_words if carded else self._alone_words
        if self.coin == "oue":
            return [
                int((word >> 1) < (_HALF if v == value else lie)) for v, word in enumerate(words)
            ]
        told = shift_from_word(self.k, value, lie, words[0])
        return [told] if self.k == 2 else [int(v == told) for v in range(self.k)]

    def respond_one(self, value: int, card: Any = None, rng: Rng = None) -> Any:
        """One report: a whole number, or for more than two values 16 bits for each as bytes."""
        value = checks.symbol("value", value, self.k)
        source = randomness.source(rng)
        words = [source.word() for _ in range(self.report_format.words)]
        return self._marked(self.report_from_words(value, card, words), card)

    def report_from_word(self, value: int, card: Any, word: int) -> Any:
        """The same where the coin takes one word."""
        return self.report_from_words(value, card, [word])

    def report_from_words(self, value: int, card: Any, words: list[int]) -> Any:
        """The report that random 64-bit words make of a value (docs/protocol.md)."""
        marks = self.coin_from_words(value, words, carded=card is not None)
        form = self.card_format
        low, high = -self.limit, self.limit + 1
        for one in self._by_dealer(card):
            numbers = form.numbers(form.check_card(one))
            marks = [min(max(mark + z, low), high) for mark, z in zip(marks, numbers, strict=True)]
        return marks[0] if self.k == 2 else np.array(marks, "<i2").tobytes()

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
        checked = checks.symbols("values", values, self.k)
        by_dealer = self._by_dealer(cards)
        # Cut so that sums fit into 16 bits; a clamped report does not change.
        most = self.limit + 1 if self.dealers == 1 else 2 * self.limit + 1
        dealt = [_cut(self._check_cards(one, len(checked)), most) for one in by_dealer]
        for one in by_dealer:
            spend(one)
        source = randomness.source(rng)
        shape = (len(checked),) if self.k == 2 else (len(checked), self.k)
        out = np.empty(shape, np.int16)
        rows = max(1, randomness.BLOCK // self.report_format.words)
        lie = self.lie_words if dealt else self._alone_words
        for start in range(0, len(checked), rows):
            block = slice(start, start + rows)
            self._coin_block(checked[block], lie, source, out[block])
            for one in dealt:
                np.add(out[block], one[block], out=out[block])
                np.clip(out[block], -self.limit, self.limit + 1, out=out[block])
        return MarkedReports.of(out, carded=cards is not None)

    def _coin_block(
        self, values: NDArray[Any], lie: int, source: randomness.RandomSource, out: Reports
    ) -> None:
        if self.coin == "oue":
            u = source.words(len(values) * self.k).reshape(-1, self.k) >> np.uint64(1)
            np.less(u, np.uint64(lie), out=out, casting="unsafe")
            held = np.arange(len(values)), values
            out[held] = u[held] < np.uint64(_HALF)
            return
        u = source.words(len(values)) >> np.uint64(1)
        told = np.empty(len(values), np.min_scalar_type(self.k - 1))
        shift_block(self.k, values, shifts(self.k, lie, u), told)
        if self.k == 2:
            out[:] = told
            return
        out[:] = 0
        out[np.arange(len(values)), told] = 1


def _cut(cards: Cards, most: int) -> Cards:
    """Cards brought into -most..most; the same array where they are."""
    if len(cards) and (cards.max() > most or cards.min() < -most):
        return np.clip(cards, -most, most)
    return cards


def _designed(request: Request, own: float | None = None) -> list[MRR | None]:
    """The best MRR with each kind of coin; None where there is none."""
    coins = COINS if request.k > 2 else COINS[:1]
    return [_made(request, coin, own) for coin in coins]


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
    return MRR(request.n, design.own, design.card_rate, total, announced, request.k, coin)
