"""The joint likelihood of a sensitive answer and an outcome, neither of which need be seen.

Somebody says yes to the sensitive question with the chance 1/(1 + e^-xβ), and has the outcome with
1/(1 + e^-(xθ + γz)), where z is 1 for who says yes. What is observed of a person has a chance for
each of the four pairs of true answers (docs/theory-uses.md, Theorem A6).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats

_MOST_STEPS = 500
_CLOSE = 1e-14  # squared distance from the maximum, in standard errors, by people
_FLAT = 1e13  # by how much directions may differ in curvature before one leads to infinity
_LARGEST_STEP = 4.0  # of any linear predictor
_FARTHEST = 30.0  # a linear predictor beyond it is on its way to infinity
_PAIRS = ((0, 0), (0, 1), (1, 0), (1, 1))  # sensitive answer, outcome


@dataclass(frozen=True, eq=False)
class HiddenPairs:
    """What is observed of people's pairs of answers.

    Attributes:
        x: the columns of the covariates, a row per person.
        chances: of what was observed, by sensitive answer and outcome: people × 2 × 2.
        weights: survey weights.
    """

    x: Floats
    chances: NDArray[np.float64]
    weights: Floats

    @property
    def columns(self) -> int:
        """Of the covariates: coefficients of the sensitive answer; the outcome has one more."""
        return int(self.x.shape[1])

    def likely(self, b: Floats) -> "_Likely":
        """What coefficients say of everybody: those of the sensitive answer, then the outcome's."""
        of_yes = expit(self.x @ b[: self.columns])
        of_outcome = [
            expit(self.x @ b[self.columns : -1] + b[-1] * sensitive) for sensitive in (0, 1)
        ]
        pairs = np.empty_like(self.chances)
        for z, o in _PAIRS:
            chance = (of_yes if z else 1 - of_yes) * (of_outcome[z] if o else 1 - of_outcome[z])
            pairs[:, z, o] = self.chances[:, z, o] * chance
        whole = np.maximum(pairs.sum(axis=(1, 2)), np.finfo(np.float64).tiny)
        return _Likely(of_yes, np.stack(of_outcome, 1), pairs / whole[:, None, None], np.log(whole))

    def scores(self, b: Floats) -> Floats:
        """Everybody's derivative of the likelihood, a row per person."""
        return self._score(self.likely(b))

    def _score(self, at: "_Likely") -> Floats:
        total = np.zeros((len(self.x), 2 * self.columns + 1))
        for z, o in _PAIRS:
            total += at.pairs[:, z, o, None] * self._score_of(at, z, o)
        return total

    def _score_of(self, at: "_Likely", z: int, o: int) -> Floats:
        """If these were the answers of everybody."""
        left = (z - at.of_yes)[:, None] * self.x
        right = (o - at.of_outcome[:, z])[:, None]
        return np.hstack([left, right * self.x, right * z])

    def information(self, b: Floats) -> tuple[Floats, Floats]:
        """Observed, and as it would be if the answers were known (Louis 1982)."""
        at, w = self.likely(b), self.weights
        size = 2 * self.columns + 1
        complete = np.zeros((size, size))
        spread = at.of_yes * (1 - at.of_yes)
        complete[: self.columns, : self.columns] = self.x.T @ ((w * spread)[:, None] * self.x)
        for z in (0, 1):
            rows = np.hstack([self.x, np.full((len(self.x), 1), float(z))])
            held = at.pairs[:, z].sum(axis=1) * at.of_outcome[:, z] * (1 - at.of_outcome[:, z])
            complete[self.columns :, self.columns :] += rows.T @ ((w * held)[:, None] * rows)
        mean = self._score(at)
        lost = -(mean.T @ (w[:, None] * mean))
        for z, o in _PAIRS:
            score = self._score_of(at, z, o)
            lost += score.T @ ((w * at.pairs[:, z, o])[:, None] * score)
        return complete - lost, complete

    def maximum(self, start: Floats) -> Floats:
        """The coefficients at which the likelihood is largest.

        Newton's steps where the likelihood bends down, otherwise those of the EM algorithm.

        Raises:
            ArgumentError: no finite coefficients are best.
        """
        b, at = start, self.likely(start)
        height = float(self.weights @ at.height)
        for _ in range(_MOST_STEPS):
            score = self.weights @ self._score(at)
            observed, complete = self.information(b)
            if not np.linalg.cond(complete) < _FLAT or self._farthest(b) > _FARTHEST:
                break
            bends = np.linalg.eigvalsh(observed)[0] > 1e-9 * np.linalg.eigvalsh(complete)[0]
            bent = observed if bends else complete
            step: Floats = np.asarray(np.linalg.solve(bent, score), np.float64)
            if bends and abs(float(step @ score)) < _CLOSE * len(self.x):
                return b
            step = step * min(1.0, _LARGEST_STEP / max(1e-300, self._farthest(step)))
            for _ in range(60):
                at = self.likely(b + step)
                risen = float(self.weights @ at.height)
                if risen > height:
                    break
                step = step / 2
            else:  # as high as floating point can tell
                if bends:
                    return b
                break
            b, height = b + step, risen
        raise ArgumentError(
            "covariates must leave finite coefficients: with these reports some go to infinity, as "
            "they do where hardly anybody of a group says yes or has the outcome, or nobody else; "
            "leave out or merge covariates, or ask more people"
        )

    def _farthest(self, b: Floats) -> float:
        """The largest linear predictor, or that of a step."""
        sensitive = np.abs(self.x @ b[: self.columns]).max()
        return float(max(sensitive, np.abs(self.x @ b[self.columns : -1]).max(), abs(b[-1])))


class _Likely(NamedTuple):
    of_yes: Floats
    of_outcome: Floats  # people × the sensitive answer
    pairs: NDArray[np.float64]  # chances of the pairs, given what was observed
    height: Floats  # the logarithm of the chance of what was observed
