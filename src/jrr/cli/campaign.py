"""`jrr campaign`: create, open, close, show and export campaigns."""

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr._base.wording import counted, show_guarantee
from jrr.cli.counts import COUNT
from jrr.cli.estimates import print_estimate
from jrr.cli.lazy import LazyCommand, LazyCommands
from jrr.cli.operators import (
    FILE,
    any_operator_of,
    is_survey_file,
    operator_of,
    operator_options,
    read_campaign,
    say_servers,
    survey_operator_of,
)
from jrr.cli.options import (
    RangeType,
    console,
    dealer_cap,
    delta_option,
    interval_options,
    json_option,
    print_json,
    simultaneous_option,
    survey_options,
    view_option,
)
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError, DamagedError, UnreachableError
from jrr.estimation.estimates import POPULATIONS, Population
from jrr.estimation.groups import MIN_CELL

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign
    from jrr.survey.dealer_kinds import Party

UNPROTECTED = "NOT PROTECTED AGAINST MULTIPLE ANSWERS: no invitations."


# Named, not imported, as in jrr.cli.app.
_MORE = {
    "report": LazyCommand(
        "jrr.cli.report",
        "report",
        "Write the results as one page for people: pictures, groups, method, guarantee, limits.",
    ),
}


@click.group(commands=LazyCommands(_MORE))
def campaign() -> None:
    """Create, open, close, show and export campaigns.

    A campaign is one JSON document that dealer, collector and contributors hold alike.
    """


