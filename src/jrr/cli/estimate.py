"""`jrr estimate`: shares with error bars from files of reports."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from jrr._base import checks
from jrr._base.wording import show_epsilon
from jrr.cli.counting import Counting, engine_options
from jrr.cli.counts import COUNT
from jrr.cli.numbers import show_means
from jrr.cli.options import (
    console,
    interval_options,
    json_option,
    print_json,
    simultaneous_option,
)
from jrr.cli.progress import bar
from jrr.errors import ArgumentError
from jrr.estimation.estimates import FEWEST_EFFECTIVE, Estimate, Population
from jrr.estimation.groups import HIDDEN_GROUP_REMARK, MIN_CELL
from jrr.estimation.pooling import pooled
from jrr.estimation.postprocess import STEPS
from jrr.planning.plans import DELTA
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.intervals import intervals_in_words, weights_in_words

if TYPE_CHECKING:
    from jrr.tables import Result

FILE = click.Path(dir_okay=False, path_type=Path)
ADD_UP = (
    "A contributor's losses by several answers add up: over all questions that were asked, and "
    "over all waves."
)
PAIRS = 45  # differences shown on a screen: those of ten groups


@click.command()
@click.argument("reports", nargs=-1, required=True)
@click.option("--by", help="A public column: one estimate per group, and their differences.")
@click.option("--weight", help="A column of survey weights.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@simultaneous_option
@interval_options
@click.option(
    "--min-cell",
    type=COUNT,
    default=MIN_CELL,
    show_default=True,
    help="Smallest group that is shown; if left out, of a survey's answers as the survey says.",
)
@click.option("--decks", type=COUNT, help="Decks dealt, where whole decks dropped out.")
@click.option("--key", type=FILE, help="The private key, for sealed reports.")
@click.option(
    "--postprocess", type=click.Choice(tuple(STEPS)), help="Also: shares made possible (biased)."
)
@click.option("--top", type=COUNT, default=20, show_default=True, help="Answers shown.")
@click.option("-o", "--out", type=FILE, help="Also: write the results as a .csv file.")
@click.option("--force", is_flag=True, help="Overwrite an existing file of results.")
@click.option("--plot", type=FILE, help="Draw the estimates.")
@click.option("--apart", is_flag=True, help="One estimate for each file, of one question or many.")
@click.option(
    "--pool",
    is_flag=True,
    help="One estimate of files of different mechanisms: surveys that asked different people the "
    "same question, such as two phases.",
)
@engine_options
@json_option
def estimate(
    *,
    reports: tuple[str, ...],
    by: str | None,
    weight: str | None,
    level: float,
    simultaneous: bool,
    population: Population,
    population_size: int | None,
    min_cell: int,
    decks: int | None,
    key: Path | None,
    postprocess: str | None,
    top: int,
    out: Path | None,
    force: bool,
    plot: Path | None,
    apart: bool,
    pool: bool,
    engine: str | None,
    table: str | None,
    header: Path | None,
    campaigns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate how many hold each answer, or the mean of a number, from files of reports.

    The mechanism and the labels are in the files. Shares are of the people who reported, and
    intervals count the noise of perturbation; with --population sample also that of choosing
    whom to ask. Each interval holds with the chance --level, with --simultaneous all of them at
    once. Of a survey's exported answers (Parquet) every question is estimated.

    Counting is left to --engine where there are very many reports, or where they lie in a
    database: duckdb (files, folders of Parquet files, a table of a DuckDB file), spark (Parquet
    and CSV) or postgres (all closed campaigns of a collector's database, or one table of any).

    \b
    jrr estimate reports.parquet
    jrr estimate reports.parquet --population sample --population-size 20000
    jrr estimate north.parquet south.csv --by region --plot shares.png
    jrr estimate first.csv second.csv --pool
    jrr estimate year.parquet --engine duckdb --by region --json
    jrr estimate postgresql://reader@host/collector --engine postgres --json
    """  # noqa: D301 - click reads the \b
    level = checks.level(level)
    top = checks.integer("top", top, 1)
    from jrr import tables
    from jrr.tables.estimating import check_results_file

    if out is not None:
        check_results_file(out, force)  # before anything is counted
    counting = Counting(
        sources=reports,
        engine=engine,
        table=table,
        header=header,
        campaigns=campaigns,
        estimate=tables.estimate,
        options={
            "by": by,
            "weight": weight,
            "key": key,
            "decks": decks,
            "population": population,
            "population_size": population_size,
        }
        | ({"min_cell": min_cell} if _is_given("min_cell") else {}),
    )
    if pool:
        unused = {"--apart": apart, "--by": by, "--postprocess": postprocess, "--plot": plot}
        for option, given in (unused | {"--out": out}).items():
            if given:
                raise ArgumentError(f"{option} must not be given with --pool")
        if counting.is_survey:
            raise ArgumentError("--pool must be left out: a survey's answers are to many questions")
        with bar("counting", as_json) as progress:
            surveys = counting.apart(progress)
        _show_pooled(surveys, level, simultaneous=simultaneous, top=top, as_json=as_json)
        return
    if apart or counting.is_collector or counting.is_survey:
        if plot is not None or postprocess is not None:
            given = "plot" if plot is not None else "postprocess"
            raise ArgumentError(f"{given} must be left out where there are several estimates")
        with bar("counting", as_json) as progress:
            found = counting.apart(progress)
        _show_several(
            found,
            level,
            simultaneous=simultaneous,
            top=top,
            out=out,
            is_survey=counting.is_survey,
            as_json=as_json,
        )
        return
    with bar("counting", as_json) as progress:
        result = counting.together(progress)
    means = result.means()
    if plot is not None and means:
        from jrr.reporting.plots import draw_means

        draw_means(means, plot, level, result.header.question)
    elif plot is not None:
        from jrr.reporting.plots import draw_estimate

        everybody = {"everybody": result.estimate}
        groups = {group.name: group.estimate for group in result.groups}
        question = result.header.question or ""
        draw_estimate(
            result.header.names,
            everybody | groups,
            plot,
            level,
            top,
            question,
            simultaneous=simultaneous,
        )
    if out is not None:
        result.write_csv(out, level, force=force)
    document = result.to_dict(level, step=postprocess, delta=DELTA, simultaneous=simultaneous)
    if as_json:
        print_json(document)
        return
    screen = console()
    report = _Report(screen=screen, result=result, level=level, top=top, simultaneous=simultaneous)
    report.print(document)
    if out is not None:
        screen.print(f"Results: {out}")
    if plot is not None:
        screen.print(f"Picture: {plot}")


