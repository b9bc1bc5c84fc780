"""Covariates by a formula, as R and Wilkinson write it: "age + C(dept) + age:gender".

What the words mean is formulaic's to say (https://matthewwardrop.github.io/formulaic/).
Parts of a formula are run as Python, and formulas come from forms of the console too: whoever
writes one must not be able to do more than name columns, compute with them, and call `_FUNCTIONS`.
Also columns with one more, of a sensitive answer that is a predictor.
"""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.analysis.model_columns import INTERCEPT, Covariates, ModelColumns
from jrr.errors import ArgumentError, MissingExtraError
from jrr.estimation.moments import Floats

Columns = Mapping[str, Any]  # also a data frame, which is read column by column
_LEVEL = re.compile(r"\[T\.([^\]]*)\]")  # as formulaic names a level: dept[T.sales]


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """The columns that a formula asks for, so that other people's covariates become the same.

    Attributes:
        spec: as formulaic keeps it.
        names: of the columns.
    """

    spec: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, formula: str, data: Columns) -> tuple["FormulaColumns", Floats]:
        """The columns, and the numbers in them for these people.

        Raises:
            ArgumentError: for a formula that cannot be read or that names what is not in the data,
                answers that are missing.
            MissingExtraError: where formulaic is not installed.
        """
        try:
            from formulaic import Formula
            from formulaic.errors import FormulaicError
            from formulaic.parser import DefaultFormulaParser
            from formulaic.parser.types import Factor
        except ImportError:
            needs = f"the formula {formula!r} needs formulaic, covariates by name do not"
            raise MissingExtraError(needs, "formulas") from None
        check_size(formula)
        try:
            asked = Formula(formula, _parser=DefaultFormulaParser())
            for factor in {one for term in asked for one in term.factors}:
                if factor.eval_method is Factor.EvalMethod.PYTHON:
                    check_factor(factor.expr, set(map(str, getattr(data, "columns", data))))
            made = asked.get_model_matrix(_frame(data), context={}, na_action="raise")
        except (FormulaicError, ValueError, TypeError, SyntaxError, NameError) as error:
            said = str(error).splitlines()[0].partition(" [")[0]  # without an exception's name
            allowed = f"a formula of {', '.join(sorted(map(str, data)))} ({said})"
            raise checks.refusal("covariates", formula, allowed) from None
        names = tuple(_named(str(column)) for column in made.columns)
        return cls(made.model_spec, names), np.asarray(made, np.float64)

    @property
    def intercept(self) -> bool:
        """Whether there is a constant."""
        return INTERCEPT in self.names

    def matrix(self, covariates: Covariates) -> Floats:
        """The covariates of some people as these columns.

        Raises:
            ArgumentError: for a covariate that is missing, or a level that was not there.
        """
        if not isinstance(covariates, Mapping) and not hasattr(covariates, "columns"):
            raise checks.refusal("covariates", covariates, "columns by name, as in the formula")
        frame = _frame(covariates)
        missing = sorted(map(str, self.spec.required_variables - set(frame.columns)))
        if missing:
            raise checks.refusal("covariates", sorted(frame.columns), f"with {missing[0]!r} too")
        for factor, (_, state) in self.spec.encoder_state.items():
            known = state.get("categories")
            strangers = set() if known is None else set(frame.get(factor, ())) - set(known)
            if strangers:
                raise checks.refusal(str(factor), min(strangers), f"one of {list(known)}")
        return np.asarray(self.spec.get_model_matrix(frame, context={}), np.float64)


AnyColumns = ModelColumns | FormulaColumns


