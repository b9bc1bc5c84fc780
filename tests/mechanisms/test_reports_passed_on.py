"""Reports on their way to the collector: what forgets whether cards were used is not counted.

Every mechanism that deals cards, in every way of passing reports on: either the reports still
know it, or they are refused until the caller says it. Never are they counted as something else.
"""

import copy
import io
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import DRR, JRR, MRR, OLH, OUE, RR, SUE, Mechanism, SeededRandom, Window
from jrr.analysis import SensitiveItem
from jrr.errors import ArgumentError
from jrr.estimation.tally import Tally

N = 40
CARDED: list[Mechanism] = [
    JRR(N, p=0.6, s=0.2),
    JRR(N, p=0.6, s=0.2, k=3),
    DRR(N, truth=0.4, own=0.1),
    DRR(N, truth=0.4, own=0.1, k=3),
    SUE(9, q=0.2, s=0.1, coupling="dealt", n=N),
    OUE(17, q=0.2, s=0.1, coupling="joint", n=N),
    OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=N),
    MRR(N, own=2.0, card_rate=0.5, total_rate=0.4),
    MRR(N, own=2.0, card_rate=0.5, announced_rate=0.4),
    MRR(N, own=3.0, card_rate=0.3, announced_rate=0.8, k=4),
    MRR(N, own=3.0, card_rate=0.3, total_rate=0.8, k=4, coin="oue"),
    MRR(N, own=3.0, card_rate=0.3, announced_rate=0.3, coin=Window(4, 2)),
]
every_mechanism = pytest.mark.parametrize("mechanism", CARDED, ids=str)
either_way = pytest.mark.parametrize("carded", [False, True], ids=["without", "with"])


def reports_of(mechanism: Mechanism, *, carded: bool) -> Any:
    values = np.arange(N) % mechanism.k
    return mechanism.respond(values, mechanism.deal() if carded else None)


def single_reports(mechanism: Mechanism, *, carded: bool) -> list[Any]:
    values = [at % mechanism.k for at in range(N)]
    cards: list[Any] = [None] * N
    if carded:  # a row of an array is one card
        dealt = np.asarray(mechanism.deal())
        cards = [card.tobytes() if card.ndim else card for card in dealt]
    return [mechanism.respond_one(value, card) for value, card in zip(values, cards, strict=True)]


def counted(mechanism: Mechanism, reports: Any, *, carded: bool) -> Tally:
    """What these reports count as, by their values alone."""
    plain = np.array(np.asarray(reports)) if isinstance(reports, np.ndarray) else list(reports)
    return mechanism.tally(plain, carded=carded)


# -- ways that keep it ---------------------------------------------------------------------


def through_json_lines(mechanism: Mechanism, reports: list[Any]) -> list[Any]:
    lines = "".join(json.dumps(mechanism.report_to_json(one)) + "\n" for one in reports)
    return [mechanism.report_from_json(json.loads(line)) for line in lines.splitlines()]


ARRAYS_THAT_KEEP: dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a,
    "slice": lambda a: a[:],
    "selection": lambda a: a[list(range(N))],
    "flags": lambda a: a[np.ones(N, np.bool_)],
    "copy": lambda a: a.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "concatenation": lambda a: np.concatenate([a[:3], a[3:3], a[3:]]),
    "take": lambda a: a.take(range(N), axis=0),
    "list of a slice's parts": lambda a: np.concatenate(list(np.array_split(a, 3))),
}
SINGLES_THAT_KEEP: dict[str, Callable[[Mechanism, list[Any]], Any]] = {
    "list": lambda m, r: r,
    "tuple": lambda m, r: tuple(r),
    "slice": lambda m, r: r[:],
    "joined": lambda m, r: r[:5] + r[5:],
    "copy.deepcopy": lambda m, r: copy.deepcopy(r),
    "pickle": lambda m, r: pickle.loads(pickle.dumps(r)),
    "JSON lines": through_json_lines,
}


@every_mechanism
@either_way
def test_arrays_keep_it(mechanism: Mechanism, carded: bool) -> None:
    reports = reports_of(mechanism, carded=carded)
    expected = counted(mechanism, reports, carded=carded)
    for way, passing in ARRAYS_THAT_KEEP.items():
        passed_on = passing(reports)
        assert mechanism.tally(passed_on) == expected, way
        with pytest.raises(ArgumentError, match=f"carded must be {carded} for these reports"):
            mechanism.tally(passed_on, carded=not carded)


