"""`jrr survey invite --page` and `jrr serve all --draft`: links that people can be sent."""

import contextlib
import csv
import json
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from jrr import RR
from jrr.cli.app import run
from jrr.research.processes import free_port
from jrr.survey.survey import Survey
from tests.browsing import PHONE
from tests.e2e import Pair
from tests.e2e.test_commands import RUN, clean, jrr
from tests.e2e.visits import planned

PAGE = "https://page.example/page/"
EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.toml"
DRINKS = {"name": "drinks", "kind": "yes-no", "text": {"en": "Drink?", "de": "Trinken Sie?"}}
TITLE = {"en": "Health", "de": "Gesundheit"}
DOCUMENT: dict[str, Any] = {"title": TITLE, "languages": ["en", "de"], "questions": [DRINKS]}


def tokens_of(pair: Pair) -> dict[str, str]:
    return {"JRR_DEALER_TOKEN": pair.dealer.token, "JRR_COLLECTOR_TOKEN": pair.collector.token}


def survey_in(pair: Pair, folder: Path) -> Survey:
    """A survey at these servers, and its file."""
    survey = planned(pair, 20, DOCUMENT)
    (folder / "survey.json").write_bytes(survey.to_bytes())
    return survey


@pytest.mark.slow
def test_invitations_become_links_of_every_format(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey = survey_in(sqlite_pair, tmp_path)
    env = tokens_of(sqlite_pair)

    def invite(*more: str) -> Any:
        words = ("survey", "invite", "survey.json", "--page", PAGE, "--json", *more)
        return jrr(*words, cwd=tmp_path, env=env)

    assert invite("--count", "3") == {"invitations": 3, "file": "invitations.csv"}
    rows = list(csv.DictReader((tmp_path / "invitations.csv").read_text("utf-8").splitlines()))
    for row in rows:
        wanted = f"{PAGE}#survey={survey.link}&invitation={row['invitation']}"
        assert row["link"] == wanted
    # The other formats are made of the same invitations, and servers are told of nobody new.
    again = ("--from", "invitations.csv", "--format")
    assert invite(*again, "links")["links"] == "invitations.txt"
    lines = (tmp_path / "invitations.txt").read_text("utf-8").splitlines()
    assert lines == [row["link"] for row in rows]
    assert invite(*again, "qr")["links"] == "invitations-qr"
    assert len(list((tmp_path / "invitations-qr").glob("*.png"))) == 3
    assert invite(*again, "letters", "--language", "de")["links"] == "invitations.html"
    assert '<h1 dir="auto">Gesundheit</h1>' in (tmp_path / "invitations.html").read_text("utf-8")
    assert invite(*again, "letters", "-o", "sheets.htm")["links"] == "sheets.htm"
    assert (tmp_path / "sheets.htm").is_file()
    # Whatever else is made, the file of invitations says what people are sent.
    assert invite("--count", "2", "-o", "more.csv", "--format", "links")["links"] == "more.txt"
    more = list(csv.DictReader((tmp_path / "more.csv").read_text("utf-8").splitlines()))
    assert [row["link"] for row in more] == (tmp_path / "more.txt").read_text().split()
    shown = jrr("survey", "show", "survey.json", "--json", cwd=tmp_path, env=env)
    assert shown["collector"]["invited"] == 5


def test_one_link_for_a_public_survey_and_its_limits(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey = sqlite_pair.survey(RR(epsilon=1.0), invitations=False)
    (tmp_path / "survey.json").write_bytes(survey.to_bytes())
    words = ("survey", "invite", "survey.json", "--page", PAGE, "--format", "links", "--json")
    told = jrr(*words, cwd=tmp_path)
    assert told["links"] == 1
    assert "count devices" in told["limits"]
    line = (tmp_path / "invitations.txt").read_text("utf-8")
    assert line == f"{PAGE}#survey={survey.link}\n"


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        (("--count", "3", "--format", "qr"), "page must be given"),
        (("--count", "3", "--page", "http://page.example"), "page must be"),
        (("--page", PAGE), "exactly one of --count and --from"),
        (("--from", "a.csv", "-o", "b.csv"), "out must be left out with --from"),
    ],
)
def test_what_is_refused_leaves_no_file(
    sqlite_pair: Pair,
    tmp_path: Path,
    more: tuple[str, ...],
    wrong: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    survey_in(sqlite_pair, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, token in tokens_of(sqlite_pair).items():
        monkeypatch.setenv(name, token)
    assert run(["survey", "invite", "survey.json", *more]) == 2
    assert wrong in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["survey.json"]


@pytest.mark.slow
def test_a_sample_survey_to_try_things_out(tmp_path: Path) -> None:
    port = free_port(2)
    command = [*RUN, "serve", "all", "--folder", str(tmp_path), "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--draft", str(EXAMPLE), "--people", "20", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean(),
    )
    try:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert len(facts["links"]) == 20
        address, _, told = facts["links"][0].partition("#")
        assert address == facts["page"]["url"] == f"http://127.0.0.1:{port + 2}/page/"
        assert f"/v1/surveys/{facts['survey']}&invitation=" in told
        with urllib.request.urlopen(address) as reply:
            assert b"<main" in reply.read()
        env = {
            f"JRR_{role.upper()}_TOKEN": facts[role]["token"] for role in ("dealer", "collector")
        }
        shown = jrr("survey", "show", facts["file"], "--json", cwd=tmp_path, env=env)
        assert shown["collector"]["state"] == "open"
        assert shown["collector"]["invited"] == 20
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_phone_in_the_same_network_answers(browser: Any, tmp_path: Path) -> None:
    """By https, once it has accepted the certificate; the certificate is for this address alone."""
    port, phone = free_port(2), "127.0.0.2"
    named = ("--folder", str(tmp_path), "--port", str(port), "--people", "20", "--phone", phone)
    draft = tmp_path / "draft.toml"
    draft.write_text('title = "T"\n[[questions]]\nname = "a"\nkind = "yes-no"\ntext = "Do you?"\n')
    process = subprocess.Popen(
        [*RUN, "serve", "all", *named, "--draft", str(draft), "--json"],
        stdout=subprocess.PIPE,
        env=clean({}),
    )
    try:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        link = facts["links"][0]
        urls = [facts[role]["url"] for role in ("dealer", "collector", "page")]
        assert all(url.startswith(f"https://{phone}:") for url in urls)
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(urls[1], timeout=60)
        trust = ssl.create_default_context(cafile=str(tmp_path / f"{phone}.pem"))
        with urllib.request.urlopen(f"{urls[1]}/readyz", timeout=60, context=trust) as reply:
            assert reply.status == 200  # the name of the machine is checked, too
        page = browser.new_context(**PHONE, locale="en-GB").new_page()
        page.set_default_timeout(60_000)
        with contextlib.suppress(Exception):  # the browser's warning, instead of the page
            page.goto(link)
        page.wait_for_timeout(1000)
        page.keyboard.type("thisisunsafe")  # which Chromium takes for "proceed"
        for name in ("I agree", "Next", "Send"):
            if name == "Next":
                page.get_by_label("Yes", exact=True).check()
            page.get_by_role("button", name=name, exact=True).click()
        page.locator("h1", has_text="Thank you").wait_for()
        assert "hidden with a card" in page.locator("main").inner_text()
        page.context.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert run(["serve", "all", *named[:-1], "0.0.0.0"]) == 2
