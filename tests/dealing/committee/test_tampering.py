"""A changed card is noticed, by the parties or by its holder."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from msgspec.structs import replace as replaced

from jrr import JRR
from jrr.dealing.committee import cards, dealing
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import (
    Envelope,
    Place,
    Record,
    deck_of,
    excess_leaves,
    open_card,
    seal_shares,
)
from jrr.dealing.committee.dealing import Dealt, Kind
from jrr.dealing.committee.field import PRIME, Vector
from jrr.dealing.committee.merkle import Tree
from jrr.dealing.committee.schedule import groups
from tests.dealing.committee.abstract import Coins, draws, run_with
from tests.dealing.committee.memory import Forge, Mesh, Message, honest, opened, run

NAME = "ab" * 32
ROSTER = "cd" * 32
MECHANISM = JRR(4, p=0.7, s=0.2)
CHEAT = 1  # the corrupt party
Change = Callable[[Vector], Vector]  # of a share: row 0 cards, row 1 tags


@contextmanager
def changed(party: int, step: int, change: Change, after: bool = False) -> Iterator[None]:
    """The party changes its share when it reshares for the `step`-th time, or the result."""
    plain = dealing._reshare
    seen: Counter[int] = Counter()

    async def reshare(channel: Any, holders: Any, receivers: Any, mine: Any, **more: Any) -> Any:
        now = seen[channel.me]
        seen[channel.me] += 1
        here = channel.me == party and now == step
        if here and not after and mine is not None:
            mine = change(mine)
        result = await plain(channel, holders, receivers, mine, **more)
        return change(result) if here and after and result is not None else result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "_reshare", reshare)
        yield


def adds(*errors: tuple[int, int, int], prime: int = PRIME) -> Change:
    """A change that adds errors, each (row, slot, what)."""

    def change(mine: Vector) -> Vector:
        mine = mine.copy()
        for row, slot, what in errors:
            mine[row, slot] = (int(mine[row, slot]) + what) % prime
        return mine

    return change


@contextmanager
def unchecked() -> Iterator[None]:
    """The parties do not check tags: what is left is what the holder of a card notices."""

    async def check_nothing(channel: Any, mine: Vector, alpha: int, **more: Any) -> Vector:
        return np.zeros((channel.parties, mine.shape[1]), np.uint64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "_check_tags", check_nothing)
        yield


# Exactly, in a small field ----------------------------------------------------------------------


def marked(prime: int, error: int, tag_error: int) -> Change:
    """A change of two cards that keeps their sum, and of their tags."""
    errors = [(0, 0, error), (0, 1, -error), (1, 0, tag_error), (1, 1, -tag_error)]
    return adds(*errors, prime=prime)


def undetected(prime: int, card: int, error: int, tag_error: int) -> Fraction:
    """How often, over what the honest parties draw for α, the holders accept changed cards."""
    passed = []
    for first, second in itertools.product(draws(prime), repeat=2):
        coins = Coins([first, 0, second], [(1, 0)] * 3)
        with unchecked(), changed(CHEAT, 3, marked(prime, error, tag_error)):
            ran = run_with(coins, 3, groups(3, 1), (card, card), prime)
        found, tags = opened(ran.dealt, prime)
        assert sorted(found) == sorted([(card + error) % prime, (card - error) % prime])
        alpha = ran.dealt[0].alpha
        fine = [tag == alpha * one % prime for one, tag in zip(found, tags, strict=True)]
        assert fine[0] == fine[1]
        passed.append(fine[0])
    return Fraction(sum(passed), len(passed))


@pytest.mark.parametrize("prime", [3, 5])
def test_whether_a_holder_notices_does_not_depend_on_the_card(prime: int) -> None:
    for error, tag_error in itertools.product(range(1, prime), range(prime)):
        found = {undetected(prime, card, error, tag_error) for card in range(1, prime)}
        assert len(found) == 1


@pytest.mark.parametrize("prime", [3, 5])
def test_a_tag_that_alone_was_changed_is_always_noticed(prime: int) -> None:
    for card, tag_error in itertools.product(range(1, prime), range(1, prime)):
        assert undetected(prime, card, 0, tag_error) == 0


@pytest.mark.parametrize("prime", [3, 5, 7])
def test_a_change_passes_with_probability_one_in_p_at_most(prime: int) -> None:
    """The best that the corrupt party can do, knowing its own part of α."""
    chances = [
        undetected(prime, 1, error, tag_error)
        for error, tag_error in itertools.product((1, prime - 1), range(prime))
    ]
    assert max(chances) <= Fraction(1, prime)


def missed(prime: int, order: tuple[int, ...], step: int, claim: Sequence[int]) -> bool:
    """Whether the check lets a marked tag of the first card pass.

    claim: By how much the corrupt party's excesses, as it tells them, differ from its shares'.
    """
    plain = dealing._check_tags

    async def lying(channel: Any, mine: Vector, alpha: int, **more: Any) -> Vector:
        if channel.me == CHEAT:
            mine = adds(*((1, slot, what) for slot, what in enumerate(claim)), prime=prime)(mine)
        return await plain(channel, mine, alpha, **more)

    coins = Coins([1, 0, 1], [order, (0, 1, 2), (0, 1, 2)])
    with pytest.MonkeyPatch.context() as patch, changed(CHEAT, step, adds((1, 0, 1), prime=prime)):
        patch.setattr(dealing, "_check_tags", lying)
        try:
            run_with(coins, 3, groups(3, 1), (1, 2, 2), prime)
        except Abort:
            return False
    return True


@pytest.mark.parametrize("prime", [3, 5])
@pytest.mark.parametrize("step", [0, 3])
def test_the_check_misses_a_mark_only_where_its_slot_was_guessed(prime: int, step: int) -> None:
    """Over all that the corrupt party may claim and all orders, exactly.

    Step 0: it marks the deck while it is in order. Step 3: when nobody permutes any more.
    """
    for claim in itertools.product(range(prime), repeat=3):
        passed = [missed(prime, order, step, claim) for order in itertools.permutations(range(3))]
        # Only "in this slot, and exactly as much": right for one slot in three, whatever the card.
        chance = Fraction(0)
        if sorted(claim) == [0, 0, prime - 1]:
            chance = Fraction(1, 3) if step == 0 else Fraction(claim[0] == prime - 1)
        assert Fraction(sum(passed), len(passed)) == chance


# In the large field, at every stage -------------------------------------------------------------


class Table:
    """Parties that deal and seal to people who then open their cards."""

    def __init__(self, people: int = 4) -> None:
        self.keys = [X25519PrivateKey.generate() for _ in range(people)]
        self.public = [key.public_key().public_bytes_raw() for key in self.keys]
        self.sealed: dict[int, list[bytes]] = {}
        self.mechanism = JRR(people, p=0.7, s=0.2)

    def deal(
        self,
        forge: Forge = honest,
        deck: Sequence[Any] | None = None,
        before_root: Callable[[list[bytes]], None] = lambda sealed: None,
    ) -> list[Dealt | BaseException]:
        """before_root: what the corrupt party does to what it sealed, before it commits."""

        def commit_for(me: int) -> Callable[[Vector, Vector], Any]:
            async def commit_to(share: Vector, tags: Vector) -> bytes:
                made = seal_shares(self.public, share, tags, NAME, me)
                if me == CHEAT:
                    before_root(made)
                self.sealed[me] = made
                return Tree(made).root

            return commit_to

        return asyncio.run(
            run(
                Mesh(3, forge),
                deck_of(self.mechanism) if deck is None else deck,
                1,
                commit_to=[commit_for(me) for me in range(3)],
            )
        )

    def record(self, outcomes: Sequence[Dealt | BaseException]) -> Record:
        first = outcomes[0]
        assert isinstance(first, Dealt), first
        self.excess = excess_leaves(first.excess)
        return Record.of(NAME, ROSTER, first)

    def envelopes(self, slot: int) -> list[Envelope]:
        checked = tuple(Tree(self.excess).path(slot))
        return [
            Envelope(
                slot,
                self.sealed[me][slot],
                tuple(Tree(self.sealed[me]).path(slot)),
                self.excess[slot],
                checked,
            )
            for me in range(3)
        ]

    def open(self, record: Record, slot: int, envelopes: list[Envelope] | None = None) -> int:
        shown = self.envelopes(slot) if envelopes is None else envelopes
        return open_card(self.mechanism, self.keys[slot], record, shown)

    def hands(self, outcomes: Sequence[Dealt | BaseException]) -> list[int | str]:
        """Everybody's card, or why there is none."""
        record = self.record(outcomes)
        found: list[int | str] = []
        for slot in range(len(self.keys)):
            try:
                found.append(self.open(record, slot))
            except Abort as abort:
                found.append(str(abort))
        return found


