"""A contributor's side of the conversation, without sockets, clock or files (jrr.protocol.steps).

True answers are read as the values that are perturbed, used once, to make the reports, and are in
nothing that is yielded.
"""

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.dealing.interface import Hand, Hands, Person
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.mechanisms.numbers import Numbers
from jrr.protocol.documents import hash_of
from jrr.protocol.identity import COLLECTOR, pseudonym
from jrr.protocol.states import CLOSED, NO_ANSWERS, OPEN, State, read_state
from jrr.protocol.steps import Call, Save, Steps, insist, read_reply, refused, unreachable
from jrr.protocol.texts import read_time, split_link, without_slash
from jrr.survey.messages import report_message, upload
from jrr.survey.question import NO_YES, check_open_answers, in_first_language, label_places
from jrr.survey.sensitive import counted
from jrr.survey.spending import Limits, check_limits
from jrr.survey.survey import Survey, read_survey

if TYPE_CHECKING:
    from jrr.mechanisms.base import Rng
    from jrr.survey.sensitive import SensitiveQuestion


Answers = Mapping[str, Any]  # question -> label, number, or list of labels of "several"


@dataclass(frozen=True)
class Receipt:
    """The collector has committed the answers."""

    survey: str  # its hash
    carded: bool  # whether all answers that have cards were given with one
    before: bool = field(default=False, compare=False)  # it had the answers already
    # What the parties of a committee say of why somebody who enrolled was dealt no card.
    left_out: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class CollectorStatus:
    """What the collector tells everybody of a survey."""

    state: State
    n: int | None  # people who were dealt cards, where enrolment fixed that
    closes: str | None  # until when answers are taken, which may be later than the document says


