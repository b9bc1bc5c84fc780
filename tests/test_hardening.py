"""Hostile or unusual use: forks, signals, absurd numbers, damaged files, missing extras."""

import io
import json
import multiprocessing
import os
import signal
import sys
import threading
from fractions import Fraction
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import jrr
from jrr._base import randomness
from jrr._base.exact import SCALE
from jrr._base.files import write_whole
from jrr.cli.app import run
from jrr.errors import MissingExtraError
from jrr.mechanisms import hashing
from jrr.reporting import plots
from jrr.research.paper.claims import FAILS, HOLDS, close, verdict
from tests import bare_plans

pytestmark = pytest.mark.heavy

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


# -- randomness ----------------------------------------------------------------------------


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_draw_neither_hangs_nor_repeats() -> None:
    source = jrr.SecureRandom()
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            source.words(1000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        drawn = set()
        for _ in range(20):
            receive, send = os.pipe()
            child = os.fork()
            if child == 0:  # pragma: no cover - runs in the child
                signal.alarm(10)
                os.write(send, source.words(4).tobytes())
                os._exit(0)
            os.close(send)
            with os.fdopen(receive, "rb") as pipe:
                drawn.add(pipe.read())
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert len(drawn) == 20


def test_a_signal_handler_may_draw_while_its_thread_draws() -> None:
    source = jrr.SecureRandom()
    seen: list[bytes] = []

    def handler(number: int, frame: FrameType | None) -> None:
        seen.append(source.words(4).tobytes())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for _ in range(300):
            source.words(40_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    assert len(set(seen)) == len(seen)


def test_served_words_do_not_show_the_next_ones() -> None:
    source = jrr.SecureRandom()
    for count in (1, 7, 31, 100, 33_000):
        words = source.words(count)
        base = words if words.base is None else words.base
        assert base.nbytes <= 8 * count + 15
        coming = source.words(8).tobytes()
        assert coming not in np.asarray(base).tobytes()


def test_served_words_and_used_keys_are_overwritten() -> None:
    source = jrr.SecureRandom()
    first = source._key
    before = bytes(bytearray(first))
    served = source.words(5)
    pool = source._pool
    assert not pool[:5].any()
    assert pool[5:].all()  # a word of 0 comes once in 2^64
    assert served.all()
    assert first == bytes(32) != before


def test_a_constant_source_is_refused_not_asked_for_ever() -> None:
    class Constant:
        def words(self, count: int) -> randomness.Words:
            return np.zeros(count, np.uint64)

        def word(self) -> int:
            return 0

    with pytest.raises(jrr.JrrError, match="rng must be random"):
        jrr.JRR(4, 0.6, s=0.1).deal(Constant())


def test_a_seeded_source_is_not_copied() -> None:
    with pytest.raises(jrr.JrrError, match="must not be copied"):
        multiprocessing.reduction.ForkingPickler.dumps(jrr.SeededRandom(1))


# -- privacy and estimates at the edge of whole numbers ------------------------------------


@pytest.mark.parametrize("k", [4, 1000, 2**20, 2**31, 2**32 - 5, 2**32])
def test_always_lying_is_bounded_by_its_rarest_lie(k: int) -> None:
    """At s = p the words do not divide evenly: the last lie has fewer of them."""
    mechanism = jrr.JRR(10**6, 0.5, s=0.5, k=k)
    step = mechanism.law.lie_minus // (k - 1)
    last = max(0, SCALE - (k - 2) * step)
    plus = SCALE - mechanism.law.lie_plus  # all of them: a plus card tells the truth
    rarest = Fraction(last + mechanism.law.lie_plus // (k - 1), 2)
    truth = Fraction(plus, 2)
    true_loss = np.inf if rarest == 0 else float(np.log(float(truth / rarest)))
    assert mechanism.epsilon() >= true_loss - 1e-9
    assert mechanism.epsilon() == pytest.approx(true_loss, rel=1e-9)


@pytest.mark.parametrize("k", [2, 2**20, 2**24, 2**28])
def test_moments_are_those_of_the_words_that_run(k: int) -> None:
    mechanism = jrr.RR(k, epsilon=0.1)
    lie = Fraction(mechanism.lie_words, SCALE)
    gain = (1 - lie) - lie / (k - 1)
    assert float(mechanism.moments.gain[0]) == float(gain)


def test_a_domain_in_which_words_cannot_tell_truth_from_lie_is_refused() -> None:
    with pytest.raises(jrr.JrrError, match="k must be small enough"):
        jrr.RR(2**31, epsilon=0.1).moments  # noqa: B018


def test_too_many_colluders_to_sum_give_a_bound_quickly() -> None:
    mechanism = jrr.JRR(4 * 10**8, 0.6, s=0.3)
    assert mechanism.epsilon("truths", 10**8) == mechanism.epsilon("cards", 10**8)


# -- input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"tally": 1, "tally": 1}',
        '{"tally": 1.0, "mechanism": {}, "carded": [], "cardless": [], '
        '"n_carded": 0, "n_cardless": 0}',
        '{"tally": true}',
        '{"tally": 2}',
        "null",
        "",
    ],
)
def test_strange_tallies_are_refused(text: str) -> None:
    with pytest.raises(jrr.JrrError):
        jrr.Tally.from_json(text)


@pytest.mark.parametrize(
    "document",
    [
        {"mechanism": "DRR", "k": 2**32, "n": 2, "truth": 0.5, "own": 0.0, "deck": None},
        {"mechanism": "RR", "k": 2, "p": 0.7, 3: 4},
        {"mechanism": "RR", "k": 10**5000, "p": 0.7},
        {"mechanism": "JRR", "n": 10**400, "p": 0.6, "s": 0.1, "k": 2},
        {"mechanism": "RR", "k": 2, "p": float("nan")},
        {"mechanism": ["RR"]},
        {"mechanism": "OUE", "k": 2**31, "q": 0.2, "s": 0.0, "coupling": "none", "n": None},
        {},
        7,
    ],
)
def test_strange_mechanisms_are_refused_at_once(document: object) -> None:
    with pytest.raises(jrr.JrrError):
        jrr.from_dict(document)


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "-e", "800"],
        ["plan", "-e", "1", "--dealer-epsilon", "1e300"],
        ["plan", "-n", "1" + "0" * 160],
        ["study", "simulate", "-n", "3000000000"],
        ["study", "simulate", "-n", "10000000000000000000000"],
        [
            *("study", "simulate", "--counts", "9223372036854775807,9223372036854775807"),
            *("--mechanism", "rr"),
        ],
        ["study", "simulate", "--counts", "99999999999999999999999,1"],
        ["study", "reproduce", "--out", "x", "--data", "."],
    ],
)
def test_absurd_numbers_are_one_line_and_exit_code_2(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_huge_domain_is_planned_without_a_deck(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-k", str(2**22), "-n", "1000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["k"] == 2**22


def test_square_brackets_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "explain", "--question", "whether [red]they[/red] took [/b] bribes"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "whether [red]they[/red] took [/b] bribes" in shown


def test_a_terminal_without_greek_still_gets_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["plan", "--json"]) == 0


def test_without_matplotlib_the_demo_goes_on_and_pictures_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--json", "-n", "100", "--in-process"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["reports"] == 99
    assert run(["plan", "--plot", "plan.png"]) == MissingExtraError.exit_code
    assert "pip install '.[plots]'" in capsys.readouterr().err
    missing = run(["study", "reproduce", "--figure", "7", "--runs", "2", "--out", "r"])
    assert missing == MissingExtraError.exit_code
    assert not (tmp_path / "r").exists()


# -- files ---------------------------------------------------------------------------------


def test_nothing_waits_at_a_name_that_can_be_guessed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for guess in (".plan.png.partial.png", ".plan.partial.png", f".plan.{os.getpid()}.png"):
        (tmp_path / guess).symlink_to(victim)
    assert run(["plan", "--plot", str(tmp_path / "plan.png")]) == 0
    assert victim.read_text() == "precious"
    assert not (tmp_path / "plan.png").is_symlink()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    write_whole(path, "old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _no_space)
        with pytest.raises(OSError, match=r"file\.csv"):
            write_whole(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.csv"]


def _no_space(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("content", [b"", b"bit\n", b"other\n1\n", b"bit\n\xff\xfe\n"])
def test_broken_data_files_are_named(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jrr_kosarak_bits.csv").write_bytes(content)
    out = tmp_path / "out"
    assert (
        run(["study", "reproduce", "--figure", "1", "--data", str(tmp_path), "--out", str(out)])
        == 2
    )
    error = capsys.readouterr().err
    assert "jrr_kosarak_bits.csv" in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_damaged_figures_are_made_again(tmp_path: Path) -> None:
    arguments = [
        *("study", "reproduce", "--figure", "7", "--runs", "2", "--out", str(tmp_path), "--json"),
    ]
    assert run(arguments) == 0
    whole = (tmp_path / "figure7.csv").read_bytes()
    (tmp_path / "figure7.csv").write_bytes(whole[:100])
    assert run(arguments) == 0
    assert (tmp_path / "figure7.csv").read_bytes() == whole
    (tmp_path / "figure7.png").unlink()
    assert run(arguments) == 0
    assert (tmp_path / "figure7.png").exists()


@pytest.mark.slow
def test_a_report_keeps_the_figures_of_earlier_runs(tmp_path: Path) -> None:
    for figure in ("7", "trust"):
        common = ["--runs", "2", "--out", str(tmp_path), "--json"]
        assert run(["study", "reproduce", "--figure", figure, *common]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index("Figure 7:") < page.index("The trust frontier")


def test_the_same_figure_is_the_same_svg(tmp_path: Path) -> None:
    made = bare_plans.plan(100, 1.0)
    first, second = (plots.draw_plan(made, tmp_path / f"{n}.svg").read_bytes() for n in "ab")
    assert first == second


def test_compiled_code_that_cannot_be_kept_is_still_used(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    real = numba.njit

    def no_cache(*arguments: object, **options: object) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*arguments, **options)

    monkeypatch.setattr(numba, "njit", no_cache)
    hashing.hash_support.cache_clear()
    try:
        mechanism = jrr.OLH(5, 1.0)
        reports = mechanism.respond([0, 1, 2, 3, 4] * 20)
        assert mechanism.tally(reports).n_cardless == 100
    finally:
        hashing.hash_support.cache_clear()


# -- honesty -------------------------------------------------------------------------------


def test_verdicts_follow_from_measurements() -> None:
    assert verdict(close([0.05], [0.045])) == HOLDS
    assert verdict(close([0.15], [0.045])) == FAILS


def test_claims_change_when_the_mechanism_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    from jrr.research.paper import claims as module

    before = [claim.verdict for claim in module.claims({})]
    monkeypatch.setattr(module, "theory", lambda mechanism, case: 3.0 + hash(mechanism) % 7)
    after = [claim.verdict for claim in module.claims({})]
    assert before.count(HOLDS) - after.count(HOLDS) >= 5