@every_mechanism
@either_way
def test_single_reports_keep_it(mechanism: Mechanism, carded: bool) -> None:
    reports = single_reports(mechanism, carded=carded)
    expected = counted(mechanism, reports, carded=carded)
    for way, passing in SINGLES_THAT_KEEP.items():
        passed_on = passing(mechanism, reports)
        assert mechanism.tally(passed_on) == expected, way
        with pytest.raises(ArgumentError, match=f"carded must be {carded} for these reports"):
            mechanism.tally(passed_on, carded=not carded)


# -- ways that forget it -------------------------------------------------------------------


def saved_and_loaded(array: Any) -> Any:
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    return np.load(file)


def in_a_parquet_file(array: Any) -> Any:
    file = io.BytesIO()
    pq.write_table(pa.table({"report": pa.array(np.asarray(array))}), file)
    return pq.read_table(file)["report"].to_numpy()


def written_into(array: Any) -> Any:
    own = np.array(array)
    own[:] = np.array(array)
    return own


OF_ANY_SHAPE: dict[str, Callable[[Any], Any]] = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "tolist": lambda a: [a.dtype.type(row) if a.ndim == 2 else row for row in a.tolist()],
    "list": lambda a: list(np.asarray(a)),
    "np.save": saved_and_loaded,
    "bytes": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "np.where": lambda a: np.where(np.ones(a.shape, np.bool_), a, a),
    "written into": written_into,
    "in the shape of another": lambda a: np.full_like(a, a),
    "joined to plain ones": lambda a: np.concatenate([a[:4], np.asarray(a)[4:]]),
    "a view": lambda a: a.view(),
    "another shape and back": lambda a: a.reshape(-1).reshape(a.shape),
    "the same type": lambda a: a.astype(a.dtype),
    "values in another order": lambda a: a[..., :],
    "transposed twice": lambda a: a.T.T,
}
OF_ONE_COLUMN: dict[str, Callable[[Any], Any]] = {
    "pandas Series": pd.Series,
    "pandas column": lambda a: pd.DataFrame({"report": a})["report"],
    "pandas to_numpy": lambda a: pd.Series(a).to_numpy(),
    "polars Series": lambda a: pl.Series(np.asarray(a)),
    "Arrow": lambda a: pa.array(np.asarray(a)),
    "Parquet": in_a_parquet_file,
    "JSON": lambda a: json.loads(json.dumps(a.tolist())),
}
MUST_SAY = r"carded must be True, False or a boolean array of one flag per report"


@every_mechanism
@either_way
def test_what_forgets_it_is_refused(mechanism: Mechanism, carded: bool) -> None:
    reports = reports_of(mechanism, carded=carded)
    expected = counted(mechanism, reports, carded=carded)
    one_number = reports.ndim == 1 and reports.dtype.names is None
    for passing in (OF_ANY_SHAPE | (OF_ONE_COLUMN if one_number else {})).values():
        passed_on = passing(reports)
        for refusing in (
            lambda given=passed_on: mechanism.tally(given),
            lambda given=passed_on: mechanism.tally(given, weights=np.ones(N)),
            lambda given=passed_on: mechanism.estimate(given),
        ):
            with pytest.raises(ArgumentError, match=MUST_SAY):
                refusing()
        assert mechanism.tally(passed_on, carded=carded) == expected
        assert mechanism.tally(passed_on, carded=np.full(N, carded)) == expected


# -- writing -------------------------------------------------------------------------------


def by_flat(array: Any, others: Any) -> None:
    array.flat[:] = others.reshape(-1)


def by_index(array: Any, others: Any) -> None:
    array[:] = others


def by_one_index(array: Any, others: Any) -> None:
    array[0] = others[0]


def by_a_view(array: Any, others: Any) -> None:
    np.asarray(array)[:] = others


def by_its_base(array: Any, others: Any) -> None:
    array.base[:] = others


def by_leave(array: Any, others: Any) -> None:
    array.flags.writeable = True
    array[:] = others


def by_arithmetic(array: Any, others: Any) -> None:
    array *= 0
    array += others


WRITING: dict[str, Callable[[Any, Any], object]] = {
    "[:] =": by_index,
    "[0] =": by_one_index,
    "flat": by_flat,
    "a view": by_a_view,
    "its base": by_its_base,
    "made writeable": by_leave,
    "arithmetic": by_arithmetic,
    "put": lambda a, b: a.put(range(a.size), b),
    "fill": lambda a, b: a.fill(b.reshape(-1)[0]),
    "sort": lambda a, b: a.sort(),
    "np.take": lambda a, b: np.take(b, range(len(b)), axis=0, out=a),
    "take": lambda a, b: b.take(range(len(b)), axis=0, out=a),
    "np.concatenate": lambda a, b: np.concatenate([b[:3], b[3:]], out=a),
    "np.copyto": lambda a, b: np.copyto(a, b),
    "np.put": lambda a, b: np.put(a, range(a.size), b),
    "np.putmask": lambda a, b: np.putmask(a, np.ones(a.shape, np.bool_), b),
    "np.add": lambda a, b: np.add(b, 0, out=a, casting="unsafe"),
    "np.clip": lambda a, b: np.clip(b, 0, 1, out=a, casting="unsafe"),
    "shuffle": lambda a, b: np.random.default_rng(1).shuffle(a),
}


