"""A contributor's own client: files that keep what was fetched and made, and the conversation."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from jrr._base import checks
from jrr._base.files import write_once
from jrr.client.device import LEDGER, Device, Ledger, default_state, keep_cards, read_cards
from jrr.client.http import Http
from jrr.dealing.group_place import read_place
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.mechanisms.base import Rng
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.protocol.steps import Call, Reply, Save, Steps, Wait
from jrr.protocol.texts import split_link
from jrr.survey import contributor as protocol
from jrr.survey.contributor import Answers, Receipt
from jrr.survey.promises import DELTA
from jrr.survey.sensitive import SensitiveQuestion
from jrr.survey.spending import Expense, Limits, Spent, check_limits, expenses_of, total
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked

T = TypeVar("T")


class Contributor:
    """One person's part in a survey, on that person's own device.

    Checks that the survey is the one that the link names and costs no more than the limits, gets
    cards from dealers that serve the same survey (or answers without where none are to be had
    within the patience), perturbs every answer to a sensitive question, keeps the perturbed answers
    in the directory `state`, and sends them until the collector has committed them; then a mark is
    left of them and nothing else. True answers to sensitive questions are neither stored, logged
    nor sent.

    Limits hold for everything that was answered before, in this and in other surveys, which a
    ledger on this device adds up (jrr.survey.spending).

    Args:
        link: The survey's link, as https://survey.example/v1/surveys/ and its name.
        invitation: One's own; None where anybody may answer.
        limit: Most ε accepted against the collector, who has all reports (view: everything), for
            all answers in the ledger and this survey together.
        dealer_limit: The same against dealer and collector together; None: any.
        delta: The δ at which `limit` is kept, for all answers together.
        patience: Seconds to wait for cards, and for the collector.
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
        >>> person = jrr.Contributor(link, invitation, limit=2.0)  # doctest: +SKIP
        >>> person.answer({"sector": "office", "drinks": "no"})  # doctest: +SKIP
        Receipt(survey='4f4ee8…', carded=True)
    """

    def __init__(
        self,
        link: str,
        invitation: str | None = None,
        *,
        limit: float,
        dealer_limit: float | None = None,
        delta: float = DELTA,
        patience: float = 30.0,
        state: str | Path | None = None,
        ledger: str | Path | None = None,
        ca: str | Path | None = None,
        rng: Rng = None,
    ) -> None:
        _, self.name = split_link(link)
        self._link = link.strip()
        self._limits = Limits(
            checks.epsilon("limit", limit),
            None if dealer_limit is None else checks.epsilon("dealer_limit", dealer_limit),
            checks.real("patience", patience, "seconds >= 0", 0.0),
            checks.real("delta", delta, "in [0, 1)", 0.0, 1.0, open_high=True),
        )
        self._invitation = None if invitation is None else invitation_secret(invitation)
        self._state = Path(state) if state is not None else default_state()
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._ledger = Ledger(self._state / LEDGER if ledger is None else Path(ledger))
        self._http = Http(ca)
        self._rng = rng
        self._survey: Survey | None = None  # as soon as it was fetched

    @property
    def survey(self) -> Survey:
        """What is asked and promised; fetched once and checked."""
        if self._survey is None:
            self._survey = self._drive(protocol.fetch_survey(self._link, self._limits))
        return self._survey

    @property
    def spent(self) -> Spent:
        """What all answers in the ledger have cost together."""
        return total(self._ledger.expenses(), self._limits.delta)

    @property
    def not_asked(self) -> frozenset[str]:
        """Sensitive questions that are not for this person: others are asked these.

        It follows from the invitation; who is asked what nobody can choose.
        """
        survey = self.survey
        return not_asked(survey, pseudonym(self._device.secret, survey.collector_salt, COLLECTOR))

    def check_spending(self) -> Spent:
        """What will have been spent after answering every question.

        Raises:
            ProtocolError: That is more than the limits; the message says what each answer costs.
        """
        return self._check(self._ledger.expenses(), self.survey.sensitive)

    def check_ready(self) -> None:
        """Refuse, before anybody is asked anything, where answers would not be taken."""
        self._drive(protocol.check_open(self.survey, self._limits.patience))

    def enrol(self) -> None:
        """Take a place in the next deal, where people enrol before cards are dealt."""
        self.check_spending()
        self._drive(
            protocol.enrol(
                self.survey, self._device.secret, self._limits, self._device.own_secret()
            )
        )

    def fetch_cards(self) -> bool:
        """Fetch the cards of all questions now and keep them for later; whether there are any.

        Answering long after, and not at the time the dealer saw one, is what keeps somebody who
        watches both servers from matching people.

        Raises:
            ProtocolError: Answers were sent already, or a dealer refuses.
        """
        if self._device.mark.exists():
            raise ProtocolError("answers to this survey were sent: no card is needed any more")
        patience = self._limits.patience
        steps = protocol.fetch_hands(
            self.survey, self._device.secret, patience, self._device.own_secret()
        )
        hands = self._drive(steps)
        if not hands.cards:
            return False
        keep_cards(self._device.file("cards"), self.survey, hands)
        return True

    @property
    def has_cards(self) -> bool:
        """Whether cards are kept here, fetched or taken from a file."""
        return self._device.file("cards").exists()

    def take_card(self, file: str | Path) -> None:
        """Move a card that one's own group dealt (`jrr survey deal-in-group`) into this device.

        The file is deleted, so that the card serves one answer.

        Args:
            file: As `jrr survey deal-in-group -o` wrote it.

        Raises:
            ArgumentError: There is no such file, or a card is kept already.
            DamagedError: It is no card.
            ProtocolError: It was dealt for another survey, or not as this one asks.
        """
        path = Path(file)
        hands = read_place(path).hands(self.survey)
        try:
            keep_cards(self._device.file("cards"), self.survey, hands, once=True)
        except FileExistsError:
            raise ArgumentError(
                f"card must be left out: one for this survey is kept already, got {path}"
            ) from None
        path.unlink()

    def answer(self, answers: Answers | str | float) -> Receipt:
        """Answer once; what was made before is sent again instead of something new.

        Args:
            answers: Question -> a label in any of the survey's languages, a number, a list of
                labels of "several"; None for "prefer not to say". Of exactly the questions that
                are asked. Where the survey has one question, its answer alone will do.

        Returns:
            The collector's receipt.

        Raises:
            ArgumentError: An answer is none of this survey's; what was answered is not repeated.
            DamagedError: A file in `state`, or a reply, is not what it should be.
            ProtocolError: A server refuses, or the survey costs more than the limits.
            UnreachableError: The collector does not answer; the answers are kept for another try.
            IntegrityError: The parties of a committee did not keep to the rules.
        """
        waiting = self.resume()
        if waiting is not None:
            return waiting
        conversation = protocol.contribute(
            self.survey,
            self._device.secret,
            self._by_question(answers),
            self._limits,
            rng=self._rng,
            device=self._device.own_secret(),
            hands=read_cards(self._device.file("cards"), self.survey) if self.has_cards else None,
        )
        return self._forgotten(self._drive(conversation, self._save))

    def resume(self) -> Receipt | None:
        """Send answers that were saved and perhaps not received; None where there are none.

        Of answers that were received nothing is left but that they were: they are not sent again.
        """
        if self._device.mark.exists():
            return self._forgotten(self._received())
        path = self._device.file("upload")
        if not path.exists():
            return None
        body = path.read_bytes()
        self._enter(body, lambda before, answered: None)  # where the ledger is another than it was
        return self._forgotten(self._drive(protocol.send(self.survey, body, self._limits.patience)))

    def _received(self) -> Receipt:
        """What the mark says of answers that were received before."""
        try:
            carded = bool(json.loads(self._device.mark.read_text("utf-8"))["carded"])
        except (ValueError, KeyError, TypeError):
            raise DamagedError(f"{self._device.mark} must be a mark that jrr wrote") from None
        return Receipt(self.survey.hash, carded, before=True)

    def _forgotten(self, receipt: Receipt) -> Receipt:
        """Forget what the collector has; the receipt."""
        self._device.forget(json.dumps({"carded": receipt.carded}))
        return receipt

    def _by_question(self, answers: Answers | str | float) -> Answers:
        if isinstance(answers, Mapping):
            return answers
        if len(self.survey.questions) != 1:
            names = ", ".join(question.name for question in self.survey.questions)
            raise ArgumentError(f"answers must be by question where there are several: {names}")
        return {self.survey.questions[0].name: answers}

    def _check(self, before: list[Expense], questions: Iterable[SensitiveQuestion]) -> Spent:
        entered = self._ledger.answered(self.survey.hash, self._device.person)
        unpaid = [one for one in questions if one.counted_as.name not in entered]
        return check_limits(unpaid, self._limits, before)

    def _save(self, step: Save) -> Reply | None:
        """Keep what may be sent; what is kept already, where another run was faster."""
        # First the ledger: what is in it and was never sent was only counted for nothing.
        self._enter(step.body, self._check)
        path = self._device.file("upload")
        with contextlib.suppress(FileExistsError):
            write_once(path, step.body.decode())
            return None
        return Reply(200, path.read_bytes())

    def _enter(
        self, body: bytes, check: Callable[[list[Expense], list[SensitiveQuestion]], object]
    ) -> None:
        """Enter the answers of an upload into the ledger."""
        try:
            reports = json.loads(body)["reports"]
        except (ValueError, KeyError, TypeError):
            raise DamagedError(
                "a saved upload must be one that jrr wrote; it was not sent"
            ) from None
        answered = [one for one in self.survey.sensitive if one.name in reports]
        self._ledger.enter(
            self._device.person, expenses_of(answered), lambda before: check(before, answered)
        )

    @cached_property
    def _device(self) -> Device:
        if self._invitation is None and self.survey.invitations:
            raise ArgumentError("invitation must be given: this survey is by invitation only")
        return Device(self._state, self.name, self._invitation)

    def _drive(self, steps: Steps[T], save: Callable[[Save], Reply | None] | None = None) -> T:
        """Run a conversation: call, wait, and keep what must survive an interruption."""
        reply: Reply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, Call):
                    reply = self._http.call(step)
                elif isinstance(step, Wait):
                    time.sleep(step.seconds)
                elif isinstance(step, Save):
                    assert save is not None  # who makes a report keeps it
                    reply = save(step)
        except StopIteration as finished:
            result: T = finished.value
            return result
