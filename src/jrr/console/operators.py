"""Whoever is signed in, as the operator of a survey: with the tokens of dealers they typed in."""

from typing import TYPE_CHECKING

from jrr.client.http import Admin
from jrr.client.operator import Operator
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.texts import admin_path

if TYPE_CHECKING:
    from jrr.console.pages import Console, PageRequest
    from jrr.console.sessions import Session
    from jrr.survey.survey import Survey


def operator_of(
    console: "Console", survey: "Survey", session: "Session | None" = None, *, deals: bool = True
) -> Operator:
    """The operator of this collector, and of those who deal whose tokens the session has.

    deals: False leaves those who deal alone.
    """
    typed = session.dealer_tokens if session is not None and deals else {}
    dealing = {
        number: Admin(address, typed[address])
        for number, address in enumerate(survey.dealing.addresses)
        if address in typed
    }
    sender = console.sender if session is None else console.sender.on_behalf_of(session.holder)
    return Operator(survey, dealing, Admin(survey.collector, "", sender=sender))


def known_tokens(request: "PageRequest", survey: "Survey") -> list[bool]:
    """Of each who deals, whether the session has its token."""
    return [address in request.session.dealer_tokens for address in survey.dealing.addresses]


def take_tokens(request: "PageRequest", survey: "Survey") -> None:
    """Tokens that were typed in, by the numbers of those who deal; each is tried first."""
    for number, address in enumerate(survey.dealing.addresses):
        token = request.form.get(f"token{number}")
        if token:
            try:
                Admin(address, token).get(admin_path(survey.hash))
            except ProtocolError as error:
                if any(code in str(error) for code in ("(401)", "(403)")):
                    raise ArgumentError(
                        f"the {survey.dealing.word} at {address} refuses this token: is it the one "
                        "that `jrr serve token` printed for that server, and not this collector's?"
                    ) from None
                if "(404)" not in str(error):  # the token is right, the survey not there yet
                    raise
            request.session.dealer_tokens[address] = token
