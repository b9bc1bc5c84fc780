"""Unary encoding: one bit per value, each perturbed on its own (SUE, OUE), with couplings.

A contributor with value x has bit 1 at x and 0 elsewhere; a bit is reported as 1 with
probability p where it is 1 and q where it is 0. SUE (basic RAPPOR) has q = 1 - p, OUE p = 1/2.
A coupling deals every bit a card R = ±1 from a deck of its own:

    joint   Pr[1 | bit 1, R] = p + sR    Pr[1 | bit 0, R] = q - sR    leans towards the truth
    dealt   Pr[1 | bit 1, R] = p + sR    Pr[1 | bit 0, R] = q + sR    leans towards reporting 1

One card for all bits of a contributor would not do: the collector could read it off the
other bits (docs/theory-jrr.md, section 9).

Reports and cards are packed: bit v is bit v mod 8, least significant first, of byte v div 8.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import BITS, SCALE, words_down, words_up
from jrr._base.randomness import RandomSource
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Ints, Rng
from jrr.mechanisms.cards import SortedDeck
from jrr.mechanisms.design import Calibration, calibrated
from jrr.mechanisms.draws import balanced_bits, chance, hypergeometric
from jrr.mechanisms.marked_arrays import DealtCards, MarkedReports, spend
from jrr.mechanisms.packed import PackedBits
from jrr.mechanisms.request import Family, Request
from jrr.privacy.loss import Bit, UnaryLaw
from jrr.privacy.views import View

_FINE = BITS - 8  # bits of a threshold below the byte that nearly always decides
_ROWS = 1 << 12  # contributors perturbed at a time


@dataclass(frozen=True, init=False)
class Unary(PackedBits):
    """What SUE and OUE share; they differ in how p follows from q.

    Args:
        k: possible values; a report has a bit for each.
        epsilon: the privacy loss; with a coupling in the view `cards`, with so many colluders.
        coupling: "none", "joint" or "dealt": whether cards are dealt, and how they lean bits.
        n: contributors per deck, where there are cards.
        colluders: how many show their cards to the adversary that epsilon is kept against.
        s: how far a card leans a bit; chosen for accuracy unless given.
        q: the probability that a bit 0 is reported as 1, instead of epsilon.
        dealer_epsilon: a cap on what a dealer can learn that colludes with the collector.
    """

    k: int  # size of the domain
    q: float  # probability that a bit 0 is reported as 1
    s: float  # how far a card leans a bit
    coupling: str  # "none", "joint" or "dealt"
    n: int | None  # contributors per deck, where there are cards
    parameters: ClassVar[tuple[str, ...]] = ("k", "q", "s", "coupling", "n")
    optional_parameters: ClassVar[tuple[str, ...]] = ("n",)

    def __init__(
        self,
        k: int,
        epsilon: float | None = None,
        *,
        coupling: str = "none",
        n: int | None = None,
        colluders: int = 0,
        s: float | None = None,
        q: float | None = None,
        dealer_epsilon: float | None = None,
    ) -> None:
        k = checks.domain(k, 1 << 20)
        asked = Calibration.checked(coupling, n, colluders, epsilon, s, dealer_epsilon, q=q)
        if q is None:
            encoding = self._calibrated(k, asked)
            q, s = encoding.q, encoding.s
        q = checks.real("q", q, "in (0, 1/2)", 0.0, 0.5, open_low=True, open_high=True)
        most = self._most_lean(q)
        lean = checks.real("s", s or 0.0, f"in 0..{most!r}", 0.0, most * (1 + 1e-12))
        self._set(k=k, q=q, s=min(lean, most), coupling=asked.coupling, n=asked.n)

    @classmethod
    def _calibrated(cls, k: int, asked: Calibration) -> "Unary":
        """The most accurate encoding that keeps what is asked."""
        if asked.lean is not None:
            checks.real("s", asked.lean, "in 0..1/2", 0.0, 0.5)

        def make(q: float, lean: float) -> Unary:
            return cls(k, q=q, s=lean, coupling=asked.coupling, n=asked.n)

        noise = (2.0**-50, 0.5 - 2.0**-50)
        return calibrated(make, cls._most_lean, noise, asked, lambda made: made.moments)

    @staticmethod
    @abstractmethod
    def _p(q: float) -> float:
        """The probability that a bit 1 is reported as 1."""

    @classmethod
    def _most_lean(cls, q: float) -> float:
        return min(q, 1 - cls._p(q))

    @property
    def p(self) -> float:
        """Probability that a bit 1 is reported as 1."""
        return self._p(self.q)

    @cached_property
    def law(self) -> UnaryLaw:
        """The mechanism in whole numbers of random words."""
        p, q, s = Fraction(self.p), Fraction(self.q), Fraction(self.s)
        lean = s if self.coupling == "dealt" else -s
        holder = Bit(*(words_down(chance) for chance in (p - s, p, p + s)))
        other = Bit(*(words_up(chance) for chance in (q - lean, q, q + lean)))
        deck = 2 if self.n is None else self.n + self.n % 2
        return UnaryLaw(deck, holder, other)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        other = self.s if self.coupling == "dealt" else -self.s
        signed = None if self.n is None else self.n - self.n % 2
        return Moments.same_for_all(
            p=self.p,
            q=self.q,
            gain=self.p - self.q,
            lean_holder=self.s,
            lean_other=other,
            deck=self.n,
            signed=signed,
        )

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """Without cards, and with either coupling, the lean chosen for the request."""
        lines = {"none": "-", "joint": "-.", "dealt": ":"}
        return tuple(
            cls._family(
                partial(cls._best, coupling=coupling),
                key=cls.name.lower() + ("" if coupling == "none" else f"-{coupling}"),
                label=cls.name + ("" if coupling == "none" else f" + {coupling}"),
                cards=coupling != "none",
                encodes=True,
                line=line,
            )
            for coupling, line in lines.items()
        )

    @classmethod
    def _best(cls, request: Request, coupling: str) -> "Unary":
        """The encoding with its best lean under the request."""
        if coupling == "none":
            return cls(request.k, epsilon=request.budget)
        tuned = cls._calibrated(request.k, Calibration.for_request(request, coupling))
        return tuned if tuned.s else cls._best(request, "none")  # cards that do nothing

    def _epsilon(self, view: View, colluders: int) -> float:
        return self.law.epsilon("report" if self.n is None else view, colluders)

    @cached_property
    def sorted_deck(self) -> SortedDeck | None:
        """A deck per bit, half plus (1) and half minus (0) cards."""
        if self.n is None:
            return None
        half = self.law.deck // 2
        return SortedDeck(self.n, np.array([1, 0], np.uint8), (half, half), bits=self.k)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        cards = {
            "none": "",
            "joint": ", each leaned towards or away from the truth by a secret card",
            "dealt": ", each leaned towards yes or no by a secret card",
        }[self.coupling]
        return (
            f'The device asks itself "is this my answer?" for each of the {self.k} answers '
            f"and says yes {of_hundred(self.p)} where it is, "
            f"{of_hundred(self.q)} where it is not{cards}."
        )

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        shape = (runs, self.k)
        p, q, s = self.p, self.q, self.s
        others = counts.sum() - counts
        if self.n is None or not with_cards or not s:
            return rng.binomial(counts, p, shape) + rng.binomial(others, q, shape)
        # Every bit has a deck of its own: plus cards among holders, then among the others.
        half = self.law.deck // 2
        plus = rng.hypergeometric(half, half, counts, shape)
        left_plus, left_minus = half - plus, half - (counts - plus)
        other_plus = hypergeometric(left_plus, left_minus, np.broadcast_to(others, shape), rng)
        lean = s if self.coupling == "dealt" else -s
        support: Ints = (
            rng.binomial(plus, chance(p + s))
            + rng.binomial(counts - plus, chance(p - s))
            + rng.binomial(other_plus, chance(q + lean))
            + rng.binomial(others - other_plus, chance(q - lean))
        )
        return support

    def observed_cards(self, cards: Cards) -> Ints:
        """How many colluders hold a plus card, bit by bit."""
        bits = np.unpackbits(cards, axis=2, count=self.k, bitorder="little")
        plus: Ints = bits.sum(axis=1, dtype=np.int64)
        return plus

    def deal(self, rng: Rng = None) -> NDArray[np.uint8] | None:
        """Packed cards, a set bit is a plus card: k shuffled decks, one per bit.

        An odd number of contributors is dealt from one card more, of which one is left over.
        """
        if self.n is None:
            return None
        bits = balanced_bits(self.law.deck, self.k, randomness.source(rng))
        return DealtCards.of(bits[: self.n])

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> NDArray[np.uint8]:
        """Packed reports, one row of bytes each."""
        checked = checks.symbols("values", values, self.k)
        dealt = None if cards is None else self._check_cards(cards, len(checked))
        spend(cards)
        source = randomness.source(rng)
        out = np.empty((len(checked), self.width), np.uint8)
        for start in range(0, len(checked), _ROWS):
            block = slice(start, start + _ROWS)
            plus = None if dealt is None else _unpacked(dealt[block], self.k)
            out[block] = self._respond_rows(checked[block], plus, source)
        return MarkedReports.of(out, carded=cards is not None)

    def _respond_rows(
        self, values: NDArray[Any], plus: NDArray[np.bool_] | None, source: RandomSource
    ) -> NDArray[np.uint8]:
        rows = len(values)
        words = source.words(rows * self.width)
        coarse = words.astype("<u8", copy=False).view(np.uint8).reshape(rows, -1)[:, : self.k]
        held = np.arange(rows), values
        ones, ties = _compare(coarse, plus, self.law.other)
        ones[held], ties[held] = _compare(
            coarse[held], None if plus is None else plus[held], self.law.holder
        )
        undecided = np.flatnonzero(ties)  # about one bit in 256: only they need more than a byte
        if undecided.size:
            fine = self._fine(np.divmod(undecided, self.k), values, plus)
            drawn = source.words(undecided.size) >> np.uint64(64 - _FINE)
            ones.reshape(-1)[undecided] = drawn < fine
        return np.packbits(ones, axis=1, bitorder="little")

    def _fine(
        self, at: tuple[NDArray[np.intp], ...], values: NDArray[Any], plus: NDArray[np.bool_] | None
    ) -> NDArray[np.uint64]:
        """What the bits below the byte are compared with, for some bits of some rows."""
        row, column = at
        held = (values[row] == column).astype(np.intp)
        card = np.ones_like(held) if plus is None else 2 * plus[at].astype(np.intp)
        bits = (self.law.other, self.law.holder)
        below = [[words & ((1 << _FINE) - 1) for words in bit] for bit in bits]
        fine: NDArray[np.uint64] = np.array(below, np.uint64)[held, card]
        return fine

    def respond_one(self, value: int, card: bytes | None = None, rng: Rng = None) -> bytes:
        """One report without arrays, for a contributor's own device."""
        value = checks.symbol("value", value, self.k)
        if card is not None:
            card = self._check_card(card)
        source = randomness.source(rng)
        coarse = b"".join(source.word().to_bytes(8, "little") for _ in range(self.width))
        report = bytearray(self.width)
        for v in range(self.k):
            bit = self.law.holder if v == value else self.law.other
            ones = bit.none
            if card is not None:
                ones = bit.plus if card[v // 8] >> v % 8 & 1 else bit.minus
            if self.bit_from_bytes(coarse[v], ones, source):
                report[v // 8] |= 1 << v % 8
        return self._marked(bytes(report), card)

    @staticmethod
    def bit_from_bytes(coarse: int, ones: int, source: RandomSource) -> bool:
        """Whether a byte, and on a tie a word after it, falls below so many words."""
        if coarse != ones >> _FINE:
            return coarse < ones >> _FINE
        return source.word() >> (64 - _FINE) < ones & ((1 << _FINE) - 1)

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        if self.n is None:
            raise ArgumentError(f"cards must be None for {self.name} without a coupling")
        return self._check_packed("cards", cards, length)

    def _check_card(self, card: object) -> bytes:
        if self.n is None:
            raise checks.refusal("card", card, f"None for {self.name} without a coupling")
        if isinstance(card, np.ndarray) and card.dtype == np.uint8:  # a row of a deck
            card = card.tobytes()
        if not isinstance(card, bytes) or len(card) != self.width:
            raise checks.refusal("card", card, f"{self.width} bytes")
        self._check_packed("card", np.frombuffer(card, np.uint8)[None, :], 1)
        return card


@dataclass(frozen=True, init=False)
class SUE(Unary):
    """Symmetric unary encoding (basic RAPPOR): p = 1 - q.

    Called as `SUE(k, epsilon, coupling="none", n=None, colluders=0, s=None)`, or with `q=` instead
    of epsilon; `dealer_epsilon=` caps what a dealer can learn. With the coupling "joint" or "dealt"
    cards are dealt in decks of n, and epsilon is kept in the view `cards` with so many colluders.

    Example:
        >>> SUE(64, epsilon=1.0).report_format.width
        8
    """

    name: ClassVar[str] = "SUE"
    title: ClassVar[str] = "symmetric unary encoding, a form of randomized response"
    colour: ClassVar[str] = "#66a61e"

    @staticmethod
    def _p(q: float) -> float:
        return 1 - q


@dataclass(frozen=True, init=False)
class OUE(Unary):
    """Optimised unary encoding: p = 1/2.

    Called as `OUE(k, epsilon, coupling="none", n=None, colluders=0, s=None)`, or with `q=` instead
    of epsilon; `dealer_epsilon=` caps what a dealer can learn. With the coupling "joint" or "dealt"
    cards are dealt in decks of n, and epsilon is kept in the view `cards` with so many colluders.

    Example:
        >>> OUE(64, epsilon=1.0).report_format.width
        8
    """

    name: ClassVar[str] = "OUE"
    title: ClassVar[str] = "optimised unary encoding, a form of randomized response"
    colour: ClassVar[str] = "#7570b3"

    @staticmethod
    def _p(q: float) -> float:
        return 0.5


def _unpacked(cards: Cards, k: int) -> NDArray[np.bool_]:
    return np.unpackbits(cards, axis=1, count=k, bitorder="little").view(np.bool_)


def _compare(
    coarse: NDArray[np.uint8], plus: NDArray[np.bool_] | None, bit: Bit
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which bytes fall below the bit's words for sure, and which leave it undecided."""
    if plus is None:
        return _below(coarse, bit.none)
    ones, ties = _below(coarse, bit.minus)
    with_plus, plus_ties = _below(coarse, bit.plus)
    np.copyto(ones, with_plus, where=plus)
    np.copyto(ties, plus_ties, where=plus)
    return ones, ties


def _below(coarse: NDArray[np.uint8], words: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if words == SCALE:
        return np.ones(coarse.shape, np.bool_), np.zeros(coarse.shape, np.bool_)
    top = np.uint8(words >> _FINE)
    return coarse < top, coarse == top
