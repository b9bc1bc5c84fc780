"""`jrr serve`: a dealer, a collector, a party or the answer page, and what operators need."""

import shlex
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.counts import COUNT
from jrr.cli.options import console, json_option, print_json
from jrr.errors import MissingExtraError, UnreachableError
from jrr.servers.common.settings import PORTS

if TYPE_CHECKING:
    from jrr.research.sample_survey import SampleSurvey

FILE = click.Path(dir_okay=False, path_type=Path)
PAGE_PORT = 8003  # after those of the servers


@click.group()
def serve() -> None:
    """Run a dealer, a collector, a party of a committee, or the answer page.

    Settings come from a TOML file (--config), then from the environment (JRR_DEALER_DATABASE,
    JRR_COLLECTOR_ADMIN_TOKEN_SHA256, …), then from options. The two servers belong to two
    parties: whoever runs both can put cards and reports together.
    """


def _options(command: click.Command, port: int) -> click.Command:
    for option in (
        click.Option(["--config"], type=FILE, help="TOML file with settings."),
        click.Option(["--database"], help="sqlite:///file.db or postgresql://…"),
        click.Option(["--host"], help="Address to listen on.  [default: 127.0.0.1]"),
        click.Option(["--port"], type=int, help=f"Port; 0 takes a free one.  [default: {port}]"),
        click.Option(
            ["--metrics-port"], type=int, help="Figures for Prometheus, on this machine only."
        ),
        click.Option(["--log-format"], type=click.Choice(("text", "json"))),
        click.Option(["--console", "pages"], is_flag=True, help="Operator's pages, at /console."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one line of JSON."),
    ):
        command.params.append(option)
    return command


def _run(
    role: str,
    *,
    config: Path | None,
    database: str | None,
    host: str | None,
    port: int | None,
    metrics_port: int | None,
    log_format: str | None,
    pages: bool,
    as_json: bool,
) -> None:
    try:
        from jrr.servers import run as server
        from jrr.servers.common import settings
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"servers need {error.name}: pip install 'jrr[serve]'") from None

    def load() -> settings.Settings:
        return settings.load(
            role,
            config,
            database=database,
            host=host,
            port=port,
            metrics_port=metrics_port,
            log_format=log_format,
            console="on" if pages else None,
        )

    loaded = load()

    def ready(url: str) -> None:
        if as_json:
            print_json({"role": role, "url": url})
        else:
            console().print(f"The {role} listens on {url}; Ctrl-C stops it.")
        sys.stdout.flush()

    try:
        server.serve(loaded, ready, load)
    except KeyboardInterrupt:
        return  # it stopped cleanly before it said so


@serve.command()
def dealer(**options: object) -> None:
    """Deal cards; never sees an answer."""
    _run("dealer", **options)  # type: ignore[arg-type]


@serve.command()
def collector(**options: object) -> None:
    """Collect perturbed reports and estimate; never sees a card."""
    _run("collector", **options)  # type: ignore[arg-type]


@serve.command()
def party(**options: object) -> None:
    """Deal cards together with other parties; never sees a card or an answer.

    Needs link_certificate and link_key (`jrr serve certificate` makes them).
    """
    _run("party", **options)  # type: ignore[arg-type]


for server_command in (dealer, collector, party):
    _options(server_command, PORTS[str(server_command.name)])


@serve.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("jrr-servers"),
    show_default=True,
    help="Where databases, keys and logs go; kept.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65533),
    default=PORTS["dealer"],
    show_default=True,
    help="The dealer's port; the collector has the next one, the answer page the one after it.",
)
@click.option(
    "--questionnaire",
    type=FILE,
    help="A TOML file: asks it on an answer page, and prints links and a QR code.",
)
@click.option(
    "--people", type=COUNT, default=100, show_default=True, help="Invited to the questionnaire."
)
@click.option("--console", "pages", is_flag=True, help="The operators' pages, at /console.")
@json_option
def both(
    folder: Path,
    port: int,
    questionnaire: Path | None,
    people: int,
    pages: bool,
    as_json: bool,
) -> None:
    """Run a dealer and a collector on this machine, to try things out.

    Two processes, each with a SQLite database and an admin token of its own, until
    Ctrl-C; with a questionnaire a third one, the answer page. Whoever runs both can put cards and
    reports together: for a real survey, two parties run one each.
    """
    try:
        from jrr.research.processes import running
        from jrr.research.sample_survey import begin_sample
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"servers need {error.name}: pip install 'jrr[serve]'") from None

    asked = None
    if questionnaire is not None:  # refused before anything runs
        from jrr.survey.questionnaire import Questionnaire
        from jrr.survey.survey_creation import SurveyRequest

        asked = SurveyRequest(
            questionnaire=Questionnaire.read(questionnaire),
            people=people,
            dealers=(f"http://127.0.0.1:{port}",),
            collector=f"http://127.0.0.1:{port + 1}",
        ).survey()
    with ExitStack() as stack:
        more = ("--console",) if pages else ()
        dealer = stack.enter_context(running("dealer", folder, None, *more, port=port))
        collector = stack.enter_context(running("collector", folder, None, *more, port=port + 1))
        servers = [dealer, collector]
        facts: dict[str, Any] = {s.role: {"url": s.url, "token": s.token} for s in servers}
        lines = [f"export JRR_DEALER_TOKEN={dealer.token} JRR_COLLECTOR_TOKEN={collector.token}"]
        page = None
        if asked is not None or pages:
            page = stack.enter_context(running("page", folder, port=port + 2))
            servers.append(page)
            facts |= {"page": {"url": page.url}}
        if asked is None:
            lines += [
                *_first_survey(dealer.url, collector.url),
                "Both listen; the lines above, in another terminal and an empty directory, make a "
                "survey and its first answer. Ctrl-C stops.",
            ]
        else:
            assert page is not None  # started above
            sample = begin_sample(asked, folder, dealer=dealer, collector=collector, page=page)
            facts |= sample.facts
            lines += _sample_lines(sample)
        if pages:
            assert page is not None
            facts |= {"console": f"{collector.url}/console/"}
            lines += [
                f"Console: {collector.url}/console/, with the token {collector.token}",
                f"Its surveys can be answered at {page.url}; their dealer is {dealer.url}, with "
                f"the token {dealer.token}.",
            ]
        if as_json:
            print_json(facts)
        else:
            print("\n".join(lines))
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            while all(side.process.poll() is None for side in servers):
                time.sleep(0.2)
            dead = next(side for side in servers if side.process.poll() is not None)
            raise UnreachableError(f"the {dead.role} must go on, but it stopped: see {folder}")


