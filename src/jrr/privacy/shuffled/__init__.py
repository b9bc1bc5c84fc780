"""What a collector learns that sees shuffled reports: mechanism and n -> (ε, δ), rounded up.

Behind a uniform shuffler only the counts of the reports are left. The adversary knows everybody
else's true value and asks whether the target holds x or x'. δ(ε) is the largest
Pr[E | x] - e^ε Pr[E | x'] over all events E, over both directions and, unless `ones` names a
composition, over all values the others may hold.

    RR, k = 2        exact law of the count, positive arithmetic throughout
    RR, k > 2        upper bound: the adversary is also told who drew a value uniformly
    JRR, DRR, k = 2  exact law of the count of one full deck, from its generating function

All three add what truncation and rounding may have lost, so that a figure is never too small
(docs/theory-jrr.md, section 10). Probabilities are those of the words that run.
"""

from jrr.privacy.binomial import Progress
from jrr.privacy.shuffled.guarantee import amplified_epsilon, shuffled_delta, shuffled_epsilon
from jrr.privacy.shuffled.question import MOST_SCANNED, ShuffledSurvey

__all__ = [
    "MOST_SCANNED",
    "Progress",
    "ShuffledSurvey",
    "amplified_epsilon",
    "shuffled_delta",
    "shuffled_epsilon",
]
