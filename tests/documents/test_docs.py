"""Documents that speak of code stay in step with it."""

import importlib
import importlib.util
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

import jrr
from jrr.cli.app import cli
from jrr.errors import JrrError

ROOT = Path(__file__).parents[2]
PUBLIC = (
    "jrr",
    "jrr.tables",
    "jrr.analysis",
    "jrr.privacy.informed",
    "jrr.research.audit",
    "jrr.research.attacks",
)
VERDICTS = ("holds with correction", "does not hold", "not yet", "holds")


def coverage_rows() -> list[list[str]]:
    """Cells of every row that was written by hand in docs/coverage.md, headings left out."""
    page = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    by_hand = re.sub(r"<!-- \w+: made by .*?<!-- end of \w+ -->", "", page, flags=re.DOTALL)
    rows = []
    for line in by_hand.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if not set("".join(cells)) <= set("-: ") and cells[0] not in ("Item", "Verdict"):
                rows.append(cells)
    return rows


def problems(row: list[str]) -> list[str]:
    if len(row) != 5:
        return [f"{len(row)} columns"]
    _, _, code, test, verdict = row
    found = []
    if not any(re.match(rf"{words}(:|$)", verdict) for words in VERDICTS):
        found.append(f"verdict {verdict!r}")
    for path in re.findall(r"`([^`]+)`", code + test):
        file, _, name = path.partition("::")
        if not (ROOT / file).exists():
            found.append(f"no file {path}")
        elif file.startswith("tests/") and not name:
            found.append(f"no test named in {path}")
        elif name and not re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE):
            found.append(f"no test {path}")
    if verdict.startswith(("holds with", "does not")) and test == "-":
        found.append("a verdict without a test")
    return found


def test_every_part_of_the_paper_has_a_verdict_and_existing_files() -> None:
    rows = coverage_rows()
    assert len(rows) > 100
    assert {row[0]: problems(row) for row in rows if problems(row)} == {}


@pytest.mark.parametrize(
    "row",
    [
        ["Theorem 2", "x", "`src/jrr/privacy/loss.py`", "-", ""],
        ["Theorem 2", "x", "`src/jrr/privacy/loss.py`", "-", "probably"],
        ["Theorem 2", "x", "`src/jrr/nowhere.py`", "-", "holds"],
        ["Theorem 2", "x", "holds"],
        ["Theorem 2", "x", "-", "`tests/documents/test_docs.py`", "holds"],
        ["Theorem 2", "x", "-", "`tests/documents/test_docs.py::test_of_nothing`", "holds"],
        ["Theorem 2", "x", "-", "-", "does not hold: E1"],
    ],
)
def test_a_bad_coverage_row_would_be_found(row: list[str]) -> None:
    assert problems(row)


@pytest.mark.parametrize(
    "words",
    [
        "key-value",
        "heavy hitters",
        "ranges",
        "Wiener",
        "periodically in the background",
        "gap widens with n|grows with n",
        "percentile",
        "Example 2",
        "two phases|two-phase",
    ],
)
def test_what_the_paper_mentions_has_a_row(words: str) -> None:
    rows = ["|".join(row) for row in coverage_rows()]
    assert any(re.search(words, row, re.IGNORECASE) for row in rows)


