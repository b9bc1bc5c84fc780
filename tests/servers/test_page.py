"""The answer page as files: what is served, under which headers, and in every language alike."""

import asyncio
import gzip
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jrr.errors import ArgumentError
from jrr.reporting.catalogue import known_languages, texts
from jrr.servers.page.app import page_app, policy
from jrr.servers.page.files import page_files, page_hash
from tests.clients.test_javascript import node

PAGE = Path(__file__).parents[2] / "clients" / "js" / "page"
TEXTS = PAGE.parent / "texts"
NAMES = """
    const {LANGUAGES} = await import("./page/texts.js");
    console.log(JSON.stringify(LANGUAGES));
"""
INTEGRITY = Path(__file__).parents[2] / "tools" / "page_integrity.py"


def page_texts() -> dict[str, dict[str, str]]:
    """All texts of the page, by language and key."""
    script = """
        const {LANGUAGES} = await import("./page/texts.js");
        const texts = {};
        for (const code of Object.keys(LANGUAGES)) {
          texts[code] = (await import(`./texts/${code}.js`)).default;
        }
        console.log(JSON.stringify(texts));
    """
    done = node("--input-type=module", "-e", script)
    return dict(json.loads(done.stdout))


def get(path: str, method: str = "GET", accepted: str = "") -> tuple[int, dict[str, str], bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    headers = [(b"accept-encoding", accepted.encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}

    async def ask() -> None:
        await page_app()(scope, receive, send)

    asyncio.run(ask())
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, sent[1]["body"]


def test_the_page_and_everything_it_names_is_there() -> None:
    status, headers, body = get("/page/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = body.decode()
    for name in re.findall(r'(?:src|href)="([^"]+)"', text):
        inside = re.sub(r"^\.\./(?:src|texts|vendor|verified)/", "", name)
        assert "/" not in inside  # nothing from elsewhere
        assert get(f"/page/{name}".replace("/page/..", ""))[0] == 200
    assert "<script>" not in text
    assert " style=" not in text
    for file in page_files():
        for source in re.findall(r'from "\.\./src/([^"]+)"', file.body.decode()):
            assert get(f"/src/{source}")[0] == 200


@pytest.mark.parametrize("path", ["/", "/page"])
def test_the_root_leads_there(path: str) -> None:
    status, headers, _ = get(path)
    assert (status, headers["location"]) == (307, "/page/")


@pytest.mark.parametrize(
    "path",
    ["/page/../pyproject.toml", "/package.json", "/src/index.d.ts", "/page/nothing", "//page/"],
)
def test_nothing_else_is(path: str) -> None:
    assert get(path)[0] == 404


def test_only_reading() -> None:
    assert get("/page/", "POST")[0] == 405
    status, headers, body = get("/page/", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


def test_headers_keep_everything_else_out() -> None:
    for path in ("/page/", "/src/survey.js", "/nothing"):
        headers = get(path)[1]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == "'self'"
        assert rules["frame-ancestors"] == rules["form-action"] == rules["base-uri"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert "*" not in rules["connect-src"].replace("127.0.0.1:*", "").replace("localhost:*", "")
    inside = re.findall(r'Security-Policy" content="([^"]+)"', (PAGE / "index.html").read_text())
    assert inside == [
        policy().replace("frame-ancestors 'none'; ", "")
    ]  # where it is hosted elsewhere


def test_servers_may_be_named() -> None:
    assert "connect-src 'self' https://a.example https://b.example:8443;" in policy(
        ["https://a.example/here", "https://b.example:8443"]
    )
    for wrong in ("*", "http://a.example", "https://a.example; script-src *"):
        with pytest.raises(ArgumentError, match="allow"):
            policy([wrong])


def test_the_headers_for_other_web_servers_are_ours() -> None:
    told = (INTEGRITY.parents[1] / "docs" / "answer-page.md").read_text("utf-8")
    allowed = ["https://dealer.example", "https://collector.example"]
    assert told.count(f'"{policy(allowed)}"') == 2  # nginx and Caddy
    _, headers, _ = get("/page/")
    for name in ("x-frame-options", "referrer-policy", "cross-origin-opener-policy"):
        assert len(re.findall(f"(?i){name} {headers[name]}", told)) == 2


def test_one_byte_more_is_another_hash() -> None:
    files = page_files()
    done = subprocess.run(
        [sys.executable, "-m", "jrr.cli", "serve", "page", "--hash", "--json"],
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["sha256"] == page_hash(files)
    assert told["files"] == {f.path: hashlib.sha256(f.body).hexdigest() for f in files}
    changed = (*files[:-1], type(files[-1])(files[-1].path, files[-1].body + b" "))
    assert page_hash(changed) != page_hash(files)


def test_it_weighs_little() -> None:
    weight = later = 0
    html = (PAGE / "index.html").read_text("utf-8")
    named_later = re.findall(r'rel="lazy" href="\.\./([^"]+)"', html)
    for file in page_files():
        status, headers, body = get(f"/{file.path}", accepted="gzip, br")
        assert (status, headers["content-encoding"]) == (200, "gzip")
        assert gzip.decompress(body) == file.body
        if file.path not in named_later:
            weight += len(body)
        elif file.path.startswith("texts/"):
            assert len(body) < 6_000  # one language, loaded by those who read it
        else:
            later += len(body)
    assert later < 25_000  # of verified cards only, loaded when somebody sends
    assert weight < 90_000  # docs/decisions/0024-answer-page.md


def test_browsers_are_told_what_every_script_and_style_must_be() -> None:
    stale = subprocess.run([sys.executable, str(INTEGRITY), "--check"], capture_output=True)
    assert stale.returncode == 0, stale.stdout
    html = (PAGE / "index.html").read_text("utf-8")
    told = re.findall(r'(?:src|href)="([^"]+)" integrity="sha256-[\w+/]{43}="', html)
    assert "/src/lazy.js" in html  # the only one that imports later on, after the same check
    named = {str(Path("page") / name).replace("page/../", "") for name in told}
    every = {file.path for file in page_files()}
    assert every - named == {"page/index.html", "page/cards.svg"}
    for path in (*PAGE.glob("*.js"), *(PAGE.parent / "src").glob("*.js")):  # nothing else comes in
        assert path.name == "lazy.js" or "import(" not in path.read_text("utf-8")


def test_styles_and_texts_are_safe_from_right_to_left() -> None:
    style = (PAGE / "page.css").read_text("utf-8")
    sides = r"(?<![\w-])(?:(?:margin|padding|border|inset)-)?(?:left|right)(?![\w-])"
    assert re.findall(sides, style) == []
    assert re.findall(r"(?<![\w-])(?:float|text-align: (?:left|right))", style) == []


def test_the_page_says_what_consent_texts_say_in_the_same_words() -> None:
    for language in page_texts():
        own = [key for key in page_texts()[language] if key.startswith("consent_")]
        assert len(own) == 15
        for key in own:
            said = texts(language)[key.replace("consent_", "consent.")]
            assert page_texts()[language][key] == said, key


def test_every_language_has_every_text_and_its_gaps() -> None:
    found = page_texts()
    files = {path.stem for path in TEXTS.glob("*.js")}
    assert set(found) == files == set(known_languages()) >= {"en", "de", "fr"}
    gaps = {
        language: {key: sorted(set(re.findall(r"\{\w+\}", text))) for key, text in entries.items()}
        for language, entries in found.items()
    }
    names = node("--input-type=module", "-e", NAMES).stdout
    assert json.loads(names) == {code: entries["language"] for code, entries in found.items()}
    for code, entries in found.items():
        assert gaps[code] == gaps["en"], code
        source = (TEXTS / f"{code}.js").read_text("utf-8")
        written = re.findall(r'^  "?([\w-]+)"?: ', source, re.MULTILINE)
        assert written == list(entries) == list(found["en"])  # none twice
        assert all(words and words == words.strip() for words in entries.values())
        assert code == "en" or not [
            key
            for key, words in entries.items()
            if words == found["en"][key] and len(re.findall(r"[a-z]{3,}", words)) > 3
        ]
    assert {entries["direction"] for entries in found.values()} <= {"ltr", "rtl"}
    said = "".join(path.read_text("utf-8") for path in PAGE.glob("*.js") if path.name != "texts.js")
    for key in re.findall(r'\b(?:text|button)\("(\w+)"', said):
        assert key in found["en"]
    made = (
        "error_",
        "title_",
        "against_",
        "badge_",
        "fact_",
        "noscript",
        "loss_",
        "language",
        "start",
        "invitation",
    )
    for key in found["en"]:
        assert key.startswith(made) or "thanks" in key or f'"{key}"' in said, key
