"""Words: the documented stream where a seed is given, never the same stream twice otherwise."""

import copy
import hashlib
import itertools
import os
import pickle
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import jrr
from jrr._base import randomness
from jrr._base.randomness import BLOCK, Words
from tests.statistics_rules import OFF, SAMPLES, accepts_only, chi_square


def aes_ctr_words(key: bytes, count: int) -> list[int]:
    """The key stream as little-endian 64-bit integers, without numpy."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    stream = encryptor.update(bytes(8 * count))
    return [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(count)]


def seeded_words(seed: int, count: int) -> list[int]:
    key = hashlib.sha256(b"jrr seeded words 1:" + str(seed).encode()).digest()
    return aes_ctr_words(key, count)


class Replay:
    """A source that gives the same words again, a list at a time."""

    def __init__(self, *lists: list[int]) -> None:
        self.lists = list(lists)

    def words(self, count: int) -> Words:
        words = np.array(self.lists.pop(0), np.uint64)
        assert len(words) == count
        return words

    def word(self) -> int:
        return int(self.words(1)[0])


class TestSeededRandom:
    @pytest.mark.parametrize("seed", [0, 1, 2026, 2**64, 10**30])
    def test_known_answer(self, seed: int) -> None:
        assert jrr.SeededRandom(seed).words(1000).tolist() == seeded_words(seed, 1000)

    def test_known_answer_written_down(self) -> None:
        words = jrr.SeededRandom(0).words(3).tolist()
        assert words == [0xBFD58831A22D0B07, 0xDB03BECAE4A5FCE8, 0x93EBC544F454CF05]

    def test_chunks_do_not_change_the_stream(self) -> None:
        whole = jrr.SeededRandom(5).words(8)
        rng = jrr.SeededRandom(5)
        assert [*rng.words(3), *rng.words(5)] == whole.tolist()

    @pytest.mark.parametrize(
        "chunks",
        [
            (31, 1, 1, 32, 64, 65),
            (0, 5, 0),
            (BLOCK, 1, BLOCK + 1),
            (3, 3 * BLOCK + 7, 2),
            (1,) * 200,
        ],
    )
    def test_any_chunks_do_not_change_the_stream(self, chunks: tuple[int, ...]) -> None:
        rng = jrr.SeededRandom(6)
        pieces = np.concatenate([rng.words(count) for count in chunks])
        assert np.array_equal(pieces, jrr.SeededRandom(6).words(sum(chunks)))

    def test_large_counts(self) -> None:
        count = 4 * BLOCK + 3
        words = jrr.SeededRandom(7).words(count)
        assert words.tolist() == seeded_words(7, count)

    def test_single_words_are_the_same_stream(self) -> None:
        rng = jrr.SeededRandom(8)
        singles = [rng.word() for _ in range(100)]
        assert singles == seeded_words(8, 100)
        assert all(type(word) is int for word in singles)

    def test_type_and_shape(self) -> None:
        words = jrr.SeededRandom(9).words(10)
        assert words.dtype == np.uint64
        assert words.shape == (10,)
        assert len(jrr.SeededRandom(9).words(0)) == 0

    def test_words_belong_to_the_caller(self) -> None:
        rng = jrr.SeededRandom(10)
        rng.words(5)[:] = 0
        kept = rng.words(5)
        rng.words(100)
        assert kept.tolist() == seeded_words(10, 10)[5:]

    def test_seeds(self) -> None:
        assert np.array_equal(jrr.SeededRandom(1).words(50), jrr.SeededRandom(1).words(50))
        assert not np.array_equal(jrr.SeededRandom(1).words(50), jrr.SeededRandom(2).words(50))

    def test_repr(self) -> None:
        assert repr(jrr.SeededRandom(3)) == "SeededRandom(3)"

    @pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True])
    def test_wrong_seeds(self, seed: object) -> None:
        with pytest.raises(jrr.JrrError, match=f"seed must be .* got seed={seed!r}"):
            jrr.SeededRandom(seed)  # type: ignore[arg-type]

    @pytest.mark.parametrize("count", [-1, 1.0, None])
    def test_wrong_counts(self, count: object) -> None:
        with pytest.raises(jrr.JrrError, match=f"count must be .* got count={count!r}"):
            jrr.SeededRandom(1).words(count)  # type: ignore[arg-type]


class TestSecureRandom:
    def test_two_instances_differ(self) -> None:
        assert not np.array_equal(jrr.SecureRandom().words(20), jrr.SecureRandom().words(20))

    def test_no_word_comes_twice(self) -> None:
        rng = jrr.SecureRandom()
        words = np.concatenate([rng.words(count) for count in (1, 40, 3 * BLOCK, 7)])
        assert len(np.unique(words)) == len(words)  # a repeat has chance 1e-9

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the child only draws
    def test_a_forked_child_has_its_own_stream(self) -> None:
        rng = jrr.SecureRandom()
        rng.words(3)  # words of the parent's block are left over
        from_child, to_parent = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(to_parent, rng.words(8).tobytes())
            os._exit(0)
        os.close(to_parent)
        with os.fdopen(from_child, "rb") as pipe:
            words_of_child = np.frombuffer(pipe.read(), np.uint64)
        assert os.waitpid(child, 0)[1] == 0
        assert len(words_of_child) == 8
        assert not set(words_of_child.tolist()) & set(rng.words(3 * BLOCK).tolist())

    @pytest.mark.parametrize(
        "again",
        [copy.copy, copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))],
        ids=["copy", "deepcopy", "pickle"],
    )
    def test_a_copy_has_its_own_stream(self, again: object) -> None:
        rng = jrr.SecureRandom()
        rng.words(3)
        other = again(rng)  # type: ignore[operator]
        assert isinstance(other, jrr.SecureRandom)
        assert not set(other.words(100).tolist()) & set(rng.words(100).tolist())

    def test_pickles_hold_no_key(self) -> None:
        rng = jrr.SecureRandom()
        rng.words(3)
        assert pickle.dumps(rng) == pickle.dumps(jrr.SecureRandom())

    def test_each_block_makes_the_next_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
        rng = jrr.SecureRandom()
        expected: list[int] = []
        key = bytes(range(32))
        for size in (32, 64, 128, 256):
            block = aes_ctr_words(key, 4 + size)
            key = b"".join(word.to_bytes(8, "little") for word in block[:4])
            expected += block[4:]
        assert [rng.word() for _ in expected] == expected

    def test_no_key_is_left_from_the_past(self) -> None:
        rng = jrr.SecureRandom()
        keys = []
        for _ in range(5):
            rng.words(BLOCK)
            held = [value for value in vars(rng).values() if isinstance(value, bytes)]
            assert len(held) == 1  # the key of the next block, nothing else
            keys += [bytes(bytearray(key)) for key in held]  # copies: used ones are overwritten
        assert len(set(keys)) == 5

    def test_repr_tells_nothing(self) -> None:
        assert repr(jrr.SecureRandom()) == "SecureRandom()"


@pytest.mark.statistical
@pytest.mark.parametrize("byte", range(8))
def test_words_are_uniform(byte: int) -> None:
    """Each byte of a word; secure words are these with another key."""
    words = jrr.SeededRandom(11).words(SAMPLES)
    values = (words >> np.uint64(8 * byte)) & np.uint64(255)

    def p_value(off: float) -> float:
        chances = np.full(256, 1 / 256)
        chances[:128] *= 1 - off
        chances[128:] *= 1 + off
        return chi_square(np.bincount(values.astype(int), minlength=256), chances)

    accepts_only(p_value, 0.0, OFF)


class TestSource:
    def test_none_is_secure_and_fresh(self) -> None:
        first, second = randomness.source(None), randomness.source(None)
        assert isinstance(first, jrr.SecureRandom)
        assert first is not second

    def test_own_sources_are_passed_through(self) -> None:
        for rng in (jrr.SecureRandom(), jrr.SeededRandom(1), Replay([1])):
            assert randomness.source(rng) is rng

    def test_a_numpy_generator_is_accepted(self) -> None:
        words = randomness.source(np.random.default_rng(1)).words(1000)
        assert words.dtype == np.uint64
        assert int(words.max()) > 2**63
        assert type(randomness.source(np.random.default_rng(1)).word()) is int
        again = randomness.source(np.random.default_rng(1)).words(1000)
        assert np.array_equal(words, again)

    @pytest.mark.parametrize("rng", [1, "seed", object(), np.random, jrr])
    def test_anything_else_is_refused(self, rng: object) -> None:
        with pytest.raises(jrr.JrrError, match="rng must be None, a SecureRandom") as refused:
            randomness.source(rng)  # type: ignore[arg-type]
        assert repr(rng)[:40] in str(refused.value)


class TestShuffled:
    @pytest.mark.statistical
    @pytest.mark.parametrize("size", [2, 3, 4, 5])
    def test_every_order_is_equally_likely(self, size: int) -> None:
        rng = jrr.SeededRandom(12)
        deck = np.arange(size)
        runs = SAMPLES // 10
        orders = Counter(tuple(randomness.shuffled(deck, rng).tolist()) for _ in range(runs))
        every = list(itertools.permutations(range(size)))
        half = len(every) // 2

        def p_value(off: float) -> float:
            chances = [1 - off] * half + [1 + off] * half
            return chi_square([orders[order] for order in every], np.array(chances) / len(every))

        accepts_only(p_value, 0.0, OFF)

    def test_the_order_is_that_of_the_words(self) -> None:
        deck = np.array([10, 20, 30, 40])
        assert randomness.shuffled(deck, Replay([5, 2, 9, 1])).tolist() == [40, 20, 10, 30]

    def test_every_order_of_words_gives_another_order(self) -> None:
        deck = np.arange(4)
        orders = {
            tuple(randomness.shuffled(deck, Replay(list(words))).tolist())
            for words in itertools.permutations([1, 2, 3, 4])
        }
        assert len(orders) == 24

    def test_ties_are_drawn_again(self) -> None:
        source = Replay([7, 7, 3], [1, 5, 1], [2**64 - 1, 0, 5])
        assert randomness.shuffled(np.array([0, 1, 2]), source).tolist() == [1, 2, 0]
        assert source.lists == []

    def test_words_that_differ_in_the_last_bit_are_no_tie(self) -> None:
        source = Replay([2**64 - 1, 2**64 - 2])
        assert randomness.shuffled(np.array([0, 1]), source).tolist() == [1, 0]

    def test_the_deck_is_not_modified(self) -> None:
        deck = np.arange(100, dtype=np.int8)
        mixed = randomness.shuffled(deck, jrr.SeededRandom(13))
        assert deck.tolist() == list(range(100))
        assert mixed.dtype == deck.dtype
        assert sorted(mixed.tolist()) == deck.tolist()
