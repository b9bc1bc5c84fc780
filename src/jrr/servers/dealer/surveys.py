"""The dealer's part of surveys: somebody's cards of all parts at once."""

from typing import Any

from sqlalchemy import Connection

from jrr.servers.common.problems import Problem
from jrr.servers.common.surveys import SurveyJobs
from jrr.servers.dealer.jobs import DealerJobs
from jrr.survey.surveys import Survey, SurveyPart


class DealerSurveyJobs(SurveyJobs[DealerJobs]):
    """Jobs of surveys at the dealer."""

    def parts_here(self, survey: Survey) -> list[SurveyPart]:
        """Those with cards."""
        return [part for part in survey.parts if part.campaign.deals]

    def install(self, connection: Connection, survey: Survey) -> bool:
        """Hold a survey; refuses one without cards."""
        if not survey.deals:
            raise Problem(422, "refused", "the survey must have cards to deal")
        return super().install(connection, survey)

    def open_part(self, connection: Connection, name: str) -> None:
        """Begin to deal."""
        self.campaigns.open(connection, name)

    def cards(
        self, connection: Connection, name: str, who: bytes, device: bytes | None
    ) -> dict[str, Any]:
        """Somebody's cards of all parts; the same ones however often they ask.

        Of all, whatever they are asked: which items somebody is shown follows from open answers,
        and those are not for the dealer.
        """
        survey = self.find(connection, name)
        self.check_invited(connection, survey, who)
        with connection.begin_nested():  # all cards or none, whatever is refused
            hands = {
                part.name: self.campaigns.cards(
                    connection, part.campaign.hash, who, device, survey.hash
                )
                for part in self.parts_here(survey)
            }
        return {"survey": name, "hands": hands}