@campaign.command()
@click.argument("questionnaire", type=FILE, required=False)
@survey_options
@click.option("--question", help="What is asked.")
@click.option("--by", help="Who asks: an organisation or a person, as contributors are told.")
@click.option("--contact", help="Whom to ask about it: a mail address, a number, an address.")
@click.option("--people", type=COUNT, help="With a questionnaire: how many are invited.")
@click.option(
    "--response", type=float, default=1.0, help="With a questionnaire: who answers, as a share."
)
@click.option(
    "--after", type=FILE, help="With a questionnaire: the survey of the wave before this one."
)
@click.option("--labels", default="no,yes", show_default=True, help="Answers, by commas.")
@click.option(
    "--number", type=RangeType(), help="Instead of labels: the answer is a number LOW:HIGH."
)
@click.option(
    "--dealer",
    multiple=True,
    help="Address of the dealer, as https://dealer.example. Twice or more: several dealers, whose "
    "cards everybody adds, so that one honest dealer is enough.",
)
@click.option(
    "--may-leave-out",
    is_flag=True,
    help="Answer without those of several dealers that cannot be reached, if one can be.",
)
@click.option(
    "--party",
    multiple=True,
    help="Instead of a dealer, 3 times or more: URL,HOST:PORT,CERTIFICATE.pem of a party.",
)
@click.option(
    "--groups",
    is_flag=True,
    help="Instead of a dealer: contributors deal in groups of n, 3 to 16 (jrr mpc group).",
)
@click.option("--threshold", type=COUNT, help="Parties that may collude.  [default: a minority]")
@click.option("--collector", required=True, help="Address of the collector.")
@click.option(
    "--dealing",
    type=click.Choice(("arrival", "enrol")),
    default="arrival",
    show_default=True,
    help="Deal on arrival from decks of n cards, or enrol at least n people, then deal.",
)
@click.option("--capacity", type=COUNT, help="Contributors at most.")
@click.option("--opens", help="UTC, as 2026-01-31T12:00:00Z.")
@click.option("--closes", help="UTC, as 2026-01-31T12:00:00Z.")
@click.option("--public", is_flag=True, help="Without invitations: NOT protected from repeats.")
@click.option("--covariate", multiple=True, help="A public attribute, as region=north,south.")
@view_option
@delta_option
@click.option(
    "--min-cell", type=COUNT, default=MIN_CELL, show_default=True, help="Smallest group shown."
)
@click.option(
    "--results-every",
    type=COUNT,
    default=1,
    show_default=True,
    help="New reports between two results that the collector shows, the final one included.",
)
@click.option(
    "--min-batch",
    type=COUNT,
    default=1,
    show_default=True,
    help="Reports in the smallest result that the collector shows, even at the end, in every "
    "group, and between two results; exports wait for the end.",
)
@click.option(
    "--consent-file",
    type=FILE,
    help="Consent text, to which the cost is added.  [default: what jrr plan explain says]",
)
@click.option("--consent-version", default="1", show_default=True)
@click.option(
    "--language",
    type=click.Choice(("en", "de")),
    default="en",
    show_default=True,
    help="Of the consent text of a single question; a questionnaire names its own languages.",
)
@click.option("-o", "--out", type=FILE, default=Path("campaign.json"), show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
@click.pass_context
def create(
    context: click.Context,
    /,
    *,
    questionnaire: Path | None,
    people: int | None,
    response: float,
    after: Path | None,
    labels: str,
    number: tuple[float, float] | None,
    k: int,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    party: tuple[str, ...],
    dealer: tuple[str, ...],
    closed_deck: bool,
    public: bool,
    covariate: tuple[str, ...],
    consent_file: Path | None,
    out: Path,
    force: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Write a campaign's document from a plan.

    With a QUESTIONNAIRE (a TOML file, docs/questionnaires.md): a survey of several items.

    \b
    jrr campaign create survey.toml --people 2000 --response 0.6 \\
        --dealer https://dealer.example --collector https://collector.example
    jrr campaign create -n 10000 -e 1 --question "Have you taken bribes?" \\
        --dealer https://dealer.example --collector https://collector.example
    """  # noqa: D301 - click reads the \b
    from jrr.survey.creation import CampaignRequest

    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    if questionnaire is not None:
        _create_survey(context, questionnaire, people, response, after)
        return
    if people is not None or after is not None:
        raise ArgumentError("--people and --after must be given with a questionnaire")
    if wanted["question"] is None:
        raise ArgumentError("--question must be given, or a questionnaire (a TOML file)")
    if k != 2:
        raise checks.refusal("k", k, "left out: --labels says how many answers there are")
    request = CampaignRequest(
        dealer=dealer[0] if len(dealer) == 1 else None,
        dealers=dealer if len(dealer) > 1 else (),
        closed_deck=closed_deck,
        labels=tuple(label.strip() for label in labels.split(",")),
        number=number,
        dealer_epsilon=dealer_cap(dealer_epsilon, no_dealer_cap),
        parties=_parties(party),
        invitations=not public,
        covariates=_covariates(covariate),
        consent=None if consent_file is None else _text(consent_file),
        **wanted,
    )
    with waiting("planning"):
        document = request.campaign(datetime.now(UTC))
    write_whole_bytes(out, document.to_bytes())
    facts = {
        "campaign": document.hash,
        "link": document.link,
        "file": str(out),
        "mechanism": document.mechanism.to_dict(),
        "guarantees": dict(document.promised or {}),
        "delta": document.delta,
        "protected_against_repeats": document.invitations,
    }
    if as_json:
        print_json(facts)
        return
    screen = console()
    screen.print(f"Campaign {document.hash} in {out}: {document.mechanism.brief()}")
    screen.print(f"Link for programs (people: jrr invite --page): {document.link}", soft_wrap=True)
    for view in ("report", "cards", "everything", "dealer"):
        at_delta = view == "everything" and not document.mechanism.pure
        delta = document.delta if at_delta else 0.0
        screen.print(f"Per answer, view {view}: {show_guarantee(document.guarantee(view), delta)}")
    screen.print(f"What contributors are told an answer costs: {document.cost_line}")
    if document.announces:
        screen.print(
            "Results come at the end, when the dealer announces the sum of the cards that were "
            "used (jrr campaign close)."
        )
    elif document.deals and not document.enrols:
        screen.print(f"Cards come from decks of {request.n:,}: the guarantee is that of one deck.")
    if public:
        screen.print(UNPROTECTED, style="bold")


def _create_survey(
    context: click.Context,
    questionnaire: Path,
    people: int | None,
    response: float,
    after: Path | None,
) -> None:
    """Make a survey of the options that were given, and refuse those of single questions."""
    from jrr.cli.surveys import SURVEY_OPTIONS, survey_options_of, write_survey
    from jrr.survey.questionnaire import Questionnaire
    from jrr.survey.survey_creation import SurveyRequest
    from jrr.survey.surveys import read_survey

    given = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    strange = sorted(set(given) - SURVEY_OPTIONS)
    if strange:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in strange)
        raise ArgumentError(
            f"{names} must be left out with a questionnaire: {_single_question_words(strange)}"
        )
    if people is None:
        raise ArgumentError("--people must be given with a questionnaire, got none")
    if not questionnaire.is_file():
        raise checks.refusal("questionnaire", str(questionnaire), "a TOML file that exists")
    asked = Questionnaire.read(questionnaire)
    request = SurveyRequest(
        questionnaire=asked,
        people=people,
        response=response,
        after=None if after is None else read_survey(after.read_bytes()),
        **survey_options_of(given, asked.languages),
    )
    with waiting("planning every item"):
        survey = request.survey(datetime.now(UTC))
    write_survey(survey, context.params["out"], context.params["as_json"])


def _single_question_words(names: list[str]) -> str:
    """Why these options do not go with a questionnaire, and where it says the same."""
    words = "it is for a single question" if len(names) == 1 else "they are for a single question"
    in_file = [name for name in names if name in ("by", "contact")]
    return f"{words}; the questionnaire file has {' and '.join(in_file)}" if in_file else words


@campaign.command("open")
@operator_options
@click.option("-n", "n", type=COUNT, help="People dealt to: for a collector after enrolment.")
@json_option
def open_campaign(n: int | None, as_json: bool, **options: Any) -> None:
    """Install the document at the servers and open it (or its enrolment)."""
    if is_survey_file(options["file"]):
        from jrr.cli.surveys import open_survey

        open_survey(survey_operator_of(**options), n, as_json)
        return
    operator = operator_of(**options)
    operator.install()
    say_servers(as_json, operator.campaign, operator.open(n))


@campaign.command()
@operator_options
@json_option
def deal(as_json: bool, **options: Any) -> None:
    """End enrolment and deal to exactly those who enrolled."""
    operator = operator_of(**options)
    with waiting("dealing"):
        n = operator.deal()
    if as_json:
        print_json({"campaign": operator.campaign.hash, "n": n})
    else:
        console().print(f"Dealt to {n:,} people.")


@campaign.command()
@operator_options
@click.option("--decks", type=COUNT, help="Decks dealt: for a collector on its own.")
@click.option(
    "--by", help="Announced sums: one for each value of this covariate, for results by group."
)
@click.option(
    "--merge-small",
    is_flag=True,
    help="With --by: groups too small for a sum become one; while that is too small, the smallest "
    "other joins it.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Announced sums: show the groups, what would be merged or refused, and close nothing.",
)
@click.option(
    "--names",
    type=FILE,
    help="Announced sums, servers in different hands: serials, written for the collector alone "
    "(with several dealers FILE.0, FILE.1, …), read for a dealer alone.",
)
@click.option(
    "--sums",
    type=FILE,
    multiple=True,
    help="The same with what was announced: written for a dealer alone, read for the collector "
    "alone, once for each dealer in their order.",
)
@click.option(
    "--discard-small",
    is_flag=True,
    help="Delete reports of groups with fewer cards than a sum is told of.",
)
@click.option(
    "--discard-unknown",
    is_flag=True,
    help="Announced sums: delete reports whose serials no dealer gave to anybody.",
)
@click.option(
    "--without-sum",
    is_flag=True,
    help="Announced sums: burn the cards without one, and give up the reports made with a card.",
)
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@json_option
@click.pass_context
def close(
    context: click.Context,
    /,
    decks: int | None,
    by: str | None,
    merge_small: bool,
    dry_run: bool,
    names: Path | None,
    sums: tuple[Path, ...],
    discard_small: bool,
    discard_unknown: bool,
    without_sum: bool,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Close for good: the dealer burns the cards, the collector takes no more reports.

    Where card sums are announced, names the reports to the dealer and carries the sum to the
    collector. Everything is looked at first, at all servers: where anything is wrong, nothing is
    closed. What was interrupted goes on when the same command is given again.

    Asks first on a terminal, since nothing opens a campaign again.
    """
    from jrr.cli.ending import check_files, say_next, show_preview
    from jrr.client.closing import Ending

    wished: dict[str, Any] = {
        "by": by,
        "merge_small": merge_small,
        "discard_small": discard_small,
        "discard_unknown": discard_unknown,
        "without_sum": without_sum,
    }
    if merge_small and by is None:
        raise checks.refusal("merge_small", True, "given together with --by COVARIATE")
    if dry_run:
        kind = "survey" if is_survey_file(options["file"]) else "campaign"
        show_preview(any_operator_of(**options), wished, kind, as_json)
        return
    # A script is not asked: nobody would answer.
    asks = not yes and not as_json and sys.stdin.isatty()
    if asks and not click.confirm(_closing_words(options), err=True):
        console().print("Nothing was closed.")
        context.exit(1)
    if is_survey_file(options["file"]):
        from jrr.cli.surveys import close_survey

        whole = survey_operator_of(**options)
        check_files(whole.collector is None, names, sums)
        settled = close_survey(whole, decks, names, sums, wished, as_json)
        if not as_json and settled is not None and not without_sum:
            count = len(whole.survey.dealer.addresses)
            say_next(options["file"], whole.collector is None, names, sums, settled, count)
        return
    operator = operator_of(**options)
    alone = operator.collector is None
    check_files(alone, names, sums)
    ending = Ending(
        **wished,
        carries_names=names is not None,
        names=_document(names) if alone and names is not None else None,
        sums=[_document(file) for file in sums] if not alone and sums else None,
    )
    closed = operator.close(decks, ending)
    _write_carried(operator.campaign, closed, names, sums)
    say_servers(as_json, operator.campaign, closed)
    if not as_json and operator.campaign.announces and not without_sum:
        settled = closed.get("collector", {}).get("settled", False)
        say_next(options["file"], alone, names, sums, settled, len(operator.campaign.dealers))


def _closing_words(options: dict[str, Any]) -> str:
    """The question whether it is meant, with how many have answered as far as that is known."""
    told = ""
    with suppress(UnreachableError):
        held = any_operator_of(**options).show().get("collector", {})
        if "reports" in held:
            came = counted(held["reports"], "answer has come", "answers have come")
            told = f" {came}; {held['invited']:,} invited." if held["invited"] else f" {came}."
    return f"Close “{_title(options['file'])}” for good?{told} Nothing opens it again."


def _title(file: Path) -> str:
    """What a document asks."""
    if not is_survey_file(file):
        return read_campaign(file).question
    from jrr.cli.surveys import title_of

    return title_of(file)


def _document(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise checks.refusal("file", str(file), f"readable ({error.strerror})") from None
    except ValueError:
        raise DamagedError(f"{file} must be a file that jrr campaign close wrote") from None
    if not isinstance(document, dict):
        raise DamagedError(f"{file} must be a file that jrr campaign close wrote")
    return document


def _write_carried(
    asked: "Campaign", closed: dict[str, Any], names: Path | None, sums: tuple[Path, ...]
) -> None:
    """Write what another server's operator needs, where the servers are in different hands."""
    for facts in closed.values():
        named, told = facts.pop("names", None), facts.pop("announced", None)
        if named is not None:
            if names is None:
                raise ArgumentError(
                    "the collector is closed; --names must say where to write the serials for the "
                    "dealer's operator, or the dealer's token must be given (JRR_DEALER_TOKEN)"
                )
            for number, document in named.items():
                several = len(asked.dealers) > 1
                file = names.with_name(f"{names.name}.{number}") if several else names
                write_whole(file, json.dumps(document), private=True)
            facts["names"] = str(names)
        if told is not None:
            if len(sums) != 1:
                raise ArgumentError(
                    "the sum is announced; --sums must say where to write it for the collector's "
                    "operator: give the same command again with it"
                )
            write_whole(sums[0], json.dumps(told), private=True)
            facts["sums"] = str(sums[0])


@campaign.command()
@operator_options
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@simultaneous_option
@interval_options
@click.option("--by", help="A covariate of the campaign: one estimate per group.")
@json_option
def show(
    level: float,
    simultaneous: bool,
    population: Population,
    population_size: int | None,
    by: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Counts at the servers and, from the collector, the estimate so far."""
    if is_survey_file(options["file"]):
        wish = {"simultaneous": simultaneous, "population": population}
        from jrr.cli.surveys import show_survey

        show_survey(
            survey_operator_of(**options),
            level,
            by,
            wish | {"population_size": population_size},
            as_json,
        )
        return
    operator = operator_of(**options)
    asked = operator.campaign
    with waiting("asking the servers"):
        summary = operator.summary(
            level,
            by,
            simultaneous=simultaneous,
            population=population,
            population_size=population_size,
        )
    if as_json:
        facts = {"campaign": asked.hash} | summary.servers
        if summary.too_few is not None:
            facts["too_few"] = {
                "reports": summary.too_few,
                "min_cell": asked.min_cell,
                "min_batch": asked.min_batch,
            }
        if summary.waits is not None:
            facts["results_wait"] = summary.waits
        if summary.estimate is not None:
            facts["estimate"] = summary.estimate
        print_json(facts)
        return
    say_servers(False, asked, summary.servers)
    screen = console()
    if not asked.invitations:
        screen.print(UNPROTECTED, style="bold")
    if summary.too_few is not None:
        screen.print(
            f"{counted(summary.too_few, 'report', 'reports')}: too few to "
            f"estimate from ({asked.fewest_to_show(final=False)} are needed, or "
            f"{asked.fewest_to_show(final=True)} when the campaign is closed)."
        )
    if summary.waits is not None:
        screen.print(f"No result yet: {summary.waits}.")
    if summary.estimate is not None:
        print_estimate(screen, summary.estimate, level)


@campaign.command()
@operator_options
@click.option("--since", type=FILE, required=True, help="The survey of the wave before.")
@click.option("--paired", is_flag=True, help="Only among those who answered both waves.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@simultaneous_option
@click.option(
    "--population",
    type=click.Choice(POPULATIONS),
    default="respondents",
    show_default=True,
    help="Whom intervals speak of: the respondents, or those they are a random sample of.",
)
@json_option
def change(
    since: Path,
    paired: bool,
    level: float,
    simultaneous: bool,
    population: Population,
    as_json: bool,
    **options: Any,
) -> None:
    """How every item of a survey has changed since the wave before, with intervals."""
    from jrr.cli.surveys import show_change

    for file in (options["file"], since):
        if not is_survey_file(file):
            raise checks.refusal("file", str(file), "a survey's document")
    wish = {"simultaneous": simultaneous, "population": population}
    show_change(survey_operator_of(**options), since, paired, level, wish, as_json)


@campaign.command()
@operator_options
@click.option("-o", "--out", type=FILE, required=True, help="A .parquet or .csv file.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def export(out: Path, force: bool, as_json: bool, **options: Any) -> None:
    """Write all reports as a report file, for `jrr file estimate`.

    Of a survey of several items: a row per person, and beside it a codebook (OUT.codebook.csv and
    .json) and an R script that estimates from it (OUT.R).
    """
    from jrr.client.export import check_export_file, export_reports

    check_export_file(out, force)  # before anybody is asked for a token
    if is_survey_file(options["file"]):
        from jrr.cli.surveys import say_exported
        from jrr.client.survey_files import export_survey_files

        asked = survey_operator_of(**options)
        with waiting("fetching the answers"):
            files = export_survey_files(asked, out, force=force)
        say_exported(asked.survey.hash, files, as_json)
        return
    operator = operator_of(**options)
    with waiting("fetching the reports"):
        written = export_reports(operator, out, force=force)
    if as_json:
        print_json(written)
    else:
        beside = f"; it needs {written['header']} beside it" if "header" in written else ""
        console().print(f"Reports: {out}{beside}", soft_wrap=True)
        if operator.campaign.announces and not operator.show()["collector"]["settled"]:
            console().print(
                "Cards are still in these reports and hide everything: export again after jrr "
                "campaign close, when dealers have announced their sums."
            )


def _parties(given: tuple[str, ...]) -> "tuple[Party, ...]":
    from jrr.protocol.addresses import without_slash
    from jrr.survey.dealer_kinds import FEWEST_PARTIES, MOST_PARTIES, Party

    if given and not FEWEST_PARTIES <= len(given) <= MOST_PARTIES:
        raise ArgumentError(
            f"--party must be given {FEWEST_PARTIES} to {MOST_PARTIES} times, got it {len(given)} "
            "times"
        )
    parties = []
    for text in given:
        parts = text.split(",")
        if len(parts) != 3 or not Path(parts[2]).is_file():
            raise checks.refusal("party", text, "URL,HOST:PORT,CERTIFICATE.pem, a file that exists")
        certificate = Path(parts[2]).read_text("ascii", errors="replace")
        parties.append(Party(url=without_slash(parts[0]), link=parts[1], certificate=certificate))
    return tuple(parties)


def _covariates(given: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    covariates = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals:
            raise checks.refusal("covariate", text, "as region=north,south")
        covariates[name.strip()] = tuple(value.strip() for value in values.split(","))
    return covariates


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"consent_file must be a text in UTF-8, got {file}") from None
    except OSError as error:
        raise checks.refusal("consent_file", str(file), f"readable ({error.strerror})") from None
