"""Every attack with who can mount it, what it achieves in numbers, and one sentence."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from jrr._base.wording import show_epsilon
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import Request
from jrr.planning.liars import liar_bias
from jrr.privacy.cost_table import belief
from jrr.research.attacks.cards import (
    block_epsilon,
    card_reuse,
    exposed_share,
    refusal_estimate,
    shift_bias,
    swap_bias,
    sybil_epsilon,
)

VERIFIED = "MRR verified"  # as surveys over a network are, unless told otherwise


@dataclass(frozen=True)
class Setting:
    """A yes-or-no survey; `cap` is the ε against dealer and collector where one is set."""

    n: int = 10_000
    epsilon: float = 0.1  # view cards
    colluders: int = 5
    cap: float = 2.1  # view dealer
    frequency: float = 0.1  # of answer 1

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The most accurate of each family at the same ε, with and without a cap."""
        wishes = {
            "RR": ("rr", None),
            "JRR": ("jrr", None),
            "JRR capped": ("jrr", self.cap),
            "DRR": ("drr", None),
            "DRR capped": ("drr", self.cap),
            "OUE": ("oue", None),
            "OLH": ("olh", None),
        }
        planned = {name: self._planned(kind, cap) for name, (kind, cap) in wishes.items()}
        return planned | {
            name: MRR.for_epsilon(
                self.epsilon, n=self.n, dealer_epsilon=self.cap, announced=announced
            )
            for name, announced in (("MRR closed", False), ("MRR announced", True))
        }

    def reach(self, name: str) -> float:
        """By how many people one liar moves the estimate of a mechanism, or of verified masks."""
        verified = name == VERIFIED
        mechanism = self.mechanisms["MRR announced" if verified else name]
        return liar_bias(mechanism, self.frequency, verified=verified)

    def _planned(self, kind: str, cap: float | None) -> Mechanism:
        known = self.frequency if kind == "jrr" else None  # the only one that must know it
        request = Request(self.n, self.epsilon, self.colluders, 2, cap, known)
        if kind == "jrr":  # as in the paper: as many plus as minus cards
            return JRR.best_even(request)
        return families()[kind].best(request)


REFUSING = 0.01
FAKES = (0.01, 0.1, 0.2)
BLOCKS = (20, 50, 100, 1_000)
MASKS = ("MRR closed", "MRR announced")


@dataclass(frozen=True)
class Attack:
    """One attack, measured."""

    name: str
    who: str
    numbers: dict[str, float]
    sentence: str


def all_attacks(setting: Setting | None = None) -> list[Attack]:
    """Every attack on one survey; by default 10,000 people, ε = 0.1, 5 colluders, 10% yes.

    Args:
        setting: the survey that is attacked.
    """
    return [measure(setting or Setting()) for measure in _MEASURES]


def _card_reuse(setting: Setting) -> Attack:
    numbers = {}
    for name in ("JRR", "JRR capped", "DRR", "DRR capped"):
        reuse = card_reuse(setting.mechanisms[name])
        numbers[f"{name}, one card"] = reuse.one_card[1]
        numbers[f"{name}, fresh cards"] = reuse.fresh_cards[1]
    return Attack(
        "card reuse",
        "a dealer that deals the same cards in two rounds, and whoever sees the reports",
        numbers,
        "Of two rounds with one card, reports alone (view report) tell that one answer changed "
        f"with ε = {_show(numbers['JRR, one card'])} under JRR and "
        f"{_show(numbers['DRR, one card'])} under DRR ({_show(numbers['JRR capped, one card'])} "
        f"and {_show(numbers['DRR capped, one card'])} with the dealer capped at "
        f"{setting.cap:g}), where fresh cards keep {_show(numbers['DRR, fresh cards'])}.",
    )


def _collusion(setting: Setting) -> Attack:
    numbers = {}
    for name in ("JRR", "JRR capped", "DRR", "DRR capped"):
        mechanism = setting.mechanisms[name]
        numbers[f"{name}, ε"] = mechanism.epsilon("dealer")
        numbers[f"{name}, belief"] = belief(mechanism.epsilon("dealer"))
        numbers[f"{name}, exposed"] = exposed_share(mechanism)
    return Attack(
        "dealer and collector collude",
        "both servers together: every report beside its card (view dealer)",
        numbers,
        f"Without a cap they are certain of {numbers['JRR, exposed']:.1%} of those who hold answer "
        f"1 under JRR and of {numbers['DRR, exposed']:.1%} under DRR; with the cap an answer that "
        f"was thought 10% likely can come to be thought at most "
        f"{numbers['DRR capped, belief']:.0%} likely, and nobody is exposed.",
    )


def _sybils(setting: Setting) -> Attack:
    numbers = {
        f"{name}, {share:.0%} fake": sybil_epsilon(setting.mechanisms[name], share)
        for name in ("JRR", "DRR capped", *MASKS)
        for share in FAKES
    }
    return Attack(
        "Sybils",
        "a collector that invites accounts of its own: their cards are cards of colluders",
        numbers,
        f"With 10% fake accounts the loss in the view cards is "
        f"{_show(numbers['JRR, 10% fake'])} under JRR and {_show(numbers['DRR capped, 10% fake'])} "
        f"under DRR, where {setting.epsilon:g} was planned for {setting.colluders} colluders; it "
        "is that of the view dealer once half of the accounts are fake. Under MRR it stays "
        f"{_show(numbers['MRR closed, 20% fake'])}, however many are.",
    )