def _is_given(option: str) -> bool:
    """Whether an option of the command was typed."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT


def _show_several(
    found: dict[str, "Result"],
    level: float,
    *,
    simultaneous: bool,
    top: int,
    out: Path | None,
    is_survey: bool,
    as_json: bool,
) -> None:
    documents = {
        name: result.to_dict(level, delta=DELTA, simultaneous=simultaneous)
        for name, result in found.items()
    }
    if out is not None:
        from jrr.tables.result_files import write_several

        write_several(found, out, level)
    if as_json:
        print_json({"estimates": documents})
        return
    screen = console()
    for name, result in found.items():
        screen.rule(name)
        _Report(
            screen=screen,
            result=result,
            level=level,
            top=top,
            simultaneous=simultaneous,
            is_survey=is_survey,
        ).print(documents[name])
    if is_survey:
        screen.print(f"\n{ADD_UP}", soft_wrap=True)
    if out is not None:
        screen.print(f"Results: {out}")


def _show_pooled(
    surveys: dict[str, "Result"], level: float, *, simultaneous: bool, top: int, as_json: bool
) -> None:
    """One estimate of the people of all files, which may be of different mechanisms."""
    results = list(surveys.values())
    answers = results[0].header.names
    for name, result in surveys.items():
        if result.header.number is not None:
            raise ArgumentError(f"{name} must be of shares with --pool, got the mean of a number")
        if result.header.names != answers:
            raise ArgumentError(
                f"{name} must have the answers of the first file, {list(answers)}, "
                f"got {list(result.header.names)}"
            )
    together = pooled(*(result.estimate for result in results))
    if as_json:
        parts = {
            name: result.to_dict(level, delta=DELTA, simultaneous=simultaneous)
            for name, result in surveys.items()
        }
        shares = together.to_dict(level, simultaneous=simultaneous)
        print_json({"labels": list(answers), "estimate": shares, "surveys": parts})
        return
    screen = console()
    for name, result in surveys.items():
        screen.print(f"{name}: {result.estimate.n:,} reports, {result.header.mechanism.brief()}")
    screen.print(f"All: {together.n:,} reports\n")
    report = _Report(
        screen=screen, result=results[0], level=level, top=top, simultaneous=simultaneous
    )
    screen.print(report.shares(together))
    screen.print(intervals_in_words(together, level, simultaneous))


@dataclass(frozen=True, kw_only=True)
class _Report:
    """The result in tables and sentences."""

    screen: Console
    result: "Result"
    level: float
    top: int  # answers shown
    simultaneous: bool  # whether intervals hold for all answers at once
    is_survey: bool = False  # whether contributors answered other questions too

    def print(self, document: dict[str, Any]) -> None:
        """Everybody, groups, differences, and what each report loses."""
        screen, result, header = self.screen, self.result, self.result.header
        n, carded = result.estimate.n, result.n_carded
        about = f"{header.question}: " if header.question else ""
        by_card = f" ({carded:,} with a card, {n - carded:,} without)" if carded else ""
        screen.print(f"{about}{n:,} reports{by_card}, {header.mechanism.brief()}\n")
        if header.number is not None:
            show_means(screen, result, self.level)
            self._print_losses(document)
            return
        screen.print(self.shares(result.estimate))
        screen.print(intervals_in_words(result.estimate, self.level, self.simultaneous))
        if result.estimate.effective_n < (1 - 1e-9) * n:
            screen.print(weights_in_words(result.estimate))
        for name, answer in document.get("answered", {}).items():
            low, high = answer["interval"]
            screen.print(
                f"Among those who answered, {name}: {100 * answer['share']:.2f}% "
                f"({100 * low:.2f}% to {100 * high:.2f}%, at least {100 * self.level:g}%)"
            )
        estimates = (result.estimate, *(group.estimate for group in result.groups))
        if any(((one.frequencies < 0) | (one.frequencies > 1)).any() for one in estimates):
            screen.print(OUTSIDE)
        for step, shares in document.get("postprocessed", {}).items():
            for name, share in list(zip(header.names, shares, strict=True))[: self.top]:
                screen.print(f"After {step}, {name}: {100 * share:.2f}%")
        self._print_groups()
        self._print_differences()
        self._print_losses(document)

    def _print_groups(self) -> None:
        groups = self.result.groups
        for group in groups:
            self.screen.print(f"\n{group.name}: {group.estimate.n:,} reports")
            self.screen.print(self.shares(group.estimate))
            if group.estimate.effective_n < min(FEWEST_EFFECTIVE, (1 - 1e-9) * group.estimate.n):
                self.screen.print(weights_in_words(group.estimate))
        if groups.hidden:
            words = "1 group has" if groups.hidden == 1 else f"{groups.hidden} groups have"
            verb = "is not shown" if groups.hidden == 1 else "are not shown"
            self.screen.print(
                f"{words} fewer than {groups.min_cell} reports and {verb} (--min-cell). "
                f"{HIDDEN_GROUP_REMARK}"
            )

    def _print_differences(self) -> None:
        names, groups = self.result.header.names, self.result.groups
        if len(groups) < 2:
            return
        pairs = len(groups) * (len(groups) - 1) // 2
        answers = [len(names) - 1] if len(names) == 2 else range(len(names))
        if pairs * len(answers) > PAIRS:
            self.screen.print("Differences between groups: too many for a screen, see --json.")
            return
        title = "Differences between groups, in percentage points"
        table = Table(title=title, title_justify="left")
        for heading in ("groups", "answer", "difference", f"{100 * self.level:g}% interval"):
            justify = "left" if heading in ("groups", "answer") else "right"
            table.add_column(heading, justify=justify)  # type: ignore[arg-type]  # both are
        for first, second, difference in groups.differences():
            low, high = difference.interval(self.level, simultaneous=self.simultaneous)
            for v in answers:
                table.add_row(
                    f"{first} - {second}",
                    names[v],
                    f"{100 * difference.frequencies[v]:+.2f}",
                    f"{100 * low[v]:+.2f} to {100 * high[v]:+.2f}",
                )
        self.screen.print(table)

    def _print_losses(self, document: dict[str, Any]) -> None:
        epsilon = document["guarantees"]
        whose = "Loss by this one answer" if self.is_survey else "Each contributor's loss"
        if self.result.n_carded:
            self.screen.print(
                f"{whose}: ε {show_epsilon(epsilon['report'])} to whoever sees one "
                f"report, {show_epsilon(epsilon['cards'])} to whoever also has the cards of "
                f"{document['colluders']} colluders, {show_epsilon(epsilon['dealer'])} to dealer "
                f"and collector together. {self._to_a_collector()}"
            )
        else:
            self.screen.print(
                f"{whose}: ε {show_epsilon(epsilon['report'])} to whoever sees the report."
            )
        if "behind_shuffler" in document:
            behind = document["behind_shuffler"]
            self.screen.print(
                "To whoever sees nothing but all of these reports, shuffled by somebody honest: ε "
                f"{show_epsilon(behind['epsilon'])} at δ = {behind['delta']:g}."
            )

    def _to_a_collector(self) -> str:
        if self.result.header.mechanism.pure:
            return "To a collector that has all reports and knows all other answers: no more."
        return (
            "A collector that uses all reports learns more than the first two: jrr explain says "
            "how much."
        )

    def shares(self, estimate: Estimate) -> Table:
        """Every answer with its share, error and interval."""
        names, top = self.result.header.names, self.top
        table = Table()
        interval = f"{100 * self.level:g}% interval"
        for heading in ("answer", "share", "standard error", interval, "count"):
            table.add_column(heading, justify="left" if heading == "answer" else "right")
        low, high = estimate.interval(self.level, simultaneous=self.simultaneous)
        shares, errors = estimate.frequencies, estimate.stderr
        order = list(range(len(names)))
        if len(names) > top:
            order = sorted(order, key=lambda v: -shares[v])[:top]
            table.caption = f"the {top} largest of {len(names)} answers"
        for v in order:
            table.add_row(
                names[v],
                f"{100 * shares[v]:.2f}%",
                f"±{100 * errors[v]:.2f}",
                f"{100 * low[v]:.2f}% to {100 * high[v]:.2f}%",
                f"{estimate.counts[v]:,.0f}",
            )
        return table
