"""The columns of a regression in which a sensitive answer is a predictor."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.analysis.formulas import FormulaColumns
from jrr.analysis.model_columns import Covariates, ModelColumns
from jrr.estimation.moments import Floats


@dataclass(frozen=True, eq=False)
class WithSensitive:
    """The columns of covariates, and one more: whether somebody gives the sensitive answer.

    Attributes:
        columns: of the covariates.
        name: of the sensitive answer.
    """

    columns: ModelColumns | FormulaColumns
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns, the sensitive answer last."""
        return (*self.columns.names, self.name)

    @property
    def intercept(self) -> bool:
        """Whether there is a constant."""
        return self.columns.intercept

    def matrix(self, covariates: Covariates) -> Floats:
        """The covariates of some people, among them the sensitive answer by its name, 0 or 1.

        Raises:
            ArgumentError: it is missing, or another covariate is.
        """
        own: Any = covariates
        if not hasattr(own, "keys") or self.name not in own:
            raise checks.refusal("covariates", covariates, f"columns by name, with {self.name!r}")
        others = {key: own[key] for key in own.keys() if key != self.name}  # noqa: SIM118 - frames
        held = np.asarray(own[self.name], np.float64)
        left = self.columns.matrix(others) if others else np.ones((len(held), len(self.names) - 1))
        return np.column_stack([left, held])
