"""Lies as shifts around the circle of values: what RR and JRR share, word by word."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.estimation.moments import Moments


def truth_probability(epsilon: float, k: int) -> float:
    """P(ε): the largest p whose report has privacy loss ε."""
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


def check_truth_probability(argument: str, value: object, k: int) -> float:
    """A probability of telling the truth, better than guessing."""
    return checks.real(argument, value, f"in (1/{k}, 1]", 1 / k, 1.0, open_low=True)


def check_gain(k: int, gain: float) -> None:
    """Refuse words in which the truth is no likelier than a lie."""
    if not gain > 0:
        raise checks.refusal("k", k, "small enough for the truth to be likelier than a lie")


def marginal_moments(
    k: int,
    lie: Fraction,
    lean_holder: float = 0.0,
    lean_other: float = 0.0,
    deck: int | None = None,
    signed: int | None = None,
    card_skew: float = 0.0,
) -> Moments:
    """Moments of a mechanism whose reports are, one by one, those of randomized response.

    From the words that run: for very large k they are not quite the parameters.
    """
    p, q = 1 - lie, lie / (k - 1)
    gain = float(p - q)
    check_gain(k, gain)
    return Moments.same_for_all(
        p=float(p),
        q=float(q),
        gain=gain,
        lean_holder=lean_holder,
        lean_other=lean_other,
        deck=deck,
        signed=signed,
        card_skew=card_skew,
        exclusive=True,
    )


def shift_from_word(k: int, value: int, lie_words: int, word: int) -> int:
    """Lie by the j-th other value where the word falls into the j-th of k-1 equal parts."""
    step = lie_words // (k - 1)
    part = (word >> 1) // step if step else k
    return (value + part + 1) % k if part < k - 1 else value


def shifts(k: int, lie_words: int, u: NDArray[np.uint64]) -> NDArray[Any]:
    """By how much each report is moved: 0 for the truth, 1..k-1 for a lie."""
    if k == 2:
        return (u < np.uint64(lie_words)).view(np.uint8)
    step = lie_words // (k - 1)
    if step == 0:
        return np.zeros_like(u)
    part = u // np.uint64(step)
    return (part + np.uint64(1)) * (part < np.uint64(k - 1))


def shift_block(k: int, values: NDArray[Any], moved: NDArray[Any], out: NDArray[Any]) -> None:
    """Move values around the circle 0..k-1."""
    if k == 2:
        np.bitwise_xor(values.astype(np.uint8, copy=False), moved, out=out)
        return
    total = values.astype(np.uint64) + moved
    np.subtract(total, np.uint64(k) * (total >= np.uint64(k)), out=out, casting="unsafe")


def shift_law(k: int, lie_words: int) -> NDArray[np.float64]:
    """Chance of each report, by true value, where so many words make a lie."""
    lie = min(1.0, lie_words / SCALE)
    chances = np.full((k, k), lie / (k - 1))
    np.fill_diagonal(chances, 1 - lie)
    return chances


_MANY = 13  # items that have too many combinations, whatever they are
_MOST_CHOICES = 16  # that are looked at, in every language


def truth_of(keep: float, values: int) -> float:
    """The chance that one of so many values is told truly, if it is kept with the chance `keep`.

    Otherwise one is drawn evenly. The same floating-point operations in every language.
    """
    return keep + (1 - keep) / values


def most_asked(questions: Sequence[Sequence[int]], asked: int) -> list[tuple[int, ...]]:
    """The items of people who are asked the most: nobody else loses more than the most of these.

    Each further item, and each further answer of one, makes the loss larger while answers are kept
    as often (docs/theory.md, Theorem 28b). So what has no more and no larger items than another
    choice is left out. Where that leaves very many, one that has what any of them has stands for
    all.

    Args:
        questions: Of each question that a person may be asked, the possible answers of its items.
        asked: Of how many questions each person is asked all items.

    Example:
        >>> most_asked([(2,), (5,), (3,)], 2), most_asked([(2, 2, 2), (2,), (5,)], 1)
        ([(5, 3)], [(5,), (2, 2, 2)])
    """
    asked = min(asked, _MANY)
    chosen: list[set[tuple[int, ...]]] = [{()}, *(set() for _ in range(asked))]
    for items in questions:
        for count in range(asked, 0, -1):
            more = {
                tuple(sorted((*one, *items), reverse=True)[:_MANY]) for one in chosen[count - 1]
            }
            chosen[count] = _largest(chosen[count] | more)
            if len(chosen[count]) > _MOST_CHOICES:
                return [_bound(questions, asked)]
    return sorted(chosen[asked], reverse=True)


def _largest(choices: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Those that no other one has as many items for, each with as many answers."""

    def covers(other: tuple[int, ...], one: tuple[int, ...]) -> bool:
        longer = other != one and len(other) >= len(one)
        return longer and all(a >= b for a, b in zip(other, one, strict=False))

    return {one for one in choices if not any(covers(other, one) for other in choices)}


def _bound(questions: Sequence[Sequence[int]], asked: int) -> tuple[int, ...]:
    """As many items of each size as anybody may be asked."""
    found: list[int] = []
    for size in sorted({size for items in questions for size in items}, reverse=True):
        as_large = sorted((sum(one >= size for one in items) for items in questions), reverse=True)
        found += [size] * (sum(as_large[:asked]) - len(found))
    return tuple(found)
