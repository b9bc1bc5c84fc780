"""The survey that all attacks are measured on, and its mechanisms."""

from dataclasses import dataclass
from functools import cached_property

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import Request


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

    def _planned(self, kind: str, cap: float | None) -> Mechanism:
        known = self.frequency if kind == "jrr" else None  # the only one that must know it
        request = Request(self.n, self.epsilon, self.colluders, 2, cap, known)
        if kind == "jrr":  # as in the paper: as many plus as minus cards
            return JRR.best_even(request)
        return families()[kind].best(request)
