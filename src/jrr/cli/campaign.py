"""`jrr campaign`: create, open, close, show and export campaigns."""

import tempfile
from pathlib import Path
from typing import Any

import click

from jrr import checks
from jrr.cli.operators import FILE, operator_of, operator_options, say
from jrr.cli.options import console, dealer_cap, json_option, print_json, survey_options
from jrr.errors import JrrError
from jrr.explain import consent as consent_text
from jrr.explain import show_epsilon
from jrr.files import write_whole_bytes


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
@click.option("--min-cell", type=int, default=20, show_default=True, help="Smallest group shown.")
@click.option("--consent-file", type=FILE, help="Consent text; default: that of jrr explain.")
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
    **survey: Any,
) -> None:
    """Write a campaign's document from a plan.

    \b
    jrr campaign create -n 10000 -e 1 --question "Have you taken bribes?" \\
        --dealer https://dealer.example --collector https://collector.example
    """  # noqa: D301 - click reads the \b
    from jrr.protocol import creation

    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    if survey["k"] != 2:
        raise checks.refusal("k", survey["k"], "left out: --labels says how many answers there are")
    if party and dealer:
        raise JrrError("--dealer and --party must not be given together")
    if party:
        dealing = "enrol"  # a committee deals to those it knows
    answers = [label.strip() for label in labels.split(",")]
    survey["k"] = len(answers)
    cap = dealer_cap(epsilon, dealer_epsilon, no_dealer_cap)
    made = creation.plan_for(n, dealing, epsilon, dealer_epsilon=cap, **survey)
    text = consent_text(made, question) if consent_file is None else _text(consent_file)
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
    if (dealer or party) and not document.deals:
        raise JrrError(
            "--dealer and --party must be left out: the best mechanism here, "
            f"{document.mechanism!r}, deals no cards"
        )
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
    screen.print(f"Campaign {document.hash} in {out}: {document.mechanism!r}")
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
    say(as_json, {"campaign": operator.campaign.hash} | operator.open(n))


@campaign.command()
@operator_options
@json_option
def deal(as_json: bool, **options: Any) -> None:
    """End enrolment and deal to exactly those who enrolled."""
    operator = operator_of(**options)
    say(as_json, {"campaign": operator.campaign.hash, "n": operator.deal()})


@campaign.command()
@operator_options
@click.option("--decks", type=int, help="Decks dealt: for a collector on its own.")
@json_option
def close(decks: int | None, as_json: bool, **options: Any) -> None:
    """Close for good: the dealer burns the cards, the collector takes no more reports."""
    operator = operator_of(**options)
    say(as_json, {"campaign": operator.campaign.hash} | operator.close(decks))


@campaign.command()
@operator_options
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@click.option("--round", "round_number", type=int, default=0, show_default=True)
@click.option("--by", help="A covariate of the campaign: one estimate per group.")
@json_option
def show(level: float, round_number: int, by: str | None, as_json: bool, **options: Any) -> None:
    """Counts at the servers and, from the collector, the estimate so far."""
    operator = operator_of(**options)
    facts = {"campaign": operator.campaign.hash} | operator.show()
    if operator.collector is not None and facts["collector"]["reports"]:
        facts["estimate"] = operator.estimate(round_number, checks.level(level), by)
    if as_json:
        print_json(facts)
        return
    screen = console()
    screen.print(f"Campaign {operator.campaign.hash}: {operator.campaign.question}")
    if not operator.campaign.invitations:
        screen.print("NOT PROTECTED AGAINST MULTIPLE ANSWERS: no invitations.", style="bold")
    for server in facts:
        if server not in ("campaign", "estimate"):
            counts = ", ".join(f"{k} {v}" for k, v in facts[server].items() if k != "campaign")
            screen.print(f"{server}: {counts}")
    if "estimate" in facts:
        final = "final" if facts["estimate"]["final"] else "so far"
        groups = [{"name": "everybody"} | facts["estimate"]["estimate"]]
        for found in groups + facts["estimate"].get("groups", []):
            for label, share, (low, high) in zip(
                facts["estimate"]["labels"], found["frequencies"], found["interval"], strict=True
            ):
                screen.print(
                    f"{found['name']}, {label}: {100 * share:.2f}% ({100 * low:.2f}% to "
                    f"{100 * high:.2f}%, {100 * level:g}%, {final})"
                )


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
    data = operator.export("parquet", round_number)
    if out.suffix == ".parquet":
        write_whole_bytes(out, data)
    else:
        from jrr import tables

        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "reports.parquet"
            whole.write_bytes(data)
            tables.convert(whole, out, force=force)
    say(as_json, {"reports": str(out)})


def _committee(given: tuple[str, ...], threshold: int | None) -> dict[str, Any]:
    from jrr.committee.schedule import default_threshold

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
        raise JrrError(f"consent_file must be a text in UTF-8, got {file}") from None
