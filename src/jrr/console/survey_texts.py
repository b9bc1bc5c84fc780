"""A survey as pages show it: its address, its texts in one language, what groups it has."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jrr.survey.other_waves import BEFORE, of_next_wave

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


def path_of(survey: "Survey") -> str:
    """Of its first page, below the console."""
    return f"/surveys/{survey.hash}"


def first_text(texts: Mapping[str, str]) -> str:
    """A text in its first language."""
    return next(iter(texts.values()))


def name_of(survey: "Survey") -> str:
    """What a survey is called: its title, and which wave it is."""
    title = first_text(survey.title)
    return title if survey.waves == 1 else f"{title} (wave {survey.wave} of {survey.waves})"


def here(words: str) -> str:
    """A refusal that names a command or a column, as these pages call them."""
    return words.replace("jrr survey close WAVE --again", "the page Close of that wave").replace(
        f"by {BEFORE}", "by whether people answered the wave before"
    )


def later_sums(survey: "Survey") -> str:
    """The sums that are planned for after the end."""
    more = survey.announcements - 1
    if more == 1 and of_next_wave(survey):
        return "one more sum, of those who answer the next wave, too"
    return "one more sum, of other groups" if more == 1 else f"{more} more sums"


def groupings(survey: "Survey") -> dict[str, str]:
    """What results can be grouped by: name -> what was asked."""
    asked = {question.name: question for question in survey.open}
    return {
        name: first_text(asked[name].text) if name in asked else "Answered the wave before?"
        for name in survey.covariates
    }