def said(outcomes: Sequence[Dealt | BaseException]) -> list[str]:
    """Why each party aborted."""
    assert all(isinstance(outcome, Abort) for outcome in outcomes), outcomes
    return [str(outcome) for outcome in outcomes]


def test_without_tampering_everybody_has_a_card() -> None:
    table = Table()
    hands = table.hands(table.deal())
    assert sorted(map(str, hands)) == ["-1", "-1", "1", "1"]


def test_another_deck_than_the_public_one_is_noticed() -> None:
    """Party 0 has the whole deck at first: more pluses than there should be."""
    deck = deck_of(MECHANISM)
    outcomes = Table().deal(deck=[[1, 1, 1, 2], deck, deck])
    assert any("do not add up to the deck" in reason for reason in said(outcomes))
    # The same sum, other cards: only the tags can tell.
    outcomes = Table().deal(deck=[[2, 2, 1, 1], deck, deck])
    assert any("cards and tags do not match" in reason for reason in said(outcomes))


HOLDS = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2), (2, 2), (1, 3), (2, 3)]  # party, step


@pytest.mark.parametrize(("party", "step"), HOLDS)
def test_a_changed_card_is_noticed_at_every_stage(party: int, step: int) -> None:
    """Before the first pass, after each, by every holder."""
    with changed(party, step, adds((0, 1, 1))):
        outcomes = Table().deal()
    assert any("do not add up to the deck" in reason for reason in said(outcomes))


