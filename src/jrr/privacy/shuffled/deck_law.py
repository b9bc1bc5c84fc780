"""One deck: the law of the count from its generating function (docs/theory-jrr.md, section 10)."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr.privacy.binomial import ULP, Floats, reach

TAIL = 46.0  # e^-46: outside the window, outside the deck's alias
_CUT = 62.0  # Fourier terms below e^-62 are dropped
BLOCK = 32  # compositions that share a window


class DeckCounts(NamedTuple):
    """The cards of the target and of all who do not collude."""

    signed: int
    plus: int
    blank: int  # 0 or 1


class Rates(NamedTuple):
    """Chance to report 1, by card."""

    minus: float
    blank: float
    plus: float


class Pairs(NamedTuple):
    """Laws of the count with 1, 2, 3... more holders; neighbours are the two hypotheses."""

    laws: Floats
    error: float  # of any one law, summed over all counts

    def delta(self, epsilon: float) -> float:
        """The largest δ of any two neighbours, never too small."""
        grown = math.exp(epsilon)
        fewer, more = self.laws[:-1], self.laws[1:]
        worst = max(
            float(np.maximum(first - grown * second, 0.0).sum(axis=1).max())
            for first, second in ((more, fewer), (fewer, more))
        )
        return min(1.0, worst + (1 + grown) * self.error)


class ContributorLaw:
    """One contributor whose card is plus with chance `share`: Σ w z^report y^plus."""

    def __init__(self, rates: Rates, share: float) -> None:
        up, down = share, 1 - share
        self.mean = up * rates.plus + down * rates.minus
        self.w00, self.w10 = down * (1 - rates.minus), down * rates.minus
        self.w01, self.w11 = up * (1 - rates.plus), up * rates.plus
        self.share = share
        self.covariance = up * down * (rates.plus - rates.minus)
        self.variance = self.mean * (1 - self.mean)
        self.bends = np.array(
            [
                self.w00 * self.w10 + self.w01 * self.w11,  # same card, other report
                self.w00 * self.w01 + self.w10 * self.w11,  # same report, other card
                self.w00 * self.w11 + self.w10 * self.w01,
                self.w00 * self.w11 - self.w10 * self.w01,
            ]
        )

    def _terms(self) -> tuple[tuple[float, float, float], ...]:
        low, high = -self.mean, 1 - self.mean
        minus, plus = -self.share, 1 - self.share
        return (
            (self.w00, low, minus),
            (self.w10, high, minus),
            (self.w01, low, plus),
            (self.w11, high, plus),
        )

    def log_moment(self, t: Floats, r: Floats) -> Floats:
        """Of the centred report and card at real t and r."""
        return np.log(sum((w * np.exp(t * y + r * c) for w, y, c in self._terms()), np.zeros(1)))

    def log_phase(self, theta: Floats, omega: Floats) -> NDArray[np.complex128]:
        """Of the same at iθ and iω, with the digits that an n-th power needs: from f - 1."""
        real, imaginary = np.zeros_like(theta), np.zeros_like(theta)
        for weight, y, c in self._terms():
            phase = theta * y + omega * c
            real -= 2 * weight * np.sin(phase / 2) ** 2
            imaginary += weight * np.sin(phase)
        excess = real * (2 + real) + imaginary**2  # |f|² - 1
        far = np.log(np.maximum(np.hypot(1 + real, imaginary), 1e-300))
        size = np.where(excess < -0.5, far, 0.5 * np.log1p(np.maximum(excess, -0.5)))
        return size + 1j * np.arctan2(imaginary, 1 + real)


class Segment:
    """Laws of the count for a range of compositions of one deck.

    Cards drawn independently, given that they are the deck, are a shuffled deck: the law of the
    count is the coefficient of y^plus in A^ones B^zeros, A and B the laws of one holder of 1 and
    of 0, divided by the chance of the deck. Both coefficients are sums over Fourier nodes (θ, ω);
    few of these matter. A blank card is with a holder of 1 or of 0, and is added last.
    """

    def __init__(self, deck: DeckCounts, rates: tuple[Rates, Rates], low: int, high: int) -> None:
        """Compositions low..high of the others: low..high+1 holders with the target."""
        self.deck, self.rates, self.low, self.high = deck, rates, low, high
        self.people = deck.signed + deck.blank
        share = deck.plus / deck.signed if deck.signed else 0.0
        self.one, self.zero = ContributorLaw(rates[0], share), ContributorLaw(rates[1], share)
        self.first = max(0, low - deck.blank)  # holders with signed cards, least and most
        self.last = min(deck.signed, high + 1)
        spread = deck.signed * share * (1 - share)
        # Pr[deck] >= 1/sqrt(8 N μ(1-μ)); a deck of one kind of card is certain.
        self.rarity = math.sqrt(8 * spread) if spread else 1.0
        # Decks that differ by a multiple of so many plus cards are not told apart.
        most = max(deck.plus, deck.signed - deck.plus) if spread else 0
        self.card_nodes = min(most, reach(spread, TAIL + math.log(self.rarity))) + 1
        self.aliased = 2 * math.exp(-TAIL) if self.card_nodes <= most else 0.0
        self._choose_window()
        self._choose_nodes()

    def _choose_window(self) -> None:
        half = self._half_width()
        size = 2 * half + 2 * self.deck.blank + BLOCK + 4
        self.whole = size > self.people
        size = self.people + 1 if self.whole else size
        self.size = -(-size // 16) * 16 if size > 64 else size
        self.outside = 0.0 if self.whole else 2 * math.exp(-TAIL)

    def _half_width(self) -> int:
        """How far the count strays from its mean with chance e^-46 at most, by Chernoff.

        For a deck it is at most that of independent cards, tilted by any r, over Pr[deck].
        """
        ones = np.arange(self.first, self.last + 1, dtype=np.float64)[:, None]
        zeros = self.deck.signed - ones
        one, zero, share = self.one, self.zero, self.one.share
        cards = max(self.deck.signed * share * (1 - share), 1e-300)
        slope = (ones * one.covariance + zeros * zero.covariance) / cards
        variance = ones * one.variance + zeros * zero.variance - slope**2 * cards
        strength = np.array([0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0]) * math.sqrt(2 * TAIL)
        t = strength / np.sqrt(np.maximum(variance, 0.25))
        exponent = TAIL + math.log(self.rarity)
        widths = [
            (
                ones * one.log_moment(sign * t, -sign * t * slope)
                + zeros * zero.log_moment(sign * t, -sign * t * slope)
                + exponent
            )
            / t
            for sign in (1, -1)
        ]
        return math.ceil(max(float(width.min(axis=1).max()) for width in widths)) + 1

    def _choose_nodes(self) -> None:
        """Nodes whose term may exceed e^-62 at either end of the range, hence in between.

        ln|A| <= -Σ w w' (1 - cos(angle between their terms)), and so for the product.
        """
        rows: Floats = 2 * np.pi / self.size * np.arange(self.size // 2 + 1, dtype=np.float64)
        step = 2 * np.pi / self.card_nodes
        chosen = []
        for ones in (self.first, self.last):
            turn, card, both, skew = (
                ones * self.one.bends + (self.deck.signed - ones) * self.zero.bends
            )
            x, z = card + both * np.cos(rows), -skew * np.sin(rows)
            level = 2 * turn * np.sin(rows / 2) ** 2 + card + both - _CUT
            peak, centre = np.hypot(x, z), np.arctan2(z, x)
            for row in np.flatnonzero(level <= peak):
                cosine = level[row] / peak[row] if peak[row] > 0 else -1.0
                width = math.acos(max(-1.0, min(1.0, cosine)))
                left = math.floor((centre[row] - width) / step)
                count = min(self.card_nodes, math.ceil(2 * width / step) + 2)
                columns = (left + np.arange(count)) % self.card_nodes
                chosen.append(row * self.card_nodes + columns)
        at_row, column = np.divmod(np.unique(np.concatenate(chosen)), self.card_nodes)
        column = np.where(2 * column > self.card_nodes, column - self.card_nodes, column)
        theta, omega = rows[at_row], step * column
        self.rows, self.starts = np.unique(at_row, return_index=True)
        self.theta = rows[self.rows]
        self.log_one = self.one.log_phase(theta, omega)
        self.log_zero = self.zero.log_phase(theta, omega)
        self.error = self._error(theta + np.abs(omega))

    def _error(self, angle: Floats) -> float:
        """What one law may miss, summed over all counts.

        Every contributor's factor is good to 8 ulps of the angle and the exponential to some ulps
        of its exponent. Errors of one θ add up; the sum of the errors of all counts is at most
        the root of the sum of squares over θ (Cauchy, Parseval), where half of the θ are kept.
        """
        ones, zeros = self.last, self.deck.signed - self.first
        largest = np.exp(
            np.maximum(
                *(
                    holders * self.log_one.real + (self.deck.signed - holders) * self.log_zero.real
                    for holders in (self.first, self.last)
                )
            )
        )
        error = 8 * ULP * largest
        for people, log in ((ones, self.log_one), (zeros, self.log_zero)):
            # An n-th power multiplies relative errors by n; a tiny number's power is tiny itself.
            tiny = log.real < -3.0
            steep = people * largest * np.exp(-np.maximum(log.real, -3.0))
            error += 8 * ULP * angle * np.where(tiny, np.maximum(steep, 1.0), steep)
            error += ULP * people * np.abs(log.imag) * largest
        each = self.rarity / self.card_nodes
        by_row = np.add.reduceat(error, self.starts) * each
        size_by_row = np.add.reduceat(largest, self.starts) * each
        transform = 4 * ULP * math.log2(self.size + 1) * float(np.linalg.norm(size_by_row))
        rounding = math.sqrt(2) * (float(np.linalg.norm(by_row)) + transform)
        dropped = math.sqrt(self.size) * math.exp(-_CUT) * self.rarity
        return 2 * (rounding + dropped + self.aliased) + self.outside  # twice: laws are scaled to 1

    def pairs(self) -> Iterator[Pairs]:
        """The laws of all compositions, some at a time."""
        for low in range(self.low, self.high + 1, BLOCK):
            yield Pairs(self._laws(low, min(self.high, low + BLOCK - 1) + 1), self.error)

    def _laws(self, first: int, last: int) -> Floats:
        """The count with first..last holders, in one window."""
        middle = (self._mean(first) + self._mean(last)) / 2
        begin = 0 if self.whole else round(middle) - self.size // 2
        if not self.deck.blank:
            spectrum = self._spectrum(first, last, begin)
        else:
            inner = self._spectrum(max(0, first - 1), min(self.deck.signed, last), begin)
            turn = np.exp(1j * self.theta)
            with_one, with_zero = (1 - r.blank + r.blank * turn for r in self.rates)
            holders = np.arange(first, last + 1)
            origin = max(0, first - 1)
            below = inner[np.maximum(holders - 1 - origin, 0)]
            level = inner[np.minimum(holders - origin, len(inner) - 1)]
            chance = (holders / self.people)[:, None]  # that a holder of 1 has the blank card
            spectrum = chance * with_one * below + (1 - chance) * with_zero * level
        full = np.zeros((len(spectrum), self.size // 2 + 1), np.complex128)
        full[:, self.rows] = spectrum
        return np.fft.hfft(full, self.size, axis=1) / self.size

    def _mean(self, holders: int) -> float:
        return holders * self.one.mean + (self.people - holders) * self.zero.mean

    def _spectrum(self, first: int, last: int, begin: int) -> NDArray[np.complex128]:
        ones = np.arange(first, last + 1, dtype=np.float64)[:, None]
        zeros = self.deck.signed - ones
        terms = np.exp(ones * self.log_one + zeros * self.log_zero)
        sums = np.add.reduceat(terms, self.starts, axis=1)
        mean = ones * self.one.mean + zeros * self.zero.mean
        # At θ = 0 the sum is Pr[deck] for every node of ω: dividing by it scales a law to 1.
        turned = np.exp(1j * self.theta * (mean - begin))
        return np.asarray(sums / sums[:, :1].real * turned, np.complex128)
