"""Masked randomized response: cards are whole numbers that are added to the answer (MRR).

A contributor perturbs the answer with an own coin, as in plain randomized response, and adds a
secret whole number. Nobody who does not know that number learns more than ε, whatever else they
know; whoever does learns what the coin lets through. In the sum of all reports the numbers cancel:
those of a closed deck nearly add up to 0, or the dealer announces their sum with a little noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Population
from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Masks
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.tally import Tally
from jrr.estimation.weights import WeightedTally
from jrr.mechanisms.base import Cards, Ints, Mechanism, Reports, Rng, check_truth_probability
from jrr.mechanisms.cards import MaskCards
from jrr.mechanisms.draws import spread_lies
from jrr.mechanisms.families import Family
from jrr.mechanisms.marked_arrays import DealtCards, MarkedReports, note_announced, spend
from jrr.mechanisms.masked_deck import closed_deck
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE, Design, best_design, design_for
from jrr.mechanisms.readings import Reading
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Request, least
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import marginal_moments, shift_block, shift_from_word, shifts
from jrr.mechanisms.whole_noise import discrete_laplace
from jrr.privacy import loss
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.informed.frequency import Frequency
from jrr.privacy.informed.independent import independent_losses
from jrr.privacy.loss import IndependentLaw
from jrr.privacy.masked import masked_bits, masked_value
from jrr.privacy.memoised import remembered_loss
from jrr.privacy.views import View

Coin = Literal["rr", "oue"]
COINS: tuple[Coin, ...] = ("rr", "oue")
LARGEST_CARD = 32_767  # cards are cut there, far beyond the clamp of reports
FEWEST_ANNOUNCED = 2  # cards in an announced sum
MOST_DEALERS = 16
_UNCLAMPED_MORE = 3.5  # for each dealer more: the chance does not grow (by the exact law)
_UNCLAMPED = 14.0  # no card of a deck reaches the clamp but with chance e^-14: below 10^-6
_HALF = SCALE >> 1


@dataclass(frozen=True, init=False)
class MRR(Mechanism):
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
        if (own is None) == (p is None):
            raise ArgumentError(f"exactly one of own and p must be given, got {own!r} and {p!r}")
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
        announced: bool = False,
        k: int = 2,
    ) -> "MRR":
        """The most accurate MRR whose loss is ε and whose own coin's is `own`.

        Args:
            n: contributors per deck.
            epsilon: the loss against everybody who does not know the card.
            own: the loss against those who do; None: ε + 2.
            lost: the share of cards that are dealt and never reported with, for a closed deck.
            announced: whether the dealer announces the sum of the cards that were used.
            k: possible values.

        Raises:
            ArgumentError: where own is not above epsilon: only a smaller ε can then be reached.

        Example:
            >>> m = MRR.for_epsilon(10_000, 1.0, announced=True)
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
    def announced(self) -> bool:
        """Whether the dealer announces the sum of the cards that were used."""
        return self.announced_rate > 0

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
    def _width(self) -> int:
        """How many numbers a report has."""
        return 1 if self.k == 2 else self.k

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

    @property
    def card_format(self) -> MaskCards:
        """Whole numbers of 16 bits, in a range symmetric about 0."""
        return MaskCards(self.n, self._width, LARGEST_CARD)

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

    def remembered_epsilon(self, waves: int) -> float:
        """The loss of waves that share one toss of the own coin, to who does not know the cards.

        Unbounded for more than two values, where it is not known.
        """
        return remembered_loss(self.own, float(self.step), waves) if self.k == 2 else math.inf

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

    # -- dealer -----------------------------------------------------------------------------

    def deal(self, rng: Rng = None) -> Cards:
        """Whole numbers, one a contributor; for more than two values a row of them."""
        source = randomness.source(rng)
        draw: Callable[[], Ints] = (
            (lambda: discrete_laplace(self.card_rate, self.n, source))
            if self.announced
            else (lambda: closed_deck(self.n, self.card_rate, self.total_rate, source))
        )
        cards = np.empty((self.n, self._width), np.int16)
        for value in range(self._width):  # reports are clamped closer than cards are cut
            np.clip(draw(), -LARGEST_CARD, LARGEST_CARD, out=cards[:, value], casting="unsafe")
        return DealtCards.of(cards[:, 0] if self.k == 2 else cards)

    def announce(
        self, cards: ArrayLike, named: ArrayLike | None = None, rng: Rng = None
    ) -> int | list[int]:
        """What the dealer announces at the end: the noisy sum of the cards that were used.

        Only once for every deck: two announced sums can differ by one person's card.

        Args:
            cards: the deck, as it was dealt.
            named: the places in the deck of the cards that were used; None: all of them.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            A number; for more than two values one for each.

        Raises:
            ArgumentError: for a closed deck, a deck whose sum was announced before, or places
                that are unknown, doubled or fewer than two.

        Example:
            >>> m = MRR.for_epsilon(4, 1.0, announced=True)
            >>> type(m.announce(m.deal(), named=[0, 1, 3])).__name__
            'int'
        """
        if not self.announced:
            raise checks.refusal("mechanism", self, "one with announced_rate above 0")
        used = self._named_cards(cards, named)
        note_announced(cards)
        noise = discrete_laplace(self.announced_rate, self._width, randomness.source(rng))
        return self._plain_sum(used.sum(axis=0, dtype=np.int64) + noise)

    def undealt_sum(self, cards: ArrayLike, named: ArrayLike | None = None) -> int | list[int]:
        """The sum of a closed deck's cards that nobody fetched, which makes error bars shorter.

        Only after dealing has ended, only once, and never of a card that may have been given away.

        Args:
            cards: the deck.
            named: the places of the cards that nobody fetched; None: all that are given.

        Returns:
            A number; for more than two values one for each.
        """
        if self.announced:
            raise checks.refusal("mechanism", self, "one with a closed deck")
        unused = self._named_cards(cards, named, fewest=0)
        return self._plain_sum(unused.sum(axis=0, dtype=np.int64))

    def _named_cards(
        self, cards: ArrayLike, named: ArrayLike | None, fewest: int = FEWEST_ANNOUNCED
    ) -> NDArray[Any]:
        deck = self._check_cards(cards, len(np.asarray(cards))).reshape(-1, self._width)
        if named is None:
            places: NDArray[Any] = np.arange(len(deck))
        else:
            places = checks.symbols("named", named, len(deck))
        if len(np.unique(places)) != len(places):
            raise ArgumentError("named must hold every place once, got some twice")
        if len(places) < fewest:
            raise ArgumentError(f"named must hold at least {fewest} places, got {len(places)}")
        chosen: NDArray[Any] = deck[places]
        return chosen

    def _plain_sum(self, total: Ints) -> int | list[int]:
        return int(total[0]) if self.k == 2 else total.tolist()

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
        value = checks.integer("value", value, 0, self.k - 1)
        source = randomness.source(rng)
        words = [source.word() for _ in range(self.report_format.words)]
        return self.report_from_words(value, card, words)

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

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        return self.card_format.check_cards(cards, length)

    # -- collector --------------------------------------------------------------------------

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self.report_format.check(reports)

    def check_cardless(self, report: bytes) -> bytes:
        """What the own coin marks: without a card nothing is added."""
        marks = np.frombuffer(report, "<i2")
        single = self.coin == "rr" and self.k > 2
        if not np.isin(marks, (0, 1)).all() or (single and marks.sum() != 1):
            raise checks.refusal("report", marks.tolist(), "of 0 and 1 where there was no card")
        return report

    def _support(self, reports: Reports) -> tuple[int, ...]:
        if self.k > 2:
            return tuple(reports.sum(axis=0, dtype=np.int64).tolist())
        total = int(reports.sum(dtype=np.int64))
        return (len(reports) - total, total)

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        total: Floats = weights @ reports.astype(np.float64)
        return total if self.k > 2 else np.array([weights.sum() - total, total])

    def _no_weights(self) -> None:
        raise ArgumentError(
            "weights must be None where sums are announced: the dealer's sum is of unweighted "
            "cards. Use a closed deck (total_rate above 0), or estimate groups of equal weight"
        )

    def settle(
        self,
        tally: Tally,
        *,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
        cards: int | None = None,
    ) -> Tally:
        """Take off a tally what the dealer told of the masks in it.

        Args:
            tally: of all reports that were named to the dealer.
            announced: what `announce` returned, or a list of that for several decks or groups.
            undealt: for a closed deck: what `undealt_sum` returned, and of how many cards.
            cards: of how many cards the announced sums are; refused where the reports are not as
                many. None: of all of them.

        Returns:
            The tally of reports whose masks are gone but for noise; `estimate` takes it.

        Raises:
            ArgumentError: for numbers that are none, or that this kind of deck has not.
        """
        if not tally.masked:
            raise checks.refusal("tally", tally, "one of masked reports")
        masks, known = np.zeros(self._width, np.int64), tally.known
        uncovered = tally.n_carded - known.covered
        if cards is not None and checks.integer("cards", cards, 0) != uncovered:
            raise checks.refusal("cards", cards, f"{uncovered}, as many reports as have masks left")
        if announced is not None and uncovered <= 0:
            raise checks.refusal("announced", announced, "None: the masks are off these reports")
        if announced is not None:
            if not self.announced:
                raise checks.refusal("announced", announced, "None for a closed deck")
            rows = self._sums("announced", announced)
            masks = masks + rows.sum(axis=0)
            known = known._replace(
                announcements=known.announcements + len(rows), covered=tally.n_carded
            )
        if undealt is not None:
            if self.announced:
                raise checks.refusal("undealt", undealt, "None where sums are announced")
            total, count = undealt
            count = checks.integer("undealt count", count, 0, self.n * max(1, len(tally.decks)))
            masks = masks - self._sums("undealt", total).sum(axis=0)
            known = known._replace(undealt=known.undealt + count)
        off = (-int(masks[0]), int(masks[0])) if self.k == 2 else tuple(masks.tolist())
        return Tally(
            tally.mechanism,
            carded=tuple(count - mask for count, mask in zip(tally.carded, off, strict=True)),
            cardless=tally.cardless,
            n_carded=tally.n_carded,
            n_cardless=tally.n_cardless,
            decks=tally.decks,
            masked=True,
            known=known,
        )

    def _sums(self, argument: str, sums: ArrayLike) -> Ints:
        allowed = "a whole number" if self.k == 2 else f"{self.k} whole numbers"
        array = np.asarray(sums)
        if array.dtype.kind not in "iu" or array.size % self._width or not array.size:
            raise checks.refusal(argument, sums, f"{allowed}, or a list of such")
        return array.astype(np.int64).reshape(-1, self._width)

    def estimate(
        self,
        reports: ArrayLike | Tally | WeightedTally,
        decks: int | None = None,
        *,
        population: Population | str = "respondents",
        population_size: float | None = None,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
    ) -> Estimate:
        """Unbiased counts with error bars; arguments as for `Mechanism.estimate` and `settle`."""
        tally: Tally | WeightedTally
        tally = reports if isinstance(reports, Tally | WeightedTally) else self.tally(reports)
        if isinstance(tally, Tally):
            if announced is not None or undealt is not None:
                tally = self.settle(tally, announced=announced, undealt=undealt)
            if self.announced and tally.n_carded > tally.known.covered:
                raise ArgumentError(
                    "announced must be the sum that the dealer announced for these reports (or "
                    "settle the tally with it): without it their masks hide everything; got it for "
                    f"{tally.known.covered} of {tally.n_carded} reports"
                )
            fewest = self.fewest_decks(tally.n_carded + tally.known.undealt)
            if tally.known.undealt and decks is None and fewest > max(1, len(tally.decks)):
                raise ArgumentError(
                    f"reports and undealt cards must be at most {self.n} for each deck, got "
                    f"{tally.n_carded} and {tally.known.undealt}"
                )
        elif self.announced and tally.n_carded:
            self._no_weights()
        return super().estimate(
            tally, decks, population=population, population_size=population_size
        )

    # -- what one report says -----------------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        """A report as one of two symbols: above 0, or not.

        Of an announced sum's cards that is all that a report says of the answer; of a closed
        deck's all but a trace (docs/theory.md, Theorem A1).
        """
        if self.k > 2:
            raise checks.refusal("k", self.k, "2: single masked reports of more are not read")
        law = self.masks.card_law()
        above = float(law.chances[law.numbers >= 0].sum())  # that a yes stays above 0
        truth = float(self.moments.p[0])
        chance = truth * above + (1 - truth) * (1 - above)
        pull = float(law.chances @ np.abs(law.numbers)) / 2  # E[z; z above 0]
        decks_tie = self.masks.tie(1) * (self.n - 1)
        lean = pull / self.masks.single * math.sqrt(max(0.0, decks_tie))
        alone = float(self.moments.without_cards().p[0])
        return Reading(
            law=np.array([[chance, 1 - chance], [1 - chance, chance]]),
            alone=np.array([[alone, 1 - alone], [1 - alone, alone]]),
            leans=np.array([[[-lean, lean]] * 2]),
            deck=self.n,
        )

    def read(self, reports: ArrayLike) -> Ints:
        """Whether each report is above 0."""
        if isinstance(reports, list | tuple):
            reports = self.report_format.from_list(reports)
        return (np.asarray(self._check_reports(reports)) > 0).astype(np.int64)

    # -- simulation and audit ----------------------------------------------------------------

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value once masks are taken off, one row per run."""
        moments = self.moments if with_cards else self.moments.without_cards()
        p, q = float(moments.p[0]), float(moments.q[0])
        total = int(counts.sum())
        held = rng.binomial(counts, p, (runs, self.k))
        if self.coin == "rr":
            support = spread_lies(counts, held, rng)
        else:
            support = held + rng.binomial(total - counts, q, (runs, self.k))
        if not with_cards or not total:
            return support
        law = self.masks.law(total, 1)
        left = law.first + rng.choice(len(law.chances), (runs, self._width), p=law.chances)
        return support + (left * np.array([-1, 1]) if self.k == 2 else left)

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """The numbers of the values that are compared."""
        whole = np.asarray(reports).astype(np.int64)
        # What one more or less changes depends on which side of 1/2 the number is; rows of many
        # whole numbers would never be met again.
        return whole[:, None] if self.k == 2 else np.clip(whole[:, list(values)], 0, 1)

    def observed_cards(self, cards: Cards) -> Ints:
        """What the cards of colluders tell: weights depend on their sum alone."""
        sums: Ints = np.asarray(cards).astype(np.int64).sum(axis=1)
        shown: Ints = sums.reshape(len(cards), -1) if self.k == 2 else np.sign(sums)
        return shown

    def observed_with_card(self, reports: Reports, cards: Cards, values: tuple[int, ...]) -> Ints:
        """Reports with their cards taken off: what the own coin told."""
        bare: Ints = np.asarray(reports).astype(np.int64) - np.asarray(cards)
        return bare[:, None] if self.k == 2 else bare[:, list(values)]

    def published(self, decks: Cards, rng: Rng = None) -> Ints | None:
        """The announced sums, one for each deck."""
        if not self.announced:
            return None
        sums = [self.announce(deck, rng=rng) for deck in decks]
        return np.array(sums, np.int64).reshape(len(decks), -1)

    def observed_together(
        self,
        target: Reports,
        others: Reports,
        known: Cards,
        published: Ints | None,
        values: tuple[int, ...],
    ) -> Ints:
        """The target's report, and all reports and known cards less the announced sum."""
        total = np.asarray(target).astype(np.int64).reshape(len(target), -1)
        for part in (others, known):
            total += np.asarray(part).astype(np.int64).sum(axis=1).reshape(total.shape)
        if published is not None:
            total -= published
        if self.k > 2:
            total = np.clip(total[:, list(values)], -1, 2)
        return np.hstack((self.observed(target, values), total))


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
