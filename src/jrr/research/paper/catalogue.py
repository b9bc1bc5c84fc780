"""Facts for offline runs: the paper's data sets as (n, ones), and real sensitive questions.

RR, JRR and DRR treat contributors in random order, so a simulation depends on a data set only
through these two numbers.
"""

import csv
import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jrr.errors import ArgumentError


@dataclass(frozen=True)
class DataSet:
    """A yes/no question that n people answered, `ones` of them with yes."""

    name: str
    n: int
    ones: int
    about: str  # what yes means
    source: str

    @property
    def counts(self) -> tuple[int, int]:
        """(no, yes), as mechanisms count values 0 and 1."""
        return (self.n - self.ones, self.ones)


def _listed(kind: str) -> tuple[DataSet, ...]:
    text = (files("jrr.research.paper") / "data_sets.csv").read_text("utf-8")
    return tuple(
        DataSet(row["name"], int(row["n"]), int(row["ones"]), row["about"], row["source"])
        for row in csv.DictReader(text.splitlines())
        if row["kind"] == kind
    )


DATA_SETS = _listed("paper")  # the paper's table of data sets (its appendix describes them)
SENSITIVE = _listed("sensitive")


def from_directory(directory: str | Path) -> tuple[DataSet, ...]:
    """The paper's data sets counted from raw files, where they are; the others as facts."""
    folder = Path(directory)
    if not folder.is_dir():
        raise ArgumentError(f"data must be a directory, got data={str(folder)!r}")
    names = sorted(name for name, _ in _READERS.values())
    if not any((folder / name).exists() for name in names):
        raise ArgumentError(
            f"data must be a directory with one of {', '.join(names)}, got data={str(folder)!r}"
        )
    counted = []
    for known in DATA_SETS:
        reader = _READERS.get(known.name)
        path = None if reader is None else folder / reader[0]
        if reader is None or path is None or not path.exists():
            counted.append(known)
            continue
        n, ones = _counted(path, reader[1])
        counted.append(DataSet(known.name, n, ones, known.about, path.name))
    return tuple(counted)


_READERS: Mapping[str, tuple[str, Callable[[Mapping[str, str]], bool]]] = {
    "Kosarak": ("jrr_kosarak_bits.csv", lambda row: row["bit"] == "1"),
    "Amazon": ("jrr_amazon_bits.csv", lambda row: row["rating"] in ("1", "1.0")),
    "E-commerce": ("ecommerce_reviews.csv.gz", lambda row: row["recommended_ind"] == "1"),
}


def _counted(path: Path, is_one: Callable[[Mapping[str, str]], bool]) -> tuple[int, int]:
    n = ones = 0
    try:
        for row in _rows(path):
            n += 1
            ones += is_one(row)
    except (KeyError, ValueError, EOFError, csv.Error, OSError) as error:
        raise ArgumentError(f"data must hold a readable {path.name}, got {error!r}") from None
    if not n:
        raise ArgumentError(f"data must hold rows in {path.name}, got none")
    return n, ones


def _rows(path: Path) -> Iterable[Mapping[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
