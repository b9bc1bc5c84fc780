"""What reports say beyond shares: regression, tables of two questions, groups.

items          the reports of one sensitive question
model_columns  open covariates as columns of numbers
likelihood     the likelihood of perturbed answers, its maximum and its errors
regression     a sensitive answer explained by open covariates, person by person
formulas       covariates by a formula
cell_regression  the same as regression, from the sums of cells
two_way        two sensitive answers of the same people
cells          a sensitive answer by open ones: groups, differences, weights
"""

from jrr.analysis.cell_regression import regress_cells
from jrr.analysis.cells import cells_of
from jrr.analysis.items import SensitiveItem
from jrr.analysis.regression import Prediction, Regression, regress
from jrr.analysis.two_way import TwoWayTable, two_way
from jrr.estimation.cell_tallies import Cells

__all__ = [
    "Cells",
    "Prediction",
    "Regression",
    "SensitiveItem",
    "TwoWayTable",
    "cells_of",
    "regress",
    "regress_cells",
    "two_way",
]
