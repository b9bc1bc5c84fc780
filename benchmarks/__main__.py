"""`python -m benchmarks [part]`: one JSON document, or a broken promise.

The exit code says whether all promises were kept. The document also goes to build/bench.json,
what is going on to standard error, and the picture to build/benchmark.png (`make docs` copies
it to docs/).
"""

import argparse
import json
import platform
import sys
from typing import Any

import numpy

from benchmarks import (
    committee,
    core,
    curves,
    domains,
    engines,
    files,
    heavy_hitters,
    home,
    imports,
    limits,
    picture,
    ranges,
    serve,
    spark,
    table,
    year,
)
from benchmarks.child import ROOT

MORE = {
    "heavy_hitters": heavy_hitters,
    "home": home,
    "limits": limits,
    "ranges": ranges,
    "year": year,
    "spark": spark,
}
PARTS = ("core", "everything", "domains", "files", "committee", "serve", "engines", *MORE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("part", nargs="?", choices=PARTS, help="only this part")
    part = parser.parse_args().part
    document: dict[str, Any] = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "machine": platform.machine(),
        "results": [],
    }
    if part in (None, "core"):
        document["results"] += [
            *imports.import_time(),
            *core.respond_and_tally(),
            *core.masks(),
            *core.blocks(),
            *core.search(),
            *core.planning(),
            *core.questionnaire(),
            *core.simulation(),
        ]
    if part in (None, "everything"):
        document["results"] += curves.growth()
    if part in (None, "files"):
        document["results"] += files.counting()
    if part in (None, "engines"):
        document["results"] += engines.counting()
    if part in (None, "serve"):
        document["results"] += serve.storing()
    if part in (None, "committee"):
        dealt = committee.measure()
        document["results"] += dealt.pop("results")
        document |= dealt
    if part in (None, "domains"):
        measured = domains.measure()
        document["results"] += measured.pop("results")
        document |= measured
        picture.draw(measured, ROOT / "build" / "benchmark.png")
        print(*table.lines(measured), sep="\n", file=sys.stderr)
    for name, module in MORE.items():
        if part in (None, name):
            document[name], results = module.run()
            document["results"] += results
    print(*map(table.verdict, document["results"]), sep="\n", file=sys.stderr)
    text = json.dumps(document, indent=2)
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(text + "\n")
    print(text)
    return 0 if all(result["kept"] for result in document["results"]) else 1


if __name__ == "__main__":
    sys.exit(main())