@pytest.mark.parametrize(("party", "step"), HOLDS)
@pytest.mark.parametrize(
    "errors",
    [
        ((0, 1, 1), (0, 2, PRIME - 1)),
        ((0, 1, 1), (0, 2, PRIME - 1), (1, 1, 77), (1, 2, PRIME - 77)),
        ((1, 1, 1),),
    ],
    ids=["cards", "cards and tags", "tags"],
)
def test_a_change_that_keeps_the_sum_is_noticed_before_any_card_is_shown(
    party: int, step: int, errors: tuple[tuple[int, int, int], ...]
) -> None:
    with changed(party, step, adds(*errors)):
        outcomes = Table().deal()
    assert any("cards and tags do not match" in reason for reason in said(outcomes))


@pytest.mark.parametrize("party", [0, 1, 2])
def test_a_changed_final_share_is_noticed(party: int) -> None:
    with changed(party, 3, adds((0, 0, 5)), after=True):
        assert any("do not add up" in reason for reason in said(Table().deal()))
    with changed(party, 3, adds((0, 0, 5), (0, 3, PRIME - 5)), after=True):
        assert any("do not match" in reason for reason in said(Table().deal()))


@pytest.mark.parametrize("errors", [(1, 0), (0, 1), (1, 1), (PRIME - 1, 77)], ids=str)
def test_a_share_that_is_sealed_otherwise_than_checked_is_noticed_by_its_holder(
    errors: tuple[int, int],
) -> None:
    """Sums and check are honest; what is sealed and committed to is not."""
    table = Table()
    place = Place(NAME, CHEAT, 2).info()

    def change(made: list[bytes]) -> None:
        plain = cards._suite().decrypt(made[2], table.keys[2], place)
        numbers = (int.from_bytes(plain[at : at + 4], "little") for at in (0, 4))
        other = [(one + error) % PRIME for one, error in zip(numbers, errors, strict=True)]
        packed = b"".join(one.to_bytes(4, "little") for one in other)
        made[2] = cards._suite().encrypt(packed, table.keys[2].public_key(), place)

    hands = table.hands(table.deal(before_root=change))
    assert [isinstance(hand, str) for hand in hands] == [False, False, True, False]
    assert "party 1 sealed another share than was checked" in str(hands[2])


def test_a_rogue_that_makes_the_check_fit_a_slot_it_knows_is_noticed_by_its_holder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the last permutation it knows where its change is, and nothing of the card there."""
    plain = dealing._check_tags

    async def fitted(channel: Any, mine: Vector, alpha: int, **more: Any) -> Vector:
        if channel.me == CHEAT:  # claims what an honest party would
            mine = adds((0, 0, -5), (0, 3, 5))(mine)
        return await plain(channel, mine, alpha, **more)

    monkeypatch.setattr(dealing, "_check_tags", fitted)
    table = Table()
    with changed(CHEAT, 3, adds((0, 0, 5), (0, 3, PRIME - 5)), after=True):
        hands = table.hands(table.deal())
    assert [isinstance(hand, str) for hand in hands] == [True, False, False, True]
    assert all("party 1 sealed another share" in str(hands[slot]) for slot in (0, 3))


def sending(kind: Kind, to: int | None, what: Callable[[bytes], bytes]) -> Forge:
    """The corrupt party's messages of one kind, to all or to one, are something else."""

    def forge(message: Message) -> bytes:
        sender, receiver, found, payload = message
        if (sender, found) == (CHEAT, kind) and to in (None, receiver):
            return what(payload)
        return payload

    return forge


