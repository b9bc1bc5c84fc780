"""A contributor's own client: files that keep what was fetched and made, and the conversation."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jrr._base.files import write_once, write_whole
from jrr.client.device import Device
from jrr.client.ledger import Entry
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.survey import contributor as protocol
from jrr.survey.answers import Receipt, read_answer
from jrr.survey.campaign import Campaign
from jrr.survey.deck import card_from_json, card_to_json
from jrr.survey.group_place import read_place
from jrr.survey.hand import Hand, announced_mechanism, fetch_hand
from jrr.survey.limits import check_limits
from jrr.survey.spending import Expense, Spent, expense_of, question_hash
from jrr.survey.steps import Reply, Save


class Contributor(Device):
    """One person's part in a campaign, on that person's own device.

    Checks that the campaign is the one that the link names and costs no more than the limits, gets
    a card from a dealer that serves the same campaign (or answers without one when none is to be
    had within the patience), perturbs the answer, keeps the perturbed report in the directory
    `state`, and sends it until the collector has committed it. The true answer is neither stored,
    logged nor sent.

    Limits hold for everything that was answered before, in this and in other campaigns, which a
    ledger on this device adds up (jrr.survey.spending).

    Args:
        link: The campaign's link, as https://survey.example/v1/campaigns/ and its name.
        invitation: One's own; None where anybody may answer.
        limit: Most ε accepted against the collector, who has all reports (view: everything), for
            all answers in the ledger and this campaign together.
        dealer_limit: The same against dealer and collector together; None: any.
        delta: The δ at which `limit` is kept, for all answers together.
        patience: Seconds to wait for a card, and for the collector.
        state: Directory for what must survive an interruption; by default below the home
            directory.
        ledger: File that adds up what answers cost; by default in `state`. People who share an
            account should have one each.
        ca: File of certificates to trust, in PEM.
        rng: Where randomness comes from; by default the system's secure one.

    Raises:
        ArgumentError: An argument is none of these.
        OSError: The directory cannot be made.

    Example:
        >>> person = jrr.Contributor(link, invitation, limit=1.0)  # doctest: +SKIP
        >>> person.answer("yes")  # doctest: +SKIP
        Receipt(campaign='4f4ee8…', carded=True)
    """

    _campaign: Campaign | None = None  # as soon as it was fetched

    @property
    def _by_invitation(self) -> bool:
        return self.campaign.invitations

    @property
    def campaign(self) -> Campaign:
        """What is asked and promised; fetched once and checked."""
        if self._campaign is None:
            self._campaign = self._drive(protocol.fetch(self._link, self._limits))
        return self._campaign

    def check_spending(self) -> Spent:
        """What will have been spent after answering, as it counts against the limits.

        Returns:
            What was spent before, and this campaign if it is not answered yet.

        Raises:
            ProtocolError: That is more than the limits.
        """
        return self._check_spending(self._ledger.expenses())

    def _check_spending(self, before: list[Expense]) -> Spent:
        return check_limits(self.campaign, self._limits, before, self._has_answered())

    def _has_answered(self) -> bool:
        return self._ledger.has_answered(self.campaign.hash, self._person())

    def enrol(self) -> None:
        """Take a place in the next deal, where the campaign enrols first."""
        self.check_spending()
        self._drive(protocol.enrol(self.campaign, self._secret(), self._limits, self._device()))

    def fetch_cards(self) -> bool:
        """Fetch the card now and keep it for later; whether there is one.

        Answering long after, and not at the time the dealer saw one, is what keeps somebody who
        watches both servers from matching people.
        """
        if not self.campaign.deals:
            return False
        patience = self._limits.patience
        steps = fetch_hand(self.campaign, self._secret(), patience, self._device())
        hand = self._drive(steps)
        if hand.card is None:
            return False
        card = _held_to_json(self.campaign, hand.mechanism, hand.card)
        document = {"n": hand.mechanism.moments.deck, "card": card, "serials": hand.serials}
        write_whole(self._file("cards"), json.dumps(document), private=True)
        return True

    @property
    def has_cards(self) -> bool:
        """Whether cards are kept here, fetched or taken from a file."""
        return self._file("cards").exists()

    def take_card(self, file: str | Path) -> None:
        """Move a card that one's own group dealt (`jrr mpc group`) into this device's keeping.

        The file is deleted, so that the card serves one answer.

        Args:
            file: As `jrr mpc group -o` wrote it.

        Raises:
            ArgumentError: There is no such file, or a card is kept already.
            DamagedError: It is no card.
            ProtocolError: It was dealt for another campaign, or not as this one asks.
        """
        path = Path(file)
        campaign = self.campaign
        card = read_place(path).card_in(campaign)
        document = {
            "n": campaign.mechanism.moments.deck,
            "card": card_to_json(campaign.mechanism, card),
            "serials": None,
        }
        try:
            write_once(self._file("cards"), json.dumps(document))
        except FileExistsError:
            raise ArgumentError(
                f"card must be left out: one for this campaign is kept already, got {path}"
            ) from None
        path.unlink()

    def _hand(self) -> Hand | None:
        path = self._file("cards")
        if not self.has_cards:
            return None
        try:
            document = json.loads(path.read_text("utf-8"))
            n, card, serials = document["n"], document["card"], document["serials"]
            serials = None if serials is None else tuple(serials)
        except (ValueError, KeyError, TypeError):
            raise DamagedError(f"{path} must be cards that jrr fetched: delete it") from None
        mechanism = self.campaign.for_people(n)
        return Hand(_held_from_json(self.campaign, mechanism, card), mechanism, serials)

    def answer(
        self,
        answer: str | float,
        covariates: Mapping[str, str] | None = None,
    ) -> Receipt:
        """Answer once; a report that was made before is sent again instead of a new one.

        Args:
            answer: A label of the campaign, or its number; where a number is asked for, that.
            covariates: Public attributes, exactly those that the campaign declares.

        Returns:
            The collector's receipt.

        Raises:
            ArgumentError: Answer or covariates are none of this campaign.
            DamagedError: A file in `state`, or a reply, is not what it should be.
            ProtocolError: A server refuses, or the campaign costs more than the limits.
            UnreachableError: The collector does not answer; the report is kept for another try.
            IntegrityError: The parties of a committee did not keep to the rules.
        """
        campaign = self.campaign
        waiting = self.resume()
        if waiting is not None:
            return waiting
        conversation = protocol.contribute(
            campaign,
            self._secret(),
            read_answer(campaign, answer, self._rng),
            self._limits,
            covariates=covariates,
            rng=self._rng,
            device=self._device(),
            hand=self._hand(),
        )
        return self._drive(conversation, lambda step: self._save(step, repeated=False))

    def can_repeat(self) -> bool:
        """Whether a report was made before for the same question, by the same chances."""
        if (
            self.campaign.mechanism.masked and self.campaign.deals
        ):  # the card in it belongs to a sum that is over
            return False
        asked = question_hash(self.campaign, self.campaign.mechanism)
        return self._ledger.remembered(asked) is not None

    def repeat(self, covariates: Mapping[str, str] | None = None) -> Receipt | None:
        """Answer a question that is asked again by the report that was made for it before.

        Nobody is asked, and nothing is spent: however often the same report is sent, it tells what
        it told the first time. It also stays what it was if the answer has changed since, and
        whoever sees a report of many values twice can tell that it is the same one.

        Args:
            covariates: Public attributes, exactly those that the campaign declares.

        Returns:
            The collector's receipt; None where no such report is remembered.

        Raises:
            ProtocolError: A server refuses.
            UnreachableError: The collector does not answer; the report is kept for another try.
        """
        campaign = self.campaign
        waiting = self.resume()
        if waiting is not None:
            return waiting
        mechanism = campaign.mechanism
        if mechanism.masked and mechanism.deals:  # the card in it belongs to a sum that is over
            return None
        if campaign.enrols:
            mechanism = self._drive(announced_mechanism(campaign, self._limits.patience))
        report = self._ledger.remembered(question_hash(campaign, mechanism))
        if report is None:
            return None
        conversation = protocol.repeat(
            campaign,
            self._secret(),
            report,
            self._limits,
            mechanism=mechanism,
            covariates=covariates,
        )
        return self._drive(conversation, lambda step: self._save(step, repeated=True))

    def check_ready(self, covariates: Mapping[str, str] | None = None) -> None:
        """Refuse what could not be sent, before the person is asked for an answer."""
        patience = self._limits.patience
        self._drive(protocol.check_ready(self.campaign, covariates, patience))

    def resume(self) -> Receipt | None:
        """Send a report that was saved and perhaps not received; None where there is none."""
        path = self._file("report")
        if not path.exists():
            return None
        body = path.read_bytes()
        if not self._has_answered():
            self._enter(body)  # the ledger was deleted, or is another one
        return self._drive(protocol.send(self.campaign, body, self._limits.patience))

    def _enter(
        self,
        body: bytes,
        mechanism: Mechanism | None = None,
        *,
        repeated: bool = False,
        check: Callable[[list[Expense]], object] = lambda before: None,
    ) -> None:
        campaign = self.campaign
        made_by = mechanism or campaign.mechanism
        try:
            report = json.loads(body)["report"]
        except (ValueError, KeyError, TypeError):
            return  # damaged: it will not be sent
        entry = Entry(
            campaign=campaign.hash,
            person=self._person(),
            question=question_hash(campaign, made_by),
            expense=None if repeated else expense_of(campaign),
            mechanism=made_by,
            report=report,
        )
        self._ledger.enter(entry, check)

    def _save(self, step: Save, *, repeated: bool) -> Reply | None:
        body = step.body
        # First the ledger: what is in it and was never sent was only counted for nothing.
        self._enter(
            body,
            step.mechanism,
            repeated=repeated,
            check=self._check_spending,
        )
        return self._keep(self._file("report"), body)


def _held_to_json(campaign: Campaign, mechanism: Mechanism, held: Any) -> Any:
    """What is held: a card, or a list with one from each of several dealers."""
    if campaign.by_several:
        return [card_to_json(mechanism, card) for card in held]
    return card_to_json(mechanism, held)


def _held_from_json(campaign: Campaign, mechanism: Mechanism, document: Any) -> Any:
    if campaign.by_several:
        return [card_from_json(mechanism, card) for card in document]
    return card_from_json(mechanism, document)
