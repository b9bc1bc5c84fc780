"""What commands of operators share: the campaign's file, tokens, and how results are said."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jrr._base import checks
from jrr._base.wording import counted
from jrr.cli.options import console, print_json
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.client.operator import Operator
    from jrr.client.survey_operator import SurveyOperator
    from jrr.survey.campaign import Campaign

FILE = click.Path(dir_okay=False, path_type=Path)
F = TypeVar("F", bound=Callable[..., Any])
_COUNTED = {  # by the names of the servers' replies
    "n": ("person dealt to", "people dealt to"),
    "invited": ("invited", "invited"),
    "seats": ("seat taken", "seats taken"),
    "members": ("enrolled", "enrolled"),
    "reports": ("report", "reports"),
    "discarded": ("report deleted", "reports deleted"),  # at the end, unknown or too few
    "decks": ("deck", "decks"),
}


def operator_options(command: F) -> F:
    """The campaign's file and the tokens of the servers to act on."""
    for option in (
        click.option("--ca", type=FILE, help="Certificates to trust, in PEM."),
        click.option(
            "--party-token",
            multiple=True,
            envvar="JRR_PARTY_TOKEN",
            help="Acts on a party, as NUMBER:TOKEN, the first is 0.  [env: JRR_PARTY_TOKEN]",
        ),
        click.option(
            "--collector-token",
            envvar="JRR_COLLECTOR_TOKEN",
            help="Acts on the collector.  [env: JRR_COLLECTOR_TOKEN]",
        ),
        click.option(
            "--dealer-token",
            multiple=True,
            envvar="JRR_DEALER_TOKEN",
            help="Acts on the dealer; on one of several as NUMBER:TOKEN, the first is 0.  [env: "
            "JRR_DEALER_TOKEN]",
        ),
        click.argument("file", type=FILE),
    ):
        command = option(command)
    return command


def operator_of(
    *,
    file: Path,
    dealer_token: tuple[str, ...],
    collector_token: str | None,
    party_token: tuple[str, ...],
    ca: Path | None,
) -> "Operator":
    """The operator of a campaign in a file; refuses a survey's, for commands of campaigns only."""
    from jrr.client.operator import Operator

    operator = any_operator_of(
        file=file,
        dealer_token=dealer_token,
        collector_token=collector_token,
        party_token=party_token,
        ca=ca,
    )
    if not isinstance(operator, Operator):
        raise checks.refusal("file", str(file), "a campaign of one question for this command")
    return operator


def survey_operator_of(**options: Any) -> "SurveyOperator":
    """The operator of a survey in a file that was found to hold one."""
    from jrr.client.survey_operator import SurveyOperator

    operator = any_operator_of(**options)
    assert isinstance(operator, SurveyOperator)
    return operator


def any_operator_of(
    *,
    file: Path,
    dealer_token: tuple[str, ...],
    collector_token: str | None,
    party_token: tuple[str, ...],
    ca: Path | None,
) -> "Operator | SurveyOperator":
    """The operator of a campaign or a survey in a file."""
    from jrr.client.operator import Operator, Tokens
    from jrr.client.survey_operator import SurveyOperator
    from jrr.survey.surveys import is_survey, read_survey

    if not file.is_file():
        raise checks.refusal("file", str(file), "a campaign's document that exists")
    data = file.read_bytes()
    survey = read_survey(data) if is_survey(data) else None
    if survey is not None:
        campaign = next((one for one in survey.campaigns.values() if one.deals), survey.first)
    else:
        campaign = read_campaign(file)
    several = campaign.by_several
    if len(dealer_token) > 1 and not several:
        raise ArgumentError("dealer_token must be given once: the campaign has one dealer")
    tokens = Tokens(
        dealer=dealer_token[0] if dealer_token and not several else None,
        collector=collector_token,
        parties=dict(_numbered_token("party", text) for text in party_token),
        dealers=dict(_numbered_token("dealer", text) for text in dealer_token) if several else {},
    )
    if survey is not None:
        return SurveyOperator.by_tokens(survey, tokens, ca)
    return Operator.by_tokens(campaign, tokens, ca)


def is_survey_file(file: Path) -> bool:
    """Whether a file holds a survey of several items, and not a single campaign."""
    from jrr.survey.surveys import is_survey

    return file.is_file() and is_survey(file.read_bytes())


def _numbered_token(role: str, text: str) -> tuple[int, str]:
    number, colon, token = text.partition(":")
    if not colon or not number.isascii() or not number.isdecimal():
        raise ArgumentError(f"{role}_token must be as NUMBER:TOKEN")
    return int(number), token


def read_campaign(file: Path) -> "Campaign":
    """A campaign's document."""
    from jrr.survey.campaign import Campaign

    if not file.is_file():
        raise checks.refusal("file", str(file), "a campaign's document that exists")
    return Campaign.from_bytes(file.read_bytes())


def say_servers(as_json: bool, campaign: "Campaign", facts: dict[str, Any]) -> None:
    """What each server says of a campaign: one line of JSON, or of words per server."""
    if as_json:
        print_json({"campaign": campaign.hash} | facts)
        return
    screen = console()
    screen.print(f"Campaign {campaign.hash}: {campaign.question}")
    for server, reply in facts.items():
        screen.print(f"{server}: {in_words(campaign, reply)}")


def in_words(campaign: "Campaign", reply: dict[str, Any] | str) -> str:
    """A server's state, and the counts that there are."""
    if isinstance(reply, str):
        return _state(campaign, reply)
    parts = [_state(campaign, reply["state"])]
    for name, (one, many) in _COUNTED.items():
        count = reply.get(name)
        if count is not None:
            parts.append(counted(count, one, many))
    return ", ".join(parts)


def _state(campaign: "Campaign", state: str) -> str:
    """A state by the clock: an open campaign takes nothing before and after its times."""
    from jrr.protocol.states import BEFORE_OR_AFTER

    opens, closes = campaign.times
    now = datetime.now(UTC)
    if state in BEFORE_OR_AFTER:
        return state
    if closes is not None and now >= closes:
        return f"over since {campaign.closes}"
    if opens is not None and now < opens:
        return f"{state}, from {campaign.opens}"
    return state


def say(as_json: bool, facts: dict[str, Any]) -> None:
    """A few facts, as one line of JSON or of words."""
    if as_json:
        print_json(facts)
        return
    console().print(", ".join(f"{name}: {value}" for name, value in facts.items()))
