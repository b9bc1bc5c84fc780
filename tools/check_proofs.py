"""Checks proofs/ with Coq, prints the axioms, and fails if anything is taken on trust.

    python tools/check_proofs.py            compile, check again with coqchk, print axioms
    python tools/check_proofs.py --quick    without the settings, and coqchk of our own files only

Fails if a file does not compile, if a proof is left out (Admitted), if a file of ours has an axiom
(also one that nothing uses), and if a theorem rests on one other than those of Coq's real numbers
(ALLOWED). The settings, which are computed, may rest on those of the processor's integers too
(COMPUTED), and are checked by coqc alone. Run by `make proofs`.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "proofs"
ALLOWED = {  # what Coq's construction of the real numbers assumes; the last is classical logic
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
COMPUTED = re.compile(r"^(PrimInt63|Uint63)\.")  # what Coq assumes of integers of 63 bits
SETTINGS = "settings"
LEFT_OUT = re.compile(
    r"\b(Admitted|admit|give_up|Abort|Axioms?|Parameters?|Conjecture|Unset Guard Checking"
    r"|Unset Universe Checking|bypass_check)\b"
)
NAMED = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)


class ProofError(Exception):
    """What is wrong with the proofs."""


def without_comments(text: str) -> str:
    """Coq's text without its comments, which nest."""
    kept, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        if piece == "(*":
            depth += 1
        elif piece == "*)":
            depth -= 1
        elif depth == 0:
            kept.append(piece)
    return "".join(kept)


def run(folder: Path, *command: str) -> str:
    """What a command prints; an error with its message if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        raise ProofError(f"{' '.join(command)}:\n{said[-3000:]}")
    return done.stdout or done.stderr  # coqchk writes its summary to the second


def files_in_order(source: Path) -> list[str]:
    """Names of the files without .v, each after those it needs; every file must be listed."""
    listed = re.findall(r"^(\w+)\.v$", (source / "_CoqProject").read_text(), re.MULTILINE)
    there = {path.stem for path in source.glob("*.v")}
    if there != set(listed):
        raise ProofError(f"_CoqProject does not list exactly these: {sorted(there ^ set(listed))}")
    return listed


def theorems(source: Path, names: list[str]) -> list[str]:
    """Every theorem and corollary, as JRR.file.name; an error where a proof is left out."""
    found = []
    for name in names:
        text = without_comments((source / f"{name}.v").read_text(encoding="utf-8"))
        left = LEFT_OUT.search(text)
        if left:
            raise ProofError(f"{name}.v leaves a proof out: {left.group()}")
        found += [f"JRR.{name}.{theorem}" for theorem in NAMED.findall(text)]
    return found


def axioms(folder: Path, names: list[str], proved: list[str]) -> set[str]:
    """The axioms on which the theorems rest, as Coq prints them."""
    lines = [f"From JRR Require {name}." for name in names]
    everything = "\n  ".join(f"(pair (@{theorem})" for theorem in proved)
    lines += [f"Definition everything :=\n  {everything} tt{')' * len(proved)}."]
    lines += ["Print Assumptions everything."]
    (folder / "every_axiom.v").write_text("\n".join(lines), encoding="utf-8")
    printed = run(folder, "coqc", "-q", "-R", ".", "JRR", "every_axiom.v")
    return set(re.findall(r"^([\w.]+)\s*:", printed, re.MULTILINE)) - {"Axioms"}


def assumed(folder: Path, which: list[str]) -> list[str]:
    """What files of ours take on trust, also what no theorem uses, as coqchk says."""
    summary = run(folder, "coqchk", "-silent", "-o", "-R", ".", "JRR", *which)
    return re.findall(r"\bJRR\.[\w.]+", summary)


def check(
    source: Path, folder: Path, *, quick: bool, say: bool = True
) -> tuple[list[str], set[str]]:
    """Compile and check a copy of the proofs in a folder.

    Args:
        source: where the files are.
        folder: where the copy is made.
        quick: leave out the settings, and Coq's own library in coqchk.
        say: print what is done, and how long it takes.

    Returns:
        The theorems, and the axioms on which they rest.
    """
    names = [name for name in files_in_order(source) if not (quick and name == SETTINGS)]
    proved = theorems(source, names)
    for name in names:
        shutil.copy(source / f"{name}.v", folder)
        started = time.perf_counter()
        run(folder, "coqc", "-q", "-R", ".", "JRR", f"{name}.v")
        if say:
            print(f"coqc {name + '.v':20} {time.perf_counter() - started:6.1f} s", flush=True)
    found = axioms(folder, names, [one for one in proved if SETTINGS not in one])
    computed = set() if quick else axioms(folder, names, [one for one in proved if SETTINGS in one])
    new = {axiom for axiom in found if axiom not in ALLOWED}
    new |= {axiom for axiom in computed if axiom not in ALLOWED and not COMPUTED.match(axiom)}
    if new:
        raise ProofError(f"axioms that are not of Coq's real numbers: {', '.join(sorted(new))}")
    started = time.perf_counter()
    # coqchk has no virtual machine, by which coqc computes the settings.
    every = [f"JRR.{name}" for name in names if name != SETTINGS]
    which = [part for name in every for part in ("-norec", name)] if quick else every
    ours = assumed(folder, which)
    if ours:
        raise ProofError(f"taken on trust by a file of ours: {', '.join(ours)}")
    if say:
        what = "our files" if quick else "our files and all they use"
        print(f"coqchk, {what}: {time.perf_counter() - started:.1f} s")
    return proved, found


def main() -> int:
    """Check, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--quick", action="store_true", help="without the settings and Coq's own library"
    )
    parser.add_argument("--source", type=Path, default=SOURCE, help="where the proofs are")
    asked = parser.parse_args()
    if not shutil.which("coqc"):
        print("no Coq here (apt-get install coq libcoq-coquelicot libcoq-interval)")
        return 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            proved, found = check(asked.source, Path(folder), quick=asked.quick)
    except ProofError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    print(f"{len(proved)} theorems are proved, none is left out; they rest on these axioms:")
    for axiom in sorted(found):
        print(f"    {axiom}")
    if not asked.quick:
        print("the settings also on those of integers of 63 bits (PrimInt63, Uint63)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
