"""What lies in deploy/ is tried: proxies run with it, units and settings are checked."""

import http.client
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml  # type: ignore[import-untyped]

from jrr import RR
from jrr.protocol.steps import read_problem
from jrr.research.processes import Running, free_port, running
from jrr.servers.common.safety import check_safety
from jrr.servers.common.settings import load
from jrr.survey.survey import Survey
from tests.e2e import path_of, upload_body
from tests.e2e.test_processes import _certificate, alone, installed

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ROLES = ("dealer", "collector")
PORTS = {"dealer": "8000", "collector": "8001"}


def needs(program: str) -> str:
    unpacked = ROOT / "build" / "proxies" / "usr"  # make proxies
    places = f"/usr/sbin:/usr/bin:{unpacked / 'sbin'}:{unpacked / 'bin'}"
    found = shutil.which(program) or shutil.which(program, path=places)
    if found is None:
        pytest.skip(f"{program} is not installed (make proxies, or apt-get install {program})")
    return found


def environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": "/usr/bin:/bin"}


@contextmanager
def proxy(command: list[str], port: int, folder: Path) -> Iterator[ssl.SSLContext]:
    """A proxy that listens; the context trusts its certificate."""
    with (folder / "proxy.log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=environment(folder),
        )
    try:
        trusting = ssl.create_default_context(cafile=str(folder / "proxy.pem"))
        for _ in range(1200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "proxy.log").read_text()[-2000:]
                time.sleep(0.1)
        yield trusting
    finally:
        process.terminate()
        process.wait(120)


