"""The dealer's part of surveys: somebody's cards of all parts at once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from jrr.errors import JrrError
from jrr.servers.common.batch import as_problem, in_groups
from jrr.servers.common.jobs import check_invitation
from jrr.servers.common.problems import Problem
from jrr.servers.common.surveys import SurveyJobs
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.seating import Seating, Visitor, keep_seats
from jrr.servers.dealer.store import DealerStore
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

    def cards_all(
        self, connection: Connection, people: Sequence[Visitor]
    ) -> list[dict[str, Any] | Problem]:
        """People's cards of all parts; the same ones however often they ask; or why not.

        Of all, whatever they are asked: which items somebody is shown follows from open answers,
        and those are not for the dealer.
        """
        return in_groups(people, lambda one: one.campaign, partial(self._cards_some, connection))

    def _cards_some(
        self, connection: Connection, name: str, people: Sequence[Visitor]
    ) -> list[dict[str, Any] | Problem]:
        survey, store = self.find(connection, name), DealerStore(connection)
        parts = self.held_parts(connection, survey, lock=True)
        for held in parts.values():
            self.campaigns.check_dealing(held)
        names = [visitor.who for visitor in people]
        invited = store.invitations(name, names) if survey.invitations else None
        seats = store.all_seats_of([held.name for held in parts.values()], names)
        seatings = {part: Seating(held, invited, seats[held.name]) for part, held in parts.items()}

        def hands(visitor: Visitor) -> dict[str, Any]:
            if invited is not None:
                check_invitation(invited.get(visitor.who))
            known = {part for part, one in seatings.items() if visitor.who in one.seats}
            try:
                found = {
                    part: self.campaigns.hand(one, replace(visitor, survey=name))
                    for part, one in seatings.items()
                }
            except (Problem, JrrError):  # all cards or none
                for part, one in seatings.items():
                    if part not in known:
                        one.unseat(visitor)
                raise
            return {"survey": name, "hands": found}

        outcomes: list[dict[str, Any] | Problem] = []
        for visitor in people:
            try:
                outcomes.append(hands(visitor))
            except (Problem, JrrError) as error:
                outcomes.append(as_problem(error))
        keep_seats(store, self.campaigns.keys, list(seatings.values()))
        return outcomes
