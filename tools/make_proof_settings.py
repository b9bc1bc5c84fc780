"""Writes proofs/settings.v: ε, as the code states it, bounds what the theorems say.

    python tools/make_proof_settings.py

Each of some hundred settings is a coin with the probabilities that run, whole numbers of 2^63
words, and masks with the rates that run, floating-point numbers written as the exact fractions
that they are. Coq's interval arithmetic (for windows, computing in whole numbers too) then proves
that e^ε is at least the bound of the theorem, and that the coin is one that it is about. Run it
again when a plan chooses other numbers; a test compares.
"""

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import jrr
from jrr.privacy.windows import WindowWords

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "proofs" / "settings.v"
HEAD = """\
(** * The numbers that run (made by tools/make_proof_settings.py)

    For every setting: the probabilities that 2^63 equally likely words make (p of the truth, q of
    each other combination), c as the sum of the rates that are used, and what the code states:
    epsilon, behind masks and for people without a card, and the loss to the dealer. Of windows the
    words of every number, also without a card, and fractions just above e^c and below e^epsilon. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From Interval Require Import Tactic.
From JRR Require Import laws model coins numbers.
Import ListNotations.
Open Scope R_scope.

Definition words : R := 9223372036854775808.
(** A coin whose lies take so many words: its p and q. *)
Definition truth (lies : R) : R := (words - lies) / words.
Definition lie (k : nat) (lies : R) : R := lies / words / (INR k - 1).

Definition stated (sizes : list nat) (lies lies_alone c eps own : R) : Prop :=
  let k := combinations sizes in
  prefers_truth (truth lies) (lie k lies) k /\\ 0 <= c /\\
  block_bound sizes (truth lies) (lie k lies) c <= exp eps /\\
  truth lies_alone <= exp eps * lie k lies_alone /\\
  truth lies <= exp own * lie k lies.

Ltac stated :=
  unfold stated, prefers_truth, block_bound, truth, lie, words, E; simpl; repeat split;
  first [lra | interval with (i_prec 160)].
Ltac stated_window :=
  split; [repeat split; first [lia | vm_compute; congruence]|];
  split; [vm_cast_no_check (eq_refl true)|]; repeat split; first [lra | interval with (i_prec 160)].

"""
ABOVE = 1 << 80  # the denominator of the fractions just above e^c and below e^epsilon


def fraction(number: Fraction | float) -> str:
    """A number as Coq reads it."""
    exact = Fraction(number)
    return f"({exact.numerator} / {exact.denominator})"


def mechanisms() -> Iterator[jrr.MRR]:
    """Masked mechanisms for shares, as plans make them and as they do not."""
    for epsilon, n, k in product((0.1, 0.5, 1.0, 2.0, 3.0), (20, 1_000, 100_000), (2, 3, 5, 16)):
        for announced in (True, False):
            made = jrr.MRR.for_epsilon(epsilon, n=n, k=k, announced=announced)
            if isinstance(made.coin, jrr.Choice):
                yield made
    for epsilon, n, k, times in product((0.5, 1.0), (100, 10_000), (2, 3), (2, 3)):
        planned = jrr.plan(n, epsilon, k=k, announced=times).mechanism
        if isinstance(planned, jrr.MRR) and isinstance(planned.coin, jrr.Choice):
            yield planned
    sizes = ((2, 2), (2, 2, 2, 2, 2), (3, 3), (2, 3, 4))
    for size, own, rate in product(sizes, (0.5, 3.0, 7.25), (0.01, 0.3, 1.1)):
        yield jrr.MRR(100, own, card_rate=rate, announced_rate=2 * rate, coin=jrr.Block(size))
        yield jrr.MRR(100, own, card_rate=rate, total_rate=rate / 3, coin=jrr.Block(size))


def windows() -> Iterator[jrr.MRR]:
    """Numbers told by windows, as plans make them and as they do not."""
    for epsilon, n, announced in product((0.1, 0.5, 1.0), (100, 10_000), (True, False)):
        planned = jrr.plan_number(n, epsilon, 0, 1, announced=announced).mechanism
        if isinstance(planned, jrr.MRR) and isinstance(planned.coin, jrr.Window):
            yield planned
    for size, own, rate in product(((1, 1), (2, 3), (12, 4)), (0.5, 3.0), (0.01, 0.3)):
        coin = jrr.Window(*size)
        yield jrr.MRR(100, own, card_rate=rate, announced_rate=2 * rate, coin=coin)


def window_setting(mechanism: jrr.MRR) -> str:
    """What the code says of a window, as a proposition."""
    coin = mechanism.coin
    assert isinstance(coin, jrr.Window)
    words: list[int] = []
    for lies in (mechanism.lie_words, coin.lie_words(mechanism.alone)):
        assert isinstance(lies, int)
        each = WindowWords.of(coin.steps, coin.width, lies)
        words += [each.told, each.last, each.other]
    stated = stated_epsilon(mechanism)
    with localcontext(Context(prec=60)):
        exponents = (Decimal(one.numerator) / one.denominator for one in (mechanism.step, stated))
        high, low = (math.floor(one.exp() * ABOVE) for one in exponents)
    numbers = " ".join(map(str, [*words, high + 1, ABOVE, low, ABOVE]))
    rest = [fraction(one) for one in (mechanism.step, stated, mechanism.epsilon("dealer"))]
    return f"stated_window {coin.steps} {coin.width} {numbers} {' '.join(rest)}"


def stated_epsilon(mechanism: jrr.MRR) -> Fraction:
    """What the code states against everybody who does not know the card."""
    return Fraction(mechanism.epsilon("everything"))


def setting(mechanism: jrr.MRR) -> str:
    """What the code says of a mechanism, as a proposition."""
    coin = mechanism.coin
    sizes = coin.sizes if isinstance(coin, jrr.Block) else (coin.k,)
    alone = coin.lie_words(mechanism.alone)
    numbers = (
        Fraction(mechanism.lie_words),
        Fraction(alone),
        mechanism.step,
        stated_epsilon(mechanism),
        mechanism.epsilon("dealer"),
    )
    listed = "; ".join(f"{size}%nat" for size in sizes)
    return f"stated [{listed}] {' '.join(fraction(number) for number in numbers)}"


def text() -> str:
    """The whole file."""
    lines = sorted({setting(mechanism) for mechanism in mechanisms()})
    lines += sorted({window_setting(mechanism) for mechanism in windows()})
    proved = [
        f"Lemma setting_{number} : {line}.\nProof. {line.split()[0]}. Qed."
        for number, line in enumerate(lines, 1)
    ]
    together = " /\\\n  ".join(lines)
    names = " ".join(f"(conj setting_{number}" for number in range(1, len(lines)))
    proof = f"exact {names} setting_{len(lines)}{')' * (len(lines) - 1)}."
    theorem = f"Theorem every_setting :\n  {together}.\nProof. {proof} Qed."
    return HEAD + "\n".join(proved) + f"\n\n(** All {len(lines)} of them. *)\n{theorem}\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {text().count('Lemma ')} settings")
