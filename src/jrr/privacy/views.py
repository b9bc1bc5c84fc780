"""The views: what an adversary has besides the target's report (docs/theory-jrr.md, section 5).

report      nothing else
truths      M colluders' truthfulness (dealt: their values and reports), not their cards
cards       M colluders' cards
dealer      the target's own card
paper       as `truths`, by the bound printed in the paper (its Theorem 2), which is too small
everything  all reports, everybody else's answer and M colluders' cards: needs a δ
"""

from typing import Literal, get_args

View = Literal["report", "truths", "cards", "dealer", "paper"]
PlanView = Literal["cards", "everything"]  # in which a plan keeps its ε
VIEWS: tuple[View, ...] = get_args(View)
