"""What stands around questions: sections, ends that stand for more, the picture of who asks."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from jrr import SeededRandom
from jrr.errors import ArgumentError, DamagedError
from jrr.survey.contributor import read_answers
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, request_fields
from jrr.survey.draft_toml import draft_toml
from jrr.survey.logo import MOST, WIDEST, check_logo
from jrr.survey.survey import Survey, read_survey

DAYS: dict[str, Any] = {"name": "days", "kind": "number", "low": 0, "high": 20, "text": "Days?"}
AGE = DAYS | {"name": "age", "low": 18, "high": 80, "sensitive": False}


def png(wide: int, high: int) -> str:
    """A grey picture, as documents have it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    head = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\x60" * wide for _ in range(high)))
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", rows), chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def survey(*questions: dict[str, Any], **more: Any) -> Survey:
    draft = Draft.from_dict({"title": "T", "epsilon": 4, "questions": list(questions)})
    collector = "https://collector.example"
    return SurveyRequest(
        draft=draft, people=100, collector=collector, mechanism="rr", **more
    ).survey()


@pytest.mark.parametrize(
    ("flags", "given", "value"),
    [
        ({}, 20, 1),
        ({"or_more": True}, 500, 1),
        ({"or_less": True}, -3, 0),
        ({"or_less": True, "or_more": True}, 21, 1),
    ],
)
def test_an_end_stands_for_all_beyond(flags: dict[str, bool], given: float, value: int) -> None:
    """The ends themselves are not rounded by chance."""
    asked = survey({**DAYS, **flags}, {**AGE, **flags, "low": 0, "high": 20})
    for seed in range(20):
        openly, perturbed = read_answers(
            asked, {"days": given, "age": given}, rng=SeededRandom(seed)
        )
        assert perturbed == {"days": value * asked.mechanisms["days"].steps}
        assert openly == {"age": 20.0 * value}


@pytest.mark.parametrize("flags", [{}, {"or_less": True}])
@pytest.mark.parametrize("wrong", [21, float("nan"), float("inf")])
def test_beyond_other_ends_is_refused(flags: dict[str, bool], wrong: float) -> None:
    for one, other in ((DAYS, AGE), (AGE, DAYS)):
        asked = survey(one | flags, other | flags)
        with pytest.raises(ArgumentError, match="must be a number from"):
            read_answers(asked, {"age": 30, "days": 3} | {one["name"]: wrong * 10})


def test_what_is_allowed_is_said_in_words() -> None:
    asked = survey(DAYS | {"or_less": True, "or_more": True})
    with pytest.raises(ArgumentError, match="a number from 0 or less to 20 or more, got another"):
        read_answers(asked, {"days": "many"})
    with pytest.raises(ArgumentError, match="or_more of question 'a' must be left out"):
        survey({"name": "a", "kind": "scale", "text": "?", "or_more": True})


def test_documents_and_files_keep_them(tmp_path: Path) -> None:
    section = {"en": "Now about your health."}
    asked = survey(DAYS | {"or_more": True, "section": section}, logo=png(40, 20))
    again = read_survey(asked.to_bytes())
    assert again == asked
    (question,) = again.questions
    assert (question.section, question.or_more, question.or_less) == (section, True, False)
    bare = survey(DAYS).to_bytes().decode()
    assert not any(word in bare for word in ("section", "or_more", "or_less", "logo"))
    draft = Draft.from_dict(
        {"title": "T", "questions": [DAYS | {"or_more": True, "section": "Health."}]}
    )
    file = tmp_path / "draft.toml"
    file.write_text(draft_toml(draft))
    assert Draft.read(file) == draft
    assert 'section = "Health."' in file.read_text()


def test_a_logo_is_a_small_png(tmp_path: Path) -> None:
    check_logo(png(WIDEST, 10))
    file = tmp_path / "logo.png"
    file.write_bytes(base64.b64decode(png(30, 30)))
    assert request_fields({"logo_file": str(file)}, ["en"]) == {"logo": png(30, 30)}
    jpeg = base64.b64encode(b"\xff\xd8\xff" + bytes(40)).decode()
    too_long = png(30, 30) + "A" * MOST
    for wrong in (png(WIDEST + 1, 1), png(1, WIDEST + 1), jpeg, too_long, "https://x", "", 3):
        with pytest.raises(ArgumentError, match="logo must be a PNG in base64"):
            check_logo(wrong)
    with pytest.raises(ArgumentError, match="logo_file must be readable"):
        request_fields({"logo_file": str(tmp_path / "none.png")}, ["en"])
    bare = survey(DAYS)
    with pytest.raises(DamagedError, match="logo"):
        read_survey(bare.to_bytes().replace(b'"nonce"', b'"logo":"https://x","nonce"'))