def flipped(payload: bytes) -> bytes:
    return bytes([payload[0] ^ 1]) + payload[1:]


@pytest.mark.parametrize(
    ("kind", "to", "reason"),
    [
        (Kind.REVEAL, None, "revealed another number than it had committed to"),
        (Kind.REVEAL, 0, "revealed another number than it had committed to"),
        (Kind.COMMIT, 2, "revealed another number than it had committed to"),
        (Kind.ROOT, 0, "did not see the same messages"),
        (Kind.PROMISE, 0, "opened another check than it had committed to"),
        (Kind.CHECK, None, "opened another check than it had committed to"),
        (Kind.CHECK, 2, "opened another check than it had committed to"),
        (Kind.RECORD, None, "did not see the same messages"),
        (Kind.SUM, None, "do not add up to the deck"),
        (Kind.SUM, 0, "do not add up to the deck"),
    ],
)
def test_a_message_that_is_not_what_it_should_be_ends_the_round(
    kind: Kind, to: int | None, reason: str
) -> None:
    outcomes = Table().deal(sending(kind, to, flipped))
    for party, outcome in enumerate(outcomes):
        if party != CHEAT:
            assert isinstance(outcome, Abort), (party, outcome)
    assert any(reason in str(outcome) for outcome in outcomes)


@pytest.mark.parametrize("kind", [Kind.ORDER, Kind.SEED])
def test_parties_that_are_sent_different_seeds_or_orders_abort(kind: Kind) -> None:
    """A first of a group that tells the others another order: what comes out is no deck."""

    def forge(message: Message) -> bytes:
        return flipped(message[3]) if message[:3] == (0, 1, kind) else message[3]

    assert said(Table(20).deal(forge))


@pytest.mark.parametrize("size", [0, 5, 31], ids=str)
def test_a_seed_of_the_wrong_length_is_an_abort(size: int) -> None:
    outcomes = Table().deal(sending(Kind.SEED, 0, lambda payload: payload[:size]))
    for party, outcome in enumerate(outcomes):
        assert party == CHEAT or isinstance(outcome, Abort), repr(outcome)


@pytest.mark.parametrize(
    "kind", [Kind.COMMIT, Kind.SUM, Kind.ROOT, Kind.REVEAL, Kind.PROMISE, Kind.CHECK, Kind.RECORD]
)
def test_a_hash_of_the_wrong_length_is_an_abort(kind: Kind) -> None:
    outcomes = Table().deal(sending(kind, None, lambda payload: payload[:-1]))
    for party, outcome in enumerate(outcomes):
        assert party == CHEAT or isinstance(outcome, Abort), repr(outcome)


@pytest.mark.parametrize(
    "what",
    [lambda payload: payload[:-4], lambda payload: b"\xff" * len(payload)],
    ids=["short", "beyond the field"],
)
def test_a_vector_that_is_none_is_an_abort(what: Callable[[bytes], bytes]) -> None:
    outcomes = Table().deal(sending(Kind.VECTOR, None, what))
    reasons = [str(outcome) for outcome in outcomes if isinstance(outcome, Abort)]
    assert any("sent what is no share" in reason for reason in reasons)
    assert all(isinstance(outcome, Abort) for outcome in outcomes)


# After the commitment ---------------------------------------------------------------------------


@pytest.fixture
def dealt() -> tuple[Table, Record]:
    table = Table()
    return table, table.record(table.deal())


def test_a_share_that_is_sealed_anew_after_the_commitment_is_noticed(
    dealt: tuple[Table, Record],
) -> None:
    table, record = dealt
    shown = table.envelopes(1)
    # α is public by now: the corrupt party knows how to change a card and its tag alike.
    other = seal_shares(
        table.public,
        np.zeros(4, np.uint64),
        np.zeros(4, np.uint64),
        NAME,
        CHEAT,
    )
    shown[CHEAT] = replace(shown[CHEAT], sealed=other[1])
    with pytest.raises(Abort, match="party 1 serves another share than it had committed to"):
        table.open(record, 1, shown)
    shown[CHEAT] = replace(shown[CHEAT], path=tuple(Tree(other).path(1)))
    with pytest.raises(Abort, match="party 1 serves another share than it had committed to"):
        table.open(record, 1, shown)


