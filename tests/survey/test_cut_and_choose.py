"""Cut and choose: an honest dealer passes, and every cheat is caught unless it guesses the coin."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jrr
from jrr._base.randomness import SeededRandom
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.survey.cut_and_choose import (
    CardProof,
    CommittedDealer,
    Notes,
    Published,
    audit_decks,
    check_card,
)
from jrr.survey.cut_and_choose.leaves import (
    Leaf,
    chosen_deck,
    deck_key,
    hashed,
    hashes_of,
    leaves_of,
    seed_commitment,
)
from jrr.survey.cut_and_choose.merkle import paths_of, root_from, root_of

MASKS = jrr.MRR(7, own=2.0, card_rate=0.4, total_rate=0.6)
MECHANISMS: list[Mechanism] = [
    MASKS,
    jrr.MRR(6, own=2.0, card_rate=0.4, total_rate=0.6, k=3),
    jrr.DRR(8, truth=0.3, own=0.1),
    jrr.JRR(7, p=0.6, s=0.3),
    jrr.OUE(3, 1.0, "dealt", 8, 0),
]
BEACON, COIN = (hashlib.sha256(name).digest() for name in (b"beacon", b"coin"))
DECKS = 5


def mark_of(number: int) -> bytes:
    return hashlib.sha256(b"mark %d" % number).digest()


class Run:
    """A whole deck, with what a witness notes on the way."""

    def __init__(
        self,
        mechanism: Mechanism = MASKS,
        *,
        people: int = 4,
        dealer: CommittedDealer | None = None,
        coin: bytes = COIN,
    ) -> None:
        made = dealer or CommittedDealer(mechanism, DECKS, rng=SeededRandom(5))
        promise = made.published.promise
        made.commit(BEACON)
        commitment = made.published.commitment
        made.open(coin)
        self.marks = [mark_of(number) for number in range(people)]
        self.proofs = [made.deal(mark) for mark in self.marks]
        made.close()
        self.published = made.published
        self.notes = Notes((promise,), BEACON, commitment, coin)

    def faults(self, **changed: Any) -> str:
        """What an audit says of the document, some fields being changed."""
        return "; ".join(audit_decks(replace(self.published, **changed), self.notes).faults)


# -- honest dealers ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(1, 18))
def test_paths_lead_to_the_root_from_their_own_place_only(size: int) -> None:
    leaves = [hashlib.sha256(b"%d" % place).digest() for place in range(size)]
    root, paths = root_of(leaves), paths_of(leaves, range(size))
    for place, path in enumerate(paths):
        for other in range(size):
            assert (root_from(leaves[place], other, size, path) == root) == (other == place)
        assert root_from(leaves[place], place, size, [*path, root]) is None
        assert len(path) <= (size - 1).bit_length()
    assert root_from(leaves[0], size, size, paths[0]) is None


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}{m.k}")
@pytest.mark.parametrize("people", [0, 3, 6])
def test_an_honest_dealer_passes(mechanism: Mechanism, people: int) -> None:
    run = Run(mechanism, people=people)
    found = audit_decks(run.published, run.notes)
    assert found.passed, found.sentence
    assert (found.chance, found.decks) == (1 / DECKS, DECKS)
    for proof, mark in zip(run.proofs, run.marks, strict=True):
        assert check_card(run.published, proof, mark) == []
    written = json.loads(json.dumps(run.published.to_dict()))
    assert Published.from_dict(written) == run.published
    assert Notes.from_dict(json.loads(json.dumps(run.notes.to_dict()))) == run.notes
    for proof in run.proofs:
        assert CardProof.from_dict(json.loads(json.dumps(proof.to_dict()))) == proof


def test_the_coin_picks_every_deck_about_equally_often() -> None:
    coins = [hashlib.sha256(b"%d" % number).digest() for number in range(5_000)]
    seen = np.bincount([chosen_deck(coin, BEACON, 5) for coin in coins], minlength=5)
    assert ((seen - 1_000) ** 2 / 1_000).sum() < 40  # chi-square, 4 degrees: p = 4e-8


def test_only_closed_decks_and_several_of_them() -> None:
    for mechanism in (jrr.RR(2, 1.0), jrr.MRR.for_epsilon(9, 1.0, announced=True)):
        with pytest.raises(ArgumentError, match="mechanism must be one"):
            CommittedDealer(mechanism)
    with pytest.raises(ArgumentError, match="decks must be"):
        CommittedDealer(MASKS, decks=1)


def test_a_dealer_keeps_the_order_of_stages() -> None:
    dealer = CommittedDealer(MASKS, 2)
    with pytest.raises(ArgumentError, match="a committed dealer must open once, after commit"):
        dealer.open(COIN)
    with pytest.raises(ArgumentError, match="a committed dealer must deal while"):
        dealer.deal(mark_of(0))
    with pytest.raises(ArgumentError, match="a committed dealer must close once"):
        dealer.close()
    dealer.commit(BEACON)
    dealer.open(COIN)
    for again in (dealer.commit, dealer.open):
        with pytest.raises(ArgumentError, match="a committed dealer must"):
            again(BEACON)
    dealer.deal(mark_of(0))
    with pytest.raises(ArgumentError, match="mark must be"):
        dealer.deal(mark_of(0))
    for number in range(1, 7):
        dealer.deal(mark_of(number))
    with pytest.raises(ArgumentError, match="cards must be left"):
        dealer.deal(mark_of(8))


def test_what_is_hashed_never_changes() -> None:
    """Others write verifiers of their own: docs/protocol.md says how."""
    run = Run(jrr.DRR(8, truth=0.3, own=0.1))
    assert (
        run.published.promise.hex()
        == "a33904aba20073e82ab94faf75a489b63fe0379581caf9d6b0bfd5da5866be6d"
    )
    assert (
        run.published.commitment.hex()
        == "081c61254af4f44ea3ad93f5783601f510a40d349b5c9591d82dd8c8378e42f9"
    )
    assert (
        run.proofs[0].salt.hex()
        == "7738ffa0665f170282023b81c79cec7caff9bacad5e8c4987b3e8b64c1870f73"
    )
    assert [proof.card for proof in run.proofs] == [1, 1, 0, 1]


# -- cheats -----------------------------------------------------------------------------------


class CheatIn(CommittedDealer):
    """Puts a deck of its own in the place of one of the decks."""

    def __init__(
        self, cheated: int, change: Callable[[list[Leaf]], list[Leaf]], seed: int = 6
    ) -> None:
        super().__init__(MASKS, DECKS, rng=SeededRandom(seed))
        self._cheated, self._change = cheated, change

    def _drawn(self, key: bytes) -> list[Leaf]:
        leaves = super()._drawn(key)
        promise = self.published.promise
        number = next(
            number
            for number, seed in enumerate(self._seeds)
            if deck_key(seed, promise, BEACON, number) == key
        )
        return self._change(leaves) if number == self._cheated else leaves


def one_more(leaves: list[Leaf]) -> list[Leaf]:
    """A card shifted by one is a person."""
    return [Leaf(leaves[0].card + 1, leaves[0].salt), *leaves[1:]]


def without_salt(leaves: list[Leaf]) -> list[Leaf]:
    return [Leaf(leaf.card, bytes(32)) for leaf in leaves]


@pytest.mark.parametrize("change", [one_more, without_salt])
def test_a_cheat_in_one_deck_passes_with_chance_one_in_l(
    change: Callable[[list[Leaf]], list[Leaf]],
) -> None:
    """Every deck cheated in, the same coin's choice: all but one are caught, none is missed."""
    for cheated in range(DECKS):
        dealer = CheatIn(cheated, change)
        run = Run(dealer=dealer)
        chosen = chosen_deck(COIN, run.published.promise, DECKS)
        caught = f"deck {cheated} is not the one that follows from its seed" in run.faults()
        assert caught == (cheated != chosen)
    coins = [hashlib.sha256(b"coin %d" % number).digest() for number in range(200)]
    dealer = CheatIn(2, change)
    promise = dealer.published.promise
    passes = sum(chosen_deck(coin, promise, DECKS) == 2 for coin in coins)
    assert 20 <= passes <= 60  # 200 / 5, give or take 3.5 standard deviations


