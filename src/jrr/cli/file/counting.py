"""What `jrr file estimate` counts, and which engine does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.cli.options import all_of
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.tables import Result
    from jrr.tables.progress import Progress

ENGINES = ("duckdb", "spark", "postgres")  # jrr.tables.engines, which needs an extra


engine_options = all_of(
    click.option("--engine", type=click.Choice(ENGINES), help="What counts the reports."),
    click.option("--table", help="The table of reports in a database."),
    click.option(
        "--header",
        type=click.Path(dir_okay=False, path_type=Path),
        help="What the reports are (JSON), where they do not say so.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Sources of reports, and how they are estimated.

    Attributes:
        sources: files, folders or addresses of databases.
        engine: what counts; None: this process.
        table: of a database.
        header: a file that says what the reports are.
        estimate: `jrr.tables.estimate`.
        options: further arguments of it.
    """

    sources: tuple[str, ...]
    engine: str | None
    table: str | None
    header: Path | None
    estimate: Callable[..., "Result"]
    options: dict[str, Any]

    @property
    def is_survey(self) -> bool:
        """Whether some source holds the answers to several questions."""
        if self.table is not None:
            return False
        from jrr.tables.survey_answers import is_survey_answers

        return any(is_survey_answers(source) for source in self.sources)

    def together(self, progress: "Progress") -> "Result":
        """One estimate of all sources."""
        return self._estimate(self.sources, progress)

    def apart(self, progress: "Progress") -> "dict[str, Result]":
        """Source, or question of a survey -> its own estimate."""
        if self.is_survey:
            return self._questions(progress)
        return {source: self._estimate((source,), progress) for source in self.sources}

    def _estimate(self, sources: tuple[str, ...], progress: "Progress") -> "Result":
        return self.estimate(
            *sources,
            **self.options,
            engine=self.engine,
            header=self.header,
            table=self.table,
            progress=progress,
        )

    def _questions(self, progress: "Progress") -> "dict[str, Result]":
        """Question -> its estimate; of several files, file and question."""
        from jrr.tables.survey_answers import estimate_survey

        for argument in ("weight", "key"):
            if self.options[argument] is not None:
                raise ArgumentError(f"{argument} must be left out for a survey's exported answers")
        if self.header is not None:
            raise checks.refusal("header", str(self.header), "left out: the survey says it")
        options = {k: v for k, v in self.options.items() if k not in ("weight", "key")}
        found: dict[str, Result] = {}
        for source in self.sources:
            results = estimate_survey(source, engine=self.engine, progress=progress, **options)
            start = "" if len(self.sources) == 1 else f"{source}: "
            found |= {f"{start}{name}": result for name, result in results.items()}
        return found