def nginx(server: Running, port: int, folder: Path) -> list[str]:
    """The command that runs nginx with the site as it is shipped, at other addresses."""
    program = needs("nginx")
    site = (DEPLOY / "nginx.conf").read_text()
    certificates = "/etc/letsencrypt/live/collector.example"
    for old, new in (
        ("server 127.0.0.1:8001", f"server {server.url.removeprefix('http://')}"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (f"{certificates}/fullchain.pem", str(folder / "proxy.pem")),
        (f"{certificates}/privkey.pem", str(folder / "proxy.key")),
        ("/var/log/nginx/jrr.log", str(folder / "error.log")),
    ):
        assert old in site, old
        site = site.replace(old, new)
    (folder / "site.conf").write_text(site)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/nginx.pid;\n"
        f"error_log {folder}/main.log; events {{}}\n"
        f"http {{ {temporary} access_log {folder}/access.log; include {folder}/site.conf; }}\n"
    )
    return [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(server: Running, port: int, folder: Path) -> list[str]:
    """The same of Caddy; with a certificate that is there instead of one that it would fetch."""
    program = needs("caddy")
    site = (DEPLOY / "Caddyfile").read_text()
    for old, new in (
        ("\theader Strict", f"\ttls {folder}/proxy.pem {folder}/proxy.key\n\theader Strict"),
        ("{\n\tlog default", "{\n\tadmin off\n\tauto_https disable_redirects\n\tlog default"),
    ):
        assert old in site, old
        site = site.replace(old, new)
    (folder / "Caddyfile").write_text(site)
    names = [f"JRR_HOST=https://127.0.0.1:{port}", f"JRR_SERVER={server.url[len('http://') :]}"]
    run = [program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    return ["env", *names, *run]


@pytest.mark.slow_variants("nginx]")
@pytest.mark.parametrize("make", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_proxy_as_shipped_passes_answers_on_and_keeps_to_limits(
    make: object, tmp_path: Path
) -> None:
    assert callable(make)
    for made, name in zip(_certificate(tmp_path), ("proxy.pem", "proxy.key"), strict=True):
        made.rename(tmp_path / name)
    port = free_port()
    with running("collector", tmp_path / "server") as server:
        command = make(server, port, tmp_path)
        with proxy(command, port, tmp_path) as trusting:
            survey = alone(RR(2, 1.0))
            people = installed(server, survey, 3)
            _tries(trusting, port, server, survey, people)
    said = "".join(
        path.read_text()
        for path in tmp_path.glob("*.log")
        if path.name in ("access.log", "error.log", "proxy.log")
    )
    assert survey.hash not in said  # who came when is in no log


def _tries(
    trusting: ssl.SSLContext, port: int, server: Running, survey: Survey, people: list[bytes]
) -> None:
    def send(
        method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> int:
        with closing(
            http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=120)
        ) as connection:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            reply.read()
            return reply.status

    reports = path_of(survey, "reports")
    assert send("GET", "/readyz") == 200
    body = upload_body(survey, people[0], 1)
    assert [send("POST", reports, body) for _ in range(2)] == [201, 200]
    assert send("POST", reports, b"{}") == 422
    token = {"Authorization": f"Bearer {server.token}"}
    admin = f"/v1/admin/surveys/{survey.hash}"
    assert send("GET", admin, headers=token) == 200
    assert send("GET", admin) == 401
    for method, path, much, headers, refused in (
        ("POST", reports, bytes(3 << 20), {}, {413, 502}),  # older ones of Caddy say 502
        ("GET", "/healthz", None, {"X-Long": "x" * 60_000}, {400, 414, 431}),
    ):
        with suppress(BrokenPipeError, ConnectionError):  # it hung up before all was sent
            assert send(method, path, much, headers) in refused
    # An operator's long list gets through the proxy, and to the server's own checks.
    assert send("POST", f"{admin}/discard", b" " * (3 << 20) + b"{}", token) == 422


@pytest.mark.slow_variants("caddy]")
@pytest.mark.parametrize("make", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_proxy_as_shipped_tells_who_comes_beyond_its_limit_to_come_back(
    make: object, tmp_path: Path
) -> None:
    assert callable(make)
    for made, name in zip(_certificate(tmp_path), ("proxy.pem", "proxy.key"), strict=True):
        made.rename(tmp_path / name)
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as busy, ExitStack() as stack:
        server = SimpleNamespace(url=f"http://127.0.0.1:{busy.getsockname()[1]}")
        command = make(server, port, tmp_path)
        site = tmp_path / ("site.conf" if make is nginx else "Caddyfile")
        text = site.read_text()
        assert " 256  # who" in text or "max_conns=256;" in text
        site.write_text(
            text.replace("_count 256 ", "_count 2 ").replace("max_conns=256", "max_conns=2")
        )
        trusting = stack.enter_context(proxy(command, port, tmp_path))

        def ask(path: str) -> http.client.HTTPSConnection:
            asked = http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=60)
            stack.enter_context(closing(asked)).request("POST", path, b"{}")
            return asked

        for _ in range(2):  # and none is answered
            ask("/v1/surveys/x/reports")
            stack.enter_context(busy.accept()[0])
        reply = ask("/v1/surveys/x/reports").getresponse()
        assert (reply.status, read_problem(reply.read())[0]) == (503, "busy")
        assert 1 <= int(reply.headers["Retry-After"]) <= 4
        assert reply.headers["Access-Control-Allow-Origin"] == "*"  # or a page could not tell
        assert "max-age" in reply.headers["Strict-Transport-Security"]
        ask("/v1/admin/surveys")  # operators are not counted
        busy.settimeout(60)
        stack.enter_context(busy.accept()[0])


@pytest.mark.parametrize("role", ROLES)
def test_units_are_sound_and_tight(role: str, tmp_path: Path) -> None:
    program = needs("systemd-analyze")
    unit = (DEPLOY / f"jrr-{role}.service").read_text()
    assert unit.count("/opt/jrr/bin/jrr serve") == 1
    path = tmp_path / f"jrr-{role}.service"
    path.write_text(unit.replace("/opt/jrr/bin/jrr", sys.executable))
    found = subprocess.run([program, "verify", str(path)], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
    found = subprocess.run(
        [program, "security", "--offline=true", "--no-pager", "--threshold=20", str(path)],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-500:]  # an exposure of 2.0 of 10 at most


@pytest.mark.parametrize("role", ROLES)
def test_the_proxy_of_a_compose_file_reads_the_only_caddyfile(role: str, tmp_path: Path) -> None:
    document = yaml.safe_load((DEPLOY / f"compose.{role}.yaml").read_text())
    service = document["services"]["proxy"]
    mounted = dict(one.split(":", 1) for one in service["volumes"])
    assert mounted["./Caddyfile"] == "/etc/caddy/Caddyfile:ro"
    assert service["environment"].pop("JRR_HOST").startswith("${JRR_HOST:?")
    command = [needs("caddy"), "adapt", "--adapter", "caddyfile", "--config", "Caddyfile"]
    adapted = subprocess.run(
        command,
        cwd=DEPLOY,
        env=environment(tmp_path) | {"JRR_HOST": "people.example"} | service["environment"],
        capture_output=True,
        text=True,
    )
    assert adapted.returncode == 0, adapted.stderr
    assert '"host":["people.example"]' in adapted.stdout
    assert f'"dial":"{role}:8000"' in adapted.stdout


@pytest.mark.parametrize("role", ROLES)
def test_settings_of_compose_files_are_accepted(role: str, tmp_path: Path) -> None:
    document = yaml.safe_load((DEPLOY / f"compose.{role}.yaml").read_text())
    service = document["services"][role]
    other = ROLES[1 - ROLES.index(role)]
    assert other not in document["services"]  # two organisations, two files
    environment = {
        name: str(value).replace("/var/lib", str(tmp_path)).replace("/run/secrets", str(tmp_path))
        for name, value in service["environment"].items()
    }
    (secret,) = service["secrets"]
    assert document["secrets"][secret]["file"] == f"{role}.tokens"
    (tmp_path / secret).write_text(64 * "0")
    command = service["command"]
    assert command[0] == role
    settings = load(role, None, environment, host=command[command.index("--host") + 1])
    check_safety(settings)
    volumes = dict(one.split(":") for one in service["volumes"])
    assert len(volumes) == (2 if role == "dealer" else 1)
    assert all(name in document["volumes"] for name in volumes)
    assert "jrr" in (DEPLOY / "Containerfile").read_text().splitlines()[-1]