def _small_decks(setting: Setting) -> Attack:
    numbers = {
        f"{name}, {block}": block_epsilon(setting.mechanisms[name], block, setting.colluders)
        for name in ("JRR", "DRR capped")
        for block in BLOCKS
    }
    return Attack(
        "small decks",
        f"{setting.colluders} colluders who sit in the target's own deck",
        numbers,
        f"The mechanism planned for one deck of {setting.n:,}, dealt in blocks of 20 instead, has "
        f"ε = {_show(numbers['JRR, 20'])} under JRR and {_show(numbers['DRR capped, 20'])} under "
        f"DRR in the view cards; {_show(numbers['JRR, 100'])} and "
        f"{_show(numbers['DRR capped, 100'])} in blocks of 100.",
    )


def _refusal(setting: Setting) -> Attack:
    f = setting.frequency
    numbers = {
        f"{name}, {word}": refusal_estimate(setting.mechanisms[name], f, REFUSING, card)
        for name, cards in (("DRR", (1, 0)), ("DRR capped", (1, 0)), ("JRR", (1, -1)))
        for word, card in zip(("first card", "second card"), cards, strict=True)
    }
    return Attack(
        "card-dependent refusal",
        "contributors who look at their card and then stay away",
        numbers,
        f"If {REFUSING:.0%} of those with card 1 refuse, DRR estimates "
        f"{numbers['DRR, first card']:.3f} where {f:.3f} is true; if {REFUSING:.0%} of the plus "
        f"cards' holders do, JRR estimates {numbers['JRR, first card']:.3f}.",
    )


def _poisoning(setting: Setting) -> Attack:
    names = ("RR", "JRR", "DRR", "DRR capped", "OUE", "OLH", *MASKS, VERIFIED)
    numbers = {name: setting.reach(name) for name in names}
    return Attack(
        "poisoning",
        "contributors who send what they like",
        numbers,
        f"Each liar adds {numbers['RR']:.1f} (RR), {numbers['JRR']:.1f} (JRR) or "
        f"{numbers['DRR']:.1f} (DRR) counts to the answer of its choice, {numbers['OUE']:.1f} "
        f"with OUE and {numbers['OLH']:.1f} with OLH: these cards neither help nor hinder liars. "
        "Under MRR a liar can send any number that a card could explain: "
        f"{numbers['MRR closed']:,.0f} counts (closed deck), "
        f"{numbers['MRR announced']:,.0f} (announced sum); verified, as over a network, "
        f"{numbers[VERIFIED]:.1f}. 1% of liars move shares by {numbers[VERIFIED]:.1f} points then; "
        f"one alone by {100 * numbers['MRR announced'] / setting.n:.1f} without.",
    )


def _swapped_cards(setting: Setting) -> Attack:
    m, f = setting.mechanisms, setting.frequency
    numbers = {
        "DRR": swap_bias(m["DRR"], f, 1, 0),
        "DRR capped": swap_bias(m["DRR capped"], f, 1, 0),
        "JRR": swap_bias(m["JRR"], f, 1, -1),
        **{name: shift_bias(m[name]) for name in MASKS},
    }
    return Attack(
        "a dealer that swaps cards",
        "the dealer alone, unseen: it exchanges cards",
        numbers,
        f"Each card 0 that is exchanged for a card 1 adds {numbers['DRR']:.1f} counts under DRR; "
        f"each minus card that becomes a plus card adds {numbers['JRR']:+.1f} counts under JRR, "
        "which is proportional to 2f-1; each card that is made larger by one adds "
        f"{numbers['MRR closed']:.2f} under MRR, and so does each one in an announced sum.",
    )


def _coercion(setting: Setting) -> Attack:
    numbers = {}
    for name in ("RR", "JRR", "DRR", "DRR capped", *MASKS):
        mechanism = setting.mechanisms[name]
        numbers[f"{name}, card named"] = mechanism.epsilon("report")
        numbers[f"{name}, card proven"] = mechanism.epsilon("dealer")
    return Attack(
        "coercion with a provable card",
        "somebody with power over a contributor, who sees the report and demands the card",
        numbers,
        "A contributor who can prove the card gives the coercer the view dealer: ε = "
        f"{_show(numbers['DRR, card proven'])} under DRR, "
        f"{_show(numbers['DRR capped, card proven'])} with the cap; one who can name any card "
        f"leaves the coercer with the view report, {_show(numbers['DRR, card named'])}.",
    )


_MEASURES: tuple[Callable[[Setting], Attack], ...] = (
    _card_reuse,
    _collusion,
    _sybils,
    _small_decks,
    _refusal,
    _poisoning,
    _swapped_cards,
    _coercion,
)


def _show(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else show_epsilon(float(f"{epsilon:.12g}"))
