"""Who gets in, for how long, and what is tried to get in otherwise."""

from urllib.parse import urlsplit

import pytest

from jrr.console.sessions import IDLE, LONGEST, MOST, Sessions
from jrr.dealing.kinds import Nobody
from jrr.research.processes import running
from jrr.servers.common.tokens import AdminToken
from tests.console import CSRF, WORK, Servers, Visitor

PAGES = ("/", "/plan", f"/surveys/{'0' * 64}", f"/surveys/{'0' * 64}/results", "/drafts/new")


def test_only_the_admin_token_opens_the_console(servers: Servers) -> None:
    stranger = Visitor(servers.collector.url)
    assert stranger.sign_in(servers.dealer.token).status == 403
    assert "not the admin token" in stranger.sign_in("").words
    assert stranger.sign_in(servers.collector.token).status == 200
    assert "Sign out" in stranger.get("/").words


@pytest.mark.parametrize("path", PAGES)
def test_without_a_session_every_page_leads_to_the_form(servers: Servers, path: str) -> None:
    stranger = Visitor(servers.collector.url)
    for method in ("GET", "POST"):
        reply = stranger.request(method, f"/console{path}", {} if method == "POST" else None)
        assert reply.status in (303, 404, 405), reply.body
        assert reply.status != 303 or reply.headers["location"] == "/console/sign-in"
    events = stranger.request("GET", f"/console/surveys/{'0' * 64}/events")
    assert (events.status, events.raw) == (204, b"")


def test_the_address_without_its_slash_leads_there_too(visitor: Visitor) -> None:
    reply = visitor.request("GET", "/console")
    assert reply.status in (303, 307)
    assert reply.headers["location"].endswith("/console/")


def test_the_cookie_is_for_this_server_alone(servers: Servers) -> None:
    visitor = Visitor(servers.collector.url)
    form = visitor.request("GET", "/console/sign-in")
    found = CSRF.search(form.body)
    assert found is not None
    fields = {"csrf": found[1], "token": servers.collector.token}
    reply = visitor.request("POST", "/console/sign-in", fields)
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/console" in cookie
    assert servers.collector.token not in str(reply.headers) + reply.body


def test_every_page_forbids_frames_scripts_of_others_and_copies(visitor: Visitor) -> None:
    for path in ("/console/", "/console/sign-in", "/console/nowhere", "/console/static/console.js"):
        headers = visitor.request("GET", path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] in ("no-store", "no-cache")
        assert "access-control-allow-origin" not in headers


def test_a_session_that_a_browser_brings_is_never_taken_over(servers: Servers) -> None:
    name = f"jrr-console-{urlsplit(servers.collector.url).port}"
    victim = Visitor(servers.collector.url, {name: "chosen-by-the-attacker"})
    victim.sign_in(servers.collector.token)
    assert victim.cookies[name] != "chosen-by-the-attacker"
    attacker = Visitor(servers.collector.url, {name: "chosen-by-the-attacker"})
    assert attacker.request("GET", "/console/").status == 303
    # Signing in again ends the session before.
    before = dict(victim.cookies)
    victim.request("GET", "/console/")
    again = Visitor(servers.collector.url, dict(before))
    again.post("/sign-out")
    assert victim.request("GET", "/console/").status == 303


def test_dealer_and_collector_on_one_machine_do_not_sign_each_other_out(servers: Servers) -> None:
    browser = servers.visitor()
    other = Visitor(servers.dealer.url, browser.cookies)  # cookies know no ports
    form = other.request("GET", "/console/sign-in")
    other.sign_in(servers.dealer.token)
    assert form.status == 200
    assert other.request("GET", "/console/").status == 200
    assert browser.request("GET", "/console/").status == 200


def test_signing_out_ends_the_session_and_not_only_the_cookie(servers: Servers) -> None:
    visitor = servers.visitor()
    kept = dict(visitor.cookies)
    visitor.post("/sign-out")
    assert Visitor(servers.collector.url, kept).request("GET", "/console/").status == 303


