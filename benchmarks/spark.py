"""How counting, perturbing and dealing grow from a million rows to a hundred million.

    python -m benchmarks.spark [--rows 100000000] [--part count|perturb|check]

Counting: one query with a thousand groups, on DuckDB and on Spark, over the same file; the counts
must be equal. Perturbing: RR, DRR and MRR over as many answers on Spark, one deck for all rows; the
estimate must hold the truth. Checking: the same with mechanisms whose reports are the cards, so
that faces and sums of the whole deck can be compared. Every measurement is kept in
build/spark.json, and build/scale.png is drawn from all that are there.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import jrr
from benchmarks import growth_picture, memory
from benchmarks.child import ROOT
from benchmarks.engines import GROUPS, SIZES, reports_file
from benchmarks.timing import ratio
from jrr import tables
from jrr.dealing.split_deck import SplitDeck
from jrr.errors import MissingExtraError

BUILD = ROOT / "build"
PARTS = ("count", "perturb", "check")
EPSILON, LEVEL = 1.0, 0.999999
KEY = bytes(range(32))  # of measurements: nobody's answers
FILES = 8  # that answers lie in
SHARE = 0.3  # of yes
WARM = 10_000  # rows of a first run that is not measured


def session() -> Any:
    """Spark on this machine's two cores."""
    from jrr.tables.engines.spark import open_session

    folder = BUILD / "spark"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-memory 3g --conf spark.master=local[2] --conf spark.local.dir={folder} "
        "pyspark-shell"
    )
    return open_session()


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def count(rows: int) -> Iterator[dict[str, Any]]:
    """The same estimates by group on both engines, to the last count."""
    session()
    path = reports_file(rows)
    results: list[dict[str, Any]] = []
    documents = []
    for engine in ("duckdb", "spark"):
        tables.estimate(reports_file(WARM), by="region", engine=engine)  # what starts only once
        with memory.Watch() as watch:
            runs = [
                timed(lambda engine=engine: tables.estimate(path, by="region", engine=engine))
                for _ in range(2)
            ]
        seconds = min(run[0] for run in runs)
        documents.append(runs[0][1].to_dict())
        results.append(
            {
                "what": f"count, {engine}",
                "rows": rows,
                "seconds": seconds,
                "processor_seconds": watch.processor / len(runs),
                "peak_bytes": watch.peak,
                "groups": GROUPS,
            }
        )
    same = documents[0] == documents[1]
    for row in results:
        row["same_counts"] = same
        yield row


def answers(rows: int) -> Path:
    """A folder of answers, three in ten yes; made once."""
    path = BUILD / f"answers-{rows}"
    if path.exists():
        return path
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for part in range(FILES):
        first, end = part * rows // FILES, (part + 1) * rows // FILES
        duckdb.sql(
            f"COPY (SELECT CASE WHEN range % 10 < 3 THEN 'yes' ELSE 'no' END AS answer, "
            f"(range % {GROUPS})::SMALLINT AS region FROM range({first}, {end})) "
            f"TO '{partial / f'part-{part}.parquet'}' (FORMAT parquet)"
        )
    partial.rename(path)
    return path


def perturb(rows: int) -> Iterator[dict[str, Any]]:
    """Cards for all rows from one deck, and reports; how long, how large, how near."""
    from jrr.tables.engines.spark_perturbing import perturb_on_spark

    running, data = session(), answers(rows)
    mechanisms: dict[str, Any] = {
        "RR": jrr.RR(2, epsilon=EPSILON),
        "DRR": jrr.plan(rows, EPSILON, mechanism="drr").mechanism,
        "MRR": jrr.MRR.for_epsilon(EPSILON, n=rows, announced=False),
    }
    if rows > WARM:  # workers start once, whatever they are asked
        list(perturb(WARM))
    for name, mechanism in mechanisms.items():
        out = BUILD / f"perturbed-{rows}-{name}"
        shutil.rmtree(out, ignore_errors=True)
        with memory.Watch() as watch:
            seconds, _ = timed(
                lambda out=out, mechanism=mechanism: perturb_on_spark(
                    data, "answer", out, mechanism, labels=["no", "yes"], keep=["region"],
                    session=running, key=KEY,
                )
            )  # fmt: skip
        estimated, found = timed(lambda out=out: tables.estimate(out, engine="duckdb"))
        low, high = found.estimate.interval(LEVEL)
        yield (
            {
                "what": f"perturb, {name}",
                "rows": rows,
                "seconds": seconds,
                "processor_seconds": watch.processor,
                "peak_bytes": watch.peak,
                "bytes_of_reports": sum(part.stat().st_size for part in out.glob("*.parquet")),
                "seconds_to_estimate": estimated,
                "n": found.estimate.n,
                "share": float(found.estimate.frequencies[1]),
                "stderr": float(found.estimate.stderr[1]),
                "holds_the_truth": bool(low[1] <= SHARE <= high[1]),
            }
        )
        shutil.rmtree(out)