def model_of(
    covariates: Covariates | str, data: Columns | None, people: int, *, intercept: bool
) -> tuple[AnyColumns, Floats]:
    """Columns and their numbers, by a formula of the data or from covariates as they are.

    Raises:
        ArgumentError: for covariates that cannot be used, or not one row for each of the people.
    """
    if isinstance(covariates, str):
        if data is None:
            raise checks.refusal("data", data, "columns by name, which the formula speaks of")
        formula = covariates if intercept else f"{covariates} - 1"
        model: AnyColumns
        model, x = FormulaColumns.of(formula, data)
    else:
        model = ModelColumns.of(covariates, intercept=intercept)
        x = model.matrix(covariates) if model.terms else np.ones((people, int(intercept)))
    if len(x) != people:
        raise ArgumentError(
            f"covariates must have one row for each of the {people} people, got {len(x)}"
        )
    return model, x


class Sides(NamedTuple):
    """What a formula of a sensitive question explains, and what explains it.

    Attributes:
        outcome: what is explained: a sensitive question, or what `sensitive` explains.
        sensitive: the sensitive question among what explains; None: there is none.
        covariates: the other terms, as a formula.
    """

    outcome: str
    sensitive: str | None
    covariates: str


def sides_of(formula: str, questions: Sequence[str]) -> Sides:
    """The sides of a formula, in which a sensitive question is on the left, or one on the right.

    Args:
        formula: such as "cheated ~ dept + age".
        questions: the sensitive ones.

    Raises:
        ArgumentError: for a formula that cannot be read, or without such a question.

    Example:
        >>> sides_of("happy ~ age + cheated", ["cheated"])
        Sides(outcome='happy', sensitive='cheated', covariates='age')
    """
    left, tilde, right = (part.strip() for part in formula.partition("~"))
    if not tilde or not left or not right:
        raise checks.refusal("formula", formula, "such as 'cheated ~ dept + age'")
    of_right = [name for name in questions if speaks_of(right, name)]
    if left in questions and not of_right:
        return Sides(left, None, right)
    if len(of_right) != 1:
        allowed = f"with one of {list(questions)} on the left, or one on the right"
        raise checks.refusal("formula", formula, allowed)
    if left == of_right[0]:
        raise checks.refusal("formula", formula, f"with another question than {left} on one side")
    terms = [term.strip() for term in right.split("+")]
    others = [term for term in terms if term != of_right[0]]
    if len(others) == len(terms) or any(speaks_of(term, of_right[0]) for term in others):
        raise checks.refusal("formula", formula, f"with {of_right[0]} as a term of its own, once")
    return Sides(left, of_right[0], " + ".join(others))


def yes_of(name: str, outcome: NDArray[Any]) -> NDArray[Any]:
    """An open outcome as numbers; of two words, whether it is the last one.

    Args:
        name: of the question, for the refusal.
        outcome: everybody's answer.

    Raises:
        ArgumentError: there are not two words.
    """
    if outcome.dtype.kind not in "UO":
        return outcome
    words = sorted(set(outcome.tolist()) - {""})
    if set(words) <= {"no", "yes"}:
        words = ["no", "yes"]
    if len(words) != 2:
        raise checks.refusal("formula", name, "a question with two answers, or numbers")
    last: NDArray[Any] = (outcome == words[1]).astype(np.float64)
    return last


