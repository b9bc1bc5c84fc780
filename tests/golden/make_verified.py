"""Golden vectors of verified cards: hashes, numbers from a secret, cards, bindings and proofs.

    python -m tests.golden.make_verified

writes verified.json beside this file. Bytes are hexadecimal digits.
"""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified import proofs
from jrr.dealing.verified.cards import added, cards_of, deal, report_binding
from jrr.dealing.verified.group import OTHER_BASE, base, commit, digest, number_bytes
from jrr.dealing.verified.keys import Promise, Secrets, Stream, survey_context
from jrr.dealing.verified.laws import Law
from jrr.dealing.verified.proofs import Possible, Statement, prove
from jrr.protocol.documents import canonical_json, plain

PATH = Path(__file__).with_name("verified.json")
SURVEY = "5a" * 32
PSEUDONYM = bytes(range(100, 132))
LAWS = {"bench": Law(1, 0.2788514030840781), "größe": Law(3, 0.9), "far": Law(2, 0.004)}
RATES = [0.0012, 0.25, 0.2788514030840781, 1.0, 3.7, 40.0]
SHAPES: list[tuple[Possible, list[int]]] = [
    (Possible(1), [0]),
    (Possible(1), [1]),
    (Possible(3, 1, ((0, 3, 1),)), [0, 1, 0]),
    (Possible(4, 1, ((0, 4, 2),)), [1, 0, 0, 1]),
    (Possible(3), [1, 1, 0]),
    (Possible(4, 1, ((1, 4, 1),)), [1, 0, 0, 1]),
    (Possible(1, 9), [7]),
]


def secrets_of(dealer: int) -> tuple[Secrets, Promise]:
    """Of some dealers."""
    made = Secrets(bytes([dealer]) * 32)
    return made, made.promise(digest("test root", bytes([dealer]))[:32])


def card_vectors() -> dict[str, Any]:
    """One device and two dealers."""
    dealers, drawn, contexts = [], [], []
    for number in range(2):
        secrets, promise = secrets_of(number)
        asked = SerialNonce(bytes([10 + number]) * 16, bytes([20 + number]) * 32)
        context = promise.context(SURVEY)
        given = deal(secrets, context, asked, LAWS)
        cards = cards_of(secrets, context, asked, LAWS)
        contexts.append(context)
        drawn.append(cards)
        dealers.append(
            {
                "promise": canonical_json(plain(promise)).decode(),
                "context": context.hex(),
                "serial": asked.serial.hex(),
                "nonce": asked.nonce.hex(),
                "evaluation": given.evaluation.to_bytes().hex(),
                "cards": {
                    question: {
                        "masks": list(card.masks),
                        "blindings": [number_bytes(one).hex() for one in card.blindings],
                        "commitments": [one.hex() for one in card.commitments],
                        "signature": given.signatures[question].hex(),
                    }
                    for question, card in cards.items()
                },
            }
        )
    context = survey_context(SURVEY, [secrets_of(number)[1] for number in range(2)])
    serials = [bytes([10]) * 16, bytes([11]) * 16]
    both = added([cards["größe"] for cards in drawn])
    return {
        "survey": SURVEY,
        "laws": {name: {"numbers": law.numbers, "rate": law.rate} for name, law in LAWS.items()},
        "dealers": dealers,
        "context": context.hex(),
        "binding": report_binding(context, "größe", PSEUDONYM, serials).hex(),
        "one left out": report_binding(context, "größe", PSEUDONYM, [None, serials[1]]).hex(),
        "both": {"masks": list(both.masks), "commitments": [one.hex() for one in both.commitments]},
    }


def proof_vectors() -> list[dict[str, Any]]:
    """A proof of each shape, with the same randomness every time."""
    made = []
    for number, (possible, said) in enumerate(SHAPES):
        stream = Stream("test proofs", bytes([number]))
        masks = [stream.laplace(0.3) for _ in said]
        blindings = [stream.number() for _ in said]
        statement = Statement(
            digest("test binding", bytes([number])),
            possible,
            list(map(commit, masks, blindings)),
            [mask + one for mask, one in zip(masks, said, strict=True)],
        )
        with patch.object(proofs, "random_number", stream.number):
            proof = prove(statement, said, blindings)
        made.append(
            {
                "binding": statement.binding.hex(),
                "numbers": possible.numbers,
                "largest": possible.largest,
                "sums": [list(one) for one in possible.sums],
                "commitments": [one.hex() for one in statement.commitments],
                "blindings": [number_bytes(one).hex() for one in blindings],
                "reports": list(statement.reports),
                "said": said,
                "proof": proof.hex(),
            }
        )
    return made


def document() -> dict[str, Any]:
    """Everything."""
    with patch("secrets.token_bytes", lambda size: b"\x07" * size):
        cards = card_vectors()
    return {
        "digest": [
            {
                "domain": "test",
                "parts": parts,
                "digest": digest("test", *map(bytes.fromhex, parts)).hex(),
            }
            for parts in ([], [""], ["", ""], ["00", "0102"], ["0001", "02"])
        ],
        "other_base": OTHER_BASE.hex(),
        "multiples": [base(number).hex() for number in range(5)],
        "laplace": [
            {"rate": rate, "numbers": [stream.laplace(rate) for _ in range(40)]}
            for rate in RATES
            for stream in [Stream("test", repr(rate).encode())]
        ],
        "cards": cards,
        "proofs": proof_vectors(),
    }


def text() -> str:
    """As it is written."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), "utf-8")