def test_keys_that_were_ground_are_found() -> None:
    """Without a beacon some seed gives a convenient total; with it, seeds say nothing of decks."""

    def total(seed: bytes, beacon: bytes) -> int:
        leaves = leaves_of(MASKS, deck_key(seed, bytes(32), beacon, 0))
        return sum(leaf.card for leaf in leaves)

    seeds = [hashlib.sha256(b"seed %d" % number).digest() for number in range(200)]
    best = max(seeds, key=lambda seed: total(seed, bytes(32)))
    assert total(best, bytes(32)) >= 4  # a convenient deck, if the beacon was known before
    assert abs(np.mean([total(best, mark_of(number)) for number in range(200)])) < 0.5

    class Grinder(CommittedDealer):
        """Draws its decks as if the beacon were one that it chose itself."""

        def _drawn(self, key: bytes) -> list[Leaf]:
            return leaves_of(MASKS, deck_key(best, bytes(32), bytes(32), 0))

    faults = Run(dealer=Grinder(MASKS, DECKS, rng=SeededRandom(7))).faults()
    assert faults.count("is not the one that follows from its seed and the beacon") == DECKS - 1
    # Seeds chosen after the beacon are another promise than the one that was noted.
    late = Run()
    late.notes = replace(late.notes, promises=(bytes(32),))
    assert "seeds chosen later" in late.faults()
    exchanged = Run()
    seeds_now = (seed_commitment(best), *exchanged.published.seeds[1:])
    assert "seeds chosen later" in exchanged.faults(seeds=seeds_now)
    wrong = dict(exchanged.published.opened or {})
    wrong[next(iter(wrong))] = best
    assert "is not the one committed to" in exchanged.faults(opened=wrong)


