"""The end of a survey with verified cards at the collector: one challenge, and the record."""

import json
import math
import secrets
import zlib
from typing import TYPE_CHECKING, Any

from jrr.errors import ArgumentError, IntegrityError
from jrr.protocol.documents import Message
from jrr.servers.collector.ending import check_settling, closing_request, wave_after
from jrr.servers.collector.results import tallies
from jrr.servers.common.problems import Problem, wrong_state
from jrr.survey.card_record import cards_part, check_part
from jrr.survey.closing import announced_questions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jrr.estimation.told_sums import CardSums
    from jrr.servers.collector.store import CollectorStore, CollectorSurvey
    from jrr.survey.closing import ToldSums

FAR = 34  # honest noise of rate e is FAR/e away with a chance of e^-34


class Commitments(Message):
    """What one dealer commits to before it is told which slots are used."""

    dealer: int
    request: str  # the hash of what it was asked
    committed: dict[str, dict[str, str]]  # question -> group -> hash


def nonce(store: "CollectorStore", held: "CollectorSurvey") -> str:
    """Drawn once, when the cards are named: noise depends on it."""
    check_settling(held)
    _check_verified(held)
    drawn = held.challenge
    if "nonce" not in drawn:
        drawn |= {"nonce": secrets.token_hex(32), "dealers": {}}
        store.keep_challenge(held, drawn)
    return str(drawn["nonce"])


def challenge(
    store: "CollectorStore", held: "CollectorSurvey", told: Commitments
) -> dict[str, Any]:
    """Which slots are used: drawn once for each dealer, after it has committed to all of them."""
    from jrr.dealing.verified.noise import SLOTS  # needs rbcl

    drawn = {"nonce": nonce(store, held)} | held.challenge
    request = closing_request(store, held, told.dealer, ahead=False)
    before = drawn["dealers"].get(str(told.dealer))
    if before is None:
        if told.request != request.digest:
            raise Problem(409, "conflict", "the dealer has committed for other cards: ask it again")
        expected = {
            question: {group for group, names in groups.items() if names}
            for question, groups in request.questions.items()
        }
        expected = {question: groups for question, groups in expected.items() if groups}
        if {question: set(groups) for question, groups in told.committed.items()} != expected:
            raise ArgumentError("committed must be of exactly the sums that were asked for")
        before = {
            "request": request.digest,
            "committed": told.committed,
            "slots": {
                question: {group: secrets.randbelow(SLOTS) for group in sorted(groups)}
                for question, groups in told.committed.items()
            },
        }
        drawn["dealers"][str(told.dealer)] = before
        store.keep_challenge(held, drawn)
    elif (before["request"], before["committed"]) != (request.digest, told.committed):
        raise Problem(
            409, "announced", "the slots were drawn for other commitments: there is no second draw"
        )
    slots: dict[str, Any] = before["slots"]
    return slots


def record_of(
    store: "CollectorStore", held: "CollectorSurvey", sums: "Mapping[str, Any]", openings: Any
) -> bytes:
    """The public record with one more announcement, once everything of it is as it must be.

    Raises:
        IntegrityError: A dealer has told what it has not committed to; it is named.
    """
    check_settling(held)
    addresses = held.survey.dealing.addresses
    if not isinstance(openings, list) or len(openings) != len(addresses):
        raise ArgumentError(f"openings must be a list of {len(addresses)}, one from each dealer")
    before = store.record(held.name)
    parts = [] if before is None else json.loads(zlib.decompress(before))["dealers"]
    for number in range(len(addresses)):
        request = closing_request(store, held, number, ahead=False)
        if request.is_empty:
            parts.append(None)
            continue
        drawn = held.challenge.get("dealers", {}).get(str(number), {})
        if drawn.get("request") != request.digest:
            raise wrong_state("the dealers must commit to their noise first")
        part = {
            "request": request.to_document(),
            "nonce": held.challenge["nonce"],
            "committed": drawn["committed"],
            "slots": drawn["slots"],
            "cards": cards_part(store.signed(held, number)),
            "sums": sums["announced"][number],
            "openings": openings[number],
        }
        check_part(held.survey, len(parts), held.promises[number], part)
        parts.append(part)
    promises = json.loads(held.promised or "null")
    record = {"survey": held.name, "promises": promises, "dealers": parts}
    return zlib.compress(json.dumps(record).encode(), 1)


def check_range(store: "CollectorStore", held: "CollectorSurvey", told: "ToldSums") -> None:
    """Refuse sums that leave of the reports what no answers could be, however they were checked.

    Noise passes unseen with one chance in so many slots. Honest noise is further away with a chance
    below 10⁻⁹ in the largest survey.

    Raises:
        IntegrityError: They do; the message names the question and its cell.
    """
    number, dealers = len(told.announced), len(held.survey.dealing.addresses)
    for question in announced_questions(held.survey):
        sums: CardSums = told.of(question.name, number)
        mechanism: Any = held.mechanism(question.name)
        wave = wave_after(store, held, sums.by)
        found = tallies(store, held, question.name, sums.by, next_wave=wave)
        cells = sums.settled(mechanism, found, sums.by)[1] if found else {}
        far = math.ceil(dealers * FAR / mechanism.announced_rate)
        for cell, tally in cells.items():
            most = mechanism.coin.largest * tally.n_carded + far
            if not all(-far <= one <= most for one in tally.carded):
                where = f"{question.name}, {cell}" if cell else question.name
                raise IntegrityError(
                    f"{where}: what the dealers told leaves numbers that no answers could be"
                )


def public_record(store: "CollectorStore", held: "CollectorSurvey") -> bytes:
    """The record, for anybody."""
    _check_verified(held)
    stored = store.record(held.name)
    if stored is None:
        if held.challenge.get("dealers"):  # said to everybody
            raise wrong_state(
                "noise was drawn, and no sums that hold have come: there is no result"
            )
        raise wrong_state("there is a record of cards once the sums are here")
    return zlib.decompress(stored)


def _check_verified(held: "CollectorSurvey") -> None:
    if not held.survey.dealing.is_verified:
        raise wrong_state("the survey's cards are not verified: there is no record of them")
