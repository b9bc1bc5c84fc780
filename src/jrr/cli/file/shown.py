"""Estimates of files in tables and sentences."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.rule import Rule
from rich.table import Table

from jrr._base.wording import counted, show_epsilon
from jrr.cli.output import Line, make_table, show, unwrapped
from jrr.estimation.estimates import FEWEST_EFFECTIVE, Estimate
from jrr.estimation.groups import HIDDEN_GROUP_REMARK
from jrr.planning.plans import DELTA
from jrr.reporting.explain import OUTSIDE
from jrr.reporting.numerals import intervals_in_words, weights_in_words

if TYPE_CHECKING:
    from jrr.tables import Result

ADD_UP = (
    "A contributor's losses by several answers add up: over all questions that were asked, those "
    "that share a coin once, and over all waves."
)
PAIRS = 45  # differences shown on a screen: those of ten groups


def show_several(
    found: "Mapping[str, Result | None]",
    showing: "Showing",
    out: Path | None,
    *,
    is_survey: bool = False,
) -> None:
    """Print, and write, one estimate for each name; None: nobody answered."""
    answered = {name: result for name, result in found.items() if result is not None}
    unanswered = [name for name in found if name not in answered]
    documents = {name: showing.document(result) for name, result in answered.items()}
    if out is not None:
        from jrr.tables.result import write_several

        write_several(answered, out, showing.level)

    def lines() -> Iterator[Line]:
        for name, result in answered.items():
            yield Rule(name)
            yield from showing.lines(result, documents[name], is_survey=is_survey)
        if unanswered:
            yield unwrapped(f"\nNobody answered: {', '.join(unanswered)}")
        if is_survey:
            yield unwrapped(f"\n{ADD_UP}")

    more = {"unanswered": unanswered} if unanswered else {}
    show({"estimates": documents, **more}, lines(), *written(Results=out))


def written(**files: Path | None) -> list[str]:
    """Which files were written."""
    return [f"{what}: {file}" for what, file in files.items() if file is not None]


@dataclass(frozen=True, kw_only=True)
class Showing:
    """How estimates are shown.

    Attributes:
        level: of their intervals.
        top: how many answers.
        simultaneous: whether intervals hold for all answers at once.
    """

    level: float
    top: int
    simultaneous: bool

    def document(self, result: "Result", step: str | None = None) -> dict[str, Any]:
        """A result as plain values."""
        return result.to_dict(self.level, step=step, delta=DELTA, simultaneous=self.simultaneous)

    def lines(
        self, result: "Result", document: dict[str, Any], *, is_survey: bool = False
    ) -> Iterator[Line]:
        """Everybody, groups, differences, and what each report loses.

        is_survey: whether contributors answered other questions too.
        """
        header, n, carded = result.header, result.estimate.n, result.n_carded
        about = f"{header.question}: " if header.question else ""
        by_card = f" ({carded:,} with a card, {n - carded:,} without)" if carded else ""
        yield f"{about}{n:,} reports{by_card}, {header.mechanism.brief()}\n"
        if header.number is not None:
            yield from self._means(result)
        else:
            yield from self._all_shares(result, document)
        yield from _losses(result, document, is_survey=is_survey)

    def _all_shares(self, result: "Result", document: dict[str, Any]) -> Iterator[Line]:
        estimate, groups, names = result.estimate, result.groups, result.header.names
        yield self.shares(estimate, names)
        yield self.meaning(estimate)
        if estimate.effective_n < (1 - 1e-9) * estimate.n:
            yield weights_in_words(estimate)
        for name, answer in document.get("answered", {}).items():
            low, high = answer["interval"]
            yield (
                f"Among those who answered, {name}: {100 * answer['share']:.2f}% "
                f"({100 * low:.2f}% to {100 * high:.2f}%, at least {100 * self.level:g}%)"
            )
        estimates = (estimate, *(group.estimate for group in groups))
        if any(((one.frequencies < 0) | (one.frequencies > 1)).any() for one in estimates):
            yield OUTSIDE
        for step, shares in document.get("postprocessed", {}).items():
            for name, share in list(zip(names, shares, strict=True))[: self.top]:
                yield f"After {step}, {name}: {100 * share:.2f}%"
        for group in groups:
            yield f"\n{group.name}: {group.estimate.n:,} reports"
            yield self.shares(group.estimate, names)
            if group.estimate.effective_n < min(FEWEST_EFFECTIVE, (1 - 1e-9) * group.estimate.n):
                yield weights_in_words(group.estimate)
        yield from _hidden(result)
        answers = [len(names) - 1] if len(names) == 2 else range(len(names))
        yield from self._differences(
            result,
            (
                (
                    f"{first} - {second}",
                    names[v],
                    f"{100 * gap.frequencies[v]:+.2f}",
                    f"{100 * low[v]:+.2f} to {100 * high[v]:+.2f}",
                )
                for first, second, gap in groups.differences()
                for low, high in [gap.interval(self.level, simultaneous=self.simultaneous)]
                for v in answers
            ),
            of_each=len(answers),
        )

    def _means(self, result: "Result") -> Iterator[Line]:
        means = result.means()
        rows = []
        for name, mean in means.items():
            low, high = mean.interval(self.level)
            total = "" if math.isnan(mean.sum) else _with_error(mean.sum, mean.sum_stderr)
            ends = f"{low:.5g} to {high:.5g}"
            figures = (f"{mean.mean:.5g}", f"±{mean.stderr:.3g}", ends, total, f"{mean.n:,}")
            rows.append((name or "everybody", *figures))
        yield make_table(("", "mean", "standard error", self._interval, "sum", "reports"), rows)
        everybody = means[""]
        yield intervals_in_words(everybody.share, self.level, simultaneous=False)
        yield (
            f"The number lies in {everybody.low:g}..{everybody.high:g}; what rounding and "
            "differences between people can add at most is counted, so that errors may be smaller "
            "than shown."
        )
        if everybody.share.effective_n < (1 - 1e-9) * everybody.n:
            yield weights_in_words(everybody.share)
        yield from _hidden(result)
        yield from self._differences(
            result,
            (
                (f"{first} - {second}", f"{gap.difference:+.4g}", f"{low:+.4g} to {high:+.4g}")
                for first, second, gap in result.mean_differences()
                for low, high in [gap.interval(self.level)]
            ),
        )

    def _differences(
        self, result: "Result", rows: Iterable[tuple[str, ...]], of_each: int | None = None
    ) -> Iterator[Line]:
        """Differences between groups: of so many answers each, or of means."""
        groups = len(result.groups)
        if groups < 2:
            return
        if groups * (groups - 1) // 2 * (of_each or 1) > PAIRS:
            yield "Differences between groups: too many for a screen, see --json."
            return
        title, names = "Differences between groups", ["groups"]
        if of_each:
            title, names = f"{title}, in percentage points", ["groups", "answer"]
        headings = (*names, "difference", self._interval)
        yield make_table(headings, rows, title=title, left=len(names))

    def meaning(self, estimate: Estimate) -> str:
        """What the intervals of a table mean."""
        return intervals_in_words(estimate, self.level, self.simultaneous)

    @property
    def _interval(self) -> str:
        return f"{100 * self.level:g}% interval"

    def shares(self, estimate: Estimate, names: Sequence[str]) -> Table:
        """Every answer with its share, error and interval."""
        low, high = estimate.interval(self.level, simultaneous=self.simultaneous)
        shares, errors = estimate.frequencies, estimate.stderr
        order, caption = list(range(len(names))), None
        if len(names) > self.top:
            order = sorted(order, key=lambda v: -shares[v])[: self.top]
            caption = f"the {self.top} largest of {len(names)} answers"
        rows = (
            (
                names[v],
                f"{100 * shares[v]:.2f}%",
                f"±{100 * errors[v]:.2f}",
                f"{100 * low[v]:.2f}% to {100 * high[v]:.2f}%",
                f"{estimate.counts[v]:,.0f}",
            )
            for v in order
        )
        headings = ("answer", "share", "standard error", self._interval, "count")
        return make_table(headings, rows, caption=caption)


def _with_error(number: float, error: float) -> str:
    """Both to the digits that the error leaves."""
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{number:,.{digits}f} ±{error:,.{digits}f}"


def _hidden(result: "Result") -> Iterator[str]:
    groups = result.groups
    if groups.hidden:
        verb = "is not shown" if groups.hidden == 1 else "are not shown"
        yield (
            f"{counted(groups.hidden, 'group has', 'groups have')} fewer than {groups.min_cell} "
            f"reports and {verb} (--min-cell). {HIDDEN_GROUP_REMARK}"
        )


def _losses(result: "Result", document: dict[str, Any], *, is_survey: bool) -> Iterator[str]:
    epsilon = {view: show_epsilon(loss) for view, loss in document["guarantees"].items()}
    whose = "Loss by this one answer" if is_survey else "Each contributor's loss"
    if result.n_carded:
        to_collector = (
            "To a collector that has all reports and knows all other answers: no more."
            if result.header.mechanism.pure
            else "A collector that uses all reports learns more than the first two: jrr plan "
            "explain says how much."
        )
        yield (
            f"{whose}: ε {epsilon['report']} to whoever sees one report, {epsilon['cards']} to "
            f"whoever also has the cards of {document['colluders']} colluders, "
            f"{epsilon['dealer']} to dealer and collector together. {to_collector}"
        )
    else:
        yield f"{whose}: ε {epsilon['report']} to whoever sees the report."
    permanent = result.header.permanent
    if permanent is not None:
        yield (
            "That is of this round alone. Of all rounds together, for a value that stays the same: "
            f"at most ε {show_epsilon(permanent.epsilon())}; of values that change more is lost "
            "(jrr plan rounds)."
        )
    if "behind_shuffler" in document:
        behind = document["behind_shuffler"]
        yield (
            "To whoever sees nothing but all of these reports, shuffled by somebody honest: ε "
            f"{show_epsilon(behind['epsilon'])} at δ = {behind['delta']:g}."
        )