def test_one_leaf_dealt_to_everybody_is_found() -> None:
    class Miser(CommittedDealer):
        """Gives everybody the card at place 0."""

        def deal(self, mark: bytes) -> CardProof:
            super().deal(mark)
            return self._proofs([0])[0]

    run = Run(dealer=Miser(MASKS, DECKS, rng=SeededRandom(8)))
    assert run.faults() == ""  # the public data are in order: contributors must look
    wrong = [
        check_card(run.published, proof, mark)
        for proof, mark in zip(run.proofs, run.marks, strict=True)
    ]
    assert wrong[0] == []
    assert all("dealt to somebody else too" in faults[0] for faults in wrong[1:])
    twice = (*run.marks[:1], *run.marks[:1])
    assert "a mark stands at two places" in run.faults(marks=twice)
    assert "places were dealt of a deck of 7" in run.faults(
        marks=tuple(mark_of(number) for number in range(9))
    )


def test_a_card_that_is_not_the_committed_one_is_found() -> None:
    run = Run()
    good = run.proofs[1]
    for wrong in (
        replace(good, card=good.card + 1),
        replace(good, place=2),
        replace(good, salt=bytes(32)),
        replace(good, salt=good.salt[:16]),
        replace(good, path=good.path[:-1]),
        replace(good, card="one"),
    ):
        assert "not under the root" in check_card(run.published, wrong)[0]
    with pytest.raises(ArgumentError, match="salt must be 64"):
        CardProof.from_dict(good.to_dict() | {"salt": "00"})


def test_without_salts_a_neighbour_s_card_is_guessed() -> None:
    """The first hash on a path is the neighbour's leaf: 41 guesses find an unsalted card."""
    dealer = CommittedDealer(MASKS, DECKS)
    leaves = dealer._drawn(bytes(32))

    def guessed(deck: list[Leaf]) -> list[int]:
        neighbour = paths_of(hashes_of(deck), [0])[0][0]
        return [z for z in range(-20, 21) if hashed(Leaf(z, bytes(32)), 1) == neighbour]

    assert guessed(without_salt(leaves)) == [leaves[1].card]
    assert guessed(leaves) == []


def test_stopping_counts_as_cheating() -> None:
    run = Run()
    chosen = chosen_deck(COIN, run.published.promise, DECKS)
    assert "no roots were published: stopping" in run.faults(roots=None)
    assert "no coin was published: stopping" in run.faults(coin=None)
    assert run.faults(opened=None).count("was not opened: stopping") == DECKS - 1
    one_less = dict(run.published.opened or {})
    one_less.pop(next(iter(one_less)))
    assert "was not opened: stopping" in run.faults(opened=one_less)
    assert "roots were published for" in run.faults(roots=(run.published.roots or ())[1:])
    # A second try, after the first coin was not to the dealer's liking.
    again = replace(run.notes, promises=(bytes(32), run.published.promise))
    faults = audit_decks(run.published, again).faults
    assert "2 promises were noted" in faults[0]
    assert "after an abort" in faults[0]
    # And opening the deck that is dealt would make its cards public.
    everything = dict(run.published.opened or {}) | {chosen: bytes(32)}
    assert f"deck {chosen} was opened, though it is dealt" in run.faults(opened=everything)