@every_mechanism
@either_way
def test_nothing_can_be_written_into_marked_reports(mechanism: Mechanism, carded: bool) -> None:
    """Neither into them nor into what came from them: else the others would be counted so too."""
    others = np.array(reports_of(mechanism, carded=not carded))
    for passing in ARRAYS_THAT_KEEP.values():
        reports = passing(reports_of(mechanism, carded=carded))
        before = np.array(reports)
        for writing in WRITING.values():
            with pytest.raises((ValueError, TypeError, ArgumentError)):
                writing(reports, others)
        assert np.array_equal(reports, before)
        assert mechanism.tally(reports) == mechanism.tally(before, carded=carded)


def test_writing_says_what_to_do_instead() -> None:
    reports = reports_of(CARDED[0], carded=True)
    with pytest.raises(ArgumentError, match=r"make a plain copy first, np.array\(reports\)"):
        reports[0] = 1
    with pytest.raises(ArgumentError, match=MUST_SAY):
        CARDED[0].tally(np.array(reports))


@pytest.mark.parametrize("carded", [False, True])
def test_what_is_no_row_of_reports_has_no_mark(carded: bool) -> None:
    """Of another type, another shape, or with values in another order."""
    rows: Any = reports_of(MRR(4, own=3.0, card_rate=0.3, announced_rate=0.8, k=4), carded=False)
    rows = np.concatenate([rows[:2], rows[2:4]])
    assert rows.shape == (4, 4)
    assert rows.carded is False
    others: list[Any] = [
        rows.view(np.uint16),
        rows.view(np.int8),
        rows.T,
        rows[:, ::-1],
        rows[:, 0],
        rows[rows > 0],
        rows[[[0, 1], [2, 3]]],
        rows.ravel(),
        rows.choose([rows, rows, rows]) if rows.max() < 3 else rows.repeat(2),
        np.concatenate([rows, rows], axis=1),
        np.concatenate([rows, rows], dtype=np.int32),
        np.sort(rows),
        np.flip(rows),
    ]
    for other in others:
        assert getattr(other, "carded", None) is None
    numbers: Any = reports_of(MRR(N, own=2.0, card_rate=0.5, announced_rate=0.4), carded=carded)
    assert numbers.carded is carded
    numbers.dtype = np.uint16
    assert numbers.carded is None


@every_mechanism
def test_estimate_takes_carded(mechanism: Mechanism) -> None:
    reports = reports_of(mechanism, carded=False)
    expected = mechanism.estimate(mechanism.tally(reports))
    found = mechanism.estimate(np.asarray(reports), carded=False)
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.stderr.tolist() == expected.stderr.tolist()
    with pytest.raises(ArgumentError, match="carded must be None where a tally is given"):
        mechanism.estimate(mechanism.tally(reports), carded=False)


@every_mechanism
def test_both_kinds_together(mechanism: Mechanism) -> None:
    with_card = reports_of(mechanism, carded=True)
    without = reports_of(mechanism, carded=False)
    both, flags = np.concatenate([with_card, without]), np.arange(2 * N) < N
    with pytest.raises(ArgumentError, match=MUST_SAY):
        mechanism.tally(both)
    # A part of both may be of one kind: then the caller says it.
    with pytest.raises(ArgumentError, match=MUST_SAY):
        mechanism.tally(both[~flags])
    assert mechanism.tally(both[~flags], carded=False) == mechanism.tally(without)
    apart = mechanism.tally(with_card) + mechanism.tally(without)
    assert mechanism.tally(both, flags) == apart
    # Of single reports each one knows it.
    singles = single_reports(mechanism, carded=True), single_reports(mechanism, carded=False)
    expected = mechanism.tally(singles[0]) + mechanism.tally(singles[1])
    assert mechanism.tally(singles[0] + singles[1]) == expected
    assert mechanism.tally(singles[0] + singles[1], flags) == expected
    opposite: list[Any] = [True, False, ~flags]
    for wrong in opposite:
        with pytest.raises(ArgumentError, match="what it remembers of its card"):
            mechanism.tally(singles[0] + singles[1], wrong)
    if not isinstance(without[0], np.ndarray):
        with pytest.raises(ArgumentError, match="some of these reports do not remember it"):
            mechanism.tally(singles[0] + [without[0].item()])


