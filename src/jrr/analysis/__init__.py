"""What reports say beyond shares: regression, tables of two questions, groups.

items          the reports of one sensitive question
model_columns  open covariates as columns of numbers
likelihood     the likelihood of perturbed answers, its maximum and its errors
regression     a sensitive answer explained by open covariates, person by person
group_regression  the same from the shares of groups
two_way        two sensitive answers of the same people, and one by an open group
"""

from jrr.analysis.group_regression import regress_groups
from jrr.analysis.items import SensitiveItem
from jrr.analysis.regression import Prediction, Regression, regress
from jrr.analysis.two_way import TwoWayTable, by_group, two_way

__all__ = [
    "Prediction",
    "Regression",
    "SensitiveItem",
    "TwoWayTable",
    "by_group",
    "regress",
    "regress_groups",
    "two_way",
]
