"""The paper's Kosarak question drawn from the raw click stream, as the paper says it was."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jrr.errors import ArgumentError
from jrr.research.paper.catalogue import DataSet


@dataclass(frozen=True)
class ClickSample:
    """Clicks drawn from a raw click stream as the paper says, and what they answer."""

    pages: int  # different pages in the stream
    clicks: int  # in the stream
    question: DataSet


def sampled_clicks(
    path: str | Path, rng: np.random.Generator, targets: int = 100, clicks: int = 20_000
) -> ClickSample:
    """The paper's Kosarak question from the raw data: random target pages, random clicks.

    Args:
        path: a click stream (FIMI's kosarak.dat, also gzipped): a line per visitor, page numbers
            separated by blanks.
        rng: draws pages and clicks.
        targets: pages that count as yes, drawn among all pages of the stream.
        clicks: contributors, drawn among all clicks without replacement.

    Returns:
        The sample. Which pages the paper drew is not published, so its 659 of 20,000 need not
        come out.

    Raises:
        ArgumentError: for a file that cannot be read, or holds fewer pages or clicks.
    """
    source = Path(path)
    opener = gzip.open if source.suffix == ".gz" else open
    try:
        with opener(source, "rt", encoding="ascii") as file:
            stream = np.array([int(page) for line in file for page in line.split()], np.int64)
    except (ValueError, EOFError, OSError) as error:
        raise ArgumentError(f"path must be a readable click stream, got {error!r}") from None
    pages = np.unique(stream)
    if len(pages) < targets or len(stream) < clicks:
        raise ArgumentError(
            f"path must hold at least {targets} pages and {clicks} clicks, got {len(pages)} pages "
            f"and {len(stream)} clicks"
        )
    chosen = rng.choice(pages, targets, replace=False)
    drawn = rng.choice(stream, clicks, replace=False)
    ones = int(np.isin(drawn, chosen).sum())
    about = f"the click falls on one of {targets} pages"
    return ClickSample(
        len(pages), len(stream), DataSet("Kosarak, sampled", clicks, ones, about, source.name)
    )
