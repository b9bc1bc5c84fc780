"""A contributor's own client for surveys: one upload for all items, kept until it is received."""

import json
from collections.abc import Iterable

from jrr.client.device import Device
from jrr.client.ledger import Entry
from jrr.errors import DamagedError
from jrr.survey import survey_contributor as protocol
from jrr.survey.answers import Receipt
from jrr.survey.spending import Expense, Spent, expense_of, question_hash
from jrr.survey.steps import Reply, Save
from jrr.survey.survey_contributor import Answers
from jrr.survey.survey_limits import check_survey_limits
from jrr.survey.surveys import Survey, SurveyPart


class SurveyContributor(Device):
    """One person's part in a survey, on that person's own device.

    As `Contributor`, for all items at once: the survey is the one that the link names and costs no
    more than the limits; cards come from dealers that serve the same survey; every answer is
    perturbed here; the upload is kept in the directory `state` and sent until the collector has
    committed it. True answers are neither stored, logged nor sent.

    Its arguments are those of `Contributor`; the link is a survey's, as
    https://survey.example/v1/surveys/ and its name.

    Example:
        >>> person = SurveyContributor(link, invitation, limit=2.0)  # doctest: +SKIP
        >>> person.answer({"sector": "office", "drinks": "no"})  # doctest: +SKIP
        Receipt(campaign='4f4ee8…', carded=True)
    """

    _survey: Survey | None = None  # as soon as it was fetched

    @property
    def survey(self) -> Survey:
        """What is asked and promised; fetched once and checked."""
        if self._survey is None:
            self._survey = self._drive(protocol.fetch_survey(self._link, self._limits))
        return self._survey

    @property
    def _by_invitation(self) -> bool:
        return self.survey.invitations

    def check_spending(self) -> Spent:
        """What will have been spent after answering every item.

        Raises:
            ProtocolError: That is more than the limits; the message says what each item costs.
        """
        return self._check(self._ledger.expenses(), self.survey.parts)

    def check_ready(self) -> None:
        """Refuse, before anybody is asked anything, where answers would not be taken."""
        self._drive(protocol.check_open(self.survey, self._limits.patience))

    def answer(self, answers: Answers) -> Receipt:
        """Answer once; an upload that was made before is sent again instead of a new one.

        Args:
            answers: Item -> a label in any of the survey's languages, a number, a list of labels
                of "several"; None for "prefer not to say". Of exactly the items that are asked.

        Raises:
            ArgumentError: An answer is none of this survey's; what was answered is not repeated.
            ProtocolError: A server refuses, or the survey costs more than the limits.
            UnreachableError: The collector does not answer; the upload is kept for another try.
        """
        waiting = self.resume()
        if waiting is not None:
            return waiting
        conversation = protocol.contribute_survey(
            self.survey,
            self._secret(),
            answers,
            self._limits,
            rng=self._rng,
            device=self._device(),
        )
        return self._drive(conversation, self._save)

    def resume(self) -> Receipt | None:
        """Send an upload that was saved and perhaps not received; None where there is none."""
        path = self._file("upload")
        if not path.exists():
            return None
        body = path.read_bytes()
        return self._drive(protocol.send_upload(self.survey, body, self._limits.patience))

    def _check(self, before: list[Expense], parts: Iterable[SurveyPart]) -> Spent:
        entered = {
            part.name
            for part in self.survey.parts
            if self._ledger.has_answered(part.campaign.hash, self._person())
        }
        return check_survey_limits(
            [part for part in parts if part.name not in entered], self._limits, before
        )

    def _save(self, step: Save) -> Reply | None:
        try:
            reports = json.loads(step.body)["reports"]
        except (ValueError, KeyError, TypeError):
            raise DamagedError("an upload must be one that jrr made") from None
        parts = [part for part in self.survey.parts if part.name in reports]
        entries = [
            Entry(
                campaign=part.campaign.hash,
                person=self._person(),
                question=question_hash(part.campaign, part.campaign.mechanism),
                expense=expense_of(part.campaign),
                mechanism=part.campaign.mechanism,
                report=reports[part.name]["report"],
            )
            for part in parts
        ]
        # First the ledger: what is in it and was never sent was only counted for nothing.
        self._ledger.enter_all(entries, lambda before: self._check(before, parts))
        return self._keep(self._file("upload"), step.body)
