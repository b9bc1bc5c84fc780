"""A survey at servers on this machine, open, with a link for each person: to try things out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jrr._base.files import write_whole_bytes
from jrr.client.invitations import answer_link, page_address, write_answer_links
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.research.processes import Running
from jrr.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class SampleSurvey:
    """A survey that takes answers."""

    survey: Survey
    file: Path  # its document
    invitations: Path  # a CSV file with a link for each person
    links: tuple[str, ...]  # to the answer page

    @property
    def facts(self) -> dict[str, Any]:
        """What a program needs to go on."""
        return {
            "survey": self.survey.hash,
            "file": str(self.file),
            "invitations": str(self.invitations),
            "links": list(self.links),
        }


def begin_sample(
    survey: Survey,
    folder: Path,
    *,
    dealer: Running,
    collector: Running,
    page: Running,
) -> SampleSurvey:
    """Give a survey to the servers that it names, invite as many as it has room for, and open it.

    Its document and the invitations go into the folder, both named after the survey.
    """
    tokens = Tokens(dealer=dealer.token, collector=collector.token)
    operator = Operator.by_tokens(survey, tokens)
    operator.install()
    invitations = new_invitations(survey.capacity)
    operator.invite(invitations)
    operator.open()
    file = folder / f"survey-{survey.hash[:8]}.json"
    write_whole_bytes(file, survey.to_bytes())
    start = page_address(page.url)
    written = write_answer_links(
        file.with_suffix(".csv"),
        "csv",
        page=page.url,
        link=survey.link,
        invitations=invitations,
    )
    links = tuple(answer_link(start, survey.link, one) for one in invitations)
    return SampleSurvey(survey=survey, file=file, invitations=written, links=links)
