"""Estimates of several sources of reports: one for each file, or for each question of a survey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.tables import Result
    from jrr.tables.progress import Progress


def is_survey(sources: Sequence[str], table: str | None) -> bool:
    """Whether some source holds a survey's answers to several questions."""
    from jrr.tables.survey_answers import is_survey_answers

    return table is None and any(is_survey_answers(source) for source in sources)


def estimate_each(
    sources: Sequence[str], options: dict[str, Any], progress: "Progress"
) -> "dict[str, Result]":
    """Source -> its own estimate; options are those of `jrr.tables.estimate`."""
    from jrr.tables.estimating import estimate

    return {source: estimate(source, **options, progress=progress) for source in sources}


def estimate_questions(
    sources: Sequence[str], options: dict[str, Any], progress: "Progress"
) -> "dict[str, Result]":
    """Question of a survey -> its estimate; of several files, file and question."""
    from jrr.tables.survey_answers import estimate_survey

    for argument in ("weight", "key", "announced"):
        if options[argument] is not None:
            raise ArgumentError(f"{argument} must be left out for a survey's exported answers")
    if options["header"] is not None:
        raise checks.refusal("header", str(options["header"]), "left out: the survey says it")
    left_out = ("weight", "key", "announced", "header", "table")
    kept = {name: value for name, value in options.items() if name not in left_out}
    found: dict[str, Result] = {}
    for source in sources:
        start = "" if len(sources) == 1 else f"{source}: "
        results = estimate_survey(source, progress=progress, **kept)
        found |= {f"{start}{name}": result for name, result in results.items()}
    return found