def test_forms_of_other_pages_are_refused(servers: Servers, visitor: Visitor) -> None:
    for fields in ({}, {"csrf": ""}, {"csrf": "x"}, {"csrf": servers.visitor().csrf()}):
        assert visitor.request("POST", "/console/drafts/new", fields).status == 403
        assert visitor.request("POST", "/console/sign-out", fields).status == 403
    right = {"csrf": visitor.csrf()}
    evil = {"Origin": "https://evil.example"}
    assert visitor.request("POST", "/console/sign-out", right, **evil).status == 403
    cross = {"Sec_Fetch_Site": "cross-site"}
    assert visitor.request("POST", "/console/sign-out", right, **cross).status == 403
    assert visitor.get("/").status == 200  # still signed in
    form = {"csrf": "x", "token": servers.collector.token}
    assert Visitor(servers.collector.url).request("POST", "/console/sign-in", form).status == 403


def test_a_changed_token_ends_sessions(tmp_path_factory: pytest.TempPathFactory) -> None:
    good = {"a": True}
    sessions = Sessions(lambda holder: good[holder.digest])
    name, session = sessions.begin(AdminToken(digest="a", name="alice"))
    assert sessions.find(name) is session
    good["a"] = False
    assert sessions.find(name) is None


def test_sessions_end_by_silence_and_by_age() -> None:
    now = [0.0]
    sessions = Sessions(lambda _: True, lambda: now[0])
    name, session = sessions.begin(AdminToken(digest="a"))
    now[0] = IDLE
    assert sessions.find(name) is session
    assert sessions.find(name, is_act=False) is session
    now[0] += IDLE + 1
    assert sessions.find(name) is None
    name, session = sessions.begin(AdminToken(digest="a"))
    begun = now[0]
    while now[0] < begun + LONGEST:
        assert sessions.find(name) is session
        now[0] += IDLE / 2
    now[0] += 1
    assert sessions.find(name) is None
    names = [sessions.begin(AdminToken(digest="a"))[0] for _ in range(MOST + 1)]
    assert sum(sessions.find(one) is not None for one in names) == MOST
    others = [sessions.begin(AdminToken(digest="b"))[0] for _ in range(3)]
    for _ in range(2 * MOST):  # whoever signs in again and again signs nobody else out
        sessions.begin(AdminToken(digest="a"))
    assert all(sessions.find(one) is not None for one in others)


def test_another_collectors_surveys_and_wrong_tokens(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A real survey of another operator is not here; guessers wait, even with the right token."""
    theirs = servers.survey(dealing=Nobody(), mechanism="rr")
    servers.begin(theirs, 3)
    folder = tmp_path_factory.mktemp("locked")
    with running("collector", folder, None, "--console") as collector:
        mine = Visitor(collector.url)
        assert mine.sign_in(collector.token).status == 200
        assert WORK["title"] not in mine.get("/").words
        for path in ("", "/results", "/groups?by=sector", "/waves", "/files", "/invite", "/close"):
            assert mine.get(f"/surveys/{theirs.hash}{path}").status == 404
        for path in ("/files/answers.csv", "/files/document.json", "/request/0", "/report"):
            assert mine.get(f"/surveys/{theirs.hash}{path}").status == 404
        for step in ("open", "close", "invite", "dealers"):
            refused = mine.post(f"/surveys/{theirs.hash}/{step}", sure="yes", format="csv")
            assert refused.status == 404
        stolen = Visitor(collector.url, servers.visitor().cookies)  # of the other server
        assert stolen.request("GET", "/console/").status == 303
        visitor = Visitor(collector.url)
        assert [visitor.sign_in(f"guess {at}").status for at in range(30)] == [403] * 30
        assert visitor.sign_in(collector.token).status == 200  # guessing keeps nobody out
        assert collector.admin.get("/healthz") == {"status": "ok"}  # programs go on
