"""Formulas come from forms: they compute with columns and do nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import SensitiveItem, regress
from jrr.errors import ArgumentError

N = 400
DATA = {
    "age": np.linspace(20, 70, N),
    "dept": np.resize(["a", "b", "c"], N),
    "my col": np.resize([0.0, 1.0, 2.0, 0.5, 3.0], N),
}
ITEM = SensitiveItem(jrr.RR(p=0.9), np.resize([0, 1, 1, 0, 0, 1, 1], N))


def fitted(formula: str) -> Any:
    return regress(ITEM, formula, data=DATA, link="identity")


@pytest.mark.parametrize(
    "formula",
    [
        "age",
        "age + dept - 1",
        "age * dept",
        "(age + dept)**2",
        "age:dept",
        "np.log(age) + C(dept)",
        'C(dept, contr.treatment("b"))',
        "I(age**2 / 100) + center(age)",
        "poly(age, degree=2)",
        "bs(age, df=4) + dept",
        "C(age > 40)",
        "`my col` + age",
        "{age / 10} + dept",
        "1",
    ],
)
def test_formulas_as_people_write_them(formula: str) -> None:
    assert fitted(formula).n == N


@pytest.mark.parametrize(
    "formula",
    [
        'I(__import__("os").system("touch FILE") + age)',
        '{__import__("os").system("touch FILE") + age * 0}',
        '{open("FILE", "w") and age}',
        "{open('FILE', 'w')}",
        'I(age + np.load("FILE"))',
        "I(age.tofile('FILE'))",
        '{[age for _ in [open("FILE", "w")]][0]}',
        '{(lambda: open("FILE", "w"))() or age}',
        "{().__class__.__base__.__subclasses__() and age}",
        "I(age.__class__.__mro__)",
        'C(dept, "`") + I(open("FILE", "w") and age) + C(dept, "`")',
        '{f\'{open("FILE", "w")}\' and age}',
        "C(*[open('FILE', 'w')])",
        "np.abs.__self__",
        "Q('age')",
        "I(eval('age'))",
    ],
)
def test_nothing_else_is_run(formula: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="covariates must be"):
        fitted(formula)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "formula",
    [
        "(age + dept)**20 + age",
        "((age + dept)**5)**5",
        "*".join(["(age + dept)"] * 12),
        "age**99999999",
        "(" * 500 + "age" + ")" * 500,
        "age + " * 2_000 + "dept",
        "I(9**9**9**9 + age)",
        "I(10**10**10 * age)",
        "I(age**(10**9))",
        'I("x" * 10**10)',
        "C(dept, [0] * 10**10)",
        "poly(age, degree=10**6)",
        "bs(age, df=1000000)",
        "age | dept",
        "age ~ dept",
        "age %in% dept",
        "",
    ],
)
def test_nothing_grows_without_end(formula: str) -> None:
    with pytest.raises(ArgumentError, match="covariates must be"):
        fitted(formula)
