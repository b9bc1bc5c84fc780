"""Shares with error bars from counts of reports: columns region, carded, report, reports."""

import csv
import sys
from collections import defaultdict
from pathlib import Path

from jrr import Tally
from jrr.tables import Header


def main(counts: str, header_file: str) -> None:
    """Print the shares of every region.

    Args:
        counts: a CSV file.
        header_file: what the reports are.
    """
    header = Header.from_json(Path(header_file).read_text(), header_file)
    mechanism = header.mechanism
    if mechanism.to_dict()["mechanism"] not in ("RR", "JRR", "DRR"):
        sys.exit(f"reports must be of RR, JRR or DRR, got {mechanism.name}: see jrr file estimate")
    found: dict[str, dict[bool, list[int]]] = defaultdict(
        lambda: {True: [0] * mechanism.k, False: [0] * mechanism.k}
    )
    with open(counts, newline="") as file:
        for row in csv.DictReader(file):
            carded = row["carded"] == "true"
            found[row["region"]][carded][int(row["report"])] += int(row["reports"])
    for region, kinds in sorted(found.items()):
        tally = Tally(
            mechanism.to_dict(),
            carded=tuple(kinds[True]),
            cardless=tuple(kinds[False]),
            n_carded=sum(kinds[True]),
            n_cardless=sum(kinds[False]),
            decks=header.decks,
        )
        estimate = mechanism.estimate(tally)
        low, high = estimate.interval()
        for name, share, least, most in zip(
            header.names, estimate.frequencies, low, high, strict=True
        ):
            print(f"{region}: {name} {100 * share:.1f}% ({100 * least:.1f} to {100 * most:.1f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
