"""Coq accepts the proofs, and nothing that is wrong.

Where Coq is not installed the tests are skipped: `make proofs` installs it, if it may.
"""

import math
import re
import shutil
from pathlib import Path

import pytest

import jrr
from tools import make_proof_settings
from tools.check_proofs import (
    ALLOWED,
    SOURCE,
    ProofError,
    check,
    files_in_order,
    main,
    run,
    theorems,
)

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not shutil.which("coqc"), reason="no Coq here (make proofs installs it)"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The proofs, to be spoiled."""
    return shutil.copytree(SOURCE, tmp_path / "proofs")


def spoil(copy: Path, name: str, right: str, wrong: str) -> None:
    path = copy / f"{name}.v"
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), encoding="utf-8")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], set[str]]:
    """A folder with everything compiled but the settings, the theorems, and their axioms."""
    folder = tmp_path_factory.mktemp("proofs")
    return folder, *check(SOURCE, folder, quick=True, say=False)


def test_coq_accepts_every_proof(compiled: tuple[Path, list[str], set[str]]) -> None:
    _, proved, axioms = compiled
    named = {"privacy.masked", "window.window_private", "surveys.several_questions"}
    named |= {"asked.asked_private", "attained.yes_no_attained", "drawing.closed_deck_drawn"}
    assert {f"JRR.{name}" for name in named} <= set(proved)
    assert axioms
    assert axioms <= ALLOWED


def test_the_settings_are_those_that_run() -> None:
    written = (SOURCE / "settings.v").read_text(encoding="utf-8")
    assert written == make_proof_settings.text()
    assert written.count("Lemma ") > 100


@pytest.mark.parametrize(("epsilon", "enough"), [("as stated", True), ("two floats less", False)])
def test_a_stated_epsilon_is_large_enough(
    compiled: tuple[Path, list[str], set[str]], epsilon: str, enough: bool
) -> None:
    """That of a block of two items; the next smaller numbers would promise too much."""
    coin = jrr.Block((2, 2))
    m = jrr.MRR(100, 3.0, card_rate=0.3, announced_rate=0.6, coin=coin, p=None)
    line = make_proof_settings.setting(m)
    if not enough:
        stated = m.epsilon("everything")
        less = math.nextafter(math.nextafter(stated, 0), 0)
        old, new = (make_proof_settings.fraction(one) for one in (stated, less))
        assert old in line
        line = line.replace(old, new)
    text = f"{make_proof_settings.HEAD}Lemma one : {line}.\nProof. stated. Qed.\n"
    folder = compiled[0]
    (folder / "one.v").write_text(text, encoding="utf-8")
    if enough:
        run(folder, "coqc", "-q", "-R", ".", "JRR", "one.v")
    else:
        with pytest.raises(ProofError, match=r"coqc .* one\.v"):
            run(folder, "coqc", "-q", "-R", ".", "JRR", "one.v")


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 3)])
def test_words_make_the_probabilities(sizes: tuple[int, ...]) -> None:
    """Each lie takes the same number of the 2**63 words, the truth all others."""
    coin = jrr.Block(sizes) if len(sizes) > 1 else jrr.Choice(sizes[0])
    lies = coin.lie_words(coin.truth_for(2.0))
    each, rest = divmod(lies, math.prod(sizes) - 1)
    assert rest == 0
    told = {
        tuple(coin.toss(0, [word << 1], lies))
        for lie in range(math.prod(sizes) - 1)
        for word in (lie * each, (lie + 1) * each - 1)
    }
    assert len(told) == math.prod(sizes) - 1
    truth = coin.toss(0, [lies << 1], lies)
    assert truth == coin.toss(0, [(1 << 64) - 1], lies)
    assert tuple(truth) not in told


@pytest.mark.slow
def test_coq_accepts_every_setting(tmp_path: Path) -> None:
    proved, _ = check(SOURCE, tmp_path, quick=False, say=False)
    assert "JRR.settings.every_setting" in proved


def test_half_the_slope_is_refused(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One card that moves changes the weight by e^(a+b), not by its root: `make proofs` fails."""
    right = "slope (a + b) (fun v => deck a b n"
    spoil(copy, "masks", right, "slope ((a + b) / 2) (fun v => deck a b n")
    monkeypatch.setattr("sys.argv", ["check_proofs.py", "--quick", "--source", str(copy)])
    assert main() == 1
    assert re.search(r"FAILED: coqc .* masks\.v", capsys.readouterr().err)


@pytest.mark.parametrize("wrong", ["Admitted.", "admit. Qed.", "Abort."])
def test_a_proof_that_is_left_out_is_found(copy: Path, wrong: str) -> None:
    path = copy / "epsilon.v"
    path.write_text(f"{path.read_text()}\nLemma free : 0 = 1.\nProof. {wrong}\n", encoding="utf-8")
    with pytest.raises(ProofError, match=r"epsilon\.v leaves a proof out"):
        theorems(copy, files_in_order(copy))


def test_a_file_that_is_not_listed_is_found(copy: Path) -> None:
    (copy / "more.v").write_text("(* nothing *)", encoding="utf-8")
    with pytest.raises(ProofError, match="more"):
        files_in_order(copy)
