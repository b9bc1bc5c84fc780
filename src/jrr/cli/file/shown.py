"""Estimates of files in tables and sentences."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.file.means import show_means
from jrr.cli.options import console, print_json
from jrr.estimation.estimates import FEWEST_EFFECTIVE, Estimate
from jrr.estimation.groups import HIDDEN_GROUP_REMARK
from jrr.planning.plans import DELTA
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.intervals import intervals_in_words, weights_in_words

if TYPE_CHECKING:
    from jrr.tables import Result

ADD_UP = (
    "A contributor's losses by several answers add up: over all questions that were asked, and "
    "over all waves."
)
PAIRS = 45  # differences shown on a screen: those of ten groups


def show_several(
    found: dict[str, "Result"],
    level: float,
    *,
    simultaneous: bool,
    top: int,
    out: Path | None,
    is_survey: bool,
    as_json: bool,
) -> None:
    """Print, and write, one estimate for each name."""
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
        ResultTables(
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


@dataclass(frozen=True, kw_only=True)
class ResultTables:
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
            "A collector that uses all reports learns more than the first two: jrr plan explain "
            "says how much."
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
