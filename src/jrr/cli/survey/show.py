"""`jrr survey show` and `change`: counts, results so far, and changes since the wave before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from jrr._base.wording import counted
from jrr.cli.options import interval_options, level_option, population_option, simultaneous_option
from jrr.cli.output import Line, json_option, print_json, show, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import (
    UNPROTECTED,
    operator_of,
    operator_options,
    read_survey_file,
    show_servers,
)
from jrr.cli.values import FILE
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.numerals import ChangeRow, change_rows, gains, sentence


@click.command("show")
@operator_options
@interval_options
@click.option(
    "--by",
    multiple=True,
    help="An open question: one estimate for each of its answers. Several: for each combination.",
)
@json_option
def show_survey(
    level: float,
    simultaneous: bool,
    population: str,
    population_size: int | None,
    by: tuple[str, ...],
    **options: Any,
) -> None:
    """Counts at the servers, and the results so far."""
    from jrr.client.operator import EstimateWish

    wish = EstimateWish(
        level=level,
        by=by or None,
        simultaneous=simultaneous,
        population=population,
        population_size=population_size,
    )
    operator = operator_of(**options)
    survey = operator.survey
    with waiting("asking the servers"):
        servers = operator.show()
        found = {} if operator.collector is None else operator.estimates(wish)
    if wants_json():
        print_json({"survey": survey.hash} | servers | {"estimates": found})
        return
    show_servers(survey, servers)
    if not survey.invitations:
        show(None, Text(UNPROTECTED, style="bold"))
    for question in survey.sensitive:
        if question.name in found:
            facts = found[question.name]
            show(None, f"\n{question.name}: {question.text}", _result_lines(facts, level))


def _result_lines(facts: dict[str, Any], level: float) -> Iterator[Line]:
    """An estimate as a collector tells it, or why there is none, in words."""
    reason = next((facts[kind] for kind in ("waits", "too_few", "refused") if kind in facts), None)
    if reason is not None:
        yield f"{counted(facts['reports'], 'report', 'reports')}, no result: {reason}"
        return
    final = f"{100 * level:g}%, {'final' if facts['final'] else 'so far'}"
    everybody = {"name": "everybody"} | facts["estimate"]
    if "mean" in facts:
        everybody["mean"] = facts["mean"]
    everybody |= {"crossed": facts.get("crossed", {})}
    groups = (everybody, *facts.get("groups", []))
    for group in groups:
        if "mean" in group:
            mean, (low, high) = group["mean"]["mean"], group["mean"]["interval"]
            yield f"{group['name']}, mean: {mean:.6g} ({low:.6g} to {high:.6g}, {final})"
            continue
        shares = zip(facts["labels"], group["frequencies"], group["interval"], strict=True)
        for label, share, (low, high) in shares:
            yield (
                f"{group['name']}, {label}: {100 * share:.2f}% ({100 * low:.2f}% to "
                f"{100 * high:.2f}%, {final})"
            )
        for part, told in group.get("crossed", {}).items():
            for place, (low, high) in enumerate(told["interval"]):
                value = 100 * told["value"][place]
                yield (
                    f"{group['name']}, {part}, answer {place + 1}: {value:.2f}% ({100 * low:.2f}% "
                    f"to {100 * high:.2f}%, {final})"
                )
    fields = ("level", "simultaneous", "population", "population_size")
    yield sentence(**{name: everybody[name] for name in fields})
    told = [share for group in groups if "mean" not in group for share in group["frequencies"]]
    if any(not 0 <= share <= 1 for share in told):
        yield OUTSIDE
    small = facts.get("groups_too_small", 0)
    if small:
        yield f"{counted(small, 'group is', 'groups are')} too small to be shown."


@click.command()
@operator_options
@click.option("--since", type=FILE, required=True, help="The survey of the wave before.")
@click.option("--paired", is_flag=True, help="Only among those who answered both waves.")
@level_option
@simultaneous_option
@population_option
@json_option
def change(
    since: Path, paired: bool, level: float, simultaneous: bool, population: str, **options: Any
) -> None:
    """How every question has changed since the wave before."""
    from jrr.client.operator import EstimateWish

    before = read_survey_file(since)
    wish = EstimateWish(level=level, simultaneous=simultaneous, population=population)
    operator = operator_of(**options)
    with waiting("asking the collector"):
        found = operator.change(before, paired=paired, wish=wish)
    whom = "among those who answered both" if paired else "among those who answered each"
    show(
        found,
        f"Change from wave {before.wave} to wave {operator.survey.wave}, {whom}",
        *(_line(row, f"{100 * level:g}%") for row in change_rows(found["changes"])),
        *gains(found["changes"]),
    )


def _line(row: ChangeRow, level: str) -> str:
    if not row.change:
        return f"{row.question}: not shown: {row.interval}"
    about = f"{row.question}, {row.answer}" if row.answer else row.question
    return f"{about}: {row.change} ({row.interval}, {level})"
