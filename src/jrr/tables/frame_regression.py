"""Frames of reports person by person: regressions by a formula, and questions for analyses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from jrr._base import checks
from jrr.analysis.formulas import sides_of, yes_of
from jrr.analysis.items import SensitiveItem
from jrr.analysis.outcomes import OutcomeRegression, regress_outcome
from jrr.analysis.regression import Link, Regression, regress
from jrr.analysis.shared_coins import SharedCoin
from jrr.errors import ArgumentError
from jrr.tables.arrays import arrow_array
from jrr.tables.frames import answered, known_headers, read_frame, reports_of
from jrr.tables.grouping import numbers
from jrr.tables.header import Header
from jrr.tables.names import CARDED


@checks.names_checked
def regress_frame(
    frame: Any,
    formula: str,
    *,
    value: int | str = 1,
    link: Link = "logit",
    weight: str | None = None,
    headers: Mapping[str, Header] | None = None,
) -> Regression | OutcomeRegression:
    """A regression by a formula, from a frame of reports.

    "bribe ~ age + C(region)" explains a sensitive answer; "income ~ bribe + age" something by a
    sensitive answer, which may be another one.

    Args:
        frame: what `perturb_frame` made, or a Parquet file or folder of it. Rows in which a
            question of the formula has no report are left out.
        formula: what is explained ~ what explains it, by names of columns.
        value: the answer that counts as yes, by its label or its number.
        link: "logit" or "identity".
        weight: a column of survey weights.
        headers: column -> header, where the frame lost them (see `jrr.tables.headers_of`).

    Returns:
        Coefficients with errors and intervals; with a sensitive answer on the right those of both.

    Raises:
        ArgumentError: for a formula that cannot be read, a question whose single reports say too
            little, or where a column does not say which mechanism made it.

    Example:
        >>> import jrr, pyarrow
        >>> people = pyarrow.table({"bribe": ["no", "no", "yes"] * 900, "age": [2, 4, 6] * 900})
        >>> asked = {"bribe": ["no", "yes"]}
        >>> reports = jrr.perturb_frame(people, asked, epsilon=30)
        >>> regress_frame(reports, "bribe ~ age", link="identity").coefficients.round(2).tolist()
        [-0.67, 0.25]
    """
    whole = read_frame(frame)
    known = known_headers(whole, headers)
    left, sensitive, covariates = sides_of(formula, tuple(known))
    questions = [name for name in (left, sensitive) if name in known]
    rows, items = _items(whole, known, questions)
    of = known[questions[-1]]
    wish: dict[str, Any] = {
        "data": rows.drop_columns(
            [name for name in rows.column_names if name in known]
        ).to_pandas(),
        "value": of.labels.index(value) if value in of.labels else value,
        "link": link,
        "weights": None if weight is None else numbers(rows.combine_chunks(), weight),
    }
    if sensitive is None:
        return regress(items[0], covariates, **wish)
    outcome: Any = items[0]
    if left not in known:
        checks.one_of("formula", left, tuple(wish["data"].columns))
        outcome = wish["data"][left] = yes_of(left, np.asarray(wish["data"][left]))
    return regress_outcome(outcome, items[-1], covariates or None, name=sensitive, **wish)


def items_of(
    frame: Any, *questions: str, headers: Mapping[str, Header] | None = None
) -> tuple[SensitiveItem, ...]:
    """Questions of a frame as `jrr.analysis` takes them, of the rows that have reports of all.

    Args:
        frame: what `jrr.perturb_frame` made, or a Parquet file or folder of it.
        *questions: some of its columns of reports; none: all of them.
        headers: column -> header, where the frame lost them.

    Raises:
        ArgumentError: where a column does not say which mechanism made it, or single reports of
            it say too little.

    Example:
        >>> import jrr, pyarrow
        >>> from jrr.analysis import two_way
        >>> people = pyarrow.table({"bribe": ["no", "yes"] * 900, "theft": ["no", "yes"] * 900})
        >>> asked = {"bribe": ["no", "yes"], "theft": ["no", "yes"]}
        >>> reports = jrr.perturb_frame(people, asked, epsilon=30, split="block")
        >>> two_way(*items_of(reports, "bribe", "theft")).shares.diagonal().round(2).tolist()
        [0.5, 0.5]
    """
    whole = read_frame(frame)
    known = known_headers(whole, headers)
    return _items(whole, known, questions or tuple(known))[1]


def _items(
    whole: Any, known: Mapping[str, Header], questions: Sequence[str]
) -> tuple[Any, tuple[SensitiveItem, ...]]:
    """The rows that have reports of all these questions, and the questions."""
    for name in questions:
        checks.one_of("questions", name, tuple(n for n in known if n in whole.column_names))
        if known[name].number is not None:
            raise checks.refusal(
                "questions", name, "about labels or bins, not the mean of a number"
            )
    asked = np.logical_and.reduce([answered(whole, name) for name in questions])
    if not asked.any():
        raise ArgumentError(
            f"{' and '.join(questions)} must have reports in the same rows, got none"
        )
    usual = [arrow_array(column) for column in whole.columns]
    rows = pa.table(usual, whole.column_names).filter(pa.array(asked))
    return rows, tuple(
        SensitiveItem(
            known[name].mechanism,
            reports_of(known[name], name, arrow_array(rows[name])),
            np.asarray(rows[f"{name}_{CARDED}"]) if known[name].mechanism.deals else None,
            max(1, len(known[name].decks)),
            shared=_coin(name, known),
        )
        for name in questions
    )


def _coin(name: str, known: Mapping[str, Header]) -> SharedCoin | None:
    """The coin that perturbed a question together with others."""
    shared = known[name].shared
    if shared is None or not shared.block:
        return None
    first = next(one for one in shared.questions if one in known)  # so that all say the same number
    moments = known[first].mechanism.moments
    keep = float(moments.p[0] - moments.q[0])
    return SharedCoin(shared.questions, keep, keep)
