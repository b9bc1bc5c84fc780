"""Cards that a committee dealt, as its parties serve them, and what a contributor makes of them.

    python -m tests.golden.make_committee_cards

writes committee_cards.json beside this file. Seals are random: another run writes other bytes that
open to the same cards. So the file stays as it is, and tests open it (tests/golden is what every
client is held to).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr.dealing.committee.cards import (
    Envelope,
    Record,
    card_key,
    deck_of,
    excess_leaves,
    seal_shares,
)
from jrr.dealing.committee.deals import roster_hash
from jrr.dealing.committee.field import PRIME
from jrr.dealing.committee.merkle import Tree
from jrr.dealing.kinds import Committee, Party, evidence_against
from jrr.mechanisms.base import Mechanism
from jrr.protocol.documents import plain
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey

PATH = Path(__file__).with_name("committee_cards.json")
DEVICE = bytes(range(32))
PARTIES = 3
CULPRIT = 1
MECHANISMS: dict[str, tuple[Mechanism, int]] = {  # and to how many it is dealt
    "jrr": (jrr.JRR(n=5, p=0.6, s=0.25), 7),
    "drr": (jrr.DRR(n=5, truth=0.3, own=0.2, k=3), 6),
    "olh": (jrr.OLH(9, g=4, p=0.5, s=0.2, coupling="joint", n=5), 5),
}


def survey_of(mechanism: Mechanism) -> Survey:
    """A survey with three parties."""
    parties = tuple(
        Party(
            url=f"https://party{at}.example",
            link=f"party{at}.example:8444",
            certificate=f"certificate {at}",
        )
        for at in range(PARTIES)
    )
    asked = one_question("Do you?", labels=tuple(f"answer {at}" for at in range(mechanism.k)))
    return Survey(
        title=asked.title,
        languages=asked.languages,
        questions=asked.questions,
        mechanisms={"answer": mechanism},
        dealing=Committee(parties=parties, threshold=1),
        collector="https://collector.example",
        capacity=1_000,
        consent={"en": "{cost}"},
        nonce="0123456789abcdef0123456789abcdef",
    )


def entry(mechanism: Mechanism, people: int, seed: int, *, spoil: bool = False) -> dict[str, Any]:
    """Everybody's card, and what the parties reply to the one who sits on each slot.

    spoil: Party 1 seals another share to the first slot than it was checked with.
    """
    survey = survey_of(mechanism)
    dealt = survey.sensitive[0].for_people(people)
    random = np.random.default_rng(seed)
    deck = random.permutation(deck_of(dealt))
    alpha = int(random.integers(1, PRIME))
    devices = [bytes([slot]) * 32 for slot in range(people)]
    keys = [card_key(device, survey.hash).public_key().public_bytes_raw() for device in devices]
    sealed, trees, excess = [], [], []
    left = deck.astype(object), (deck.astype(object) * alpha) % PRIME
    for party in range(PARTIES):
        parts = [random.integers(0, PRIME, people).astype(object) for _ in left]
        if party == PARTIES - 1:
            parts = list(left)
        left = tuple((whole - part) % PRIME for whole, part in zip(left, parts, strict=True))
        cards, tags = (part.astype(np.uint64) for part in parts)
        excess.append((parts[1] - alpha * parts[0]) % PRIME)
        if spoil and party == CULPRIT:  # what it sealed to the first slot is not what was checked
            cards = cards.copy()
            cards[0] = (int(cards[0]) + 1) % PRIME
        sealed.append(seal_shares(keys, cards, tags, survey.hash, party))
        trees.append(Tree(sealed[-1]))
    leaves = excess_leaves(np.array(excess).astype(np.uint64))
    checked = Tree(leaves)
    roots = tuple(tree.root.hex() for tree in trees)
    roster = roster_hash(survey.hash, keys)
    record = plain(Record(survey.hash, people, alpha, roots, "00" * 32, roster, checked.root.hex()))
    faces = dealt.sorted_deck.faces  # type: ignore[union-attr]
    return {
        "document": survey.to_bytes().decode(),
        "n": people,
        "slots": [
            {
                "device": devices[slot].hex(),
                "key": keys[slot].hex(),
                "card": int(faces[deck[slot] - 1]),
                "envelopes": [
                    Envelope(
                        slot,
                        sealed[party][slot],
                        tuple(trees[party].path(slot)),
                        leaves[slot],
                        tuple(checked.path(slot)),
                    ).to_document()
                    for party in range(PARTIES)
                ],
            }
            for slot in range(people)
        ],
        "record": record,
    }


def document() -> dict[str, Any]:
    """Everything, as committee_cards.json holds it, but for other seals."""
    good = {
        name: entry(mechanism, people, seed)
        for seed, (name, (mechanism, people)) in enumerate(MECHANISMS.items())
    }
    return good | {"spoiled": spoiled()}


def spoiled() -> dict[str, Any]:
    """A deal in which party 1 cheats the first slot, and the complaint of whoever holds it."""
    made = entry(*MECHANISMS["jrr"], seed=9, spoil=True)
    survey = Survey.from_bytes(made["document"].encode())
    first = made["slots"][0]
    accused = Envelope.from_document(first["envelopes"][CULPRIT])
    key = card_key(bytes.fromhex(first["device"]), survey.hash)
    return made | {"evidence": plain(evidence_against(CULPRIT, accused, key))}


if __name__ == "__main__":
    PATH.write_text(json.dumps(document(), indent=1, ensure_ascii=False) + "\n", "utf-8")
