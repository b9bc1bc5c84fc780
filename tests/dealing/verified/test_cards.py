"""Cards of an honest dealer are the device's own draw; a dealer that lies is caught."""

from collections import Counter
from dataclasses import replace

import pytest

from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified import cards as dealt_cards
from jrr.dealing.verified.cards import (
    Evaluation,
    SignedCards,
    added,
    cards_of,
    check_dealt,
    deal,
    evaluate,
    report_binding,
    signed_card,
)
from jrr.dealing.verified.group import base, commit, total
from jrr.dealing.verified.keys import Promise, Secrets, survey_context
from jrr.dealing.verified.laws import Law
from jrr.errors import DamagedError, IntegrityError

SURVEY = "5a" * 32
ASKED = SerialNonce(b"s" * 16, b"n" * 32)
LAWS = {"yes": Law(1, 0.3), "one": Law(3, 0.3)}
DEALER, OTHER = Secrets(b"d" * 32), Secrets(b"o" * 32)
PROMISE = DEALER.promise(b"r" * 32)
CONTEXT = PROMISE.context(SURVEY)


def test_dealer_and_device_draw_the_same_cards() -> None:
    dealt = deal(DEALER, CONTEXT, ASKED, LAWS)
    found = check_dealt(PROMISE, CONTEXT, ASKED, LAWS, dealt)
    assert found == cards_of(DEALER, CONTEXT, ASKED, LAWS)
    assert {name: len(card.masks) for name, card in found.items()} == {"yes": 1, "one": 3}
    for card in found.values():
        assert list(card.commitments) == list(map(commit, card.masks, card.blindings))
    again = deal(DEALER, CONTEXT, ASKED, LAWS)
    assert again.signatures == dealt.signatures  # asking again gives the same card


def lying_dealers() -> dict[str, SignedCards]:
    """What dealers say that do not keep to the rules."""
    honest = deal(DEALER, CONTEXT, ASKED, LAWS)
    element, proof = honest.evaluation.element, honest.evaluation.proof
    another = deal(OTHER, CONTEXT, ASKED, LAWS)
    replayed = deal(DEALER, CONTEXT, SerialNonce(b"t" * 16, b"n" * 32), LAWS)
    ground = deal(DEALER, CONTEXT, SerialNonce(b"s" * 16, b"m" * 32), LAWS)
    drawn = cards_of(DEALER, CONTEXT, ASKED, LAWS)
    shifted = dict(honest.signatures)
    moved = [
        commit(mask + 1, blind)
        for mask, blind in zip(drawn["yes"].masks, drawn["yes"].blindings, strict=True)
    ]
    shifted["yes"] = DEALER.sign(signed_card(CONTEXT, "yes", ASKED.serial, moved))
    swapped = {"yes": honest.signatures["one"], "one": honest.signatures["yes"]}
    unsigned = {"yes": honest.signatures["yes"], "one": bytes(64)}
    return {
        "keys that were not promised": another,
        "of another serial": replayed,
        "of another nonce": ground,
        "another value": replace(honest, evaluation=Evaluation(base(7), proof)),
        "no proof": replace(honest, evaluation=Evaluation(element, bytes(64))),
        "shifted by a person": replace(honest, signatures=shifted),
        "another question's": replace(honest, signatures=swapped),
        "unsigned": replace(honest, signatures=unsigned),
        "missing": replace(honest, signatures={"yes": honest.signatures["yes"]}),
    }


@pytest.mark.parametrize("lie", list(lying_dealers()))
def test_a_lying_dealer_is_caught(lie: str) -> None:
    with pytest.raises(IntegrityError, match="the dealer"):
        check_dealt(PROMISE, CONTEXT, ASKED, LAWS, lying_dealers()[lie])


def test_a_dealer_cannot_choose_even_numbers() -> None:
    """It would need a key for which masks are even; the only one it may use is the promised."""
    parities: Counter[int] = Counter()
    for number in range(200):
        asked = SerialNonce(number.to_bytes(16, "little"), ASKED.nonce)
        (mask,) = cards_of(DEALER, CONTEXT, asked, {"yes": Law(1, 0.3)})["yes"].masks
        parities[mask % 2] += 1
    assert min(parities.values()) > 50  # less than 1e-11
    odd = next(
        asked
        for number in range(200)
        for asked in [SerialNonce(number.to_bytes(16, "little"), ASKED.nonce)]
        if cards_of(DEALER, CONTEXT, asked, LAWS)["yes"].masks[0] % 2
    )
    for key in range(2, 30):  # a grinding dealer tries keys until the mask is even
        _, shown = evaluate(key, dealt_cards._given(CONTEXT, odd))
        with pytest.raises(IntegrityError, match="promise"):
            check_dealt(PROMISE, CONTEXT, odd, LAWS, SignedCards(shown, {}))


def test_nothing_of_another_survey_serves() -> None:
    dealt = deal(DEALER, PROMISE.context("6b" * 32), ASKED, LAWS)
    with pytest.raises(IntegrityError):
        check_dealt(PROMISE, CONTEXT, ASKED, LAWS, dealt)
    other = replace_promise(PROMISE, noise="00" * 32)
    with pytest.raises(IntegrityError):
        check_dealt(other, other.context(SURVEY), ASKED, LAWS, deal(DEALER, CONTEXT, ASKED, LAWS))


def replace_promise(promise: Promise, **changes: str) -> Promise:
    fields = {name: getattr(promise, name) for name in ("signing", "cards", "noise")}
    return Promise(**(fields | changes))


@pytest.mark.parametrize("cards", ["00" * 32, "ff" * 32, "01" + "00" * 31])
def test_a_promise_without_a_key_is_refused(cards: str) -> None:
    with pytest.raises(DamagedError, match="ristretto255"):
        replace_promise(PROMISE, cards=cards).check()


def test_cards_of_several_dealers_add_up() -> None:
    both = [cards_of(one, CONTEXT, ASKED, LAWS)["one"] for one in (DEALER, OTHER)]
    sums = added(both)
    for number in range(3):
        parts = [card.commitments[number] for card in both]
        assert sums.commitments[number] == total(parts)
    assert added(both[:1]) == both[0]


def test_a_proof_is_bound_to_everything() -> None:
    context = survey_context(SURVEY, [PROMISE])
    bindings = {
        report_binding(context, "yes", b"p" * 32, [b"s" * 16]),
        report_binding(survey_context("6b" * 32, [PROMISE]), "yes", b"p" * 32, [b"s" * 16]),
        report_binding(survey_context(SURVEY, [PROMISE] * 2), "yes", b"p" * 32, [b"s" * 16]),
        report_binding(context, "one", b"p" * 32, [b"s" * 16]),
        report_binding(context, "yes", b"q" * 32, [b"s" * 16]),
        report_binding(context, "yes", b"p" * 32, [b"t" * 16]),
        report_binding(context, "yes", b"p" * 32, [b"s" * 16, None]),
        report_binding(context, "yes", b"p" * 32, [None, b"s" * 16]),
    }
    assert len(bindings) == 8
