"""A survey's exported answers, ready for analyses: groups, weights, regressions, tables."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.analysis import (
    OutcomeRegression,
    Regression,
    SensitiveItem,
    SharedCoin,
    TwoWayTable,
    crossed_table,
    regress,
    regress_cells,
    regress_outcome,
    regress_outcome_cells,
    two_way,
)
from jrr.analysis.cells import Reports, cells_of_reports
from jrr.analysis.formulas import sides_of, speaks_of, yes_of
from jrr.analysis.regression import Link, of_number
from jrr.errors import ArgumentError
from jrr.estimation.cell_tallies import Cells, WeightedShares
from jrr.estimation.differences import Difference, difference
from jrr.estimation.estimates import Estimate, Population
from jrr.estimation.groups import GroupEstimates
from jrr.estimation.means import MeanEstimate
from jrr.estimation.raking import Margins, questions_of
from jrr.estimation.scale_means import ScaleMean, scale_mean
from jrr.estimation.told_sums import CardSums, why_no_cells, why_not_by
from jrr.survey.other_waves import AFTER, BEFORE, YES, needs_sums, wave_columns, why_no_pairs
from jrr.survey.question import PREFER_NOT
from jrr.survey.survey import Survey, read_survey
from jrr.tables.estimating import estimate_opened
from jrr.tables.formats import damage_of, readable
from jrr.tables.header import Header
from jrr.tables.margins import read_margins
from jrr.tables.names import CARDED, SURVEY
from jrr.tables.reports import rows_of
from jrr.tables.survey_answers import is_survey_answers, open_survey_answers

AnyMargins = Margins | str | Path
_SAYS_NOTHING = 0.5  # a standard error of a share
_ONE_QUESTION = (
    "{first} and {second} must be asked as one question (cross, in the draft) to say which answers "
    "go together: masked answers are known as sums, and these single reports say nothing of pairs"
)


def load_survey(document: "str | Path | Survey | None", answers: str | Path) -> "LoadedSurvey":
    """A survey's exported answers, ready for analyses.

    Args:
        document: the survey, or the file of its document; it must be the one that was answered.
            None: as the export has it.
        answers: the Parquet file that `jrr survey export` wrote.

    Returns:
        Questions with groups, weights, regressions, tables of two, and changes between waves.

    Raises:
        ArgumentError: the answers are no such file, or those to another survey.
        DamagedError: a file cannot be read as what it claims to be.
    """
    path = Path(answers)
    if not is_survey_answers(path):
        raise checks.refusal("answers", str(answers), "a survey's answers, exported as Parquet")
    with readable(path), damage_of(path):
        survey = read_survey(pq.read_schema(path).metadata[SURVEY])
    if document is not None:
        asked = document
        if not isinstance(asked, Survey):
            with readable(Path(asked)), damage_of(Path(asked)):
                asked = read_survey(Path(asked).read_bytes())
        if asked.hash != survey.hash:
            raise checks.refusal(
                "answers", str(answers), f"answers to the survey {asked.hash[:8]}, of {document}"
            )
    return LoadedSurvey(survey, path)


@dataclass(frozen=True, eq=False)
class LoadedSurvey:
    """Answers of a survey; made by `load_survey`.

    Attributes:
        survey: the document.
        path: of the exported answers.
    """

    survey: Survey
    path: Path

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the perturbed answers."""
        return tuple(self.survey.by_name)

    @cached_property
    def open(self) -> dict[str, NDArray[Any]]:
        """Open question -> everybody's answer: numbers as numbers, others as words."""
        whole = self._whole
        found = {}
        for question in self.survey.open:
            column = whole[question.name].to_pylist()
            if question.kind in ("scale", "number"):
                found[question.name] = np.array(
                    [np.nan if one is None else float(one) for one in column]
                )
            else:
                found[question.name] = np.array([_word(one) for one in column])
        return found

    @cached_property
    def groupings(self) -> dict[str, NDArray[Any]]:
        """Open question whose answers make groups -> everybody's, with the words of results."""
        names = [name for name in self.survey.covariates if name in self._files[1]]
        return {name: self._files[1][name] for name in names}

    @cached_property
    def _whole(self) -> Any:
        return pq.read_table(self.path)

    @cached_property
    def _files(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        files = open_survey_answers(self.path)
        columns: dict[str, NDArray[Any]] = {}
        for name, one in files.items():
            table: Any = one.tables[0][0]
            asked = self.asked(name)
            for column in dict.fromkeys((*self.survey.covariates, *wave_columns(self.survey))):
                if column in table.columns:
                    whole = columns.setdefault(column, np.full(len(asked), "", dtype=object))
                    whole[asked] = table.whole[column].to_pylist()
        return files, {name: column.astype(str) for name, column in columns.items()}

    @property
    def _answers(self) -> dict[str, NDArray[Any]]:
        """The groupings, with who answered the next wave."""
        after = self._files[1].get(AFTER)
        return self.groupings | ({} if after is None else {AFTER: after})

    def _sums(self, name: str, by: tuple[str, ...]) -> CardSums | None:
        """The announced sums from which groups follow; those of the end if none do."""
        header = self.header(name)
        if header.sums is None or not header.sums.announced:
            return None
        told = (header.sums, *header.later_sums)
        covering = (one for one in told if one.covers(by) and (AFTER in by or AFTER not in one.by))
        return next(covering, header.sums)

    def asked(self, name: str) -> NDArray[np.bool_]:
        """Whether each person was asked a sensitive question.

        Args:
            name: of the question.
        """
        self._check(name)
        valid: NDArray[np.bool_] = np.asarray(
            self._whole[f"{name}_{CARDED}"].combine_chunks().is_valid()
        )
        return valid

    def header(self, name: str) -> Header:
        """How a question was perturbed, and what dealers told of its masks.

        Args:
            name: of the question.
        """
        self._check(name)
        header: Header = self._files[0][name].header
        return header

    def reports(self, name: str) -> Reports:
        """The reports of those who were asked, in their order.

        Args:
            name: of the question.
        """
        self._check(name)
        ((table, header),) = self._files[0][name].tables
        rows = list(rows_of(table, header, []))
        carded = [np.broadcast_to(np.asarray(one.carded), len(one.reports)) for one in rows]
        reports = np.concatenate([np.asarray(one.reports) for one in rows])
        return Reports(
            header.mechanism,
            reports,
            np.concatenate(carded),
            max(1, len(header.decks)),
            header.share_asked,
        )

    def item(self, name: str) -> SensitiveItem:
        """A question as `jrr.analysis` takes it: person by person.

        Args:
            name: of the question.

        Raises:
            ArgumentError: single reports of its mechanism say nothing that can be read.
        """
        told = self.reports(name)
        return SensitiveItem(
            told.mechanism,
            told.reports,
            told.carded,
            told.decks,
            shared=self._coin(name),
            asked=told.asked,
        )

    def _coin(self, name: str) -> SharedCoin | None:
        asked = self.survey.by_name[name].asked.name
        for one in self.survey.together:
            if asked in one.questions:
                return SharedCoin(one.questions, one.keep, one.alone)
        return None

    def closed_by(self, name: str) -> tuple[str, ...] | None:
        """The open questions by whose cells the survey was closed; None: any can be used.

        Args:
            name: of the question.
        """
        sums = self.header(name).sums
        if sums is None or not sums.announced:
            return None
        return sums.by

    def cells(self, name: str, *by: str) -> Cells:
        """A question by the crossing of open ones, from which all that is coarser follows.

        Args:
            name: of the question.
            *by: open questions; none: those that the survey was closed by, or all whose answers
                make groups. After announced sums they must be among the former.

        Raises:
            ArgumentError: the survey was not closed by these questions.
        """
        self._check(name)
        sums = self._sums(name, by)
        numbers = [one for one in by if one in self.open and one not in self._answers]
        if numbers:
            raise ArgumentError(why_no_cells(numbers, sums is not None))
        used = (by or tuple(self.groupings)) if sums is None else sums.by
        if sums is not None and not sums.covers(by):
            raise ArgumentError(why_not_by(by, sums.by))
        if not used:
            raise ArgumentError(
                f"{name} has no cells: the survey was closed with one sum for everybody, so that "
                "only its total is known; cells are planned (analyses, or cells) before a survey, "
                "or chosen when it is closed"
            )
        for one in used:
            checks.one_of("by", one, tuple(self._answers))
        asked, reports, announced = self.asked(name), self.reports(name), None
        columns = {one: self._answers[one][asked] for one in used}
        if sums is not None:
            announced = {
                cell: [one.sum for one in told if one.sum is not None]
                for cell, told in sums.announced.items()
                if any(one.cards for one in told)
            }
            if AFTER in used:  # sums of nobody else's cards
                both = columns[AFTER] == YES
                columns = {one: column[both] for one, column in columns.items()}
                reports = reports._replace(
                    reports=np.asarray(reports.reports)[both], carded=reports.carded[both]
                )
        return cells_of_reports(
            reports,
            columns,
            announced=announced,
            merged=None if sums is None else sums.merged,
            min_cell=self.survey.smallest_group,
        )

    def total(self, name: str, **population: Any) -> Estimate:
        """The shares of everybody.

        Args:
            name: of the question.
            **population: as for `Estimate.for_population`.
        """
        self._check(name)
        return estimate_opened(self._files[0][name], **population).estimate

    def mean(self, name: str, **population: Any) -> MeanEstimate | ScaleMean:
        """The mean of a question about a number, or of a scale among those who answered it.

        Args:
            name: of the question.
            **population: as for `Estimate.for_population`.

        Raises:
            ArgumentError: its answers are no numbers.
        """
        return self._mean_of(name, self.total(name, **population))

    def means(
        self, name: str, *by: str, population: Population | str = "respondents"
    ) -> dict[str, MeanEstimate | ScaleMean]:
        """The same for every group.

        Args:
            name: of the question.
            *by: open questions, as for `cells`.
            population: as for `Estimate.for_population`.
        """
        groups = self.groups(name, *by, population=population)
        return {group.name: self._mean_of(name, group.estimate) for group in groups}

    def _mean_of(self, name: str, estimate: Estimate) -> MeanEstimate | ScaleMean:
        numbers, asked = self.header(name).numbers, self.survey.by_name[name].asked
        if numbers is not None:
            return numbers.estimate_from(estimate)
        if asked.kind != "scale":
            raise checks.refusal("name", name, "a question about a number, or a scale")
        steps = [None if one == PREFER_NOT else float(one) for one in asked.answers]
        return scale_mean(estimate, steps, self.header(name).mechanism.marks)

    def groups(
        self, name: str, *by: str, population: Population | str = "respondents"
    ) -> GroupEstimates:
        """The estimates of groups, and from them every difference (`differences`).

        Args:
            name: of the question.
            *by: open questions, as for `cells`.
            population: as for `Estimate.for_population`.
        """
        return self.cells(name, *by).groups(*by, population=population)

    def weighted(self, name: str, margins: AnyMargins, **population: Any) -> WeightedShares:
        """Shares with weights that bring the answers to known margins of the population.

        Args:
            name: of the question.
            margins: as for `Cells.weighted`, or a CSV file (`jrr.tables.read_margins`).
            **population: as for `Cells.weighted`.
        """
        table = read_margins(margins) if isinstance(margins, str | Path) else margins
        return self.cells(name, *questions_of(table)).weighted(table, **population)

    def two_way(self, first: str, second: str | None = None, **wish: Any) -> TwoWayTable:
        """Which answers to two sensitive questions go together, among those asked both.

        Args:
            first: the name of one question.
            second: that of the other; None: the first is two questions that were asked as one
                (`cross`, then-and-now).
            **wish: weights, population and population_size, as for `jrr.analysis.two_way`; of two
                that were asked as one population and population_size.
        """
        if second is None:
            self._check(first)
            parts = self.survey.by_name[first].asked.crossed
            if not parts:
                raise checks.refusal("second", second, f"another question than {first}")
            return crossed_table(self.total(first, **wish), *(count for _, count in parts))
        one, two, _ = self._asked_both(first, second)
        table = two_way(one, two, **wish)
        if table.stderr.max() > _SAYS_NOTHING:
            raise ArgumentError(_ONE_QUESTION.format(first=first, second=second))
        return table

    def change(
        self,
        earlier: "LoadedSurvey",
        name: str,
        *,
        population: Population | str = "respondents",
        population_size: float | None = None,
        shared: int | None = None,
        paired: bool = False,
    ) -> Difference:
        """The shares in this wave minus those in an earlier one.

        Exports do not say who is who. Where the estimates speak of a population, the noise of
        drawing those who answered both waves is counted for the worst correlation of what they
        said then and now, so that intervals hold for every one (`jrr.difference`).

        Args:
            earlier: the answers of the earlier wave.
            name: of the question, the same in both.
            population: as for `Estimate.for_population`.
            population_size: people in it, where it is finite.
            paired: whether only those are compared who answered both, of whom an earlier wave's
                export tells (of masked answers after `jrr survey close WAVE --again`).
            shared: how many people answered both. None: as many as this export says answered the
                wave before, where `earlier` is that wave; otherwise as many as there can be. Say 0
                of other people.

        Raises:
            ArgumentError: the earlier survey did not ask the same, or so many cannot have answered
                both.
        """
        self._check_alike(earlier, name)
        whom: dict[str, Any] = {"population": population, "population_size": population_size}
        if paired:
            after, before = self._pairs(earlier, name, ())
            return _paired_difference(after.total(**whom), before.total(**whom))
        now, then = self.total(name, **whom), earlier.total(name, **whom)
        if shared is None:
            shared = min(now.n, then.n, self._answered_before(earlier, name))
        return difference(now, then, same_deck=False, shared=shared)

    def changes(
        self,
        earlier: "LoadedSurvey",
        name: str,
        *by: str,
        population: Population | str = "respondents",
    ) -> dict[str, Difference]:
        """The change of every group among those who answered both waves.

        Args:
            earlier: the answers of the wave before.
            name: of the question, the same in both.
            *by: open questions, in cells of both waves' sums; somebody is in the group of the
                answers of each wave.
            population: as for `Estimate.for_population`.
        """
        self._check_alike(earlier, name)
        after, before = self._pairs(earlier, name, by)
        old = {group.name: group.estimate for group in before.groups(*by, population=population)}
        return {
            group.name: _paired_difference(group.estimate, old[group.name])
            for group in after.groups(*by, population=population)
            if group.name in old
        }

    def _check_alike(self, earlier: "LoadedSurvey", name: str) -> None:
        self._check(name)
        old = earlier.survey.by_name.get(name)
        if old is None or not old.asks_the_same(self.survey.by_name[name]):
            raise checks.refusal("name", name, "a question that both surveys ask alike")

    def _pairs(
        self, earlier: "LoadedSurvey", name: str, by: tuple[str, ...]
    ) -> tuple[Cells, Cells]:
        """Those who answered both waves: in this one, and in the one before."""
        waves = self.survey.earlier
        if not waves or waves[-1].survey != earlier.survey.hash:
            raise checks.refusal("earlier", earlier.survey.wave, "the wave before")
        if needs_sums(earlier.header(name).mechanism):
            told = 1 + len(earlier.header(name).later_sums)
            reason = why_no_pairs(earlier.survey, name, told, self.survey)
            if reason is not None:
                raise ArgumentError(reason)
        if not (earlier._files[1][AFTER] == YES).any():
            raise ArgumentError(
                "the export of the wave before must be made when this wave is closed: it does not "
                "say who answered both"
            )
        before = earlier.cells(name, AFTER, *by).among(AFTER, YES)
        return self.cells(name, BEFORE, *by).among(BEFORE, YES), before

    def _answered_before(self, earlier: "LoadedSurvey", name: str) -> int:
        """How many of those who were asked answered an earlier survey too, at most."""
        asked, waves = self.asked(name), self.survey.earlier
        if BEFORE not in self.groupings or waves[-1].survey != earlier.survey.hash:
            return int(asked.sum())
        return int((self.groupings[BEFORE][asked] == YES).sum())

    def regress(
        self,
        formula: str,
        *,
        value: int | str | None = None,
        link: Link = "logit",
        weights: ArrayLike | None = None,
    ) -> Regression | OutcomeRegression:
        """A regression by a formula, by the way that the question's mechanism allows.

        "cheated ~ dept + age" explains a sensitive answer; "happy ~ cheated + age" an open one, or
        another sensitive one, by a sensitive answer. Through cells where sums were announced,
        otherwise person by person. A sensitive number is explained with the link "identity", in its
        own unit.

        Args:
            formula: what is explained ~ what explains it.
            value: the sensitive answer that counts as yes, by its label or number. None: the second
                of two.
            link: "logit" or "identity".
            weights: survey weights, one per person who was asked; not after announced sums.

        Raises:
            ArgumentError: for a formula that cannot be read, cells that cannot say it, or where
                `value` must say which of several answers is meant.
        """
        left, sensitive, right = sides_of(formula, self.sensitive)
        yes = self.answer_meant(sensitive or left, value)
        if sensitive is None:
            number = self.header(left).number
            if number is None:
                return self._explained(left, right, yes, link, weights)
            if link != "identity":
                raise checks.refusal("link", link, "'identity' where a number is explained")
            found = self._explained(left, right, yes, link, weights)
            return of_number(found, number.low, number.high)
        if self.header(sensitive).number is not None:
            allowed = f"with another question on the right than {sensitive}, which is a number"
            raise checks.refusal("formula", formula, allowed)
        return self._as_predictor(left, sensitive, right, yes, link, weights)

    def answer_meant(self, name: str, value: int | str | None = None) -> int:
        """The number of the answer to a sensitive question that counts as yes.

        Args:
            name: of the question.
            value: its label or number. None: the second of two.

        Raises:
            ArgumentError: there is no such answer, or none was said of more than two.
        """
        self._check(name)
        labels = self.survey.by_name[name].labels
        if value is None and sum(label != PREFER_NOT for label in labels) == 2:
            return 1
        if isinstance(value, str) and value in labels:
            return labels.index(value)
        if isinstance(value, int) and value in range(len(labels)):
            return value
        raise checks.refusal("value", value, f"one of the answers to {name}: {list(labels)}")

    def _explained(
        self, name: str, right: str, value: int, link: Link, weights: ArrayLike | None
    ) -> Regression:
        asked = self.asked(name)
        data = {column: some[asked] for column, some in self.open.items()}
        wish: dict[str, Any] = {"data": data, "value": value, "link": link}
        if self.closed_by(name) is None:
            return regress(self.item(name), right, weights=weights, **wish)
        self._no_weights(weights)
        return regress_cells(self._cells_for(name, right), right, **wish)

    def _as_predictor(
        self, left: str, name: str, right: str, value: int, link: Link, weights: Any
    ) -> OutcomeRegression:
        covariates = right or None
        if left in self.sensitive:
            self.two_way(left, name)  # refuses reports that do not say which answers go together
            outcome_value = self.answer_meant(left)
            outcome_item, item, both = self._asked_both(left, name)
            data = {column: some[both] for column, some in self.open.items()}
            return regress_outcome(
                outcome_item,
                item,
                covariates,
                data=data,
                name=name,
                value=value,
                outcome_value=outcome_value,
                link=link,
                weights=weights,
            )
        checks.one_of("formula", left, (*self.open, *self.sensitive))
        asked = self.asked(name)
        data = {column: some[asked] for column, some in self.open.items()}
        data[left] = yes_of(left, data[left])
        wish: dict[str, Any] = {"data": data, "name": name, "value": value, "link": link}
        if self.closed_by(name) is None:
            return regress_outcome(data[left], self.item(name), covariates, weights=weights, **wish)
        self._no_weights(weights)
        cells = self._cells_for(name, f"{left} ~ {right}")
        return regress_outcome_cells(cells, left, covariates, **wish)

    def _cells_for(self, name: str, formula: str) -> Cells:
        """The cells of whatever a formula speaks of.

        What differs within cells would be told from what else differs between them.

        Raises:
            ArgumentError: some of it makes no cells, or the survey was not closed on it.
        """
        used = [one for one in self.open if speaks_of(formula, one)]
        return self.cells(name, *used)

    def _asked_both(
        self, first: str, second: str
    ) -> tuple[SensitiveItem, SensitiveItem, NDArray[np.bool_]]:
        """The reports of the people who were asked two questions, and who they are.

        Raises:
            ArgumentError: nobody was asked both.
        """
        people = self.asked(first) & self.asked(second)
        if not people.any():
            raise ArgumentError(
                f"{first} and {second} must have been asked of the same people, got nobody who was "
                "asked both; plan for it with ask = 'all'"
            )
        if any(
            self.closed_by(one) is not None and self.reports(one).mechanism.k > 2
            for one in (first, second)
        ):
            raise ArgumentError(_ONE_QUESTION.format(first=first, second=second))
        share = self.survey.share_asked(first, second)
        one, two = (self._among(name, people, share) for name in (first, second))
        return one, two, people

    def _among(self, name: str, people: NDArray[np.bool_], share: float) -> SensitiveItem:
        """The reports of some of those who were asked."""
        item, some = self.item(name), people[self.asked(name)]
        return SensitiveItem(
            item.mechanism,
            np.asarray(item.reports)[some],
            item.with_card[some],
            item.decks,
            shared=item.shared,
            asked=share,
        )

    @staticmethod
    def _no_weights(weights: Any) -> None:
        if weights is not None:
            raise ArgumentError(
                "weights must be left out where sums of cells were announced: single people have "
                "none there; LoadedSurvey.weighted gives weights to cells"
            )

    def _check(self, name: str) -> None:
        checks.one_of("name", name, self.sensitive)


def _paired_difference(now: Estimate, before: Estimate) -> Difference:
    return difference(now, before, same_deck=False, shared=min(now.n, before.n))


def _word(answer: Any) -> str:
    if answer is None:
        return ""
    return "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
