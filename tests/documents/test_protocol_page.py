"""docs/protocol.md names every field, route and refusal that there is, and its example is one."""

import json
import re
from pathlib import Path

import msgspec

from jrr.protocol.documents import canonical_json
from jrr.survey.survey import Survey
from jrr.survey.survey_document import SurveyDocument

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text("utf-8")
SERVERS = [path.read_text("utf-8") for path in (ROOT / "src/jrr/servers").rglob("*.py")]


def test_the_example_is_a_survey_with_the_name_that_is_said() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    survey = Survey.from_bytes(canonical_json(json.loads(example)))
    assert f"`{survey.hash}`:\n\n```json" in PAGE


def test_every_field_of_a_document_is_explained() -> None:
    table = PAGE.split("### The document")[1].split("**A question**")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {field.name for field in msgspec.structs.fields(SurveyDocument)}


def test_every_route_is_listed() -> None:
    found = set()
    for text in SERVERS:
        paths = re.findall(r'@app\.(get|post|put)\(\s*f?"([^"]+)"', text)
        found |= {(method.upper(), path) for method, path in paths}
    tails = {
        (method, path.split("{name}")[-1].split("{ADMIN}")[-1].split("{PUBLIC}")[-1])
        for method, path in found
        if "name}" in path or "ADMIN}" in path or "PUBLIC}" in path
    }
    assert len(tails) > 15
    for method, tail in tails:
        assert not tail or re.search(rf"`{method} …{tail}[`?]", PAGE), (method, tail)


def test_every_refusal_is_listed() -> None:
    kinds = {
        kind for text in SERVERS for kind in re.findall(r'Problem\(\s*\d{3},\s*"([a-z-]+)"', text)
    }
    assert len(kinds) > 20
    assert {kind for kind in kinds if f"`{kind}`" not in PAGE} <= {"internal"}
