"""Operators who may only look, and those whom a proxy has signed in."""

import base64
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.research.processes import free_port, running
from jrr.servers.common.tokens import new_token, token_digest
from tests.console import Servers, Visitor
from tests.console.test_dealers_steps import raw_post
from tests.e2e.test_deploy import DEPLOY, nginx, proxy
from tests.e2e.test_processes import _certificate
from tests.e2e.test_reloading import until

pytestmark = pytest.mark.heavy
USER = "X-Remote-User"


def settings_in(folder: Path, *lines: str) -> str:
    path = folder / "collector.toml"
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return str(path)


def test_who_may_only_look_sees_counts_and_changes_nothing(tmp_path: Path) -> None:
    everything, look = new_token(), new_token()
    tokens = f"alice={token_digest(everything)} bob:look={token_digest(look)}"
    config = settings_in(tmp_path, f'admin_token_sha256 = "{tokens}"')
    with running(
        "collector",
        tmp_path,
        None,
        *("--console", "--config", config),
        token_in_environment=False,
    ) as collector:
        alice, bob = Visitor(collector.url), Visitor(collector.url)
        alice.sign_in(everything)
        assert "bob, may only look" in bob.sign_in(look).words
        servers = Servers(collector, replace(collector, token=everything))
        survey = servers.survey(dealing=Nobody(), mechanism="rr")
        path = f"/surveys/{survey.hash}"
        assert bob.post("/drafts/new").status == 403
        assert alice.post("/drafts/new").status == 200
        servers.begin(survey, 3)
        assert "Work" in bob.get(path).words
        file = f"/console{path}/files/answers.csv"
        assert alice.request("GET", file).status == 200
        refused = bob.request("GET", file)
        assert (refused.status, "may only look" in refused.words) == (422, True)
        for act in ("open", "close", "invite"):
            assert bob.post(f"{path}/{act}").status == 403
        dealt = servers.survey(dealing=Dealers(("http://127.0.0.1:1",)))  # nobody is there
        Operator(dealt, collector=replace(collector, token=everything).admin).install()
        assert alice.get(f"/surveys/{dealt.hash}/close").status == 200
        assert bob.get(f"/surveys/{dealt.hash}/close").status == 422
        servers.operator(survey).close()
        analysis = f"{path}/analysis?what=groups&question=bribed"  # made of everybody's answers
        assert "may only look" in bob.get(analysis).words.replace("bob, may only look", "")
        assert "may only look" not in alice.get(analysis).words


def test_another_right_of_a_token_ends_its_sessions(tmp_path: Path) -> None:
    token = new_token()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"bob={token_digest(token)}")
    config = settings_in(tmp_path, f'admin_token_file = "{tokens}"')
    with running(
        "collector",
        tmp_path,
        None,
        *("--console", "--config", config),
        token_in_environment=False,
    ) as collector:
        bob = Visitor(collector.url)
        assert bob.sign_in(token).status == 200
        tokens.write_text(f"bob:look={token_digest(token)}")
        collector.process.send_signal(signal.SIGHUP)
        assert until(lambda: bob.request("GET", "/console/").status == 303)
        assert "bob, may only look" in bob.sign_in(token).words


def test_who_may_only_deal_opens_but_brings_accepts_and_deletes_nothing(tmp_path: Path) -> None:
    everything, deal, past = new_token(), new_token(), new_token()
    tokens = f"alice={token_digest(everything)} dave:deal={token_digest(deal)}@2999-12-31 "
    tokens += f"old:deal={token_digest(past)}@2020-01-31"
    config = settings_in(tmp_path, f'admin_token_sha256 = "{tokens}"')
    with (
        running("collector", tmp_path / "collector", None, "--console") as collector,
        running(
            "dealer",
            tmp_path / "dealer",
            None,
            *("--console", "--config", config),
            token_in_environment=False,
        ) as dealer,
    ):
        servers = Servers(replace(dealer, token=everything), collector)
        survey = servers.survey()
        document, path = survey.to_bytes().decode(), f"/surveys/{survey.hash}"
        alice, dave, old = (Visitor(dealer.url) for _ in range(3))
        alice.sign_in(everything)
        assert old.sign_in(past).status == 403  # its last day is over
        dave.sign_in(deal)
        no = "This operator may only deal"
        assert no in raw_post(dave, "/bring", document=document).words
        assert "Work" not in dave.get("/").words
        raw_post(alice, "/bring", document=document)
        (invitation,) = new_invitations(1)
        people = {"people": f"invitation\n{invitation}\n"}
        assert no in raw_post(dave, f"{path}/invite", **people).words
        assert "0 invited" in dave.get(path).words
        assert raw_post(dave, f"{path}/open").status == 303
        assert "From then on" not in dave.get(path).words  # it is open
        assert raw_post(alice, f"{path}/invite", **people).status == 303
        assert no in raw_post(dave, f"{path}/delete", sure="yes").words
        assert "1 invited" in dave.get(path).words


def test_a_proxy_signs_operators_in(tmp_path: Path) -> None:
    """nginx asks for a password by the lines as shipped; headers of strangers are worth nothing."""
    for made, name in zip(_certificate(tmp_path), ("proxy.pem", "proxy.key"), strict=True):
        made.rename(tmp_path / name)
    port = free_port()
    public = f"https://127.0.0.1:{port}"
    config = settings_in(
        tmp_path,
        f'public_address = "{public}"',
        f'user_header = "{USER}"',
        'console_users = "alice bob:look"',
    )
    with running(
        "collector", tmp_path / "server", None, "--console", "--config", config
    ) as collector:
        command = nginx(collector, port, tmp_path)
        site = (tmp_path / "site.conf").read_text()
        assert (DEPLOY / "nginx.conf").read_text().count("#sign-in ") == 12
        passwords = tmp_path / "operators"
        hashed = subprocess.run(
            ["openssl", "passwd", "-apr1", "secret"], capture_output=True, text=True, check=True
        ).stdout.strip()
        passwords.write_text("".join(f"{name}:{hashed}\n" for name in ("alice", "bob", "eve")))
        site = site.replace("#sign-in ", "").replace("/etc/nginx/jrr-operators", str(passwords))
        (tmp_path / "site.conf").write_text(site)
        with proxy(command, port, tmp_path) as trusting:
            assert get(public, trusting, None) == (401, "")
            assert get(public, trusting, None, {USER: "alice"}) == (401, "")
            assert "Sign out" in get(public, trusting, "alice")[1]
            # What somebody adds is replaced by whom the proxy knows.
            assert "bob, may only look" in get(public, trusting, "bob", {USER: "alice"})[1]
            # Known to the proxy and not to us: the form for tokens.
            assert "Admin token" in get(public, trusting, "eve")[1]
        # A session of the proxy's is none without its header.
        direct = Visitor(collector.url, headers={USER: "alice"})
        assert "Sign out" in direct.get("/").words
        direct.headers = {USER: "bob"}
        assert direct.request("GET", "/console/").status == 303
        direct.headers = {}
        assert direct.request("GET", "/console/").status == 303


def get(
    public: str, trusting: ssl.SSLContext, user: str | None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """The console's first page, with cookies, as a browser that has a password asks for it."""
    sent = dict(headers or {})
    if user is not None:
        sent["Authorization"] = f"Basic {base64.b64encode(f'{user}:secret'.encode()).decode()}"
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=trusting), urllib.request.HTTPCookieProcessor()
    )
    try:
        with opener.open(urllib.request.Request(f"{public}/console/", headers=sent)) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, ""
