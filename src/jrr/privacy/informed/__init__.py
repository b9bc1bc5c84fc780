"""What the standard model of differential privacy asks: the view `everything`.

The adversary has all reports, each attributable, everybody else's true value and the cards of
some colluders. The others' reports tell about their cards, and so about the target's: the loss of
a report becomes random, and its law gives (ε, δ).

    RR               the loss of one report
    JRR, k-JRR       exact to ten million people; what the others hold does not matter
    DRR, k = 2       exact for a given composition or few people, otherwise an upper bound
    DRR, k > 2       upper bound

A δ is never too small, an ε never rounded down. Probabilities are those of the words that run.
"""

from jrr.privacy.informed.distribution import Beta, LossDistribution, Losses
from jrr.privacy.informed.guarantee import everything, loss_distribution
from jrr.privacy.informed.rounds import composed

__all__ = ["Beta", "LossDistribution", "Losses", "composed", "everything", "loss_distribution"]
