"""The end of a survey with verified cards at the collector: one challenge, and the record."""

import json
import secrets
import zlib
from typing import TYPE_CHECKING, Any

from jrr.errors import ArgumentError
from jrr.protocol.documents import Message
from jrr.servers.collector.ending import check_settling, closing_request
from jrr.servers.common.problems import Problem, wrong_state
from jrr.survey.card_record import cards_part, check_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jrr.servers.collector.store import CollectorStore, CollectorSurvey


class Commitments(Message):
    """What one dealer commits to before it is told which slots are used."""

    dealer: int
    committed: dict[str, dict[str, str]]  # question -> group -> hash


def nonce(store: "CollectorStore", held: "CollectorSurvey") -> str:
    """Drawn once, when the cards are named: noise depends on it."""
    check_settling(held)
    _check_verified(held)
    drawn = held.challenge
    if "nonce" not in drawn:
        drawn |= {"nonce": secrets.token_hex(32), "dealers": {}}
        store.keep_challenge(held.name, drawn)
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
        store.keep_challenge(held.name, drawn)
    elif (before["request"], before["committed"]) != (request.digest, told.committed):
        raise Problem(
            409, "announced", "the slots were drawn for other commitments: there is no second draw"
        )
    slots: dict[str, Any] = before["slots"]
    return slots


def record_of(
    store: "CollectorStore", held: "CollectorSurvey", sums: "Mapping[str, Any]", openings: Any
) -> bytes:
    """The public record, once everything in it is as it must be.

    Raises:
        IntegrityError: A dealer has told what it has not committed to; it is named.
    """
    check_settling(held)
    addresses = held.survey.dealing.addresses
    if not isinstance(openings, list) or len(openings) != len(addresses):
        raise ArgumentError(f"openings must be a list of {len(addresses)}, one from each dealer")
    parts: list[dict[str, Any] | None] = []
    for number in range(len(addresses)):
        request = closing_request(store, held, number, ahead=False)
        if request.is_empty:
            parts.append(None)
            continue
        drawn = held.challenge.get("dealers", {}).get(str(number), {})
        if drawn.get("request") != request.digest:
            raise wrong_state("the dealers must commit to their noise first")
        parts.append(
            {
                "request": request.to_document(),
                "nonce": held.challenge["nonce"],
                "committed": drawn["committed"],
                "slots": drawn["slots"],
                "cards": cards_part(store.signed(held, number)),
                "sums": sums["announced"][number],
                "openings": openings[number],
            }
        )
    record = {
        "survey": held.name,
        "promises": json.loads(held.promised or "null"),
        "dealers": parts,
    }
    check_record(held.survey, record)
    return zlib.compress(json.dumps(record).encode(), 1)


def public_record(store: "CollectorStore", held: "CollectorSurvey") -> bytes:
    """The record, for anybody."""
    _check_verified(held)
    stored = store.record(held.name)
    if stored is None:
        raise wrong_state("there is a record of cards once the sums are here")
    return zlib.decompress(stored)


def _check_verified(held: "CollectorSurvey") -> None:
    if not held.survey.dealing.is_verified:
        raise wrong_state("the survey's cards are not verified: there is no record of them")