def _jrr() -> str:
    return "jrr" if shutil.which("jrr") else f"{shlex.quote(sys.executable)} -m jrr.cli"


def _sample_lines(sample: "SampleSurvey") -> list[str]:
    """Where to answer, and how to go on in another terminal."""
    from jrr.client.qr import qr_characters

    file = shlex.quote(str(sample.file))
    return [
        f"{_jrr()} campaign show {file}",
        f"{_jrr()} campaign close {file}",
        "",
        qr_characters(sample.links[0]),
        f"Answer here: {sample.links[0]}",
        *(f"another:     {link}" for link in sample.links[1:3]),
        f"All {len(sample.links)} links are in {sample.invitations}; each can be used once.",
        "They lead to this machine and open on it. A phone needs servers with addresses of their "
        "own, by https: docs/servers.md.",
        "The lines on top, in another terminal, count answers and end the survey. Ctrl-C stops.",
    ]


def _first_survey(dealer: str, collector: str) -> list[str]:
    """Commands for a shell: a campaign, its invitations, and somebody who answers."""
    last = "tail -n 1 invitations.csv | cut -d ,"
    jrr = _jrr()
    return [
        f'{jrr} campaign create -n 100 -e 1 --question "Have you taken bribes?" '
        f"--dealer {dealer} --collector {collector}",
        f"{jrr} invite campaign.json --count 100",
        f"{jrr} campaign open campaign.json",
        f"JRR_INVITATION=$({last} -f 1) {jrr} contribute $({last} -f 2) --limit 2",
        f"{jrr} campaign show campaign.json",
    ]


@serve.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PAGE_PORT,
    show_default=True,
    help="Port; 0 takes a free one.",
)
@click.option("--tls-certificate", default="", help="PEM; or leave TLS to a proxy.")
@click.option("--tls-key", default="", help="Its key.")
@click.option(
    "--allow",
    multiple=True,
    metavar="ADDRESS",
    help="A dealer or collector that the page may talk to (repeat it).  [default: any, by https]",
)
@click.option(
    "--survey",
    metavar="LINK",
    help="Campaign or survey that is opened where an address does not say which, as typed ones.",
)
@click.option("--hash", "only_hash", is_flag=True, help="Print hashes of the files, serve nothing.")
@json_option
def page(
    host: str,
    port: int,
    tls_certificate: str,
    tls_key: str,
    allow: tuple[str, ...],
    survey: str | None,
    only_hash: bool,
    as_json: bool,
) -> None:
    """Serve the page on which people answer in a browser.

    Static files, from memory, under a strict Content-Security-Policy; nothing is logged. People get
    the link PAGE/page/#campaign=LINK&invitation=INVITATION: what follows the # never leaves their
    browser. Better not run by the collector, whose page could send anything.
    """
    try:
        from jrr.servers.page.app import START, page_app
        from jrr.servers.page.files import page_files, page_hash
        from jrr.servers.run import run_app
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"servers need {error.name}: pip install 'jrr[serve]'") from None

    if only_hash:
        files = page_files()
        if as_json:
            print_json({"sha256": page_hash(files), "files": {f.path: f.digest for f in files}})
            return
        for file in files:
            print(f"{file.digest}  {file.path}")
        print(f"{page_hash(files)}  all of the above")
        return

    def ready(url: str) -> None:
        if as_json:
            print_json({"role": "page", "url": url + START})
        else:
            console().print(f"The answer page is at {url}{START}; Ctrl-C stops it.")
        sys.stdout.flush()

    with suppress(KeyboardInterrupt):
        app = page_app(allow, survey)
        run_app(app, host, port, certificate=tls_certificate, key=tls_key, ready=ready)


@serve.command()
@click.argument("name", type=click.Path(path_type=Path))
@json_option
def certificate(name: Path, as_json: bool) -> None:
    """Make a party's certificate: NAME.pem, for the campaign, and NAME.key (secret)."""
    from jrr.servers.common.certificates import make_certificate

    public, secret = make_certificate(name)
    if as_json:
        print_json({"certificate": str(public), "key": str(secret)})
        return
    console().print(f"{public}: goes into the campaign. {secret}: keep it secret.")


@serve.command()
@json_option
def token(as_json: bool) -> None:
    """Make an admin token: the server is given its hash, the operator keeps it."""
    from jrr.servers.common.tokens import new_token, token_digest

    secret = new_token()
    digest = token_digest(secret)
    if as_json:
        print_json({"token": secret, "admin_token_sha256": digest})
        return
    print(f"token (secret):     {secret}")
    print(f"admin_token_sha256: {digest}")