def check(rows: int) -> Iterator[dict[str, Any]]:
    """Reports that are the cards themselves, taken off the answer: faces and sums of the deck."""
    from jrr.tables.engines.spark_perturbing import perturb_on_spark

    running, data = session(), answers(rows)
    dealt = jrr.DRR(rows, truth=1e-12)  # the card, but in one of 10^12
    masked = jrr.MRR(rows, own=40.0, card_rate=1.0, total_rate=0.05)  # the truth and the card
    for name, mechanism in (("DRR", dealt), ("MRR", masked)):
        out = BUILD / f"checked-{rows}-{name}"
        shutil.rmtree(out, ignore_errors=True)
        perturb_on_spark(
            data, "answer", out, mechanism, labels=["no", "yes"], session=running, key=KEY
        )
        query = f"SELECT count(*), sum(report::BIGINT) FROM '{out}/*.parquet'"
        (n, total) = duckdb.sql(query).fetchall()[0]
        if name == "DRR":
            expected = mechanism.sorted_deck.counts[1]
            found = int(total)
        else:
            minus, plus = SplitDeck(mechanism, KEY, 0).totals()[0]
            expected, found = plus - minus, int(total) - rows * 3 // 10
        yield (
            {
                "what": f"cards, {name}",
                "rows": rows,
                "n": int(n),
                "expected": expected,
                "found": found,
                "exact": n == rows and expected == found,
            }
        )
        shutil.rmtree(out)


def kept_results() -> list[dict[str, Any]]:
    """All that was measured so far."""
    path = BUILD / "spark.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())["results"] if path.exists() else []
    return found


def keep(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write results into build/spark.json, in the place of older ones of the same kind."""
    kept = {(row["what"], row["rows"]): row for row in [*kept_results(), *results]}
    rows = [kept[place] for place in sorted(kept)]
    (BUILD / "spark.json").write_text(json.dumps({"results": rows}, indent=2) + "\n")
    return rows


def measure(sizes: tuple[int, ...] = SIZES, parts: tuple[str, ...] = PARTS) -> list[dict[str, Any]]:
    functions = {"count": count, "perturb": perturb, "check": check}
    rows: list[dict[str, Any]] = []
    for size in sizes:
        for part in parts:
            for row in functions[part](size):
                print(row, file=sys.stderr, flush=True)
                rows = keep([row])
        shutil.rmtree(BUILD / f"answers-{size}", ignore_errors=True)
    growth_picture.draw(rows, BUILD / "scale.png")
    return rows


def run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure and keep all; the document, and whether counts are equal and growth is linear."""
    try:
        session()
    except MissingExtraError as error:
        note = f"skipped: {error}"
        print(note, file=sys.stderr)
        return {"notes": [note], "results": []}, []
    rows = measure()
    return {"results": rows}, promises(rows)


def promises(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What must hold of the measurements."""
    held = ("same_counts", "holds_the_truth", "exact")
    results = []
    for row in rows:
        for name in held:
            if name in row:
                what = f"{row['what']}, {row['rows']:,} rows: {name.replace('_', ' ')}"
                told = {"ratio": float(row[name]), "at_least": 1.0, "kept": bool(row[name])}
                results.append({"what": what} | told)
    # Of the processor, because the clock also counts what else the machine does.
    seconds = {
        (row["what"], row["rows"]): row["processor_seconds"]
        for row in rows
        if "processor_seconds" in row
    }
    for what in dict.fromkeys(what for what, _ in seconds):
        few, many = SIZES[0], SIZES[-1]
        if (what, few) in seconds and (what, many) in seconds:
            of, to = f"{what}: {many:,} rows", f"{few:,} rows"
            times = {of: seconds[what, many], to: seconds[what, few]}
            results.append(ratio(of, to, times, at_most=many / few))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.spark")
    parser.add_argument("--rows", type=int, action="append", help="only so many (again: more)")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    options = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    measure(tuple(options.rows or SIZES), tuple(options.part or PARTS))


if __name__ == "__main__":
    main()