def test_a_known_α_would_let_a_change_pass_were_it_not_for_the_commitment(
    dealt: tuple[Table, Record],
) -> None:
    """What the commitment prevents is real: with another root the changed card is accepted."""
    table, record = dealt
    before = table.open(record, 1)
    key = table.keys[1]
    info = Place(NAME, CHEAT, 1).info()
    plain = cards._suite().decrypt(table.sealed[CHEAT][1], key, info)
    card, tag = int.from_bytes(plain[:4], "little"), int.from_bytes(plain[4:], "little")
    step = 1 if before == 1 else -1  # plus is element 1, minus element 2
    card, tag = (card + step) % PRIME, (tag + step * record.alpha) % PRIME
    table.sealed[CHEAT][1] = cards._suite().encrypt(
        card.to_bytes(4, "little") + tag.to_bytes(4, "little"), key.public_key(), info
    )
    with pytest.raises(Abort, match="another share than it had committed to"):
        table.open(record, 1)
    roots = list(record.roots)
    roots[CHEAT] = Tree(table.sealed[CHEAT]).root.hex()
    assert table.open(replaced(record, roots=tuple(roots)), 1) == -before


def test_swapped_envelopes_are_noticed(dealt: tuple[Table, Record]) -> None:
    table, record = dealt
    mine, other = table.envelopes(1), table.envelopes(2)
    shown = [*mine]
    shown[CHEAT] = other[CHEAT]
    with pytest.raises(Abort, match="do not agree on the slot"):
        table.open(record, 1, shown)
    shown[CHEAT] = replace(other[CHEAT], slot=1)
    with pytest.raises(Abort, match="another share than it had committed to"):
        table.open(record, 1, shown)
    with pytest.raises(Abort, match="not sealed to this contributor"):
        table.open(record, 1, other)
    shown = [mine[0], mine[2], mine[1]]
    with pytest.raises(Abort, match="another share than it had committed to"):
        table.open(record, 1, shown)
    for wrong in (mine[:2], [*mine, mine[0]], []):
        with pytest.raises(Abort, match="do not agree on the slot"):
            table.open(record, 1, wrong)


def test_two_slots_that_are_swapped_before_the_commitment_are_noticed() -> None:
    table = Table()

    def swap(made: list[bytes]) -> None:
        made[1], made[2] = made[2], made[1]

    hands = table.hands(table.deal(before_root=swap))
    assert [isinstance(hand, str) for hand in hands] == [False, True, True, False]
    assert "not sealed to this contributor" in str(hands[1])


@pytest.mark.parametrize(
    ("survey", "party", "slot"),
    [("cd" * 32, CHEAT, 1), (NAME, 2, 1), (NAME, CHEAT, 2)],
    ids=["survey", "party", "slot"],
)
def test_a_share_that_was_sealed_for_another_place_does_not_open(
    survey: str, party: int, slot: int
) -> None:
    """Replayed into the commitment itself, so that only the seal's label can tell."""
    table = Table()

    def replay(made: list[bytes]) -> None:
        info = Place(survey, party, slot).info()
        key = X25519PublicKey.from_public_bytes(table.public[1])
        made[1] = cards._suite().encrypt(bytes(8), key, info)

    hands = table.hands(table.deal(before_root=replay))
    assert "not sealed to this contributor" in str(hands[1])
    assert [isinstance(hand, str) for hand in hands] == [False, True, False, False]


def test_a_record_of_another_deal_does_not_fit(dealt: tuple[Table, Record]) -> None:
    table, record = dealt
    for wrong in (
        replaced(record, alpha=(record.alpha + 1) % PRIME),
        replaced(record, survey="cd" * 32),
        replaced(record, n=5),
        replaced(record, roots=(*record.roots[1:], record.roots[0])),
    ):
        with pytest.raises(Abort):
            table.open(wrong, 1)
    assert table.open(record, 1) in (1, -1)


@pytest.mark.parametrize("size", [0, 7, 9, 12], ids=str)
def test_a_share_of_another_length_is_refused(size: int) -> None:
    table = Table()

    def reseal(made: list[bytes]) -> None:
        info = Place(NAME, CHEAT, 0).info()
        key = X25519PublicKey.from_public_bytes(table.public[0])
        made[0] = cards._suite().encrypt(bytes(size), key, info)

    hands = table.hands(table.deal(before_root=reseal))
    assert "not sealed to this contributor" in str(hands[0])


def test_garbage_instead_of_a_sealed_share_is_refused() -> None:
    for garbage in (b"", b"\0" * 56, b"x" * 10):
        table = Table()

        def put(made: list[bytes], garbage: bytes = garbage) -> None:
            made[3] = garbage

        hands = table.hands(table.deal(before_root=put))
        assert "not sealed to this contributor" in str(hands[3])
