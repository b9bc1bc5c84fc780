"""`jrr serve all`: every server on one machine, to try things out."""

import os
import shlex
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.cli.output import json_option, show, unwrapped
from jrr.cli.progress import waiting
from jrr.cli.values import COUNT, FILE, FOLDER
from jrr.errors import UnreachableError, needed
from jrr.servers.common.settings import PORTS

if TYPE_CHECKING:
    from jrr.research.processes import Running
    from jrr.research.sample_survey import SampleSurvey
    from jrr.survey.survey import Survey


@click.command("all")
@click.option(
    "--folder",
    type=FOLDER,
    default=Path("jrr-servers"),
    help="Where databases, keys and logs go; kept.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65533),
    default=PORTS["dealer"],
    help="The dealer's port; the collector has the next one, the answer page the one after it.",
)
@click.option(
    "--draft",
    type=FILE,
    help="A TOML file: asks its questions on an answer page, and prints links and a QR code.",
)
@click.option("--people", type=COUNT, default=100, help="Invited to the survey of --draft.")
@click.option(
    "--phone",
    metavar="ADDRESS",
    help="This machine's address in its network, as 192.168.1.5: phones there can answer, by https "
    "with a certificate made here.",
)
@click.option("--console", "pages", is_flag=True, help="The operators' pages, at /console.")
@json_option
def all_servers(
    folder: Path, port: int, draft: Path | None, people: int, phone: str | None, pages: bool
) -> None:
    """Run a dealer and a collector on this machine, to try things out.

    Two processes, each with a SQLite database and an admin token of its own, until
    Ctrl-C; with a draft a third one, the answer page. Whoever runs both can put cards and
    reports together: for a real survey, two parties run one each.
    """
    with needed("servers need", "serve"):
        from jrr.research.processes import running
        from jrr.research.sample_survey import begin_sample

    certificate, host = None, phone or "127.0.0.1"
    if phone is not None:
        certificate = _certificate(folder, phone)
    asked = None
    if draft is not None:  # refused before anything runs
        with waiting("planning the sample survey"):
            asked = _survey_of(draft, people, _urls(phone, port))
    with ExitStack() as stack:
        more = ("--host", host, *(("--console",) if pages else ()))

        def begun(role: str, *options: str, at: int) -> "Running":
            return stack.enter_context(
                running(role, folder, None, *options, port=port + at, certificate=certificate)
            )

        dealer, collector = begun("dealer", *more, at=0), begun("collector", *more, at=1)
        servers = [dealer, collector]
        facts: dict[str, Any] = {s.role: {"url": s.url, "token": s.token} for s in servers}
        lines = [f"export JRR_DEALER_TOKEN={dealer.token} JRR_COLLECTOR_TOKEN={collector.token}"]
        page = None
        if asked is not None or pages:
            page = begun("page", "--host", host, at=2)
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
            with waiting("inviting people to the sample survey"):
                sample = begin_sample(asked, folder, dealer=dealer, collector=collector, page=page)
            facts |= sample.facts
            lines += _sample_lines(sample, phone is not None)
        if certificate is not None:
            lines[:0] = [f"export SSL_CERT_FILE={shlex.quote(str(certificate))}"]
            lines += [
                "On a phone in this network: open these first, and accept the certificate, which "
                "only this machine vouches for:",
                *(f"  {server.url}/readyz" for server in (dealer, collector)),
            ]
        if pages:
            assert page is not None
            facts |= {"console": f"{collector.url}/console/"}
            lines += [
                f"Console: {collector.url}/console/, with the token {collector.token}",
                f"Its surveys can be answered at {page.url}; their dealer is {dealer.url}, with "
                f"the token {dealer.token}.",
            ]
        show(facts, unwrapped("\n".join(lines)))
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            while all(side.process.poll() is None for side in servers):
                time.sleep(0.2)
            dead = next(side for side in servers if side.process.poll() is not None)
            raise UnreachableError(f"the {dead.role} must go on, but it stopped: see {folder}")


def _certificate(folder: Path, phone: str) -> Path:
    """A certificate for this address, which this process and those that it starts trust."""
    from jrr.servers.common.certificates import make_certificate

    try:
        is_one = not IPv4Address(phone).is_unspecified
    except ValueError:
        is_one = False
    if not is_one:
        raise checks.refusal("phone", phone, "this machine's address, as 192.168.1.5")
    found = folder / f"{phone}.pem"
    if not found.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_certificate(folder / phone, "jrr on this machine", address=phone)
    os.environ["SSL_CERT_FILE"] = str(found)
    return found


def _urls(phone: str | None, port: int) -> tuple[str, str]:
    """Where dealer and collector will be."""
    start = "http://127.0.0.1" if phone is None else f"https://{phone}"
    return f"{start}:{port}", f"{start}:{port + 1}"


def _survey_of(file: Path, people: int, urls: tuple[str, str]) -> "Survey":
    """The survey of a draft, at these servers."""
    from jrr.dealing.kinds import Dealers
    from jrr.survey.creation import SurveyRequest
    from jrr.survey.draft import Draft, request_fields

    draft = Draft.read(file)
    return SurveyRequest(
        draft=draft,
        people=people,
        dealing=Dealers(urls[:1]),
        collector=urls[1],
        **request_fields(draft.settings, draft.languages),
    ).survey()


def _jrr() -> str:
    return "jrr" if shutil.which("jrr") else f"{shlex.quote(sys.executable)} -m jrr.cli"


def _sample_lines(sample: "SampleSurvey", on_phones: bool) -> list[str]:
    """Where to answer, and how to go on in another terminal."""
    from jrr.client.letters import qr_characters

    file = shlex.quote(str(sample.file))
    return [
        f"{_jrr()} survey show {file}",
        f"{_jrr()} survey close {file}",
        "",
        qr_characters(sample.links[0]),
        f"Answer here: {sample.links[0]}",
        *(f"another:     {link}" for link in sample.links[1:3]),
        f"All {len(sample.links)} links are in {sample.invitations}; each can be used once.",
        *([] if on_phones else [_HERE]),
        "The lines on top, in another terminal, count answers and end the survey. Ctrl-C stops.",
    ]


_HERE = (
    "They open on this machine alone. To try them on a phone in the same network, begin anew with "
    "--phone ADDRESS, this machine's address (make serve ARGS='--phone 192.168.1.5')."
)


def _first_survey(dealer: str, collector: str) -> list[str]:
    """Commands for a shell: a survey, its invitations, and somebody who answers."""
    last = "tail -n 1 invitations.csv | cut -d ,"
    jrr = _jrr()
    return [
        f'{jrr} survey create --question "Have you taken bribes?" --people 100 '
        f"--dealer {dealer} --collector {collector}",
        f"{jrr} survey invite survey.json --count 100",
        f"{jrr} survey open survey.json",
        f"JRR_INVITATION=$({last} -f 1) {jrr} survey answer $({last} -f 2) --limit 2",
        f"{jrr} survey show survey.json",
    ]
