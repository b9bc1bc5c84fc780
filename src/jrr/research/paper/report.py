"""One HTML page with every figure and claim; it needs no other file and no network."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jrr.reporting import page
from jrr.research.paper.figure import Figure, Row

if TYPE_CHECKING:
    from jrr.research.paper.claims import Claim


def write_report(
    path: Path,
    figures: Sequence[tuple[Figure, Sequence[Row]]],
    claims: Sequence["Claim"],
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


def _claims_table(claims: Sequence["Claim"]) -> str:
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
