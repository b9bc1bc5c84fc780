"""A contributor's side of a survey, without sockets, clock or files (jrr.survey.steps).

All cards are fetched at once, of every part: a dealer does not learn which items somebody is asked.
True answers are used once, to make the reports, and are in nothing that is yielded.
"""

import json
import operator
from collections.abc import Mapping
from typing import Any

from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.mechanisms.base import Rng
from jrr.survey import messages
from jrr.survey.addresses import split_link, survey_path
from jrr.survey.answers import Receipt, read_answer
from jrr.survey.fetching import fetch_document, is_same_at
from jrr.survey.hand import GivenCard, added_hand, read_dealt
from jrr.survey.identity import COLLECTOR_ROLE, device_name, pseudonym
from jrr.survey.limits import Limits
from jrr.survey.open_answers import check_open_answers, in_first_language, label_places
from jrr.survey.problems import UNKNOWN_NAME, read_problem
from jrr.survey.questionnaire import NO_YES
from jrr.survey.states import NO_ANSWERS, OPEN, read_state
from jrr.survey.steps import Call, Reply, Save, Steps, insist, read_reply, refused, unreachable
from jrr.survey.survey_limits import check_survey_limits
from jrr.survey.survey_messages import part_report, upload
from jrr.survey.surveys import Survey, SurveyPart, read_survey

Answers = Mapping[str, Any]  # item -> label, number, or list of labels of "several"
Hands = Mapping[str, Any]  # part -> Hand


def fetch_survey(link: str, limits: Limits) -> Steps[Survey]:
    """The survey from the collector; whoever deals must serve the same bytes later on.

    Raises:
        ProtocolError: It is another one, understates its cost, or costs more than the limits.
        UnreachableError: The collector does not answer.
    """
    collector, _ = split_link(link)
    survey = read_survey((yield from fetch_document(link, "survey", limits.patience)))
    if survey.collector != collector:
        raise ProtocolError(f"the survey names another collector, {survey.collector}")
    survey.check_everything()
    check_survey_limits(survey.parts, limits)
    return survey


