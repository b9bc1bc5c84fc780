"""What a formula may say: parts of it are run as Python, and products of terms grow fast.

Formulas come from forms of the console too, so whoever writes one must not be able to do more than
name columns, compute with them, and call the functions below.
"""

import ast
import re
from collections.abc import Collection

from jrr._base import checks

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
