"""A plan as plain values, and as tables and sentences."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from rich.text import Text

from jrr._base.wording import aligned, counted, percentage_points, show_at_least, show_epsilon
from jrr.cli.costs import costs_table, liar_words, people_moved
from jrr.cli.output import Line, make_table
from jrr.estimation.estimates import quantile
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.request import Frequency
from jrr.planning.choice import costs_of
from jrr.planning.lost_cards import lost_cards
from jrr.planning.plans import FREQUENCIES, Plan, epsilon_of_everything
from jrr.reporting.explain import adversaries, costs_of_plan

SHOWN = ("report", "truths", "cards", "everything", "dealer")


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
        "one_liar_verified": chosen_plan.one_liar_verified,
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


def _everything(chosen_plan: Plan, mechanism: Mechanism, delta: float) -> float:
    if mechanism == chosen_plan.mechanism:
        return chosen_plan.everything(delta)
    return epsilon_of_everything(mechanism, chosen_plan.request.colluders, delta)


def _compared_lines(chosen_plan: Plan, delta: float) -> Iterator[Line]:
    """Accuracy, privacy and price of every mechanism, the chosen one in bold."""
    request = chosen_plan.request
    compared = chosen_plan.compare(shown_frequencies(request.frequency))
    rows = [(row, row.mechanism) for row in compared if row.mechanism is not None]
    places = [at for at, (_, mechanism) in enumerate(rows) if mechanism == chosen_plan.mechanism]
    chosen = places[:1]
    names = [
        f"{row.name} (chosen)" if at in chosen else row.name for at, (row, _) in enumerate(rows)
    ]
    errors = [[*row.stderr.values(), row.expected_stderr] for row, _ in rows]
    known = [
        {**row.epsilon, "everything": _everything(chosen_plan, mechanism, delta)}
        for row, mechanism in rows
    ]
    columns = [aligned([line[view] for line in known], digits=4, up=True) for view in SHOWN]
    yield (
        f"{request.n:,} people, {request.k} answers, ε = {request.epsilon:g} in the view "
        f"{chosen_plan.view}, {counted(request.colluders, 'colluder', 'colluders')}, "
        f"{100 * request.lost:g}% of cards lost\n"
    )
    yield make_table(
        ("", *(f"{100 * frequency:g}%" for frequency in rows[0][0].stderr), "expected"),
        _named(names, rows_aligned([[100 * value for value in line] for line in errors])),
        title="Standard error of an estimated share, in percentage points, at a true share of",
        bold=chosen,
    )
    liars = ", ".join(f"{row.name} {people_moved(row.one_liar)}" for row, _ in rows)
    yield f"People by whom one contributor who lies can move an estimate: {liars}."
    yield make_table(
        ("", *SHOWN),
        _named(names, zip(*columns, strict=True)),
        title="ε by view: what the adversary has besides the report (rounded up; everything: an "
        f"upper bound of (ε, δ)-differential privacy with δ = {delta:g})",
        bold=chosen,
    )
    prices = [costs_of(mechanism, request.n) for _, mechanism in rows]
    yield make_table(
        ("", "bytes a report", "bytes a card", "to deal", "all reports"),
        (
            (
                name,
                f"{costs.report_bytes:,}",
                f"{costs.card_bytes:,}",
                f"{costs.deal_seconds:.2g} s",
                f"{costs.respond_seconds:.2g} s",
            )
            for name, costs in zip(names, prices, strict=True)
        ),
        title="What it costs; times of one core, about",
        bold=chosen,
    )
    if any(row.family.encodes and mechanism.deals for row, mechanism in rows):
        yield "Encodings with cards: no law is known of everything; the dealer's bounds it."
    for row in compared:
        if row.note:
            yield f"{row.name}: {row.note}"
    if chosen_plan.losses is not None and chosen_plan.losses.compositions != "all":
        reached = chosen_plan.everything_at_least(delta)
        most = show_epsilon(chosen_plan.everything(delta))
        tight = f"; some answers do reach {show_at_least(reached)}" if reached else ""
        yield f"Chosen, everything: at most {most} whatever the others answer{tight}."


def _named(names: Iterable[str], rows: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """Rows whose first cell is a name."""
    return [(name, *row) for name, row in zip(names, rows, strict=True)]


def _lost_cards_lines(chosen_plan: Plan) -> Iterator[Line]:
    """Error against the share of cards that are dealt and never reported with."""
    if not chosen_plan.mechanism.deals:
        return
    rows = lost_cards(chosen_plan)
    names = list(rows[0].stderr)
    errors = rows_aligned([[100 * row.stderr[name] for row in rows] for name in names])
    yield make_table(
        ("", *(f"{100 * row.lost:g}%" for row in rows)),
        _named(names, errors),
        title="Expected standard error, in percentage points, where of the cards are lost",
    )


def shown_frequencies(known: Frequency) -> tuple[float, ...]:
    """The shares of which a plan shows the error: the usual ones, and what is known of the answer.

    Of an interval its ends and its middle are shown: the others are not expected.
    """
    if isinstance(known, tuple):
        low, high = known
        return tuple(dict.fromkeys((low, (low + high) / 2, high)))
    return FREQUENCIES if known is None else tuple(sorted({*FREQUENCIES, known}))


def rows_aligned(rows: list[list[float]]) -> list[list[str]]:
    """All numbers of a table with equally many decimals."""
    width = len(rows[0])
    shown = aligned([value for row in rows for value in row])
    return [shown[at : at + width] for at in range(0, len(shown), width)]


def answer_lines(chosen_plan: Plan, delta: float) -> Iterator[Line]:
    """What was chosen, how accurate it is, and what each adversary can learn, in sentences."""
    request, mechanism = chosen_plan.request, chosen_plan.mechanism
    margin = f"{100 * quantile(0.95) * chosen_plan.stderr():.3g}"
    error = f"{100 * chosen_plan.stderr():.3g}"
    yield (
        f"{counted(request.n, 'person', 'people')}, {request.k} answers, ε = {request.epsilon:g}: "
        f"{mechanism.name}, {mechanism.title}"
    )
    yield (
        f"A share is known to ±{percentage_points(margin)} (95%). Expected standard error: "
        f"{percentage_points(error)}."
    )
    for adversary in adversaries(chosen_plan, delta):
        yield f"• {adversary.sentence}"
    if mechanism.deals and request.dealer_epsilon is None:
        yield Text(
            "NO CAP ON THE DEALER: a dealer who colludes with the collector "
            f"learns: ε {show_epsilon(chosen_plan.guarantees['dealer'])}.",
            style="bold",
        )
    yield liar_words(chosen_plan.one_liar) + (
        f"; in a survey over a network, where cards are verified unless told otherwise, by "
        f"{people_moved(chosen_plan.one_liar_verified)}."
        if mechanism.announced
        else "."
    )
    yield f"Chosen: {mechanism.brief()}"


def detail_lines(chosen_plan: Plan, delta: float) -> Iterator[Line]:
    """The other mechanisms beside it, lost cards, and what is learnt at most."""
    yield ""
    yield from _compared_lines(chosen_plan, delta)
    yield from _lost_cards_lines(chosen_plan)
    yield costs_table(costs_of_plan(chosen_plan, delta))