def test_the_readme_shows_telemetry() -> None:
    """One report at a time, through JSON, tallied from a list; the example itself runs below."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme[readme.index("Telemetry") :].split("```")[1]
    for call in ("respond_one", "report_to_json", "report_from_json", "estimate(received"):
        assert call in shown


def test_interim_results_are_documented() -> None:
    pages = " ".join(
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("security.md", "surveys.md")
    )
    assert "results_every" in pages


@pytest.mark.parametrize("package", PUBLIC)
def test_reference_has_every_public_name(package: str) -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    shown = set(re.findall(r"^### (\S+)$", page, flags=re.MULTILINE))
    names = {f"{package}.{name}" for name in importlib.import_module(package).__all__}
    assert names - shown == set()


def test_cli_page_begins_with_every_command_and_exit_code() -> None:
    overview = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split("## jrr\n")[0]
    listed = set(re.findall(r"^\| `jrr ([\w-]+)[^`]*` ", overview, flags=re.MULTILINE))
    assert listed == set(cli.table)
    codes = dict(re.findall(r"^\| (\d+) \| `(\w+)` ", overview, flags=re.MULTILINE))
    kinds: list[type[JrrError]] = [JrrError, *JrrError.__subclasses__()]
    assert codes == {str(kind.exit_code): kind.__name__ for kind in kinds}


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
    ids=str,
)
def test_links_lead_somewhere(page: Path) -> None:
    """All but the changelog's, which tells what was: pages that it names may be merged since."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("*.md"))], ids=str
)
def test_lists_look_the_same_on_the_site_as_on_a_code_host(page: Path) -> None:
    """The site's Markdown needs an empty line before a list, and four blanks inside it."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    item = re.compile(r"([-*]|\d+\.) ")
    for before, line in pairwise(text.splitlines()):
        paragraph = bool(before) and before[0] not in " #|" and not item.match(before)
        assert not (item.match(line) and paragraph), line
        assert not re.match(r" {2,3}(\||[-*] )", line), line
    for block in re.split(r"\n\n+", text):
        first, *others = block.splitlines() or [""]
        if first.startswith("    ") and not item.match(first.strip()):
            assert not any(item.match(line) for line in others), block


THEORY = ("theory.md", "theory-jrr.md", "theory-uses.md")


def test_no_two_results_have_one_number() -> None:
    page = "".join((ROOT / "docs" / name).read_text("utf-8") for name in THEORY)
    kinds = "Definition|Lemma|Theorem|Corollary"
    results = re.findall(rf"^\*\*((?:{kinds}) [\w.]*\w)", page, re.MULTILINE)
    assert len(results) > 60
    assert sorted(results) == sorted(set(results))
    titled = re.findall(rf"^\*\*((?:{kinds}) [\w.]*\w) \(", page, re.MULTILINE)
    assert results == titled


def test_results_that_code_and_pages_cite_exist() -> None:
    kinds = "(?:Definition|Lemma|Theorem|Corollary)"
    proved: dict[str, str] = {}
    for name in THEORY:
        theory = (ROOT / "docs" / name).read_text("utf-8")
        results = re.findall(rf"^\*\*({kinds} [\w.]*\w)", theory, re.MULTILINE)
        proved |= dict.fromkeys(results, name)
    proved["Theorem 10"] = "theory-jrr.md"  # 10a, 10b and 10c together
    cited = set()
    for path in (ROOT / "src").rglob("*.py"):
        words = " ".join(path.read_text("utf-8").split())
        for name, result in re.findall(rf"(theory[\w-]*\.md), ({kinds} [\w.]*\w)", words):
            assert proved.get(result) == name, (path, result)
            cited.add(result)
    coverage = (ROOT / "docs" / "coverage.md").read_text("utf-8")
    errata = (ROOT / "docs" / "errata.md").read_text("utf-8")
    cited |= set(re.findall(rf"our ({kinds} [\w.]*\w)", coverage + errata))
    assert len(cited) > 30
    assert cited - set(proved) == set()


def named_proofs(page: str) -> set[tuple[str, str]]:
    """Files and theorems of proofs/ that a page names: `file.v`, `one`, `two`."""
    lists = re.findall(r"`(\w+)\.v`((?:, `\w+`)+)", page)
    return {(file, name) for file, names in lists for name in re.findall(r"`(\w+)`", names)}


def test_what_the_theory_says_was_checked_is_a_statement_in_coq() -> None:
    stated = {
        (path.stem, name)
        for path in (ROOT / "proofs").glob("*.v")
        for name in re.findall(
            r"^\s*(?:Theorem|Lemma|Corollary|Definition|Fixpoint) (\w+)",
            path.read_text("utf-8"),
            re.MULTILINE,
        )
    }
    named = named_proofs("".join((ROOT / "docs" / name).read_text("utf-8") for name in THEORY))
    assert len(named) > 20
    assert ("decks", "jrr_cards") in named
    assert ("surveys", "dealer_sees") in named
    rows = re.findall(
        r"^\| `(\w+)\.v` \|.*\| (.*) \|$", (ROOT / "proofs/README.md").read_text("utf-8"), re.M
    )
    assert len(rows) > 10
    named |= {(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert named <= stated
    assert named_proofs("`laws.v`, `nowhere`") == {("laws", "nowhere")}


@pytest.mark.parametrize(
    ("page", "maker"),
    [
        ("api.md", "make_api"),
        ("cli.md", "make_cli"),
        ("coverage.md", "make_coverage"),
        *[(name, "make_contents") for name in THEORY],
    ],
)
def test_what_is_generated_is_current(page: str, maker: str) -> None:
    """`make docs` writes it anew."""
    spec = importlib.util.spec_from_file_location(maker, ROOT / "docs" / f"{maker}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.page(page) if maker == "make_contents" else module.page()
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == made


def test_the_error_of_a_small_group_is_what_the_page_on_committees_says() -> None:
    page = (ROOT / "docs" / "mpc.md").read_text("utf-8")
    said = re.search(r"standard error of DRR is ([\d.]+) of RR's", page)
    assert said is not None
    errors = [jrr.plan(8, 0.5, colluders=1, mechanism=name).stderr() for name in ("drr", "rr")]
    assert said[1] == f"{errors[0] / errors[1]:.2f}"


def test_layers_are_those_of_the_linter() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("## Layers")[1]
    drawn = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = rules["tool"]["importlinter"]["contracts"][0]["layers"]
    assert drawn == [layer.replace("jrr.", "") for layer in contract]
