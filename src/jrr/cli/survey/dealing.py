"""Who deals a survey's cards, by the options of `jrr survey create`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jrr._base import checks
from jrr.cli.options import all_of
from jrr.cli.values import COUNT
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.dealing.interface import Dealing
    from jrr.dealing.kinds import Party

dealing_options = all_of(
    click.option(
        "--dealer",
        multiple=True,
        help="Address of the dealer. Twice or more: several dealers, whose cards everybody adds, "
        "so that one honest dealer is enough.",
    ),
    click.option(
        "--leave-out",
        is_flag=True,
        help="Answer without those of several dealers that cannot be reached, if one can be.",
    ),
    click.option("--enrol", is_flag=True, help="People enrol first; then cards are dealt."),
    click.option(
        "--party",
        multiple=True,
        help="Instead of a dealer, 3 times or more: URL,HOST:PORT,CERTIFICATE.pem of a party.",
    ),
    click.option(
        "--threshold", type=COUNT, help="Parties that may collude.  [default: a minority]"
    ),
    click.option(
        "--groups",
        type=COUNT,
        help="Instead of a dealer: contributors deal in groups of so many, 3 to 16 (jrr survey "
        "deal-in-group).",
    ),
)


def dealing_of(
    *,
    dealer: tuple[str, ...],
    leave_out: bool,
    enrol: bool,
    party: tuple[str, ...],
    threshold: int | None,
    groups: int | None,
) -> "Dealing":
    """Nobody, dealers, a committee or groups of contributors."""
    from jrr.dealing.committee.schedule import default_threshold
    from jrr.dealing.kinds import Committee, Dealers, Groups, Nobody
    from jrr.protocol.texts import without_slash

    if sum((bool(dealer), bool(party), groups is not None)) > 1:
        raise ArgumentError("dealer, party and groups must not be given together")
    if (leave_out or enrol) and not dealer:
        name = "leave_out" if leave_out else "enrol"
        raise checks.refusal(name, True, "given with --dealer only")
    if threshold is not None and not party:
        raise checks.refusal("threshold", threshold, "given with --party only")
    if dealer:
        urls = tuple(without_slash(url) for url in dealer)
        return Dealers(urls, leave_out=leave_out, enrol_first=enrol)
    if party:
        parties = tuple(map(_party, party))
        withstands = default_threshold(len(parties)) if threshold is None else threshold
        return Committee(parties=parties, threshold=withstands)
    return Nobody() if groups is None else Groups()


def _party(text: str) -> "Party":
    from jrr.dealing.kinds import Party
    from jrr.protocol.texts import without_slash

    parts = text.split(",")
    if len(parts) != 3 or not Path(parts[2]).is_file():
        raise checks.refusal("party", text, "URL,HOST:PORT,CERTIFICATE.pem, a file that exists")
    certificate = Path(parts[2]).read_text("ascii", errors="replace")
    return Party(url=without_slash(parts[0]), link=parts[1], certificate=certificate)
