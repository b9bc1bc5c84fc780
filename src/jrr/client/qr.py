"""QR codes of links: as a picture, as SVG for a page, as characters for a terminal."""

import io
from typing import Any

from jrr.errors import MissingExtraError

_SCALE = 6  # dots of the picture for each of the code
_BORDER = 4  # white around the code, as readers need it


def _code(text: str) -> Any:
    try:
        import segno
    except ModuleNotFoundError:
        raise MissingExtraError("QR codes need segno", "cli") from None
    return segno.make(text, error="m", micro=False)


def qr_png(text: str) -> bytes:
    """A picture of a code."""
    written = io.BytesIO()
    _code(text).save(written, kind="png", scale=_SCALE, border=_BORDER)
    return written.getvalue()


def qr_svg(text: str) -> str:
    """A code as an SVG element, black on white whatever the page's colours are."""
    drawn: str = _code(text).svg_inline(
        scale=1, border=_BORDER, dark="#000", light="#fff", omitsize=True, svgclass="qr"
    )
    return drawn


def qr_characters(text: str) -> str:
    """A code for a terminal, two rows of it in a line of characters."""
    written = io.StringIO()
    _code(text).terminal(out=written, border=1, compact=True)
    return written.getvalue()
