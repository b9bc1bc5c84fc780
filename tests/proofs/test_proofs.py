"""Coq accepts the proofs, and nothing that is wrong.

Where Coq is not installed the tests are skipped: `make proofs` installs it, if it may.
"""

import math
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import jrr
from tools import make_proof_settings
from tools.check_proofs import (
    ALLOWED,
    SOURCE,
    ProofError,
    assumed,
    axioms,
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
    _, proved, found = compiled
    named = {"privacy.masked", "window.window_private", "surveys.several_questions"}
    named |= {"asked.asked_private", "attained.yes_no_attained", "drawing.closed_deck_drawn"}
    named |= {"running.what_runs", "running.survey_runs", "numbers.window_runs"}
    named |= {"bits.bits_private", "decks.jrr_cards", "decks.drr_cards"}
    assert {f"JRR.{name}" for name in named} <= set(proved)
    assert found
    assert found <= ALLOWED


def test_the_first_page_says_what_was_proved(compiled: tuple[Path, list[str], set[str]]) -> None:
    """Coq takes every statement of proofs/README.md, from the theorem of that name; no stronger."""
    page = (SOURCE / "README.md").read_text(encoding="utf-8")
    said = re.findall(r"^(?:Theorem|Corollary) (\w+)(.*?\.)$", page, re.MULTILINE | re.DOTALL)
    assert len(said) > 2
    head = """From Coq Require Import Reals List. From JRR Require Import
        laws model masks announcements privacy coins epsilon theorems running.
        Import ListNotations. Open Scope R_scope.\n"""
    proofs = [
        f"Lemma said_{name}{text}\nProof. intros; eapply {name}; eauto. Qed.\n"
        for name, text in said
    ]
    folder = compiled[0]
    (folder / "said.v").write_text(head + "".join(proofs), encoding="utf-8")
    run(folder, "coqc", "-q", "-R", ".", "JRR", "said.v")
    bolder = proofs[0].replace("lets J coin (a + b + e) K", "lets J coin ((a + b + e) / 2) K")
    assert bolder != proofs[0]
    (folder / "said.v").write_text(head + bolder, encoding="utf-8")
    with pytest.raises(ProofError, match=r"coqc .* said\.v"):
        run(folder, "coqc", "-q", "-R", ".", "JRR", "said.v")


def test_the_settings_are_those_that_run() -> None:
    written = (SOURCE / "settings.v").read_text(encoding="utf-8")
    assert written == make_proof_settings.text()
    assert written.count("Lemma ") > 100


@pytest.mark.parametrize("coin", [jrr.Block((2, 2)), jrr.Window(4, 3)], ids=["block", "window"])
@pytest.mark.parametrize("enough", [True, False], ids=["as stated", "a little less"])
def test_a_stated_epsilon_is_large_enough(
    compiled: tuple[Path, list[str], set[str]],
    coin: jrr.Block | jrr.Window,
    *,
    enough: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of two items, and of a window; slightly smaller numbers would promise too much."""
    m = jrr.MRR(100, 3.0, card_rate=0.3, announced_rate=0.6, coin=coin, p=None)
    stated = make_proof_settings.stated_epsilon(m)
    if not enough:
        less = stated * (1 - Fraction(1, 1 << 50))
        monkeypatch.setattr(make_proof_settings, "stated_epsilon", lambda _: less)
    window = isinstance(coin, jrr.Window)
    line = make_proof_settings.window_setting(m) if window else make_proof_settings.setting(m)
    proof = line.split()[0]
    text = f"{make_proof_settings.HEAD}Lemma one : {line}.\nProof. {proof}. Qed.\n"
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


def test_an_assumption_of_our_own_is_printed(compiled: tuple[Path, list[str], set[str]]) -> None:
    """Also one that has no word of its own: a hypothesis outside of any section."""
    folder = compiled[0]
    text = "Hypothesis easy : 0 = 1.\nTheorem free : 1 = 0.\nProof. symmetry. exact easy. Qed.\n"
    (folder / "assumed.v").write_text(text, encoding="utf-8")
    run(folder, "coqc", "-q", "-R", ".", "JRR", "assumed.v")
    found = axioms(folder, ["assumed"], ["JRR.assumed.free"])
    assert {name.rsplit(".", 1)[-1] for name in found - ALLOWED} == {"easy"}


def test_an_assumption_that_nothing_uses_is_found_too(
    compiled: tuple[Path, list[str], set[str]],
) -> None:
    folder = compiled[0]
    assert assumed(folder, ["-norec", "JRR.theorems"]) == []
    (folder / "idle.v").write_text("Hypothesis easy : 0 = 1.\n", encoding="utf-8")
    run(folder, "coqc", "-q", "-R", ".", "JRR", "idle.v")
    assert assumed(folder, ["-norec", "JRR.idle"]) == ["JRR.idle.easy"]


def test_other_dealers_may_know_the_cards_of_others(
    compiled: tuple[Path, list[str], set[str]],
) -> None:
    """Their cards are any function of these; nobody's are one of her own card."""
    folder = compiled[0]
    text = """From Coq Require Import Reals ZArith List. From JRR Require Import laws model running.
        Definition earlier (o : unit) (theirs : list (list Z)) (j : nat) := nth j theirs nil.
        Definition use := fun J t B m C => sent (S := unit) J t B m C earlier earlier.
        """
    (folder / "reacting.v").write_text(text, encoding="utf-8")
    run(folder, "coqc", "-q", "-R", ".", "JRR", "reacting.v")


@pytest.mark.parametrize(
    "wrong", ["Admitted.", "admit. Qed.", "Abort.", "Abort. Axiom free : 0 = 1."]
)
def test_a_proof_that_is_left_out_is_found(copy: Path, wrong: str) -> None:
    path = copy / "epsilon.v"
    path.write_text(f"{path.read_text()}\nLemma free : 0 = 1.\nProof. {wrong}\n", encoding="utf-8")
    with pytest.raises(ProofError, match=r"epsilon\.v leaves a proof out"):
        theorems(copy, files_in_order(copy))


def test_a_file_that_is_not_listed_is_found(copy: Path) -> None:
    (copy / "more.v").write_text("(* nothing *)", encoding="utf-8")
    with pytest.raises(ProofError, match="more"):
        files_in_order(copy)
