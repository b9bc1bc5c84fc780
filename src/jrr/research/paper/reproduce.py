"""The figures and tables of a reproduction, and all of them in one report."""

import html
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.reporting import page
from jrr.research.paper import draw, extras, figures
from jrr.research.paper.catalogue import DATA_SETS, DataSet, from_directory
from jrr.research.paper.claims import Claim, claims
from jrr.research.paper.figure import Figure, FigureFiles, Row
from jrr.research.paper.two_phase import two_phase

Step = Callable[[Figure, int], None]  # told of the figure that is made, and how much is done

_LISTED = (
    *(figures.figure1, figures.figure2, figures.figure3, figures.figure4),
    *(figures.figure5, figures.figure6, figures.figure7, figures.figure8),
    *(figures.table_data_sets, figures.table_defaults),
    *(extras.frequency, extras.trust, extras.dropout, extras.domain, extras.step),
    *(two_phase, extras.groups),
)
FIGURES = tuple(
    replace(one, drawing=getattr(draw, one.key.replace("-", "_"), None)) for one in _LISTED
)


def no_step(figure: Figure, done: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What was reproduced, with figures of earlier runs that are still whole.

    Attributes:
        figures: each with its rows, in their usual order.
        claims: the paper's claims, and the verdicts that follow from the numbers.
        report: one page with all of it.
        files: the CSV files of this run.
    """

    figures: tuple[tuple[Figure, list[Row]], ...]
    claims: tuple[Claim, ...]
    report: Path
    files: tuple[Path, ...]


def reproduce_paper(
    chosen: Sequence[Figure],
    out: Path,
    *,
    runs: int = 1000,
    seed: int = 1,
    data: Path | None = None,
    force: bool = False,
    step: Step = no_step,
) -> Reproduction:
    """Make figures, judge the paper's claims, and write the report.

    Args:
        chosen: the figures, as `pick` finds them.
        out: the directory for CSV, PNG, SVG and report.html.
        runs: simulated surveys per point.
        seed: the same seed gives the same numbers.
        data: a directory with raw data sets, instead of the built-in counts.
        force: make finished figures again.
        step: is told of progress; a figure of s steps is s + 1 of them, the last its files.

    Returns:
        All figures in the directory, the claims and the report.

    Raises:
        ArgumentError: for too few runs, or where nothing can be written to the directory.
    """
    data_sets = DATA_SETS if data is None else from_directory(data)
    how: dict[str, Any] = {"runs": runs, "seed": seed, "data_sets": data_sets}
    new: dict[str, tuple[Figure, list[Row]]] = {}
    for figure, rows in reproduce(chosen, out, **how, step=step, force=force):
        new[figure.key] = (figure, rows)
        step(figure, 1)
    files = FigureFiles(out=out, **how)
    # Figures of earlier runs belong into the report too, in their usual order.
    together = dict(new)
    for figure in FIGURES:
        earlier = None if figure.key in new else files.finished(figure)
        if earlier is not None:
            together[figure.key] = (figure, earlier)
    places = {figure.key: place for place, figure in enumerate(FIGURES)}
    ordered = sorted(together.values(), key=lambda pair: places.get(pair[0].key, len(places)))
    verdicts = tuple(claims({figure.key: rows for figure, rows in ordered}, data_sets))
    about = {"runs": runs, "seed": seed}
    return Reproduction(
        figures=tuple(ordered),
        claims=verdicts,
        report=write_report(out / "report.html", ordered, verdicts, about),
        files=tuple(out / f"{f.key}.csv" for f, _ in ordered if f.key in new),
    )


def pick(names: Sequence[str], data: Path | None = None) -> tuple[Figure, ...]:
    """Figures by key or number; none given means all.

    All includes the authors' stored results, if they are in the directory of raw data.

    Raises:
        ArgumentError: for a name that no figure has.
    """
    by_name = {figure.key: figure for figure in FIGURES}
    by_name |= {key.removeprefix("figure"): figure for key, figure in by_name.items()}
    for name in names:
        checks.one_of("figure", name, tuple(by_name))
    if names:
        return tuple(dict.fromkeys(by_name[name] for name in names))
    if data is not None and (data / extras.ARTIFACT_FILE).exists():
        return (*FIGURES, extras.artifact_figure(data / extras.ARTIFACT_FILE))
    return FIGURES


def reproduce(
    chosen: Sequence[Figure],
    out: Path,
    *,
    runs: int = 1000,
    seed: int = 1,
    data_sets: Sequence[DataSet] = DATA_SETS,
    step: Step = no_step,
    force: bool = False,
) -> Iterator[tuple[Figure, list[Row]]]:
    """Make figures one after the other; finished ones with the same parameters are kept.

    Raises:
        ArgumentError: where there are fewer than 2 runs, or nothing can be written to out.
    """
    runs = checks.integer("runs", runs, 2)
    seed = checks.integer("seed", seed, 0)
    _check_directory(out)
    files = FigureFiles(out=out, runs=runs, seed=seed, data_sets=data_sets)
    for figure in chosen:
        rows = None if force else files.finished(figure)
        if rows is None:
            rows = files.make(figure, lambda done, figure=figure: step(figure, done))  # type: ignore[misc]
        else:
            step(figure, figure.steps)
        yield figure, rows


def _check_directory(out: Path) -> None:
    """Make the directory, and refuse before hours of work one that nothing can be written to."""
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"out must be a directory, got out={str(out)!r}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        allowed = f"a directory that can be written to ({error.strerror})"
        raise checks.refusal("out", str(out), allowed) from None


def write_report(
    path: Path,
    figures: Sequence[tuple[Figure, Sequence[Row]]],
    claims: Sequence[Claim],
    about: Mapping[str, object],
) -> Path:
    """Gather pictures and tables from the directory of `path`."""
    parts = [
        "<p>Lines are exact theory, dots simulations. "
        + ", ".join(
            f"{html.escape(key)}: {html.escape(str(value))}" for key, value in about.items()
        )
        + ".</p><h2>Claims of the paper</h2>",
        _claims_table(claims),
    ]
    for figure, rows in figures:
        parts.append(f"<h2>{html.escape(figure.title)}</h2><p>{html.escape(figure.sentence)}</p>")
        picture = path.parent / f"{figure.key}.png"
        if figure.drawing is not None and picture.exists():
            parts.append(page.picture(picture, figure.title))
        else:
            parts.append(page.table(rows))
        parts.append(f'<p>Numbers: <a href="{figure.key}.csv">{figure.key}.csv</a></p>')
    return page.write_page(path, "Joint randomized response, reproduced", parts)


def _claims_table(claims: Sequence[Claim]) -> str:
    classes = {"holds": "holds", "does not hold": "fails"}
    lines = ["<table><tr><th>where<th>claim<th>what we measured<th>verdict</tr>"]
    for claim in claims:
        cells = [claim.where, claim.claim, claim.measured]
        verdict = f"<b>{html.escape(claim.verdict)}</b>"
        reason = f"<br>{html.escape(claim.reason)}" if claim.reason else ""
        lines.append(
            "<tr>"
            + "".join(f"<td>{html.escape(cell)}" for cell in cells)
            + f'<td class="{classes.get(claim.verdict, "partly")}">{verdict}{reason}</tr>'
        )
    return "\n".join([*lines, "</table>"])