def fetch_survey(link: str, limits: Limits) -> Steps[Survey]:
    """The survey from the collector; whoever deals must serve the same bytes later on.

    Raises:
        ProtocolError: It is another one, understates its cost, or costs more than the limits.
        UnreachableError: The collector does not answer.
    """
    collector, name = split_link(link)
    reply = yield from insist(Call(without_slash(link)), limits.patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    if hash_of(reply.body) != name:
        raise ProtocolError("the collector serves another survey than the link names")
    survey = read_survey(reply.body)
    if survey.collector != collector:
        raise ProtocolError(f"the survey names another collector, {survey.collector}")
    survey.check_everything()
    check_limits(survey.sensitive, limits)
    return survey


def collector_status(survey: Survey, patience: float) -> Steps[CollectorStatus]:
    """What the collector tells everybody of the survey."""
    reply = yield from insist(Call(f"{survey.link}/status"), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    document = read_reply(reply.body, "the collector")
    n, closes = document.get("n"), document.get("closes")
    read_time("closes", closes)
    return CollectorStatus(read_state(document.get("state")), n if type(n) is int else None, closes)


def check_open(survey: Survey, patience: float) -> Steps[CollectorStatus]:
    """Refuse, before anybody is asked anything, where answers would not be taken."""
    status = yield from collector_status(survey, patience)
    if not survey.dealing.may_begin(status.n) and status.state != CLOSED:
        raise ProtocolError(
            "the collector takes no answers yet and has not said how many people are dealt cards: "
            "enrol first (jrr survey enrol), if you have not, and come again when the cards are "
            "dealt"
        )
    if status.state != OPEN:
        raise ProtocolError(NO_ANSWERS[status.state])
    return status


def enrol(
    survey: Survey, secret: bytes, limits: Limits, device: bytes | None = None
) -> Steps[None]:
    """Take a place in the next deal."""
    yield from survey.dealing.enrol(survey, Person(secret, device), limits.patience)


def fetch_hands(
    survey: Survey, secret: bytes, patience: float, device: bytes | None = None
) -> Steps[Hands]:
    """One's cards of all questions that have some; none where they are not to be had in time."""
    return (yield from survey.dealing.hands(survey, Person(secret, device), patience))


def contribute(
    survey: Survey,
    secret: bytes,
    answers: Answers,
    limits: Limits,
    *,
    rng: "Rng" = None,
    device: bytes | None = None,
    hands: Hands | None = None,
) -> Steps[Receipt]:
    """Get cards if there are any, respond to every question, save the upload, send it.

    Args:
        survey: What is asked.
        secret: Of the invitation.
        answers: Question -> answer, as `read_answers` takes them.
        limits: What the contributor accepts.
        rng: Where randomness comes from; by default the system's secure one.
        device: A secret of this device, so that nobody else can fetch its cards.
        hands: Cards that were fetched before, or brought along.

    Returns:
        The collector's receipt.

    Raises:
        ArgumentError: An answer is none of this survey's.
        ProtocolError: A server refuses, or serves something else than it should.
        IntegrityError: The parties of a committee did not keep to the rules.
        UnreachableError: The collector does not answer.
    """
    name = pseudonym(secret, survey.collector_salt, COLLECTOR)
    given, values = read_answers(survey, answers, rng, name)
    asked = survey.asked(given, name)
    check_limits(asked, limits)
    if hands is None:
        hands = yield from fetch_hands(survey, secret, limits.patience, device)
    n = hands.n
    if survey.dealing.enrols:
        n = (yield from check_open(survey, limits.patience)).n
        if hands.cards and hands.n != n:
            raise ProtocolError("dealer and collector name different numbers of people")
    reports: dict[str, Any] = {}
    for whole in counted(asked):
        own = [one for one in asked if one.counted_as is whole]
        mechanisms = {one.name: one.for_people(n) for one in own}
        dealt = {one.name: hands.cards[one.name] for one in own if one.name in hands.cards}
        if len(dealt) < len(own):  # answers that share a coin have all their cards, or none
            dealt = {}
        # Of a verified card the device needs what the coin says, to prove that it is possible.
        cards = {
            name: hand.card if hand.proving is None else _no_mask(mechanisms[name], hand)
            for name, hand in dealt.items()
        }
        for answer, report in whole.respond(mechanisms, values, cards, rng).items():
            serials = dealt[answer].serials if answer in dealt else None
            carded = answer in dealt
            reports[answer] = report_message(mechanisms[answer], report, carded, serials)
            proving = dealt[answer].proving if carded else None
            if proving is not None and serials is not None:
                from jrr.dealing.verified.questions import possible_numbers  # needs rbcl

                said = reports[answer]["report"]
                reports[answer] |= proving.answer(
                    answer,
                    name,
                    serials,
                    possible_numbers(mechanisms[answer]),
                    said if isinstance(said, list) else [said],
                )
    body = upload(name, given, reports)
    kept = yield Save(body)
    if kept is not None:  # another run was faster: there is only one upload of a person
        body = kept.body
    return (yield from send(survey, body, limits.patience, hands.left_out))


def _no_mask(mechanism: Any, hand: Hand) -> Any:
    """Cards of 0, from as many dealers as gave one: what is reported with them the coin says."""
    zero = 0 if mechanism.report_format.width == 2 else [0] * (mechanism.report_format.width // 2)
    given = [serial for serial in hand.serials or () if serial is not None]
    return zero if len(hand.serials or ()) == 1 else [zero] * len(given)


def send(
    survey: Survey, body: bytes, patience: float, left_out: tuple[str, ...] = ()
) -> Steps[Receipt]:
    """Send saved answers until the collector says that it has committed them."""
    try:
        reports = json.loads(body)["reports"]
        carded = [
            bool(reports[question.name]["carded"])
            for question in survey.dealt
            if question.name in reports
        ]
    except (ValueError, KeyError, TypeError):
        raise DamagedError("a saved upload must be one that jrr wrote; it was not sent") from None
    address = f"{survey.link}/reports"
    reply = yield from insist(Call(address, body), patience, silence_is_fine=True, also=(425,))
    if reply.gave_up:
        raise unreachable(address, reply, patience)
    if reply.status not in (200, 201):
        raise refused("the collector", reply)
    all_carded = bool(carded) and all(carded)
    return Receipt(survey.hash, all_carded, reply.status == 200, left_out)


def read_answers(
    survey: "Survey", answers: Answers, rng: "Rng" = None, person: bytes | None = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """Open answers, and for every perturbed answer that is asked for its value.

    Args:
        survey: Which asks.
        answers: Question -> a label in any of the survey's languages, a number, a list of labels of
            "several"; None for "prefer not to say".
        rng: Rounds numbers by chance; by default the system's secure one.
        person: As for `Survey.asked`.

    Raises:
        ArgumentError: A question that is asked has no answer, one that is not asked has one, or an
            answer is none of its question's. What was answered is not repeated.
    """
    first = {
        one.name: in_first_language(one, answers[one.name])
        for one in survey.open
        if one.name in answers
    }
    given = check_open_answers(survey.open, first)
    asked = survey.asked(given, person)
    names = {one.asked.name for one in asked}
    for name in names - set(answers):
        raise ArgumentError(f"answers must have one to {name!r}")
    extra = set(answers) - names - set(given)
    if extra:
        raise ArgumentError(
            "answers must be to questions that are asked of this person, got one to "
            f"{min(extra)!r:.80}"
        )
    return given, {one.name: value_of(one, answers[one.asked.name], rng) for one in asked}


def value_of(one: "SensitiveQuestion", answer: Any, rng: "Rng" = None) -> int:
    """The value that an answer stands for. A refusal does not repeat the answer."""
    question = one.asked
    if answer is None and question.prefer_not:
        return len(question.answers) - 1
    try:
        if question.kind == "several":
            return int(one.label in label_places(question, answer))
        if question.kind == "number":
            ends = Numbers(question.low, question.high, one.mechanism)
            number = checks.real("answer", float(answer), question.allowed_numbers)
            return int(ends.steps([question.told(number)], rng)[0])
        if question.kind == "choice" and not isinstance(answer, str):
            return checks.integer("answer", answer, 0, len(question.labels) - 1)
        if question.kind == "choice":
            return _place_of_label(one, answer)
        if question.kind == "scale":
            answer = str(operator.index(answer)) if not isinstance(answer, str | bool) else answer
        elif isinstance(answer, bool):
            answer = NO_YES[answer]
        elif not isinstance(answer, str):
            answer = NO_YES[checks.integer("answer", answer, 0, 1)]
        place = find_label(question.answers, str(answer))
        if place is None:
            raise ArgumentError("no label")
    except (ArgumentError, TypeError, ValueError):
        told = ", ".join(map(repr, question.answers)) if question.kind != "number" else ""
        allowed = {"several": "a list of its labels", "number": question.allowed_numbers}.get(
            question.kind, f"one of {told:.500}"
        )
        raise ArgumentError(
            f"the answer to {question.name!r} must be {allowed}, got another"
        ) from None
    return place


def _place_of_label(one: "SensitiveQuestion", answer: str) -> int:
    """Of a label in any language, in capitals or not."""
    for texts in zip(*(label.values() for label in one.asked.labels), strict=True):
        place = find_label(texts, answer)
        if place is not None:
            return place
    raise ArgumentError("no label")


def find_label(labels: Sequence[str], text: str) -> int | None:
    """Where a text stands among labels; capitals and blanks around it matter only if they must.

    Args:
        labels: All different.
        text: As somebody typed it.

    Returns:
        Its place; None where it is none of them, or could be two.

    Example:
        >>> find_label(("No", "Yes"), "yes "), find_label(("a", "A", "b"), "A")
        (1, 1)
    """
    wanted = text.strip()
    for same in (str, str.casefold):
        places = [at for at, label in enumerate(labels) if same(label) == same(wanted)]
        if len(places) == 1:
            return places[0]
    return None