def speaks_of(formula: str, name: str) -> bool:
    """Whether a formula has this name in it."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", formula) is not None


def _frame(data: Any) -> Any:
    """A data frame of pandas, which formulaic needs anyway."""
    import pandas as pd  # type: ignore[import-untyped]

    if isinstance(data, pd.DataFrame):
        return data
    names = data if isinstance(data, Mapping) else data.columns
    return pd.DataFrame({str(name): np.asarray(data[name]) for name in names})


def _named(column: str) -> str:
    return INTERCEPT if column == "Intercept" else _LEVEL.sub(r"=\1", column)


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


_MOST_TERMS = 300
_MOST_SIGNS = 2_000
_MOST_POWER = 20
_SPLINES = frozenset(("poly", "bs", "cs", "cr", "cc"))
_FUNCTIONS = _SPLINES | {
    *("C", "I", "center", "scale", "standardize"),
    *("log", "log2", "log10", "exp", "exp2", "exp10"),
}
_OF_MODULES = {
    "np": frozenset(("abs", "sqrt", "square", "log", "log1p", "log2", "log10", "exp", "floor")),
    "contr": frozenset(("treatment", "sum", "helmert", "diff", "poly", "SAS")),
}
_NUMBERS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop)
_OTHERS = (ast.Expression, ast.keyword, ast.List, ast.Tuple, ast.Load, ast.Constant)
_QUOTED = re.compile(r"`[^`]*`")


def check_size(formula: str) -> None:
    """Refuse a formula that asks for more terms than anybody reads, before it is expanded.

    Raises:
        ArgumentError: It does, or is none.
    """
    plain = _QUOTED.sub("_", formula[: _MOST_SIGNS + 1]).replace("^", "**").replace(":", "@")
    try:
        if len(formula) > _MOST_SIGNS:
            raise ValueError
        _terms(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        allowed = f"a formula such as 'age + C(dept) + age:gender', of at most {_MOST_TERMS} terms"
        raise checks.refusal("covariates", formula[:200], allowed) from None


def _terms(node: ast.AST) -> int:
    """At most so many terms are made; a ValueError where they are too many."""
    if isinstance(node, ast.UnaryOp):
        return _terms(node.operand)
    if not isinstance(node, ast.BinOp):
        return 1
    left = _terms(node.left)
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else None
        if not isinstance(power, int) or not 1 <= power <= _MOST_POWER:
            raise ValueError
        found: int = (1 + left) ** power
    elif isinstance(node.op, ast.Add | ast.Sub):
        found = left + _terms(node.right)
    elif isinstance(node.op, ast.Mult | ast.MatMult | ast.Div):
        found = (1 + left) * (1 + _terms(node.right))
    else:
        raise ValueError
    if found > _MOST_TERMS:
        raise ValueError
    return found


def check_factor(expression: str, columns: Collection[str]) -> None:
    """Refuse what is run as Python and is more than arithmetic with columns.

    Raises:
        ArgumentError: It is.
    """
    quotes = "`" in expression and any(sign in expression for sign in "'\"")
    if quotes or not _is_safe(ast.parse(_QUOTED.sub("_", expression), mode="eval"), columns):
        allowed = f"names of columns, numbers and {', '.join(sorted(_FUNCTIONS))}, np.sqrt and such"
        raise checks.refusal("covariates", expression[:200], allowed)


def _is_safe(tree: ast.AST, columns: Collection[str]) -> bool:
    known = {"_", *_FUNCTIONS, *_OF_MODULES, *columns}
    return all(_is_allowed(node, known) for node in ast.walk(tree))


def _is_allowed(node: ast.AST, known: Collection[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.Attribute):
        of = node.value
        return isinstance(of, ast.Name) and node.attr in _OF_MODULES.get(of.id, ())
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = [*node.args, *(one.value for one in node.keywords if one.arg in ("degree", "df"))]
        sizes = [one.value for one in given if isinstance(one, ast.Constant)]
        large = name in _SPLINES and not all(one in range(_MOST_POWER + 1) for one in sizes)
        return not large and (name in _FUNCTIONS or isinstance(node.func, ast.Attribute))
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        words = [one for one in sides if isinstance(getattr(one, "value", 0), str)]
        lists = [one for one in sides if isinstance(one, ast.List | ast.Tuple)]
        return not words and not lists and (not isinstance(node.op, ast.Pow) or _is_power(node))
    return isinstance(node, _NUMBERS + _OTHERS)


def _is_power(node: ast.BinOp) -> bool:
    """Of columns, by a small number: powers of numbers grow without end."""
    power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    of_columns = any(isinstance(one, ast.Name) for one in ast.walk(node.left))
    size = power.value if isinstance(power, ast.Constant) else None
    return of_columns and isinstance(size, int | float) and size <= _MOST_POWER
