"""What commands of operators share: the survey's file, tokens, and how replies are said."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.wording import counted
from jrr.cli.options import all_of
from jrr.cli.output import show
from jrr.cli.values import FILE
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.client.operator import Operator
    from jrr.survey.survey import Survey

UNPROTECTED = "NOT PROTECTED AGAINST MULTIPLE ANSWERS: no invitations."
_COUNTED = {  # by the names of the servers' replies
    "n": ("person dealt to", "people dealt to"),
    "invited": ("invited", "invited"),
    "seats": ("person has cards", "people have cards"),
    "members": ("enrolled", "enrolled"),
    "reports": ("person answered", "people answered"),
    "discarded": ("answer deleted", "answers deleted"),  # at the end, unknown or too few
    "decks": ("deck", "decks"),
}

operator_options = all_of(
    click.argument("file", type=FILE),
    click.option(
        "--dealer-token",
        multiple=True,
        envvar="JRR_DEALER_TOKEN",
        help="Acts on the dealer; on one of several as NUMBER:TOKEN, the first is 0.  [env: "
        "JRR_DEALER_TOKEN]",
    ),
    click.option(
        "--collector-token",
        envvar="JRR_COLLECTOR_TOKEN",
        help="Acts on the collector.  [env: JRR_COLLECTOR_TOKEN]",
    ),
    click.option(
        "--party-token",
        multiple=True,
        envvar="JRR_PARTY_TOKEN",
        help="Acts on a party, as NUMBER:TOKEN, the first is 0.  [env: JRR_PARTY_TOKEN]",
    ),
    click.option("--ca", type=FILE, help="Certificates to trust, in PEM."),
)


def read_survey_file(file: Path) -> "Survey":
    """The survey in a file."""
    from jrr.survey.survey import read_survey

    if not file.is_file() or file.suffix == ".toml":
        raise checks.refusal("file", str(file), "a survey's document that exists, not a draft")
    return read_survey(file.read_bytes())


def operator_of(
    *,
    file: Path,
    dealer_token: tuple[str, ...],
    collector_token: str | None,
    party_token: tuple[str, ...],
    ca: Path | None,
) -> "Operator":
    """The operator of a survey in a file, at the servers whose tokens are given."""
    from jrr.client.operator import Operator, Tokens

    survey = read_survey_file(file)
    several = len(survey.dealing.addresses) > 1
    if len(dealer_token) > 1 and not several:
        raise ArgumentError("dealer_token must be given once: the survey has one dealer")
    # In the environment of somebody who has several surveys there may be a dealer's token that a
    # committee has no use for.
    numbered = dealer_token if several and survey.dealing.word == "dealer" else ()
    tokens = Tokens(
        dealer=dealer_token[0] if dealer_token and not several else None,
        collector=collector_token,
        parties=dict(_numbered_token("party", text) for text in party_token),
        dealers=dict(_numbered_token("dealer", text) for text in numbered),
    )
    return Operator.by_tokens(survey, tokens, ca)


def _numbered_token(role: str, text: str) -> tuple[int, str]:
    number, colon, token = text.partition(":")
    if not colon or not number.isascii() or not number.isdecimal():
        raise ArgumentError(f"{role}_token must be as NUMBER:TOKEN")
    return int(number), token


def title_of(survey: "Survey") -> str:
    """What a survey is called, in its first language."""
    return survey.title[survey.languages[0]]


def show_servers(survey: "Survey", facts: dict[str, Any]) -> None:
    """What each server says of a survey: one line of JSON, or of words per server."""
    show(
        {"survey": survey.hash} | facts,
        f"Survey {survey.hash}: {title_of(survey)}",
        *(f"{server}: {_in_words(survey, reply)}" for server, reply in facts.items()),
    )


def _in_words(survey: "Survey", reply: dict[str, Any] | str) -> str:
    """A server's state, and the counts that there are."""
    if isinstance(reply, str):
        return _state(survey, reply, survey.closes)
    closes = reply.get("closes", survey.closes)
    words = [_state(survey, reply["state"], closes)]
    if closes != survey.closes:
        words.append(f"until {closes}, extended from {survey.closes}")
    for name, (one, many) in _COUNTED.items():
        count = reply.get(name)
        if count is not None:
            words.append(counted(count, one, many))
    return ", ".join(words)


def _state(survey: "Survey", state: str, closes: str | None) -> str:
    """A state by the clock: an open survey takes nothing before and after its times."""
    from jrr.protocol.states import BEFORE_OR_AFTER
    from jrr.protocol.texts import read_time

    opens, end = survey.times[0], read_time("closes", closes)
    now = datetime.now(UTC)
    if state in BEFORE_OR_AFTER:
        return state
    if end is not None and now >= end:
        return f"over since {closes}"
    if opens is not None and now < opens:
        return f"{state}, from {survey.opens}"
    return state
