"""What verified cards cost: processor time and bytes, beside surveys without.

    python -m benchmarks.verified
    python -m benchmarks.verified --cards 100000

prints, for one yes-no question: what the collector spends on reading one upload (the unverified one
beside it), dealer and device on one card, bytes of an upload, and closing so many cards.
"""

import argparse
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

from jrr.dealing.kinds import Dealers
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import check_dealt, deal
from jrr.dealing.verified.dealer import VerifiedDecks
from jrr.dealing.verified.keys import Promise, survey_context
from jrr.dealing.verified.proving import Proving, SignedCommitments
from jrr.dealing.verified.questions import card_laws, possible_numbers
from jrr.dealing.verified.sums import NamedCards, check_sums, commit_noise, tell_sums
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import read_upload, report_message, upload
from jrr.survey.survey import Survey

NAME = b"\7" * 32


def survey_of(verified: bool) -> Survey:
    return SurveyRequest(
        draft=one_question("Have you?"),
        people=10_000,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
        verified=verified,
    ).survey()


def microseconds(work: Callable[[], object], runs: int = 300) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _ in range(runs):
            work()
        best = min(best, time.process_time() - began)
    return round(best / runs * 1e6, 1)


class Verified:
    """A survey, its dealer and one device."""

    def __init__(self) -> None:
        self.survey = survey_of(True)
        mechanisms = {one.salt: one.mechanism for one in self.survey.dealt}
        names = {one.salt: one.name for one in self.survey.dealt}
        self.decks = VerifiedDecks(mechanisms, names, secrets.token_bytes(32), self.survey)
        self.promise = Promise(**self.decks.promise())
        self.context = self.promise.context(self.survey.hash)
        self.laws = card_laws(self.survey)

    def dealt(self, asked: SerialNonce) -> Any:
        return deal(self.decks.secrets, self.context, asked, self.laws)

    def checked(self, asked: SerialNonce, given: Any) -> Any:
        return check_dealt(self.promise, self.context, asked, self.laws, given)["answer"]

    def body(self, asked: SerialNonce, card: Any, signature: bytes) -> bytes:
        context = survey_context(self.survey.hash, [self.promise])
        proving = Proving(context, card, (SignedCommitments(card.commitments, signature),))
        mechanism = self.survey.mechanisms["answer"]
        serials = [asked.serial.hex()]
        entry = report_message(mechanism, 0, True, serials)
        entry |= proving.answer("answer", NAME, serials, possible_numbers(mechanism), [1])
        return upload(NAME, {}, {"answer": entry})


def one_upload() -> dict[str, Any]:
    mine, plain = Verified(), survey_of(False)
    asked = SerialNonce(b"s" * 16, b"n" * 32)
    given = mine.dealt(asked)
    card = mine.checked(asked, given)
    body = mine.body(asked, card, given.signatures["answer"])
    entry = report_message(plain.mechanisms["answer"], 3, True, ["ab" * 16])
    other = upload(NAME, {}, {"answer": entry})
    read = microseconds(lambda: read_upload(mine.survey, body, None, [mine.promise]))
    before = microseconds(lambda: read_upload(plain, other))
    return {
        "microseconds of the collector to read an upload": {"verified": read, "plain": before},
        "microseconds of the dealer for a card": microseconds(lambda: mine.dealt(asked)),
        "microseconds of a device": {
            "check a card": microseconds(lambda: mine.checked(asked, given)),
            "prove an answer": microseconds(
                lambda: mine.body(asked, card, given.signatures["answer"])
            ),
        },
        "bytes of an upload": {"verified": len(body), "plain": len(other)},
    }


def closing(cards: int) -> dict[str, Any]:
    mine = Verified()
    asked, signed = {}, []
    for number in range(cards):
        one = SerialNonce(number.to_bytes(16, "big"), b"n" * 32)
        given = mine.dealt(one)
        card = mine.decks.cards_again(one)["answer"]
        asked[one.serial] = one
        signed.append(SignedCommitments(card.commitments, given.signatures["answer"]))
    named = NamedCards(mine.survey, {"answer": {"": sorted(asked)}}, b"r" * 64, b"t" * 32)
    seconds: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        seconds[what] = round(time.process_time() - began, 2)
        return found

    committed = timed("dealer commits", lambda: commit_noise(mine.decks, named))
    slots = {"answer": {"": 3}}
    told, opened = timed("dealer tells", lambda: tell_sums(mine.decks, named, slots, asked))
    timed(
        "collector checks",
        lambda: check_sums(
            named, mine.promise, committed, slots, {"answer": {"": signed}}, told, opened
        ),
    )
    return {"cards": cards, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.verified")
    parser.add_argument("--cards", type=int, default=10_000)
    cards = parser.parse_args().cards
    print(json.dumps(one_upload() | {"closing": closing(cards)}, indent=2))


if __name__ == "__main__":
    main()
