"""`jrr plan`: which mechanism, how accurate, how private."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from jrr._base import checks
from jrr._base.files import write_whole
from jrr._base.wording import aligned, counted, percentage_points, show_at_least, show_epsilon
from jrr.cli.compare import as_documents, compare, print_alternatives
from jrr.cli.costs import print_costs
from jrr.cli.counts import COUNT, CountRange
from jrr.cli.numbers import show_number_plan
from jrr.cli.options import (
    console,
    delta_option,
    interval_options,
    json_option,
    make_number_plan,
    make_plan,
    number_options,
    print_json,
    survey_options,
    view_option,
)
from jrr.cli.progress import waiting
from jrr.cli.two_phases import show_two_phases
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.estimates import Population, sampling_of
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.request import Frequency
from jrr.planning.costs import costs_of
from jrr.planning.defaults import MAX_BYTES
from jrr.planning.lost_cards import lost_cards
from jrr.planning.plans import FREQUENCIES, Plan, epsilon_of_everything
from jrr.planning.required import check_margin, required_epsilon, required_n
from jrr.planning.two_phases import FIRST_SHARE
from jrr.privacy.views import PlanView
from jrr.reporting.explain import adversaries, costs_of_plan

FILE = click.Path(dir_okay=False, path_type=Path)
SHOWN = ("report", "truths", "cards", "everything", "dealer")


@click.command()
@click.argument(
    "questionnaire", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False
)
@click.option("--people", type=COUNT, help="With a questionnaire: how many are invited.")
@click.option(
    "--response", type=float, default=1.0, help="With a questionnaire: who answers, as a share."
)
@survey_options
@number_options
@click.option("--margin", type=float, help="Also: how many people, or which ε, for ±MARGIN.")
@interval_options
@click.option(
    "--two-phase",
    type=float,
    is_flag=False,
    flag_value=FIRST_SHARE,
    metavar="[SHARE]",
    help="Whether it pays to ask a share of the people first and to plan for the others by what "
    f"they say.  [alone: {FIRST_SHARE:g}]",
)
@click.option("--compare", "others", is_flag=True, help="Also: shuffling, secure aggregation.")
@delta_option
@view_option
@click.option(
    "--max-bytes",
    type=CountRange(1),
    default=MAX_BYTES,
    show_default=True,
    help="Most bytes of a report in an automatic choice.",
)
@click.option("--plot", type=FILE, help="Draw error against frequency.")
@click.option("--lost-plot", type=FILE, help="Draw error against the share of lost cards.")
@click.option("--curve", type=FILE, help="Draw δ against ε in the view everything.")
@click.option("--losses", type=FILE, help="Write the law of the loss in that view, as JSON.")
@json_option
def plan(
    questionnaire: Path | None,
    people: int | None,
    response: float,
    number: tuple[float, float] | None,
    mean: float | None,
    sd: float | None,
    margin: float | None,
    population: Population,
    population_size: int | None,
    two_phase: float | None,
    others: bool,
    delta: float,
    view: PlanView,
    max_bytes: int,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
    as_json: bool,
    **survey: Any,
) -> None:
    """Choose a mechanism before a survey, and compare it with the others.

    With a QUESTIONNAIRE (a TOML file, docs/questionnaires.md): how exact every item would be.

    Standard errors are of the estimated share of one answer. The dealer is capped at ε + 2
    unless told otherwise. --compare sets plans beside other ways to ask yes or no: reports that
    travel through a shuffler, and answers that are added up in secret. --two-phase says whether
    a small first phase makes the whole survey more accurate, and how to plan both; `jrr estimate
    --pool` then adds them up.

    \b
    jrr plan -n 10000 -e 0.1 -M 5
    jrr plan -n 2000 -e 1 --margin 0.02 --plot plan.png
    jrr plan -n 10000 -e 0.1 --compare
    jrr plan -n 1000 -e 0.1 --view everything
    jrr plan -n 1000000 -e 0.1 -M 10000 --mechanism jrr --two-phase 0.02
    jrr plan survey.toml --people 2000 --response 0.6 -e 2
    jrr plan -n 10000 -e 1 --number 0:100 --mean 45 --sd 15
    """  # noqa: D301 - click reads the \b
    if questionnaire is not None:
        _plan_questionnaire(questionnaire, people, response, survey, as_json)
        return
    if people is not None:
        raise ArgumentError("--people must be given with a questionnaire; otherwise say -n")
    if two_phase is not None:
        unused = {
            "--number": number is not None,
            "--margin": margin is not None,
            "--compare": others,
            "--view everything": view == "everything",
            "--plot, --lost-plot, --curve and --losses": any((plot, lost_plot, curve, losses)),
        }
        for option, given in unused.items():
            if given:
                raise ArgumentError(f"{option} must not be given with --two-phase")
        show_two_phases(two_phase, max_bytes, survey, as_json=as_json)
        return
    if number is not None:
        others_given = (margin, others or None, plot, lost_plot, curve, losses)
        if any(option is not None for option in others_given):
            raise ArgumentError(
                "--margin, --compare, --plot, --lost-plot, --curve and --losses must not be given "
                "with --number"
            )
        about: Any = {"mean": mean, "sd": sd, "view": view, "delta": delta}
        show_number_plan(
            make_number_plan(number, **about, **survey),
            {"population": population, "population_size": population_size},
            as_json=as_json,
        )
        return
    if mean is not None or sd is not None:
        raise ArgumentError("--mean and --sd must be given with --number")
    chosen_plan = make_plan(**survey, view=view, delta=delta, max_bytes=max_bytes)
    if margin is not None and chosen_plan.delta is not None:
        raise ArgumentError("--margin and --view everything must not be given together")
    sampling_of(population, chosen_plan.request.n, population_size)  # refused before the search
    whom = {"population": population, "population_size": population_size}
    reach = {}
    if margin is not None:
        wanted_margin = check_margin(margin)
        with waiting("looking for how many people, and which ε"):
            reach = _reach(chosen_plan, wanted_margin, survey["mechanism"], whom)
    elif population != "respondents":
        raise checks.refusal("population", population, "given with --margin")
    rows_of_others = compare(chosen_plan.request, delta, quiet=as_json) if others else []
    with waiting("writing files"):
        _write_files(chosen_plan, plot, lost_plot, curve, losses)
    if as_json:
        with waiting("comparing"):
            document = as_document(chosen_plan, delta) | ({"reach": reach} if reach else {})
        if others:
            document["alternatives"] = as_documents(rows_of_others, chosen_plan.request.n)
        print_json(document)
        return
    screen = console()
    _print_comparison(screen, chosen_plan, delta)
    _print_lost_cards(screen, chosen_plan)
    _print_statement(screen, chosen_plan, delta)
    if reach:
        needed, epsilon = reach["required_n"], reach["required_epsilon"]
        wanted = percentage_points(f"{100 * reach['margin']:g}")
        screen.print(
            f"For ±{wanted} (95%{_of_whom(reach)}): "
            f"{f'{needed:,} people' if needed else 'no number of people'} at this ε, or "
            f"{f'ε = {show_epsilon(epsilon)}' if epsilon else 'no ε'} with this many people."
        )
    if others:
        print_alternatives(screen, rows_of_others, chosen_plan.request.n, delta)
    pictures = (("Picture", plot), ("Picture", lost_plot), ("Picture", curve))
    for name, file in (*pictures, ("Law of the loss", losses)):
        if file:
            screen.print(f"{name}: {file}")


def _plan_questionnaire(
    path: Path, people: int | None, response: float, survey: dict[str, Any], as_json: bool
) -> None:
    """Only what was said on the command line goes before what the file says."""
    from jrr.cli.questionnaire import show_questionnaire_plan

    if people is None:
        raise ArgumentError("--people must be given with a questionnaire, got none")
    said = click.get_current_context().get_parameter_source("epsilon")
    default = said is click.core.ParameterSource.DEFAULT
    show_questionnaire_plan(
        path,
        people,
        as_json,
        response=response,
        epsilon=None if default else survey["epsilon"],
        dealer_epsilon=survey["dealer_epsilon"],
        lost=survey["lost"],
        announced=not survey["closed_deck"],
    )


def as_document(chosen_plan: Plan, delta: float) -> dict[str, Any]:
    """The plan as plain values."""
    request = chosen_plan.request
    return {
        "n": request.n,
        "epsilon": request.epsilon,
        "colluders": request.colluders,
        "k": request.k,
        "dealer_epsilon": request.dealer_epsilon,
        "dealer_capped": request.dealer_epsilon is not None,
        "frequency": request.frequency,
        "lost": request.lost,
        "announced": request.announced,
        "mechanism": chosen_plan.mechanism.to_dict(),
        "guarantees": dict(chosen_plan.guarantees),
        "everything": {
            "epsilon": chosen_plan.everything(delta),
            "at_least": chosen_plan.everything_at_least(delta),
            "sure_epsilon": chosen_plan.surely(delta),
            "delta": delta,
        },
        "learnt": costs_of_plan(chosen_plan, delta).to_dict(),
        "stderr": chosen_plan.stderr(),
        "one_liar": chosen_plan.one_liar,
        "costs": asdict(chosen_plan.costs),
        "by_lost": [
            {"lost": row.lost, "stderr": dict(row.stderr)} for row in lost_cards(chosen_plan)
        ],
        "compare": [
            {
                "name": row.name,
                "mechanism": row.mechanism and row.mechanism.to_dict(),
                "stderr": {f"{f:g}": error for f, error in row.stderr.items()},
                "expected_stderr": row.expected_stderr,
                "one_liar": row.one_liar,
                "epsilon": dict(row.epsilon),
                "everything": row.mechanism and _everything(chosen_plan, row.mechanism, delta),
                "costs": row.costs and asdict(row.costs),
                "note": row.note,
            }
            for row in chosen_plan.compare(shown_frequencies(request.frequency))
        ],
    }


def _write_files(
    chosen_plan: Plan,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
) -> None:
    """The pictures and the law that were asked for."""
    if plot:
        from jrr.reporting.plots import draw_plan

        draw_plan(chosen_plan, plot)
    if lost_plot:
        from jrr.reporting.plots import draw_lost_cards

        draw_lost_cards(chosen_plan, lost_plot)
    if curve:
        from jrr.reporting.plots import draw_losses

        draw_losses(chosen_plan, curve)
    if losses:
        _write_losses(chosen_plan, losses)


def _write_losses(chosen_plan: Plan, path: Path) -> None:
    if chosen_plan.losses is None:
        raise checks.refusal("losses", str(path), "for RR, JRR or DRR: no law is known of others")
    document = {"mechanism": chosen_plan.mechanism.to_dict(), **chosen_plan.losses.to_dict()}
    write_whole(path, json.dumps(document) + "\n")


def _everything(chosen_plan: Plan, mechanism: Mechanism, delta: float) -> float:
    if mechanism == chosen_plan.mechanism:
        return chosen_plan.everything(delta)
    return epsilon_of_everything(mechanism, chosen_plan.request.colluders, delta)


def _reach(
    chosen_plan: Plan, margin: float, mechanism: str, whom: dict[str, Any]
) -> dict[str, Any]:
    """How many people at this ε, or which ε with this many people; None where none is enough."""
    r = chosen_plan.request
    cap = math.inf if r.dealer_epsilon is None else r.dealer_epsilon
    free = cap == math.inf
    expected: dict[str, Any] = {"lost": r.lost, "announced": r.announced}
    above = None if free else cap - r.epsilon  # where ε is sought the cap moves along
    people = _or_none(
        lambda: required_n(
            margin, r.epsilon, r.colluders, r.k, cap, mechanism, r.frequency, **whom, **expected
        )
    )
    epsilon = _or_none(
        lambda: required_epsilon(
            margin,
            r.n,
            r.colluders,
            r.k,
            cap if free else None,
            mechanism,
            r.frequency,
            dealer_above=above,
            **whom,
            **expected,
        )
    )
    return {"margin": margin, "required_n": people, "required_epsilon": epsilon} | whom


def _of_whom(reach: dict[str, Any]) -> str:
    if reach["population"] == "respondents":
        return ""
    size = reach["population_size"]
    return f", for a population{'' if size is None else f' of {size:,}'} drawn from at random"


def _or_none(search: Callable[[], float]) -> float | None:
    try:
        return search()
    except JrrError:
        return None


def _print_comparison(screen: Console, chosen_plan: Plan, delta: float) -> None:
    request = chosen_plan.request
    with waiting("comparing"):
        compared = chosen_plan.compare(shown_frequencies(request.frequency))
        rows = [(row, row.mechanism) for row in compared if row.mechanism is not None]
        known = [
            {**row.epsilon, "everything": _everything(chosen_plan, mechanism, delta)}
            for row, mechanism in rows
        ]
    frequencies = list(rows[0][0].stderr)
    error = _table("Standard error of an estimated share, in percentage points, at a true share of")
    privacy = _table(
        "ε by view: what the adversary has besides the report (rounded up; everything: an upper "
        f"bound of (ε, δ)-differential privacy with δ = {delta:g})"
    )
    for frequency in frequencies:
        error.add_column(f"{100 * frequency:g}%", justify="right")
    error.add_column("expected", justify="right")
    price = _table("What it costs; times of one core, about")
    for heading in ("bytes a report", "bytes a card", "to deal", "all reports"):
        price.add_column(heading, justify="right")
    for view in SHOWN:
        privacy.add_column(view, justify="right")
    first = next((row for row, mechanism in rows if mechanism == chosen_plan.mechanism), None)
    numbers = [[*row.stderr.values(), row.expected_stderr] for row, _ in rows]
    errors = _rows_aligned([[100 * value for value in line] for line in numbers])
    columns = [aligned([line[view] for line in known], digits=4, up=True) for view in SHOWN]
    for at, (row, mechanism) in enumerate(rows):
        chosen = row is first
        name = f"{row.name} (chosen)" if chosen else row.name
        style = "bold" if chosen else None
        error.add_row(name, *errors[at], style=style)
        costs = costs_of(mechanism, request.n)
        price.add_row(
            name,
            f"{costs.report_bytes:,}",
            f"{costs.card_bytes:,}",
            f"{costs.deal_seconds:.2g} s",
            f"{costs.respond_seconds:.2g} s",
            style=style,
        )
        privacy.add_row(name, *(column[at] for column in columns), style=style)
    screen.print(
        f"{request.n:,} people, {request.k} answers, ε = {request.epsilon:g} in the view "
        f"{chosen_plan.view}, {counted(request.colluders, 'colluder', 'colluders')}, "
        f"{100 * request.lost:g}% of cards lost\n"
    )
    screen.print(error)
    liars = ", ".join(f"{row.name} {_people(row.one_liar)}" for row, _ in rows)
    screen.print(f"People by whom one contributor who lies can move an estimate: {liars}.")
    screen.print(privacy)
    screen.print(price)
    if any(row.family.encodes and mechanism.deals for row, mechanism in rows):
        screen.print("Encodings with cards: no law is known of everything; the dealer's bounds it.")
    for row in compared:
        if row.note:
            screen.print(f"{row.name}: {row.note}")
    if chosen_plan.losses is not None and chosen_plan.losses.compositions != "all":
        reached = chosen_plan.everything_at_least(delta)
        most = show_epsilon(chosen_plan.everything(delta))
        tight = f"; some answers do reach {show_at_least(reached)}" if reached else ""
        screen.print(f"Chosen, everything: at most {most} whatever the others answer{tight}.")


def _print_lost_cards(screen: Console, chosen_plan: Plan) -> None:
    """Error against the share of cards that are dealt and never reported with."""
    if not chosen_plan.mechanism.deals:
        return
    rows = lost_cards(chosen_plan)
    table = _table("Expected standard error, in percentage points, where of the cards are lost")
    for row in rows:
        table.add_column(f"{100 * row.lost:g}%", justify="right")
    names = list(rows[0].stderr)
    shown = _rows_aligned([[100 * row.stderr[name] for row in rows] for name in names])
    for name, line in zip(names, shown, strict=True):
        table.add_row(name, *line)
    screen.print(table)


def shown_frequencies(known: Frequency) -> tuple[float, ...]:
    """The shares of which a plan shows the error: the usual ones, and what is known of the answer.

    Of an interval its ends and its middle are shown: the others are not expected.
    """
    if isinstance(known, tuple):
        low, high = known
        return tuple(dict.fromkeys((low, (low + high) / 2, high)))
    return FREQUENCIES if known is None else tuple(sorted({*FREQUENCIES, known}))


def _rows_aligned(rows: list[list[float]]) -> list[list[str]]:
    """All numbers of a table with equally many decimals."""
    width = len(rows[0])
    shown = aligned([value for row in rows for value in row])
    return [shown[at : at + width] for at in range(0, len(shown), width)]


def _people(number: float) -> str:
    """A number of people, with one decimal where there are few."""
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="")
    table.add_column("")
    return table


def _print_statement(screen: Console, chosen_plan: Plan, delta: float) -> None:
    request = chosen_plan.request
    screen.print()
    screen.print(f"Chosen: {chosen_plan.mechanism.brief()}")
    for adversary in adversaries(chosen_plan, delta):
        screen.print(f"• {adversary.sentence}")
    print_costs(screen, costs_of_plan(chosen_plan, delta))
    if chosen_plan.mechanism.deals and request.dealer_epsilon is None:
        screen.print(
            "NO CAP ON THE DEALER: a dealer who colludes with the collector "
            f"learns: ε {show_epsilon(chosen_plan.guarantees['dealer'])}.",
            style="bold",
        )
    error = percentage_points(f"{100 * chosen_plan.stderr():.3g}")
    screen.print(f"Expected standard error: {error}.")
    screen.print(
        "One contributor who sends what it likes can move the number of people who are estimated "
        f"to hold an answer by {_people(chosen_plan.one_liar)}."
    )
