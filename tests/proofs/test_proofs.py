"""Coq accepts the proofs, and nothing that is wrong.

Where Coq is not installed the tests are skipped: `make proofs` installs it, if it may.
"""

import shutil
from pathlib import Path

import pytest

from tools.check_proofs import ALLOWED, SOURCE, ProofError, check, files_in_order, theorems

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


def test_coq_accepts_every_proof(tmp_path: Path) -> None:
    proved, axioms = check(SOURCE, tmp_path, quick=True, say=False)
    assert "JRR.privacy.masked" in proved
    assert axioms
    assert all(any(axiom.endswith(known) for known in ALLOWED) for axiom in axioms)


def test_half_the_slope_is_refused(copy: Path, tmp_path: Path) -> None:
    """One card that moves changes the weight by e^(a+b), not by its root."""
    right = "slope (a + b) (fun v => deck a b n"
    spoil(copy, "masks", right, "slope ((a + b) / 2) (fun v => deck a b n")
    with pytest.raises(ProofError, match=r"coqc .* masks\.v"):
        check(copy, tmp_path, quick=True, say=False)


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