@every_mechanism
@either_way
def test_single_reports_in_json_say_it(mechanism: Mechanism, carded: bool) -> None:
    report = single_reports(mechanism, carded=carded)[1]
    document = mechanism.report_to_json(report)
    assert document == {"carded": carded, "report": mechanism.report_format.to_json(report)}
    back = mechanism.report_from_json(document)
    assert back == report
    assert back.carded is carded
    for other in (not carded, "yes", 1):
        with pytest.raises(ArgumentError, match="carded must be"):
            mechanism.report_to_json(report, other)  # type: ignore[arg-type]
    plain = tuple(report) if isinstance(report, tuple) else type(report).__mro__[1](report)
    with pytest.raises(ArgumentError, match=MUST_SAY):
        mechanism.report_to_json(plain)
    assert mechanism.report_to_json(plain, carded) == document
    wrong = (
        document["report"],
        {"report": document["report"]},
        {"carded": None, "report": document["report"]},
        {"carded": 0, "report": document["report"]},
        document | {"more": 1},
    )
    for refused in wrong:
        with pytest.raises(ArgumentError, match="report must be"):
            mechanism.report_from_json(refused)


def test_a_masked_report_in_json_is_not_without_a_card() -> None:
    """Masks take reports out of 0 and 1; that cannot have been without a card."""
    mechanism = MRR(N, own=2.0, card_rate=0.5, announced_rate=0.4)
    assert mechanism.report_from_json({"carded": True, "report": 7}) == 7
    with pytest.raises(ArgumentError, match="where there was no card"):
        mechanism.report_from_json({"carded": False, "report": 7})


@pytest.mark.parametrize("mechanism", [RR(2, 1.0), SUE(9, 1.0), OLH(100, 1.0)], ids=str)
def test_without_a_dealer_there_is_nothing_to_say(mechanism: Mechanism) -> None:
    reports = reports_of(mechanism, carded=False)
    assert mechanism.tally(np.asarray(reports)).n_cardless == N
    report = mechanism.respond_one(1)
    document = mechanism.report_to_json(report)
    assert document == mechanism.report_format.to_json(report)
    assert mechanism.report_from_json(document) == report


def test_regressions_refuse_what_forgot_it() -> None:
    mechanism = JRR(N, p=0.6, s=0.2)
    reports = reports_of(mechanism, carded=False)
    assert not SensitiveItem(mechanism, reports).with_card.any()
    with pytest.raises(ArgumentError, match=MUST_SAY):
        SensitiveItem(mechanism, np.asarray(reports))
    assert not SensitiveItem(mechanism, single_reports(mechanism, carded=False)).with_card.any()


def test_numbers_take_carded() -> None:
    question = jrr.Numbers(0, 10, DRR(N, truth=0.4, own=0.1))
    reports = question.respond(np.linspace(0, 10, N))
    expected = question.estimate(reports).mean
    with pytest.raises(ArgumentError, match=MUST_SAY):
        question.estimate(reports.tolist())
    assert question.estimate(reports.tolist(), carded=False).mean == expected
    singles = [question.respond_one(4.0) for _ in range(N)]
    assert question.tally(singles).n_carded == 0


@pytest.mark.slow_variants("announced_rate]")
@pytest.mark.parametrize("closing", ["total_rate", "announced_rate"])
def test_telemetry_without_cards_is_estimated_as_such(closing: str) -> None:
    """Of 20,000 devices 6.9% hold 1 and none has a card: once 28% was estimated, silently."""
    rates: dict[str, Any] = {closing: 0.5}
    mechanism = MRR(20_000, own=3.0, card_rate=0.5, **rates)
    rng, ones = SeededRandom(5), 1_380
    lines = [
        json.dumps(mechanism.report_to_json(mechanism.respond_one(int(at < ones), rng=rng)))
        for at in range(20_000)
    ]
    received = [mechanism.report_from_json(json.loads(line)) for line in lines]
    estimate = mechanism.estimate(received)
    low, high = estimate.interval(0.999)
    assert low[1] < 0.069 < high[1]
    assert high[1] < 0.13
    # A negative control: counted as if there had been cards they say something else.
    if closing == "total_rate":
        plain = [int(report) for report in received]
        assert mechanism.estimate(plain, carded=True).interval(0.999)[0][1] > 0.2
