"""What reports say beyond shares: regression, tables of two questions, groups.

items          the reports of one sensitive question; as yes and no
model_columns  open covariates as columns of numbers
likelihood     the likelihood of perturbed answers, its maximum and its errors
regression     a sensitive answer explained by open covariates, person by person
formulas       covariates by a formula
cell_regression  the same as regression, from the sums of cells
outcomes       an outcome explained by a sensitive answer, person by person
cell_outcomes  the same from the sums of cells
latent         its likelihood
shared_coins   the joint law of two questions that one coin changed together
two_way        two sensitive answers of the same people
crossed        the same of two questions that were asked as one
cells          a sensitive answer by open ones: groups, differences, weights
"""

from jrr.analysis.cell_outcomes import regress_outcome_cells
from jrr.analysis.cell_regression import regress_cells
from jrr.analysis.cells import cells_of
from jrr.analysis.crossed import crossed_table
from jrr.analysis.items import SensitiveItem
from jrr.analysis.outcomes import OutcomeRegression, regress_outcome
from jrr.analysis.regression import Prediction, Regression, regress
from jrr.analysis.shared_coins import SharedCoin
from jrr.analysis.two_way import TwoWayTable, two_way
from jrr.estimation.cell_tallies import Cells

__all__ = [
    "Cells",
    "OutcomeRegression",
    "Prediction",
    "Regression",
    "SensitiveItem",
    "SharedCoin",
    "TwoWayTable",
    "cells_of",
    "crossed_table",
    "regress",
    "regress_cells",
    "regress_outcome",
    "regress_outcome_cells",
    "two_way",
]
