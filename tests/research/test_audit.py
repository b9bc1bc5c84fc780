"""Audits find planted bugs, and do not refute correct mechanisms."""

import contextlib
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from jrr import DRR, JRR, OLH, OUE, RR, SUE, JrrError
from jrr._base.randomness import RandomSource, Words, shuffled, source
from jrr.cli.app import run as program
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Cards, Mechanism, Rng
from jrr.research.audit import (
    ERROR,
    Audit,
    CardedReportView,
    CardsView,
    Command,
    DealerView,
    Function,
    Hits,
    ReportView,
    RoundsView,
    Subject,
    audit,
    epsilon_at_least,
    false_alarm_rate,
    verdict,
)
from jrr.research.audit.verdict import lower_chance, tally, upper_chance
from tests.bare_plans import plan

pytestmark = pytest.mark.heavy

P = math.e / (1 + math.e)  # P(1): RR with ε = 1
JRR_CARDS = JRR(20, P - 0.2 * 3 / 17, s=0.2)  # ε = 1 in the view cards with 3 colluders
DRR_CARDS = plan(20, 1.0, 3, mechanism="drr").mechanism
REPORT_AT_1: list[Mechanism] = [RR(2, 1.0), JRR(20, P, s=0.2), DRR(20, (math.e - 1) / (math.e + 1))]


def ids(mechanism: Mechanism) -> str:
    return f"{mechanism.name}{mechanism.k}"


# -- bounds ---------------------------------------------------------------------------------


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (731_058, 1_000_000)):
        exact = stats.binomtest(hits, trials).proportion_ci(1 - 2 * 0.01, method="exact")
        assert float(lower_chance(hits, trials, 0.01)) == pytest.approx(exact.low, abs=1e-12)
        assert float(upper_chance(hits, trials, 0.01)) == pytest.approx(exact.high, rel=1e-9)


def test_nothing_seen_shows_nothing_and_impossible_shows_much() -> None:
    assert epsilon_at_least(Hits(0, 1000, 0, 1000)) == 0
    assert epsilon_at_least(Hits(500, 1000, 500, 1000)) == 0
    assert 3 < epsilon_at_least(Hits(500, 1000, 0, 1000)) < 5
    assert Hits(5, 10, 0, 10).ratio() == math.inf
    assert Hits(0, 10, 5, 10).ratio() == -math.inf


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("trials", [50, 400, 4_000, 40_000])
def test_exact_false_alarm_rate_of_a_tight_mechanism(epsilon: float, trials: int) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    assert false_alarm_rate(p, 1 - p, trials, epsilon) < ERROR
    rare = 0.02  # an event beside rare cards, as tight as that of RR
    assert false_alarm_rate(rare, rare * math.exp(-epsilon), trials, epsilon) < ERROR


def test_false_alarm_rate_is_the_sum_over_all_outcomes() -> None:
    p, q, trials, error = 0.6, 0.3, 12, 0.2
    total = 0.0
    for a in range(trials + 1):
        for b in range(trials + 1):
            if epsilon_at_least(Hits(a, trials, b, trials), error) > math.log(1.2):
                total += float(stats.binom.pmf(a, trials, p) * stats.binom.pmf(b, trials, q))
    assert total > 0.1
    found = false_alarm_rate(p, q, trials, math.log(1.2), error)
    assert found == pytest.approx(total, abs=1e-9)


# -- what is right is not accused, and nearly reached ----------------------------------------


def test_1000_audits_of_tight_mechanisms_accuse_nobody() -> None:
    alarms = 0
    for seed in range(500):  # two audits each
        for mechanism in (RR(2, 1.0), RR(3, 0.5)):
            view = ReportView(mechanism)
            alarms += audit(view, mechanism.epsilon(), 1_000, seed, workers=1).violates
    assert alarms == 0  # expected: 0.1 at the very most


