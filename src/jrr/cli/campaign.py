"""`jrr campaign`: create, open, close, show and export campaigns."""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.files import write_whole_bytes
from jrr.cli.operators import FILE, counted, operator_of, operator_options, say_servers
from jrr.cli.options import (
    console,
    dealer_cap,
    delta_option,
    json_option,
    print_json,
    survey_options,
    view_option,
)
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL, fewest_to_show
from jrr.reporting.explain import OUTSIDE, contributor_text, show_epsilon

if TYPE_CHECKING:
    from jrr.client.operator import Operator
    from jrr.planning.plans import Plan

CARDLESS = ("rr", "sue", "oue", "olh")  # families of which nothing deals cards


@click.group()
def campaign() -> None:
    """Create, open, close, show and export campaigns.

    A campaign is one JSON document that dealer, collector and contributors hold alike.
    """


@campaign.command()
@survey_options
@click.option("--question", required=True, help="What is asked.")
@click.option("--labels", default="no,yes", show_default=True, help="Answers, by commas.")
@click.option("--dealer", help="Address of the dealer, as https://dealer.example.")
@click.option(
    "--party",
    multiple=True,
    help="Instead of a dealer, 3 times or more: URL,HOST:PORT,CERTIFICATE.pem of a party.",
)
@click.option("--threshold", type=int, help="Parties that may collude.  [default: a minority]")
@click.option("--collector", required=True, help="Address of the collector.")
@click.option(
    "--dealing",
    type=click.Choice(("arrival", "enrol")),
    default="arrival",
    show_default=True,
    help="Deal on arrival from decks of n cards, or enrol at least n people, then deal.",
)
@click.option("--capacity", type=int, help="Contributors at most.")
@click.option("--rounds", type=int, default=1, show_default=True, help="Rounds dealt ahead.")
@click.option("--opens", help="UTC, as 2026-01-31T12:00:00Z.")
@click.option("--closes", help="UTC, as 2026-01-31T12:00:00Z.")
@click.option("--public", is_flag=True, help="Without invitations: NOT protected from repeats.")
@click.option("--covariate", multiple=True, help="A public attribute, as region=north,south.")
@view_option
@delta_option
@click.option(
    "--min-cell", type=int, default=MIN_CELL, show_default=True, help="Smallest group shown."
)
@click.option(
    "--consent-file", type=FILE, help="Consent text; default: what jrr explain tells contributors."
)
@click.option("--consent-version", default="1", show_default=True)
@click.option("-o", "--out", type=FILE, default=Path("campaign.json"), show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def create(
    n: int,
    epsilon: float,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    question: str,
    labels: str,
    dealer: str | None,
    party: tuple[str, ...],
    threshold: int | None,
    collector: str,
    dealing: str,
    capacity: int | None,
    public: bool,
    covariate: tuple[str, ...],
    consent_file: Path | None,
    out: Path,
    force: bool,
    as_json: bool,
    rounds: int,
    opens: str | None,
    closes: str | None,
    min_cell: int,
    consent_version: str,
    view: str,
    delta: float,
    **survey: Any,
) -> None:
    """Write a campaign's document from a plan.

    \b
    jrr campaign create -n 10000 -e 1 --question "Have you taken bribes?" \\
        --dealer https://dealer.example --collector https://collector.example
    """  # noqa: D301 - click reads the \b
    from jrr.survey import creation

    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    if survey["k"] != 2:
        raise checks.refusal("k", survey["k"], "left out: --labels says how many answers there are")
    if party and dealer:
        raise ArgumentError("--dealer and --party must not be given together")
    if party:
        dealing = "enrol"  # a committee deals to those it knows
    answers = [label.strip() for label in labels.split(",")]
    survey["k"] = len(answers)
    cap = dealer_cap(epsilon, dealer_epsilon, no_dealer_cap)
    survey |= {"view": view, "delta": delta if view == "everything" else None}
    made = creation.plan_for(n, dealing, epsilon, dealer_epsilon=cap, **survey)
    if (dealer or party) and survey["mechanism"] in CARDLESS:
        raise checks.refusal("mechanism", survey["mechanism"], "one with cards for who deals them")
    if (dealer or party) and not made.mechanism.deals:
        more = creation.more_people(n, dealing, epsilon, dealer_epsilon=cap, **survey)
        raise _no_cards(made, n, more)
    text = (
        contributor_text(made, delta, committee=bool(party))
        if consent_file is None
        else _text(consent_file)
    )
    document = creation.campaign_from(
        made,
        question,
        answers,
        collector,
        _committee(party, threshold) if party else dealer,
        dealing,
        capacity,
        _covariates(covariate),
        consent=text,
        consent_version=consent_version,
        opens=opens,
        closes=closes,
        invitations=not public,
        min_cell=min_cell,
        rounds=rounds,
    )
    _, end = document.times
    if end is not None and end <= datetime.now(UTC):
        raise checks.refusal("closes", closes, "a time in the future")
    write_whole_bytes(out, document.to_bytes())
    facts = {
        "campaign": document.hash,
        "link": f"{collector}/v1/campaigns/{document.hash}",
        "file": str(out),
        "mechanism": document.mechanism.to_dict(),
        "guarantees": dict(document.promised or {}),
        "protected_against_repeats": document.invitations,
    }
    if as_json:
        print_json(facts)
        return
    screen = console()
    screen.print(f"Campaign {document.hash} in {out}: {document.mechanism.brief()}")
    screen.print(f"Link for contributors: {facts['link']}", soft_wrap=True)
    for view in ("report", "cards", "dealer"):
        screen.print(f"ε per round, view {view}: {show_epsilon(document.guarantee(view))}")
    if dealing == "arrival" and document.deals:
        screen.print(f"Cards come from decks of {n:,}: the guarantee is that of one deck.")
    if public:
        screen.print("NOT PROTECTED AGAINST MULTIPLE ANSWERS: no invitations.", style="bold")


@campaign.command("open")
@operator_options
@click.option("-n", "n", type=int, help="People dealt to: for a collector after enrolment.")
@json_option
def open_campaign(n: int | None, as_json: bool, **options: Any) -> None:
    """Install the document at the servers and open it (or its enrolment)."""
    operator = operator_of(**options)
    operator.install()
    say_servers(as_json, operator.campaign, operator.open(n))


@campaign.command()
@operator_options
@json_option
def deal(as_json: bool, **options: Any) -> None:
    """End enrolment and deal to exactly those who enrolled."""
    operator = operator_of(**options)
    n = operator.deal()
    if as_json:
        print_json({"campaign": operator.campaign.hash, "n": n})
    else:
        console().print(f"Dealt to {n:,} people.")


@campaign.command()
@operator_options
@click.option("--decks", type=int, help="Decks dealt: for a collector on its own.")
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@json_option
@click.pass_context
def close(
    context: click.Context,
    /,
    decks: int | None,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Close for good: the dealer burns the cards, the collector takes no more reports.

    Asks first on a terminal, since nothing opens a campaign again.
    """
    operator = operator_of(**options)
    # A script is not asked: nobody would answer.
    asks = not yes and not as_json and sys.stdin.isatty()
    if asks and not click.confirm(f"Close “{operator.campaign.question}” for good?", err=True):
        console().print("Nothing was closed.")
        context.exit(1)
    say_servers(as_json, operator.campaign, operator.close(decks))


@campaign.command()
@operator_options
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@click.option("--round", "round_number", type=int, default=0, show_default=True)
@click.option("--by", help="A covariate of the campaign: one estimate per group.")
@json_option
def show(level: float, round_number: int, by: str | None, as_json: bool, **options: Any) -> None:
    """Counts at the servers and, from the collector, the estimate so far."""
    operator = operator_of(**options)
    asked, level = operator.campaign, checks.level(level)
    asked.check_round(round_number)
    if by is not None:
        checks.one_of("by", by, tuple(asked.covariates))
    servers = operator.show()
    facts = {"campaign": asked.hash} | servers
    few = None if operator.collector is None else _too_few(operator, servers, round_number)
    if few is not None:
        facts["too_few"] = {"reports": few, "min_cell": asked.min_cell}
    elif operator.collector is not None:
        facts["estimate"] = operator.estimate(round_number, level, by)
    if as_json:
        print_json(facts)
        return
    say_servers(False, asked, servers)
    screen = console()
    if not asked.invitations:
        screen.print("NOT PROTECTED AGAINST MULTIPLE ANSWERS: no invitations.", style="bold")
    if few is not None:
        screen.print(
            f"{counted(few, 'report', 'reports')} in round {round_number}: too few to estimate "
            f"from ({asked.min_cell} are needed, or one when the campaign is closed)."
        )
    if "estimate" in facts:
        _print_estimate(facts["estimate"], level)


@campaign.command()
@operator_options
@click.option("-o", "--out", type=FILE, required=True, help="A .parquet or .csv file.")
@click.option("--round", "round_number", type=int, default=0, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def export(out: Path, round_number: int, force: bool, as_json: bool, **options: Any) -> None:
    """Write all reports as a report file, for `jrr estimate`."""
    if out.suffix not in (".parquet", ".csv"):
        raise checks.refusal("out", str(out), "a name that ends in .parquet or .csv")
    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    operator = operator_of(**options)
    operator.campaign.check_round(round_number)
    data = operator.export("parquet", round_number)
    written = {"reports": str(out)}
    if out.suffix == ".parquet":
        write_whole_bytes(out, data)
    else:
        from jrr import tables

        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "reports.parquet"
            whole.write_bytes(data)
            tables.convert(whole, out, force=force)
        written["header"] = f"{out}.json"
    if as_json:
        print_json(written)
    else:
        beside = f"; it needs {written['header']} beside it" if "header" in written else ""
        console().print(f"Reports: {out}{beside}", soft_wrap=True)


def _no_cards(made: "Plan", people: int, more: int | None) -> ArgumentError:
    """Why somebody who deals must be left out, and what would have cards."""
    n, colluders = made.request.n, counted(made.request.colluders, "colluder", "colluders")
    reason = (
        "--dealer and --party must be left out: nothing with cards is more accurate than "
        f"{made.mechanism.brief()} for {n:,} people and {colluders}"
    )
    if n != people:  # see creation.planned_for
        reason += (
            f" (enrolment of {people:,} or more is planned for {n:,}, whose uneven deck hides less "
            "than all larger ones)"
        )
    return ArgumentError(
        reason if more is None else f"{reason}; with -n {more} there would be cards"
    )


def _too_few(operator: "Operator", servers: dict[str, Any], round_number: int) -> int | None:
    """How many reports there are, where they are too few to be shown; None where not."""
    from jrr.survey.states import CLOSED

    collector = servers["collector"]
    reports: int = collector["by_round"][round_number]
    fewest = fewest_to_show(operator.campaign.min_cell, final=collector["state"] == CLOSED)
    return reports if reports < fewest else None


def _print_estimate(found: dict[str, Any], level: float) -> None:
    screen = console()
    final = "final" if found["final"] else "so far"
    outside = False
    everybody = {"name": "everybody"} | found["estimate"]
    for group in (everybody, *found.get("groups", [])):
        for label, share, (low, high) in zip(
            found["labels"], group["frequencies"], group["interval"], strict=True
        ):
            screen.print(
                f"{group['name']}, {label}: {100 * share:.2f}% ({100 * low:.2f}% to "
                f"{100 * high:.2f}%, {100 * level:g}%, {final})"
            )
        outside |= any(not 0 <= share <= 1 for share in group["frequencies"])
    if outside:
        screen.print(OUTSIDE)
    small = found.get("groups_too_small", 0)
    if small:
        screen.print(f"{counted(small, 'group is', 'groups are')} too small to be shown.")


def _committee(given: tuple[str, ...], threshold: int | None) -> dict[str, Any]:
    from jrr.survey.committee.schedule import default_threshold

    if not 3 <= len(given) <= 16:
        raise ArgumentError(f"--party must be given 3 to 16 times, got it {len(given)} times")
    parties = []
    for text in given:
        parts = text.split(",")
        if len(parts) != 3 or not Path(parts[2]).is_file():
            raise checks.refusal("party", text, "URL,HOST:PORT,CERTIFICATE.pem, a file that exists")
        certificate = Path(parts[2]).read_text("ascii", errors="replace")
        parties.append({"url": parts[0], "link": parts[1], "certificate": certificate})
    allowed = default_threshold(len(parties)) if threshold is None else threshold
    return {"kind": "committee", "threshold": allowed, "parties": parties}


def _covariates(given: tuple[str, ...]) -> dict[str, list[str]]:
    found = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals:
            raise checks.refusal("covariate", text, "as region=north,south")
        found[name.strip()] = [value.strip() for value in values.split(",")]
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"consent_file must be a text in UTF-8, got {file}") from None
    except OSError as error:
        raise checks.refusal("consent_file", str(file), f"readable ({error.strerror})") from None