def test_a_coin_from_the_commitments_can_be_ground_and_is_found() -> None:
    """A dealer whose coin is a hash of its own roots tries promises until its bad deck is dealt."""
    for tries in range(1, 100):
        dealer = CheatIn(0, one_more, seed=tries)
        promise = dealer.published.promise
        dealer.commit(BEACON)
        coin = hashlib.sha256(b"".join(dealer.published.roots or ())).digest()
        if chosen_deck(coin, promise, DECKS) == 0:
            break
    assert tries < 100
    commitment = dealer.published.commitment
    dealer.open(coin)
    dealer.close()
    believed = Notes((promise,), BEACON, commitment, coin)
    assert audit_decks(dealer.published, believed).passed  # who takes its word is deceived
    looked_up = replace(believed, coin=COIN)
    assert (
        "the coin is not the one of its source" in audit_decks(dealer.published, looked_up).faults
    )


def test_order_of_publishing_is_held_against_notes() -> None:
    run = Run()
    other = bytes(32)
    assert "the beacon is not the one" in "; ".join(
        audit_decks(run.published, replace(run.notes, beacon=other)).faults
    )
    assert "not those that were noted before the coin" in "; ".join(
        audit_decks(run.published, replace(run.notes, commitment=other)).faults
    )
    same = CommittedDealer(MASKS, DECKS, beacon_source="round 7", coin_source="round 7")
    assert "beacon and coin are the same" in Run(dealer=same).faults()
    assert "beacon and coin are the same" in Run(coin=BEACON).faults()
    assert "two decks have the same seed" in run.faults(seeds=run.published.seeds[:1] * DECKS)


def test_undealt_sums_come_with_opened_leaves() -> None:
    run = Run()
    undealt = dict(run.published.undealt or {})
    cards = undealt["cards"]
    assert len(cards) == 3
    assert undealt["sum"] == sum(card["card"] for card in cards)
    assert "were not opened" in run.faults(undealt=None)
    assert "undealt sum is not that" in run.faults(undealt=undealt | {"sum": undealt["sum"] + 1})
    shifted = [cards[0] | {"card": cards[0]["card"] + 1}, *cards[1:]]
    faults = run.faults(undealt={"sum": undealt["sum"] + 1, "cards": shifted})
    assert "not those committed to, at the places [4]" in faults
    fewer = {"sum": sum(card["card"] for card in cards[1:]), "cards": cards[1:]}
    assert "not those at the places 4 to 6" in run.faults(undealt=fewer)
    # A card that was given away must not be among them.
    more = [run.proofs[3].to_dict(), *cards]
    faults = run.faults(undealt={"sum": sum(card["card"] for card in more), "cards": more})
    assert "not those at the places 4 to 6" in faults
    assert "an opened card is none" in run.faults(undealt={"sum": 0, "cards": [{}]})
    assert "before dealing had ended" in run.faults(marks=None)


def test_cards_of_public_decks_are_never_opened() -> None:
    run = Run(jrr.DRR(8, truth=0.3, own=0.1))
    assert run.published.undealt is None
    faults = run.faults(undealt={"sum": 0, "cards": []})
    assert "count as colluders' cards" in faults


def test_damaged_documents_are_refused() -> None:
    document = Run().published.to_dict()
    for name, wrong in (
        ("seeds", document["seeds"][:1]),
        ("seeds", "x"),
        ("beacon", "x"),
        ("opened", {"99": document["beacon"]}),
        ("undealt", 3),
        ("deck", -1),
        ("campaign", 1),
        ("cut_and_choose", 2),
    ):
        with pytest.raises(ArgumentError, match=f"{name}.* must be"):
            Published.from_dict(document | {name: wrong})
    with pytest.raises(ArgumentError, match="proof must be"):
        CardProof.from_dict([])
    with pytest.raises(ArgumentError, match="path must be"):
        CardProof.from_dict(Run().proofs[0].to_dict() | {"path": 1})


def test_estimates_use_the_checked_undealt_sum() -> None:
    """The cards that were dealt and the opened rest are the deck that was committed to."""
    run, rng = Run(people=5), SeededRandom(3)
    cards = np.array([proof.card for proof in run.proofs], np.int16)
    reports = MASKS.respond(np.ones(5, int), cards, rng)
    undealt = (run.published.undealt or {})["sum"]
    settled = MASKS.estimate(reports, undealt=(undealt, 2))
    total = int(reports.sum()) + undealt
    assert float(settled.counts[1]) == pytest.approx(
        (total - 5 * (1 - MASKS.p)) / (2 * MASKS.p - 1)
    )
