"""Links to the answer page as files: what is in them, who may read them, codes that scan."""

import csv
import io
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from jrr.client.invitations import FORMATS, answer_link, page_address, write_answer_links
from jrr.client.letters import Letter, grouped, qr_characters, qr_png
from jrr.client.operator import new_invitations
from jrr.errors import ArgumentError
from jrr.protocol.identity import invitation_secret

zxingcpp = pytest.importorskip("zxingcpp", reason="no zxing-cpp here: QR codes are not read again")
PAGE = "https://page.example/page/"
SURVEY = f"https://collector.example/v1/surveys/{'0f' * 32}"


def scanned(picture: bytes) -> str:
    pixels = np.array(Image.open(io.BytesIO(picture)).convert("L"))
    (found,) = zxingcpp.read_barcodes(pixels)
    return str(found.text)


def written(out: Path, format: Any, invitations: list[str] | None, **more: Any) -> Path:
    letter = {"title": "Health <at> work"} | more.pop("letter", {})
    settings: dict[str, Any] = {"page": PAGE, "link": SURVEY, "letter": Letter(**letter)} | more
    return write_answer_links(out, format, invitations=invitations, **settings)


def test_addresses_of_pages() -> None:
    assert page_address(" https://page.example/page/ ") == PAGE
    assert page_address("https://page.example/a.html") == "https://page.example/a.html"
    for wrong in ("http://page.example", "page.example", "https://a.example/#x", "https://a/?b"):
        with pytest.raises(ArgumentError, match="page"):
            page_address(wrong)


def test_links_have_the_invitation_after_the_hash_only() -> None:
    link = answer_link(PAGE, SURVEY, "secret")
    before, _, after = link.partition("#")
    assert before == PAGE
    assert after == f"survey={SURVEY}&invitation=secret"


def test_csv_for_mail_merge_is_private(tmp_path: Path) -> None:
    invitations = new_invitations(3)
    out = written(tmp_path / "invitations.csv", "csv", invitations)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    rows = list(csv.DictReader(out.read_text("utf-8").splitlines()))
    assert list(rows[0]) == ["link", "invitation", "program_link"]  # what people are sent is first
    assert [row["invitation"] for row in rows] == invitations
    assert {row["program_link"] for row in rows} == {SURVEY}
    assert [row["link"] for row in rows] == [answer_link(PAGE, SURVEY, one) for one in invitations]


def test_a_language_goes_along_where_one_was_given(tmp_path: Path) -> None:
    (invitation,) = new_invitations(1)
    out = written(tmp_path / "a.csv", "links", [invitation], language="de")
    assert out.read_text().endswith(f"&invitation={invitation}&language=de\n")


def test_exactly_the_name_that_was_given(tmp_path: Path) -> None:
    out = written(tmp_path / "sheet.htm", "letters", new_invitations(1), exactly=True)
    assert out == tmp_path / "sheet.htm"
    assert out.read_text("utf-8").startswith("<!doctype html>")


def test_a_line_for_each(tmp_path: Path) -> None:
    invitations = new_invitations(3)
    out = written(tmp_path / "a.csv", "links", invitations)
    assert out.name == "a.txt"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert out.read_text().splitlines() == [answer_link(PAGE, SURVEY, one) for one in invitations]
    with pytest.raises(ArgumentError, match="does not exist yet"):
        written(tmp_path / "a.csv", "links", invitations)


def test_pictures_scan(tmp_path: Path) -> None:
    invitations = new_invitations(11)
    folder = written(tmp_path / "a.csv", "qr", invitations)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    rows = list(csv.DictReader((folder / "links.csv").read_text("utf-8").splitlines()))
    assert [row["picture"] for row in rows][::10] == ["01.png", "11.png"]
    for row, invitation in zip(rows, invitations, strict=True):
        assert scanned((folder / row["picture"]).read_bytes()) == row["link"]
        assert row["link"].endswith(invitation)


class _Letters(HTMLParser):
    """What is on the sheets."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "action")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_letters(tmp_path: Path, language: str) -> None:
    invitations = new_invitations(2)
    more = {"language": language, "by": "The <i>institute", "contact": "Street 1\nTown"}
    out = written(tmp_path / "a.csv", "letters", invitations, letter=more)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    html = out.read_text("utf-8")
    letters = _Letters()
    letters.feed(html)
    assert letters.tags.count("main") == letters.tags.count("svg") == 2
    assert letters.addresses == []  # nothing is asked for anywhere
    assert "script" not in letters.tags
    assert "Health <at> work" in letters.texts  # escaped: a text, not markup
    assert any("The <i>institute" in words for words in letters.texts)
    assert any("Street 1\nTown" in words for words in letters.texts)
    assert PAGE in letters.texts
    before, _, name = SURVEY.rpartition("/")
    assert f"{before}/ {grouped(name)}" in letters.texts  # to be typed, blanks and all
    for invitation in invitations:
        assert grouped(invitation) in letters.texts
        assert invitation_secret(grouped(invitation)) == invitation_secret(invitation)
    german = "Scannen" in html or "Kamera Ihres Telefons" in html
    assert german == (language == "de")
    assert f'lang="{language}"' in html


def test_a_page_that_knows_its_survey_needs_no_address(tmp_path: Path) -> None:
    invitations = new_invitations(1)
    html = written(
        tmp_path / "a.csv", "letters", invitations, letter={"page_knows": True}
    ).read_text("utf-8")
    assert PAGE in html
    assert "0f0f 0f0f" not in html
    assert len(PAGE) + len(invitations[0]) < 70  # all that has to be typed


def test_codes_on_letters_are_those_of_the_links(tmp_path: Path) -> None:
    (invitation,) = new_invitations(1)
    html = written(tmp_path / "a.csv", "letters", [invitation]).read_text("utf-8")
    (drawn,) = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert scanned(_painted(drawn)) == answer_link(PAGE, SURVEY, invitation)


def _painted(drawn: str) -> bytes:
    """The picture that an SVG of rows of dots describes."""
    ((width, height),) = re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawn)
    canvas = np.full((int(height), int(width)), 255, np.uint8)
    (path,) = re.findall(r'<path class="qrline" stroke="#000" d="([^"]+)"', drawn)
    commands = re.findall(r"([Mmh])(-?[\d.]+)(?:[ ,]?(-?[\d.]+))?", path)
    x = y = 0.0
    for command, first, second in commands:
        if command == "M":
            x, y = float(first), float(second)
        elif command == "m":
            x, y = x + float(first), y + float(second)
        else:
            canvas[int(y), int(x) : int(x + float(first))] = 0
            x += float(first)
    written = io.BytesIO()
    Image.fromarray(np.kron(canvas, np.ones((6, 6), np.uint8))).save(written, "png")
    return written.getvalue()


def test_one_link_for_all(tmp_path: Path) -> None:
    for format in FORMATS:
        out = written(tmp_path / f"{format}.csv", format, None)
        if out.is_file():
            text = out.read_text("utf-8")
            assert "invitation=" not in text
            assert SURVEY.rpartition("/")[0] in text
    assert scanned((tmp_path / "qr-qr" / "1.png").read_bytes()) == answer_link(PAGE, SURVEY)


def test_codes_for_terminals() -> None:
    assert "▄" in qr_characters(SURVEY)
    assert scanned(qr_png(SURVEY)) == SURVEY
