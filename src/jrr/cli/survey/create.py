"""`jrr survey create`: from a draft, or from one question, to a survey's document."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from jrr._base import checks
from jrr._base.files import write_whole_bytes
from jrr._base.wording import counted, show_epsilon
from jrr.cli.costs import costs_table, liar_words
from jrr.cli.options import all_of, mechanism_option
from jrr.cli.output import Line, json_option, show, unwrapped
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import UNPROTECTED, read_survey_file
from jrr.cli.values import COUNT, FILE, RangeType
from jrr.errors import ArgumentError
from jrr.survey.draft import SETTINGS

if TYPE_CHECKING:
    from jrr.dealing.interface import Dealing
    from jrr.dealing.kinds import Party
    from jrr.survey.draft import Draft
    from jrr.survey.survey import Survey


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


ASKED = ("question", "labels", "number", "group", "title", "by", "contact", "language")
DEALING = ("dealer", "leave_out", "enrol", "party", "threshold", "groups")


@click.command(
    epilog=f"Settings for --set, or for the table [survey] of a draft: {', '.join(SETTINGS)}."
)
@click.argument("draft", type=FILE, required=False)
@click.option("--question", help="Instead of a draft: the only question.")
@click.option("--labels", help="Its answers, by commas.  [default: no,yes]")
@click.option("--number", type=RangeType(), help="Instead of labels: a number LOW:HIGH.")
@click.option("--group", multiple=True, help="Asked openly before it, as region=north,south.")
@click.option("--title", help="Over it.  [default: the question]")
@click.option("--by", help="Who asks: an organisation or a person, as contributors are told.")
@click.option("--contact", help="Whom to ask about it: a mail address, a number, an address.")
@click.option("--language", help="Of the question, as en or de.  [default: en]")
@click.option(
    "--people",
    type=COUNT,
    required=True,
    help="How many are invited; with --enrol or parties, the fewest who enrol.",
)
@click.option("--response", type=float, default=1.0, help="Share of them who answer.")
@click.option(
    "-e",
    "--epsilon",
    type=float,
    help="ε of all answers of a person.  [default: the draft's, or 1]",
)
@mechanism_option
@click.option("--collector", required=True, help="Address of the collector.")
@dealing_options
@click.option("--after", type=FILE, help="The survey of the wave before this one.")
@click.option("--public", is_flag=True, help="Without invitations: NOT protected from repeats.")
@click.option("--set", "settings", multiple=True, help="A setting (see below), as min_cell=5.")
@click.option("-o", "--out", type=FILE, default=Path("survey.json"))
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def create(
    *,
    draft: Path | None,
    after: Path | None,
    public: bool,
    settings: tuple[str, ...],
    out: Path,
    force: bool,
    **options: Any,
) -> None:
    """Write a survey's document from a draft or a question.

    DRAFT is a TOML file (docs/surveys.md).

    \b
    jrr survey create draft.toml --people 2000 --response 0.6 \\
        --dealer https://dealer.example --collector https://collector.example
    jrr survey create --question "Have you taken bribes?" --people 10000 \\
        --dealer https://dealer.example --collector https://collector.example
    """  # noqa: D301 - click reads the \b
    from jrr.survey.analyses import analysis_lines
    from jrr.survey.creation import SurveyRequest
    from jrr.survey.draft import read_settings, request_fields, split_settings

    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    read = _draft(draft, **{name: options.pop(name) for name in ASKED})
    dealing = {name: options.pop(name) for name in DEALING}
    chosen = dict(read.settings) | read_settings(split_settings(settings))
    if dealing["groups"] is not None:
        chosen["deck"] = dealing["groups"]
    request = SurveyRequest(
        draft=read,
        dealing=dealing_of(**dealing),
        invitations=not public,
        after=None if after is None else read_survey_file(after),
        **options,
        **request_fields(chosen, read.languages),
    )
    with waiting("planning"):
        survey = request.survey(datetime.now(UTC))
    write_whole_bytes(out, survey.to_bytes())
    planned = request.planned_analyses() if request.draft.analyses else []
    facts = _facts(survey, out) | {"analyses": [one.to_dict() for one in planned]}
    show(facts, _lines(survey, out), *analysis_lines(planned))


def _draft(
    file: Path | None,
    *,
    question: str | None,
    labels: str | None,
    number: tuple[float, float] | None,
    group: tuple[str, ...],
    **texts: Any,
) -> "Draft":
    """The draft in a file, or that of one question."""
    from jrr.survey.draft import Draft, one_question

    given = {"question": question, "labels": labels, "number": number, "group": group} | texts
    if file is not None:
        for name, value in given.items():
            if value:
                raise checks.refusal(name, value, f"left out: the draft says it ({file})")
        if not file.is_file():
            raise checks.refusal("draft", str(file), "a TOML file that exists")
        return Draft.read(file)
    if question is None:
        raise ArgumentError("question must be given (--question), or a draft (a TOML file)")
    more = {name: value for name, value in texts.items() if value is not None}
    if labels is not None:
        if number is not None:
            raise ArgumentError("labels and number must not be given together")
        more["labels"] = _by_commas(labels)
    return one_question(question, number=number, groups=_groups(group), **more)


def _groups(given: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals:
            raise checks.refusal("group", text, "as region=north,south")
        found[name.strip()] = _by_commas(values)
    return found


def _by_commas(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _facts(survey: "Survey", out: Path) -> dict[str, Any]:
    return {
        "survey": survey.hash,
        "link": survey.link,
        "file": str(out),
        "wave": survey.wave,
        "guarantees": dict(survey.promised or {}),
        "delta": survey.delta,
        "learnt": survey.costs.to_dict(),
        "one_liar": survey.one_liar(survey.dealing.is_verified),
        "questions": {
            one.name: {"mechanism": one.mechanism.to_dict(), "epsilon": one.cost}
            for one in survey.sensitive
        },
        "protected_against_repeats": survey.invitations,
    }


def _lines(survey: "Survey", out: Path) -> Iterator[Line]:
    count = counted(len(survey.sensitive), "sensitive answer", "sensitive answers")
    yield f"Survey {survey.hash} in {out}: {count}"
    yield unwrapped(f"Link for programs (people: jrr survey invite --page): {survey.link}")
    for one in survey.sensitive:
        yield f"  {one.name}: {one.mechanism.brief()}, ε = {show_epsilon(one.cost)}"
    yield costs_table(survey.costs)
    if moved := survey.one_liar(survey.dealing.is_verified):
        yield f"{liar_words(moved)}."
    if survey.announces:
        yield (
            "Results come at the end, when dealers announce the sums of the cards that were used "
            "(jrr survey close)."
        )
    if not survey.invitations:
        yield Text(UNPROTECTED, style="bold")
