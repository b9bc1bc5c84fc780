"""One HTML page with every figure and claim; it needs no other file and no network."""

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from jrr.files import write_whole
from jrr.paper.claims import Claim
from jrr.paper.figures import Row
from jrr.paper.reproduce import Figure

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
img{max-width:100%} table{border-collapse:collapse;font-size:13px}
td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;vertical-align:top}
.holds{color:#176b3a}.fails{color:#a3190a}.partly{color:#8a5a00}
"""


def write_report(
    path: Path,
    figures: Sequence[tuple[Figure, Sequence[Row]]],
    claims: Sequence[Claim],
    about: Mapping[str, object],
) -> Path:
    """Gather pictures and tables from the directory of `path`."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<title>Joint randomized response, reproduced</title>",
        f"<style>{_STYLE}</style><h1>Joint randomized response, reproduced</h1>",
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
            data = base64.b64encode(picture.read_bytes()).decode()
            parts.append(
                f'<img alt="{html.escape(figure.title)}" src="data:image/png;base64,{data}">'
            )
        else:
            parts.append(_table(rows))
        parts.append(f'<p>Numbers: <a href="{figure.key}.csv">{figure.key}.csv</a></p>')
    write_whole(path, "\n".join(parts) + "\n")
    return path


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


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(key)}" for key in rows[0]) + "</tr>"]
    for row in rows:
        cells = (
            f"{value:.5g}" if isinstance(value, float) else str(value) for value in row.values()
        )
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</table>"])