@pytest.mark.parametrize("mechanism", REPORT_AT_1, ids=ids)
def test_a_million_trials_reach_most_of_epsilon(mechanism: Mechanism) -> None:
    claimed = mechanism.epsilon("report")
    assert claimed == pytest.approx(1.0, abs=1e-6)
    found = audit(ReportView(mechanism), claimed, 1_000_000, 1)
    assert not found.violates
    assert found.lower_bound > 0.95 * claimed


@pytest.mark.slow_variants("JRR2]")
@pytest.mark.parametrize("mechanism", [JRR_CARDS, DRR_CARDS], ids=ids)
def test_cards_view_from_real_decks(mechanism: Mechanism) -> None:
    claimed = mechanism.epsilon("cards", 3)
    assert claimed == pytest.approx(1.0, abs=1e-6)
    found = audit(CardsView(mechanism, 3), claimed, 100_000, 1, workers=1)
    assert not found.violates
    assert found.lower_bound > max(0.7, mechanism.epsilon("report") - 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", REPORT_AT_1, ids=ids)
def test_ten_million_trials_reach_90_percent_report(mechanism: Mechanism) -> None:
    found = audit(ReportView(mechanism), 1.0, 10_000_000, 1)
    assert not found.violates
    assert found.lower_bound >= 0.9 * mechanism.epsilon("report")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [JRR_CARDS, DRR_CARDS], ids=ids)
def test_ten_million_trials_reach_90_percent_cards(mechanism: Mechanism) -> None:
    found = audit(CardsView(mechanism, 3), 1.0, 10_000_000, 1)
    assert not found.violates
    assert found.lower_bound >= 0.9 * mechanism.epsilon("cards", 3)


@pytest.mark.parametrize(
    "mechanism",
    [
        RR(16, 1.0),
        OUE(4, 1.0),
        OUE(64, 1.0),
        SUE(8, 1.0, coupling="dealt", n=20),
        OLH(64, 1.0),
        DRR(30, 0.3, 0.1, k=3),
    ],
    ids=ids,
)
def test_other_mechanisms_keep_their_word(mechanism: Mechanism) -> None:
    claimed = mechanism.epsilon("report")
    found = audit(ReportView(mechanism), claimed, 400_000, 1, workers=1)
    assert not found.violates
    assert found.lower_bound > 0.85 * claimed


@pytest.mark.slow
def test_views_with_cards_keep_their_word() -> None:
    capped = plan(20, 1.0, 3, mechanism="drr", dealer_epsilon=3.0).mechanism
    joint = OUE(3, 1.0, coupling="joint", n=20)
    for view, claimed in (
        (CardedReportView(JRR_CARDS), JRR_CARDS.epsilon("report")),
        (CardedReportView(joint), joint.epsilon("report")),
        (CardsView(joint, 1), joint.epsilon("cards", 1)),
        (DealerView(capped), capped.epsilon("dealer")),
        (RoundsView(capped), capped.epsilon("report")),
    ):
        found = audit(view, claimed, 30_000, 1, workers=1)
        assert not found.violates
        assert found.lower_bound > 0.5 * claimed


# -- planted bugs ----------------------------------------------------------------------------


class SwappedRR(RR):
    """Lies as often as it should tell the truth."""

    def __init__(self) -> None:
        super().__init__(4, p=1 - RR(4, 1.0).p)

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        return RR(4, 1.0).epsilon(view, colluders, delta)


class SwappedDRR(DRR):
    """Tells the truth as often as it should report its card."""

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        return DRR(self.n, 1 - self.truth).epsilon(view, colluders, delta)


