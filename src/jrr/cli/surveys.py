"""What `jrr campaign` and `jrr contribute` do where the document is a survey of several items."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr._base.wording import counted, show_epsilon
from jrr.cli.costs import print_costs
from jrr.cli.estimates import print_estimate
from jrr.cli.options import console, dealer_cap, print_json
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError, DamagedError

if TYPE_CHECKING:
    from jrr.client.survey_operator import SurveyOperator
    from jrr.survey.surveys import Survey

SURVEY_OPTIONS = frozenset(  # of `jrr campaign create` that make sense for several items
    (
        "questionnaire",
        "people",
        "response",
        "after",
        "epsilon",
        "mechanism",
        "lost",
        "dealer",
        "may_leave_out",
        "closed_deck",
        "collector",
        "opens",
        "closes",
        "public",
        "min_cell",
        "results_every",
        "min_batch",
        "consent_file",
        "consent_version",
        "out",
        "force",
        "as_json",
        "dealer_epsilon",
        "no_dealer_cap",
    )
)


def survey_options_of(given: dict[str, Any], languages: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a `SurveyRequest` among options that were given, by their names."""
    names = ("epsilon", "mechanism", "lost", "may_leave_out", "closed_deck", "opens", "closes")
    more = ("min_cell", "results_every", "min_batch", "consent_version")
    options = {name: given[name] for name in (*names, *more) if name in given}
    if "consent_file" in given:
        options["consent"] = dict.fromkeys(languages, given["consent_file"].read_text("utf-8"))
    return options | {
        "collector": given["collector"],
        "dealers": given.get("dealer", ()),
        "dealer_epsilon": dealer_cap(
            given.get("dealer_epsilon"), given.get("no_dealer_cap", False)
        ),
        "invitations": not given.get("public", False),
    }


def write_survey(survey: "Survey", out: Path, as_json: bool) -> None:
    """Write the document of a survey, and say what is in it."""
    write_whole_bytes(out, survey.to_bytes())
    facts = {
        "survey": survey.hash,
        "link": survey.link,
        "file": str(out),
        "wave": survey.wave,
        "guarantees": dict(survey.promised or {}),
        "delta": survey.delta,
        "learnt": survey.costs.to_dict(),
        "items": {
            name: {"mechanism": one.mechanism.to_dict(), "epsilon": one.cost}
            for name, one in survey.campaigns.items()
        },
        "protected_against_repeats": survey.invitations,
    }
    if as_json:
        print_json(facts)
        return
    screen = console()
    screen.print(f"Survey {survey.hash} in {out}: {counted(len(survey.parts), 'part', 'parts')}")
    screen.print(f"Link for programs (people: invite --page): {survey.link}", soft_wrap=True)
    for part in survey.parts:
        cost = show_epsilon(part.campaign.cost)
        screen.print(f"  {part.name}: {part.campaign.mechanism.brief()}, ε = {cost}")
    print_costs(screen, survey.costs)


def deleted_words(facts: dict[str, Any]) -> str:
    """How many reports were deleted at the end, if any were."""
    deleted = facts.get("collector", {}).get("discarded", 0)
    return f"; deleted: {counted(deleted, 'report', 'reports')}" if deleted else ""


def title_of(file: Path) -> str:
    """The title of a survey in its first language."""
    from jrr.survey.surveys import read_survey

    return next(iter(read_survey(file.read_bytes()).questionnaire.title.values()))


def open_survey(operator: "SurveyOperator", n: int | None, as_json: bool) -> None:
    """Install the survey at the servers and open it."""
    if n is not None:
        raise checks.refusal("n", n, "left out: a survey deals on arrival")
    operator.install()
    with waiting("opening every part"):
        opened = operator.open()
    say_survey(as_json, operator.survey, opened)


def close_survey(
    operator: "SurveyOperator",
    decks: int | None,
    names: Path | None,
    sums: tuple[Path, ...],
    wished: dict[str, Any],
    as_json: bool,
) -> bool | None:
    """Close every part; where servers are in different hands, files carry names and sums.

    Returns:
        Whether the collector has all sums of the cards; None where none are announced.
    """
    from jrr.client.closing import Ending

    if decks is not None:
        raise checks.refusal("decks", decks, "left out: a survey has several decks")
    alone = operator.collector is None
    with waiting("closing every part"):
        closed = operator.close(
            Ending(**wished, carries_names=names is not None),
            names=_read(names) if alone and names is not None else None,
            sums=[_read(file) for file in sums] if not alone and sums else None,
        )
    _write_carried(operator.survey, closed, names, sums)
    if as_json:
        print_json({"survey": operator.survey.hash, "parts": closed})
    else:
        screen = console()
        for part, facts in closed.items():
            states = ", ".join(f"{server} {reply['state']}" for server, reply in facts.items())
            screen.print(f"{part}: {states}{deleted_words(facts)}")
    announced = [part.name for part in operator.survey.parts if part.campaign.announces]
    if not announced:
        return None
    collectors = [closed[name].get("collector", {}) for name in announced]
    return all(facts.get("settled", False) for facts in collectors)