def check_open(survey: Survey, patience: float) -> Steps[None]:
    """Refuse, before anybody is asked anything, where answers would not be taken."""
    reply = yield from insist(Call(f"{_at_collector(survey)}/status"), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    state = read_state(read_reply(reply.body, "the collector").get("state"))
    if state != OPEN:
        raise ProtocolError(NO_ANSWERS[state])


def read_answers(
    survey: Survey, answers: Answers, rng: Rng = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """Open answers, and for every part that is asked the value that is perturbed.

    Args:
        survey: Which asks.
        answers: Item -> a label in any of the survey's languages, a number, a list of labels of
            "several"; None for "prefer not to say".
        rng: Rounds numbers by chance; by default the system's secure one.

    Raises:
        ArgumentError: An item that is asked has no answer, one that is not asked has one, or an
            answer is none of its item's. What was answered is not repeated.
    """
    first = {
        one.name: in_first_language(one, answers[one.name])
        for one in survey.questionnaire.open
        if one.name in answers
    }
    given = check_open_answers(survey.questionnaire, first)
    asked = survey.asked(given)
    names = {part.item.name for part in asked}
    for name in names - set(answers):
        raise ArgumentError(f"answers must have one to {name!r}")
    extra = set(answers) - names - set(given)
    if extra:
        raise ArgumentError(
            f"answers must be to items that are asked of this person, got one to {min(extra)!r:.80}"
        )
    return given, {part.name: _value(part, answers[part.item.name], rng) for part in asked}


def contribute_survey(
    survey: Survey,
    secret: bytes,
    answers: Answers,
    limits: Limits,
    *,
    rng: Rng = None,
    device: bytes | None = None,
) -> Steps[Receipt]:
    """Get cards if there are any, respond to every item, save the upload, send it until received.

    Args:
        survey: What is asked.
        secret: Of the invitation.
        answers: Item -> answer, as `read_answers` takes them.
        limits: What the contributor accepts.
        rng: Where randomness comes from; by default the system's secure one.
        device: A secret of this device, so that nobody else can fetch its cards.

    Returns:
        The collector's receipt; `carded` is whether all parts that have cards were answered with
        one.

    Raises:
        ArgumentError: An answer is none of this survey's.
        ProtocolError: A server refuses, or serves something else than it should.
        UnreachableError: The collector does not answer.
    """
    given, values = read_answers(survey, answers, rng)
    asked = survey.asked(given)
    check_survey_limits(asked, limits)
    hands: Hands = {}
    if survey.deals:
        hands = yield from fetch_hands(survey, secret, limits.patience, device)
    reports = {}
    for part in asked:
        mechanism, hand = part.campaign.mechanism, hands.get(part.name)
        card = None if hand is None else hand.card
        serials = None if hand is None else hand.serials
        report = mechanism.respond_one_step(values[part.name], card, rng)
        reports[part.name] = part_report(mechanism, report, card is not None, serials)
    name = pseudonym(secret, survey.collector_salt, COLLECTOR_ROLE)
    body = upload(name, given, reports)
    kept = yield Save(body)
    if kept is not None:  # another run was faster: there is only one upload of a person
        body = kept.body
    return (yield from send_upload(survey, body, limits.patience))


def send_upload(survey: Survey, body: bytes, patience: float) -> Steps[Receipt]:
    """Send saved answers until the collector says that it has committed them."""
    try:
        reports = json.loads(body)["reports"]
        carded = [
            bool(reports[part.name]["carded"])
            for part in survey.parts
            if part.name in reports and part.campaign.deals
        ]
    except (ValueError, KeyError, TypeError):
        raise DamagedError("a saved upload must be one that jrr wrote; it was not sent") from None
    address = f"{_at_collector(survey)}/reports"
    reply = yield from insist(Call(address, body), patience, silence_is_fine=True, also=(425,))
    if reply.gave_up:
        raise unreachable(address, reply, patience)
    if reply.status not in (200, 201):
        raise refused("the collector", reply)
    return Receipt(survey.hash, bool(carded) and all(carded), reply.status == 200)


def fetch_hands(
    survey: Survey,
    secret: bytes,
    patience: float,
    device: bytes | None = None,
) -> Steps[Hands]:
    """One's cards of all parts that have some; none where they are not to be had in time.

    Raises:
        ProtocolError: Who deals serves another survey, or refuses.
    """
    roles = survey.dealer.roles
    # A dealer that serves another survey ends it here; a silent one only costs the cards.
    same = []
    for dealer in survey.dealer.addresses:
        address, document = f"{dealer}{survey_path(survey.hash)}", survey.to_bytes()
        same.append(
            (yield from is_same_at(address, document, "surveys", patience, silence_is_fine=True))
        )
    dealt: list[dict[str, GivenCard] | None] = []
    for at, role in enumerate(roles):
        name = pseudonym(secret, survey.hash, role)
        mine = None if device is None else device_name(device, survey.hash, role)
        reply = None
        if same[at]:
            body = messages.card_request(name, device=mine)
            reply = yield from _ask_for_cards(survey, at, body, patience)
        if reply is None and not any(one.may_leave_out for one in survey.campaigns.values()):
            return {}
        dealt.append(None if reply is None else _read_hands(survey, reply))
    if not any(dealt):
        return {}
    return {
        part.name: added_hand(
            part.campaign, [None if one is None else one[part.name] for one in dealt]
        )
        for part in survey.parts
        if part.campaign.deals
    }


def _ask_for_cards(
    survey: Survey, number: int, body: bytes, patience: float
) -> Steps[Mapping[str, Any] | None]:
    call = Call(f"{survey.dealer.addresses[number]}{survey_path(survey.hash)}/cards", body)
    reply: Reply = yield from insist(call, patience, silence_is_fine=True, also=(425,))
    # Somebody whom the dealer does not know must not send anything to the collector either.
    known = read_problem(reply.body)[0] != UNKNOWN_NAME
    if reply.gave_up or (reply.status in (404, 410, 425) and known):
        return None  # nothing came, no card is left, or the cards are burned
    if reply.status != 200:
        raise refused("the dealer", reply)
    hands = read_reply(reply.body, "the dealer").get("hands")
    if not isinstance(hands, dict):
        raise ProtocolError("the dealer must give hands, by the names of the parts")
    return hands


def _read_hands(survey: Survey, hands: Mapping[str, Any]) -> dict[str, GivenCard]:
    """The cards of all parts."""
    found = {}
    for part in survey.parts:
        if part.campaign.deals:
            hand = hands.get(part.name)
            if not isinstance(hand, dict):
                raise ProtocolError(f"the dealer must give a card for {part.name}")
            found[part.name] = read_dealt(part.campaign, hand)
    return found


def _value(part: SurveyPart, answer: Any, rng: Rng) -> int:
    """The value that an answer stands for, of one part. A refusal does not repeat the answer."""
    item = part.item
    if answer is None and item.prefer_not:
        return len(item.answers) - 1
    try:
        if item.kind == "several":
            assert part.label is not None  # one part for each label
            return int(part.label in label_places(item, answer))
        if item.kind == "choice":
            (place,) = label_places(item, [answer])
            return place
        if item.kind == "scale":
            answer = str(operator.index(answer)) if not isinstance(answer, str | bool) else answer
        elif item.kind == "yes-no" and isinstance(answer, bool):
            answer = NO_YES[answer]
        return read_answer(part.campaign, answer, rng)
    except (ArgumentError, TypeError, ValueError):
        told = ", ".join(map(repr, item.answers)) if item.kind != "number" else ""
        allowed = {
            "several": "a list of its labels",
            "choice": "one of its labels",
            "number": f"a number from {item.low:g} to {item.high:g}",
        }.get(item.kind, f"one of {told}")
        raise ArgumentError(f"the answer to {item.name!r} must be {allowed}, got another") from None


def _at_collector(survey: Survey) -> str:
    return f"{survey.collector}{survey_path(survey.hash)}"
