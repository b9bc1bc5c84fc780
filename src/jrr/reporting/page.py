"""Self-contained HTML pages: one file, no network."""

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jrr._base.files import write_whole

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
img{max-width:100%} table{border-collapse:collapse;font-size:13px}
td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;vertical-align:top}
.holds{color:#176b3a}.fails{color:#a3190a}.partly{color:#8a5a00}
"""


def write_page(path: Path, title: str, parts: Iterable[str]) -> Path:
    """Write a page whose parts are HTML already."""
    head = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1>",
    ]
    write_whole(path, "\n".join([*head, *parts]) + "\n")
    return path


def picture(path: Path, title: str) -> str:
    """A PNG file inside the page."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of the same keys."""
    if not rows:
        return ""
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(key)}" for key in rows[0]) + "</tr>"]
    for row in rows:
        cells = (
            f"{value:.5g}" if isinstance(value, float) else str(value) for value in row.values()
        )
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{html.escape(text)}</p>"