def show_survey(
    operator: "SurveyOperator", level: float, by: str | None, wish: dict[str, Any], as_json: bool
) -> None:
    """Counts at the servers and, from the collector, the estimate of every item."""
    with waiting("asking the servers"):
        servers = operator.show()
        found = {} if operator.collector is None else operator.estimates(level, by, **wish)
    if as_json:
        print_json({"survey": operator.survey.hash} | servers | {"estimates": found})
        return
    say_survey(False, operator.survey, servers)
    screen = console()
    for part in operator.survey.parts:
        facts = found.get(part.name)
        if facts is None:
            continue
        screen.print(f"\n{part.name}: {part.campaign.question}")
        if "results_wait" in facts:
            screen.print(f"No result yet: {facts['results_wait']}.")
        elif "too_few" in facts:
            reports = counted(facts["too_few"]["reports"], "report", "reports")
            screen.print(f"{reports}: too few to estimate from.")
        else:
            print_estimate(screen, facts, level)


def show_change(
    operator: "SurveyOperator",
    since: Path,
    paired: bool,
    level: float,
    wish: dict[str, Any],
    as_json: bool,
) -> None:
    """How every item has changed since the wave before."""
    from jrr.survey.surveys import read_survey

    before = read_survey(since.read_bytes())
    with waiting("asking the collector"):
        found = operator.change(before, paired=paired, level=checks.level(level), **wish)
    if as_json:
        print_json(found)
        return
    screen = console()
    whom = "among those who answered both" if paired else "among those who answered each"
    screen.print(f"Change from wave {before.wave} to wave {operator.survey.wave}, {whom}")
    for name, facts in found["changes"].items():
        if "refused" in facts:
            screen.print(f"{name}: not shown: {facts['refused']}")
        elif "mean" in facts:
            low, high = facts["mean"]["interval"]
            moved = facts["mean"]["change"]
            screen.print(f"{name}: {moved:+.4g} ({low:+.4g} to {high:+.4g}, {100 * level:g}%)")
        else:
            for label, moved, (low, high) in zip(
                facts["labels"], facts["difference"], facts["interval"], strict=True
            ):
                screen.print(
                    f"{name}, {label}: {100 * moved:+.2f} points ({100 * low:+.2f} to "
                    f"{100 * high:+.2f}, {100 * level:g}%)"
                )


def say_exported(survey: str, files: dict[str, str], as_json: bool) -> None:
    """Which files an export has written."""
    if as_json:
        print_json({"survey": survey, "file": files["answers"]} | files)
        return
    screen = console()
    screen.print(f"Answers: {files['answers']}", soft_wrap=True)
    beside = f"{files['codebook']} and {files['codebook_json']}"
    screen.print(f"What the columns are: {beside}", soft_wrap=True)
    screen.print(f"Estimates in R: {files['r']}", soft_wrap=True)


def say_survey(as_json: bool, survey: "Survey", facts: dict[str, Any]) -> None:
    """What each server says of a survey: one line of JSON, or of words per server."""
    if as_json:
        print_json({"survey": survey.hash} | facts)
        return
    screen = console()
    screen.print(f"Survey {survey.hash}: {next(iter(survey.questionnaire.title.values()))}")
    for server, reply in facts.items():
        if isinstance(reply, str):
            screen.print(f"{server}: {reply}")
            continue
        people = (
            f", {counted(reply['reports'], 'person', 'people')} answered"
            if ("reports" in reply)
            else ""
        )
        screen.print(f"{server}: {reply['state']}, {reply['invited']:,} invited{people}")


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise checks.refusal("file", str(file), f"readable ({error.strerror})") from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DamagedError(f"{file} must be a file that jrr campaign close wrote")
    return document


def _write_carried(
    survey: "Survey", closed: dict[str, Any], names: Path | None, sums: tuple[Path, ...]
) -> None:
    """Write what another server's operator needs: of every part, in one file."""
    named: dict[int, dict[str, Any]] = {}  # dealer -> part -> serial numbers
    told: dict[str, Any] = {}  # part -> what the dealer announced
    for part, servers in closed.items():
        for facts in servers.values():
            for number, document in (facts.pop("names", None) or {}).items():
                named.setdefault(int(number), {})[part] = document
            announced = facts.pop("announced", None)
            if announced is not None:
                told[part] = announced
    if named and names is None:
        raise ArgumentError(
            "the collector is closed; --names must say where to write the serials for the "
            "dealer's operator, or the dealer's token must be given (JRR_DEALER_TOKEN)"
        )
    for number, documents in named.items():
        several = len(survey.dealer.addresses) > 1
        assert names is not None  # refused above
        file = names.with_name(f"{names.name}.{number}") if several else names
        write_whole(file, json.dumps(documents), private=True)
    if told and len(sums) != 1:
        raise ArgumentError(
            "the sums are announced; --sums must say where to write them for the collector's "
            "operator: give the same command again with it"
        )
    if told:
        write_whole(sums[0], json.dumps(told), private=True)