class UnbalancedJRR(JRR):
    """Deals more plus cards than minus cards."""

    def deal(self, rng: Rng = None) -> NDArray[np.int8]:
        deck = np.array([1] * (3 * self.n // 4) + [-1] * (self.n // 4), np.int8)
        return shuffled(deck, source(rng))


class UnbalancedDRR(DRR):
    """Deals more cards 0 than cards 1."""

    def deal(self, rng: Rng = None) -> NDArray[Any]:
        deck = np.array([0] * (3 * self.n // 4) + [1] * (self.n // 4), np.uint8)
        return shuffled(deck, source(rng))


class OneCardForAllBits(CardedReportView):
    """Copies the first bit's card to every bit."""

    def deal(self, seats: int, trials: int, rng: RandomSource) -> Cards:
        first = super().deal(seats, trials, rng) & 1
        return (first * ((1 << self.mechanism.k) - 1)).astype(np.uint8)


class OneCardForAllRounds(RoundsView):
    """Deals once and uses the card in every round."""

    def cards(self, trials: int, rng: RandomSource) -> list[Cards]:
        return [self.deal(1, trials, rng)[:, 0]] * self.rounds


class BiasedWords:
    """Words of which one in ten is drawn again, unless it is large."""

    def __init__(self, rng: RandomSource) -> None:
        self._rng = rng

    def words(self, count: int) -> Words:
        first, second, coin = (self._rng.words(count) for _ in range(3))
        again = (coin < np.uint64(2**64 // 10)) & (first < np.uint64(1 << 63))
        return np.where(again, second, first)

    def word(self) -> int:
        return int(self.words(1)[0])


class BiasedRandomness(ReportView):
    """Answers by biased words."""

    def observe(self, value: Any, trials: int, rng: RandomSource) -> NDArray[Any]:
        return super().observe(value, trials, BiasedWords(rng))


JRR_TENTH = plan(20, 0.1, 0, mechanism="jrr", frequency=0.0).mechanism
DRR_TENTH = plan(20, 0.1, 0, mechanism="drr").mechanism
SWAPPED = SwappedDRR(20, 1 - DRR_CARDS.to_dict()["truth"])


@pytest.mark.slow_variants(
    "OUE",
    "JRR card reused]",
    "DRR card reused, three",
    "SUE dealt",
    "DRR unbalanced",
    "SUE joint, one card",
)
@pytest.mark.parametrize(
    ("subject", "claimed", "trials"),
    [
        pytest.param(ReportView(SwappedRR()), 1.0, 200_000, id="swapped RR"),
        pytest.param(ReportView(SWAPPED), SWAPPED.epsilon(), 20_000, id="swapped DRR"),
        pytest.param(ReportView(RR(2, 1.2)), 1.0, 100_000, id="epsilon off by 20%"),
        pytest.param(ReportView(OUE(4, 1.2)), 1.0, 200_000, id="OUE off by 20%"),
        pytest.param(OneCardForAllRounds(JRR_TENTH), 0.1, 20_000, id="JRR card reused"),
        pytest.param(OneCardForAllRounds(DRR_TENTH), 0.1, 20_000, id="DRR card reused"),
        pytest.param(
            OneCardForAllRounds(DRR(30, 0.3, 0.05, k=3)),
            DRR(30, 0.3, 0.05, k=3).epsilon(),
            20_000,
            id="DRR card reused, three answers",
        ),
        pytest.param(
            OneCardForAllBits(OUE(4, 1.0, coupling="joint", n=20)),
            1.0,
            40_000,
            id="OUE joint, one card",
        ),
        pytest.param(
            OneCardForAllBits(OUE(4, 1.0, coupling="dealt", n=20)),
            1.0,
            40_000,
            id="OUE dealt, one card",
        ),
        pytest.param(
            OneCardForAllBits(SUE(4, 1.0, coupling="joint", n=20)),
            1.0,
            20_000,
            id="SUE joint, one card",
        ),
        pytest.param(
            OneCardForAllBits(SUE(4, 1.0, coupling="dealt", n=20)),
            1.0,
            20_000,
            id="SUE dealt, one card",
        ),
        pytest.param(BiasedRandomness(RR(2, 1.0)), 1.0, 400_000, id="biased randomness"),
        pytest.param(
            CardedReportView(UnbalancedJRR(20, P, s=0.2)), 1.0, 60_000, id="JRR unbalanced deck"
        ),
        pytest.param(
            CardsView(UnbalancedDRR(20, 0.4), 3),
            DRR(20, 0.4).epsilon("cards", 3),
            60_000,
            id="DRR unbalanced deck",
        ),
    ],
)
def test_planted_bugs_are_found(subject: Subject, claimed: float, trials: int) -> None:
    found = audit(subject, claimed, trials, 1, workers=1)
    assert found.violates, found.sentence
    assert found.verdict == "violates the claim"


# -- subjects, seeds, processes, refusals ----------------------------------------------------


def coin(value: Any, trials: int, rng: RandomSource) -> NDArray[Any]:
    """A function as a subject: says the value, or not."""
    return RR(2, 1.0).respond(np.full(trials, value), rng=rng)


def test_a_function_is_a_subject() -> None:
    assert not audit(coin, 1.0, 20_000, 1).violates
    assert audit(coin, 0.5, 20_000, 1).violates
    assert audit(Function(coin, (1, 0)), 0.5, 20_000, 1).values in {(0, 1), (1, 0)}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit_with_any_number_of_processes() -> None:
    view = CardsView(DRR_CARDS, 3)
    calls: list[tuple[int, int | None]] = []
    alone = audit(view, 1.0, 40_000, 7, workers=1, progress=lambda *done: calls.append(done))
    assert calls[-1] == (40_000, 40_000)
    assert audit(view, 1.0, 40_000, 7, workers=2) == alone
    assert audit(view, 1.0, 40_000, 8, workers=1) != alone
    assert audit(view, 1.0, 40_000, workers=1).hits != alone.hits  # without a seed: secure


def test_a_local_function_runs_in_this_process() -> None:
    def local(value: Any, trials: int, rng: RandomSource) -> NDArray[Any]:
        return coin(value, trials, rng)

    assert audit(local, 1.0, 2_000_000, 1, workers=2).lower_bound > 0.9


def test_rounds_claim_epsilon_for_each_answer_that_differs() -> None:
    view = RoundsView(DRR_CARDS, 2)
    assert view.values == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert [view.times((0, 0), other) for other in view.values] == [0, 1, 1, 2]
    assert len(RoundsView(DRR(30, 0.3, k=3), 3).values) == 27
    assert len(RoundsView(DRR(30, 0.3, k=3), 4).values) == 16


def test_tally_of_rows_numbers_and_text() -> None:
    rows = np.array([[0, -1], [0, -1], [3, 1]])
    assert tally(rows, 3) == {(0, -1): 2, (3, 1): 1}
    assert tally(np.array(["a", "b", "a"]), 3) == {"a": 2, "b": 1}
    wide = np.repeat([[0] * 70, [1] * 70], 2, axis=0)
    assert tally(wide, 4) == {(0,) * 70: 2, (1,) * 70: 2}


def test_refusals() -> None:
    with pytest.raises(JrrError, match="claimed must be"):
        audit(coin, -1.0)
    with pytest.raises(JrrError, match="trials must be"):
        audit(coin, 1.0, 10)
    with pytest.raises(JrrError, match="values must be at least two"):
        Function(coin, (1,))
    with pytest.raises(JrrError, match="subject must be"):
        audit("RR", 1.0)  # type: ignore[arg-type]
    with pytest.raises(JrrError, match="mechanism must deal cards"):
        CardsView(RR(2, 1.0), 3)
    with pytest.raises(JrrError, match="colluders must be"):
        CardsView(DRR_CARDS, 20)
    with pytest.raises(JrrError, match="one per trial"):
        audit(lambda value, trials, rng: np.zeros(3), 1.0, 1_000)


def test_observations_that_never_repeat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "MOST_KINDS", 1_000)
    with pytest.raises(JrrError, match="at most 1000 kinds"):
        audit(lambda value, trials, rng: rng.words(trials), 1.0, 100_000, 1)


def test_command_subject(tmp_path: Path) -> None:
    program = tmp_path / "rr.py"
    program.write_text(
        "import os, random, sys\n"
        "random.seed(int(os.environ['JRR_AUDIT_SEED']))\n"
        "for line in sys.stdin:\n"
        "    print(int(line) ^ (random.random() < 0.25))\n"
    )
    line = f"'{sys.executable}' '{program}'"
    first = audit(Command(line), 1.0, 20_000, 3)
    assert first.violates  # its ε is ln 3
    assert first.lower_bound < math.log(3) < first.lower_bound + 0.2
    assert audit(Command(line), 1.0, 20_000, 3) == first
    assert not audit(Command(line), 1.1, 20_000, 3).violates


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import sys; sys.exit('broken')", "failed with code 1: broken"),
        ("print(1)", "one line per line"),
    ],
)
def test_a_command_that_fails_is_named(line: str, said: str) -> None:
    with pytest.raises(JrrError, match=said):
        audit(Command(f'{sys.executable} -c "{line}"'), 1.0, 1_000)


def test_commands_that_cannot_be() -> None:
    with pytest.raises(JrrError, match="could not be started"):
        audit(Command("/nowhere/to/be/found"), 1.0, 1_000)
    for empty in ("", "'"):
        with pytest.raises(JrrError, match="command must be"):
            Command(empty)
    with pytest.raises(JrrError, match="values of one line"):
        Command("cat", ("0", "1\n2"))


PEERS = Path(__file__).parents[2] / "build" / "peers-venv" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.skipif(not PEERS.exists(), reason="make bench installs the other libraries")
@pytest.mark.parametrize(
    ("adapter", "oracle", "violates"),
    [
        ("audit_pure_ldp.py", "de", False),
        ("audit_pure_ldp.py", "rappor", True),
        ("audit_multi_freq_ldpy.py", "oue -k 8", False),
        ("audit_multi_freq_ldpy.py", "ss -k 8", True),
        ("audit_multi_freq_ldpy.py", "ss-sorted -k 8", False),
    ],
)
def test_other_libraries(adapter: str, oracle: str, violates: bool) -> None:
    example = Path(__file__).parents[2] / "examples" / adapter
    found = audit(Command(f"'{PEERS}' '{example}' {oracle}"), 1.0, 60_000, 1, workers=1)
    assert found.violates == violates, found.sentence


# -- command line ----------------------------------------------------------------------------


def run(*arguments: str, command: str = "privacy") -> tuple[int, str]:
    # Through the whole program: a command called alone remembers other help options.
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = program(["audit", command, *arguments])
    return code, said.getvalue()


def test_exit_codes_and_json(tmp_path: Path) -> None:
    picture = tmp_path / "audit.png"
    code, said = run("--mechanism", "rr", "--seed", "1", "--trials", "100000", "--json")
    assert code == 0
    document = json.loads(said)
    assert document["verdict"] == "no violation found"
    assert document["claimed"] == pytest.approx(1.0)
    code, said = run(
        "--mechanism", "rr", "--claimed", "0.8", "--trials", "100000", "--plot", str(picture)
    )
    assert code == 1
    assert "violates the claim" in said
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("view", ["cards", "dealer", "rounds"])
def test_views_take_small_decks(view: str) -> None:
    code, said = run("--mechanism", "drr", "--view", view, "--trials", "4000", "--json")
    assert code == 0
    assert "DRR (n 20," in json.loads(said)["subject"]


def test_with_cards_and_a_program() -> None:
    code, said = run("--mechanism", "drr", "--with-cards", "--trials", "2000")
    assert code == 0
    assert "with a card" in said.replace("\n", " ")
    code, said = run("cat", "--claimed", "1", "--trials", "1000", command="program")
    assert code == 1
    assert "violates" in said


def test_command_line_refusals() -> None:
    for arguments in (
        ["--view", "cards", "-n", "5000"],
        ["--view", "cards", "--mechanism", "rr"],
    ):
        assert run(*arguments)[0] == ArgumentError.exit_code


def test_sentences_say_what_was_found() -> None:
    found = audit(ReportView(RR(2, 1.0)), 0.8, 100_000, 1)
    assert isinstance(found, Audit)
    assert "violates the claim" in found.sentence
    assert "claimed: 0.8" in found.sentence
    assert found.to_dict()["hits"] == list(found.hits)
