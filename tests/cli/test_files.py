"""deal, perturb, shuffle, estimate and keys as a person or a script meets them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import tables
from jrr.cli.app import run
from jrr.privacy.shuffled import shuffled_epsilon
from tests.tables.test_files import write_data

N = 400


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A survey of 400 people; every second row of a group in turn."""
    monkeypatch.chdir(tmp_path)
    people = np.arange(N)
    write_data(
        tmp_path / "survey.csv",
        {
            "name": [f"person-{at}" for at in people],
            "smokes": np.where(people % 4 == 0, "yes", "no"),
            "drinks": ["", "often", "never", "never", "sometimes"] * (N // 5),
            "region": np.where(people < 150, "north", "south"),
            "weight": 1 + people % 3,
        },
    )
    return tmp_path


def done(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, which must work."""
    capsys.readouterr()
    assert run(arguments) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def document(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one line of JSON of a command."""
    text = done(*arguments, "--json", capsys=capsys)
    assert text.count("\n") == 1
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_whole_survey_on_the_command_line(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dealt = document(
        *("file", "deal", "-n", "200", "-e", "1", "--closed-deck", "--decks", "2", "-o", "c.arrow"),
        capsys=capsys,
    )
    assert dealt["cards"] == "c.arrow"
    assert dealt["dealer_capped"] is True
    assert len(dealt["decks"]) == 2
    assert dealt["guarantees"]["cards"] <= 1
    planned = jrr.plan(200, 1.0, 5, 2, 3.0, announced=False).mechanism
    assert dealt["mechanism"] == planned.to_dict()

    labels = ["--labels", "yes,no"]
    made = document(
        *(
            *("file", "perturb", "survey.csv", "--column", "smokes", *labels, "--cards"),
            *("c.arrow", "-e", "1"),
        ),
        *("--keep", "region", "--keep", "weight", "--seed", "7"),
        capsys=capsys,
    )
    assert made["reports"] == "survey.reports.parquet"
    assert made["mechanism"] == planned.to_dict()
    assert made["labels"] == ["yes", "no"]
    assert made["labels_from_data"] is False
    assert made["guarantees"] == dealt["guarantees"]

    found = document("file", "estimate", made["reports"], "--by", "region", capsys=capsys)
    direct = tables.estimate(work / made["reports"], by="region")
    assert found["question"] == "smokes"
    assert found["labels"] == ["yes", "no"]
    assert (found["reports"], found["carded"], found["colluders"]) == (N, N, 5)
    assert found["shuffled"] is False
    assert found["estimate"] == direct.estimate.to_dict(0.95)
    assert found["guarantees"] == dealt["guarantees"]
    for group, name in zip(found["groups"], ("north", "south"), strict=True):
        assert group["name"] == name
    assert found["groups"][0]["n"] == 150
    assert found["groups_too_small"] == 0
    [between] = found["differences"]
    [(_, _, difference)] = direct.groups.differences()
    assert between["difference"] == difference.frequencies.tolist()
    assert between["stderr"] == difference.stderr.tolist()
    assert (between["first"], between["second"]) == ("north", "south")

    weighted = document("file", "estimate", made["reports"], "--weight", "weight", capsys=capsys)
    assert weighted["estimate"]["weight"] == sum(1 + at % 3 for at in range(N))
    assert weighted["estimate"]["stderr"][0] > found["estimate"]["stderr"][0]

    mixed = document("file", "shuffle", made["reports"], "-o", "mixed.csv.gz", capsys=capsys)
    assert mixed == {"out": "mixed.csv.gz", "reports": N, "mechanism": planned.to_dict()}
    after = document("file", "estimate", "mixed.csv.gz", "--level", "0.9", capsys=capsys)
    assert after["shuffled"] is True
    assert after["estimate"]["counts"] == found["estimate"]["counts"]
    assert after["estimate"]["level"] == 0.9
    low, high = after["estimate"]["interval"][0]
    wide_low, wide_high = found["estimate"]["interval"][0]
    assert wide_low < low < high < wide_high


@pytest.mark.parametrize(
    ("heaviest", "words"),
    [
        (1, ""),
        (20, "Effective sample size: 28.4 of 100, since the weights are unequal."),
        (
            90,
            "Effective sample size: 4.4 of 100, since the weights are unequal. Below 20 intervals",
        ),
    ],
)
def test_unequal_weights_are_told_by_the_effective_sample_size(
    heaviest: int, words: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = ["yes", "no"] * 50
    columns = {"smokes": answers, "weight": [1] * 99 + [heaviest], "town": ["here"] * 100}
    write_data(work / "people.csv", columns)
    perturb = (
        *("file", "perturb", "people.csv", "--column", "smokes", "-e", "1", "--labels", "yes,no"),
    )
    done(*perturb, "--keep", "weight", "--keep", "town", "-o", "r.csv", capsys=capsys)
    estimate = ("file", "estimate", "r.csv", "--weight", "weight")
    text = " ".join(done(*estimate, capsys=capsys).split())
    assert words in text
    assert ("Effective" in text) == bool(words)
    assert ("may hold less often than they say" in text) == (heaviest == 90)
    found = document(*estimate, capsys=capsys)["estimate"]["effective_n"]
    assert found == pytest.approx((99 + heaviest) ** 2 / (99 + heaviest**2))
    by_group = " ".join(done(*estimate, "--by", "town", capsys=capsys).split())
    assert by_group.count("may hold less often than they say") == 2 * (heaviest == 90)


def test_what_people_read(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = done(
        "file", "deal", "-n", "400", "-e", "1", "--closed-deck", "-o", "c.parquet", capsys=capsys
    )
    assert "400 cards in c.parquet" in text
    assert "Keep the file from the collector" in text
    perturb = ("file", "perturb", "survey.csv", "--column", "smokes", "--keep", "region")
    text = done(*perturb, "--cards", "c.parquet", "-o", "r.csv", capsys=capsys)
    assert "r.csv: MRR (n " in text
    assert "not protected" in text
    assert "dealer and collector together" in " ".join(text.split())
    text = done(*perturb, "-e", "1", "--labels", "yes,no", "-o", "plain.csv", capsys=capsys)
    assert "not protected" not in text
    assert "against everybody who sees the report" in text
    text = done("file", "estimate", "r.csv", "--by", "region", "--min-cell", "10", capsys=capsys)
    for words in ("smokes: 400 reports (400 with a card, 0 without)", "north: 150 reports"):
        assert words in text
    for words in ("north - south", "95% interval", "Each contributor's loss"):
        assert words in text
    text = done(
        "file", "estimate", "plain.csv", "--by", "region", "--min-cell", "200", capsys=capsys
    )
    assert "1 group has fewer than 200 reports and is not shown" in " ".join(text.split())
    text = done("file", "shuffle", "r.csv", "-o", "s.arrow", capsys=capsys)
    assert text == "400 reports in random order in s.arrow\n"


def test_sealed_reports_on_the_command_line(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert document("file", "keys", "collector", capsys=capsys) == {
        "private": "collector.key",
        "public": "collector.pub",
    }
    perturb = (
        *("file", "perturb", "survey.csv", "--column", "smokes", "-e", "1", "--labels", "yes,no"),
    )
    document(*perturb, "--seal", "collector.pub", "--seed", "3", "-o", "a.parquet", capsys=capsys)
    document(*perturb, "--seed", "3", "-o", "open.parquet", capsys=capsys)
    document("file", "shuffle", "a.parquet", "-o", "b.parquet", capsys=capsys)
    plain = document("file", "estimate", "open.parquet", capsys=capsys)["estimate"]
    for name in ("a.parquet", "b.parquet"):
        found = document("file", "estimate", name, "--key", "collector.key", capsys=capsys)
        assert found["estimate"] == plain


def test_prefer_not_to_say(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At a very large ε the shares are those of the column: 80 of 400 cells are empty."""
    perturb = ("file", "perturb", "survey.csv", "--column", "drinks", "-e", "30")
    labels = ("--labels", "never,often", "--other", "other", "--missing", "no answer")
    document(*perturb, *labels, "-o", "r.csv", capsys=capsys)
    found = document("file", "estimate", "r.csv", capsys=capsys)
    assert found["labels"] == ["never", "often", "other", "no answer"]
    assert found["estimate"]["frequencies"] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    shares = {name: answer["share"] for name, answer in found["answered"].items()}
    assert shares == pytest.approx({"never": 0.5, "often": 0.25, "other": 0.25})
    text = done("file", "estimate", "r.csv", capsys=capsys)
    assert "Among those who answered, never: 50.00%" in text


def test_intervals_among_those_who_answered(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each end is the ratio at the ends of two intervals that hold with half the error each."""
    perturb = ("file", "perturb", "survey.csv", "--column", "drinks", "-e", "2", "--seed", "1")
    labels = ("--labels", "never,often", "--other", "other", "--missing", "no answer")
    document(*perturb, *labels, "-o", "r.csv", capsys=capsys)
    found = document("file", "estimate", "r.csv", "--level", "0.9", capsys=capsys)
    half = document("file", "estimate", "r.csv", "--level", "0.95", capsys=capsys)
    ends = np.clip(half["estimate"]["interval"], 0, 1)
    frequencies = found["estimate"]["frequencies"]
    for v, name in enumerate(("never", "often", "other")):
        answer = found["answered"][name]
        assert answer["share"] == pytest.approx(frequencies[v] / (1 - frequencies[3]))
        expected = [ends[v][end] / (1 - ends[3][end]) for end in (0, 1)]
        assert answer["interval"] == pytest.approx(expected)


@pytest.mark.heavy
def test_labels_from_a_file_and_other_mechanisms(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "labels.txt").write_text("\ufeffnever\n\n often \nsometimes\n", "utf-8")
    perturb = ("file", "perturb", "survey.csv", "--column", "drinks", "--labels-file", "labels.txt")
    for kind in ("rr", "sue", "oue", "olh"):
        out = ("-e", "1", "--skip-missing", "--mechanism", kind, "-o", f"{kind}.csv")
        made = document(*perturb, *out, capsys=capsys)
        assert made["labels"] == ["never", "often", "sometimes"]
        assert made["mechanism"]["mechanism"] == kind.upper()
        assert made["guarantees"]["report"] <= 1
        found = document("file", "estimate", f"{kind}.csv", capsys=capsys)
        assert found["reports"] == N - N // 5
    auto = document(*perturb, "-e", "1", "--skip-missing", "-o", "auto.csv", capsys=capsys)
    candidates: list[Any] = [jrr.RR(3, epsilon=1.0), jrr.OUE(3, 1.0), jrr.OLH(3, 1.0)]
    best = min(candidates, key=lambda m: m.moments.mean_variance())
    assert auto["mechanism"] == best.to_dict()


@pytest.mark.parametrize("word", ["OUE", "oue", "Rr", "SUE", "OLH", "AUTO"])
def test_the_word_of_a_mechanism_in_any_case(
    word: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tables.Labels(("never", "often", "sometimes"), skip_missing=True)
    perturb = (
        *("file", "perturb", "survey.csv", "--column", "drinks", "--labels"),
        ",".join(labels.names),
    )
    out = ("-e", "1", "--skip-missing", "--mechanism", word, "-o", "any.csv")
    made = document(*perturb, *out, capsys=capsys)["mechanism"]
    header = tables.perturb(
        "survey.csv", "drinks", "library.csv", epsilon=1.0, labels=labels, mechanism=word
    )
    assert made == header.mechanism.to_dict()
    assert made["mechanism"] == ("RR" if word == "AUTO" else word.upper())


@pytest.mark.parametrize("word", ["jrr", "DRR", "oue-joint", "none", ""])
def test_mechanisms_with_cards_do_not_perturb_alone(
    word: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["file", "perturb", "survey.csv", "--column", "drinks", "-e", "1", "--skip-missing"]
    assert run([*base, "--labels", "never,often,sometimes", "--mechanism", word]) == 2
    assert "mechanism" in capsys.readouterr().err


@pytest.mark.parametrize("step", ["clip", "normalise", "simplex", "norm-cut"])
def test_postprocessed_shares_come_beside_the_estimate(
    step: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb = ("file", "perturb", "survey.csv", "--column", "smokes", "-e", "0.1", "--seed", "2")
    document(*perturb, "-o", "r.csv", capsys=capsys)
    plain = document("file", "estimate", "r.csv", capsys=capsys)
    found = document("file", "estimate", "r.csv", "--postprocess", step, capsys=capsys)
    assert found["estimate"] == plain["estimate"]
    shares = found["postprocessed"][step]
    assert len(shares) == 2
    if step in ("simplex", "norm-cut"):
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
    assert f"After {step}, no:" in done(
        "file", "estimate", "r.csv", "--postprocess", step, capsys=capsys
    )


def test_the_largest_answers_are_shown_and_all_are_in_the_document(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document(
        "file", "perturb", "survey.csv", "--column", "name", "-e", "9", "-o", "r.csv", capsys=capsys
    )
    text = done("file", "estimate", "r.csv", "--top", "3", capsys=capsys)
    assert "the 3 largest of 400 answers" in text
    assert text.count("person-") == 3
    assert len(document("file", "estimate", "r.csv", "--top", "3", capsys=capsys)["labels"]) == 400


@pytest.mark.heavy
def test_a_picture_of_the_shares(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    perturb = ("file", "perturb", "survey.csv", "--column", "smokes", "-e", "1", "--keep", "region")
    document(*perturb, "-o", "r.csv", capsys=capsys)
    text = done(
        "file", "estimate", "r.csv", "--by", "region", "--plot", "shares.png", capsys=capsys
    )
    assert "Picture: shares.png" in text
    assert (work / "shares.png").read_bytes().startswith(b"\x89PNG")


# Again ----------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv.gz"])
def test_a_finished_step_run_again_changes_nothing(
    suffix: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb = ["file", "perturb", "survey.csv", "--column", "smokes", "--labels", "yes,no"]
    steps = [
        ["file", "keys", "collector"],
        ["file", "deal", "-n", "400", "-e", "1", "--closed-deck", "-o", f"c.{suffix}"],
        [*perturb, "--cards", f"c.{suffix}", "-o", f"r.{suffix}"],
        [*perturb, "-e", "1", "-o", f"plain.{suffix}"],
        [*perturb, "-e", "1", "--seal", "collector.pub", "-o", "sealed.arrow"],
        ["file", "shuffle", f"r.{suffix}", "-o", f"s.{suffix}"],
    ]
    for step in steps:
        done(*step, capsys=capsys)
        before = contents(work)
        assert run(step) == 2
        assert "jrr: error: " in capsys.readouterr().err
        assert contents(work) == before
    estimates = []
    for _ in range(2):
        before = contents(work)
        estimates.append(done("file", "estimate", f"s.{suffix}", "--json", capsys=capsys))
        assert contents(work) == before
    assert estimates[0] == estimates[1]
    for step in steps:  # all of them again
        assert run(step) == 2
    assert contents(work) == before


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv.gz"])
def test_a_seed_and_force_make_the_same_bytes(
    suffix: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb = ["file", "perturb", "survey.csv", "--column", "smokes", "-e", "1", "--seed", "5"]
    shuffle = ["file", "shuffle", f"r.{suffix}", "-o", f"s.{suffix}", "--seed", "6"]
    for step in ([*perturb, "-o", f"r.{suffix}"], shuffle):
        done(*step, capsys=capsys)
        before = contents(work)
        done(*step, "--force", capsys=capsys)
        assert contents(work) == before
    other = [*perturb[:-1], "8", "-o", f"r.{suffix}", "--force"]
    done(*other, capsys=capsys)
    assert contents(work) != before


def test_without_a_seed_no_two_runs_are_alike(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb = ["file", "perturb", "survey.csv", "--column", "smokes", "-e", "1"]
    for at in range(2):
        done(*perturb, "-o", f"r{at}.csv", capsys=capsys)
        done("file", "deal", "-n", "400", "--closed-deck", "-o", f"c{at}.csv", capsys=capsys)
    assert (work / "r0.csv").read_bytes() != (work / "r1.csv").read_bytes()
    assert (work / "c0.csv").read_bytes() != (work / "c1.csv").read_bytes()
    assert (work / "c0.csv.json").read_bytes() != (work / "c1.csv.json").read_bytes()


def test_a_forced_output_is_replaced_as_a_whole(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reports of another column and mechanism leave nothing of what was there."""
    perturb = ["file", "perturb", "survey.csv", "-e", "1", "-o", "r.csv"]
    done(*perturb, "--column", "smokes", "--keep", "name", capsys=capsys)
    more = ["--column", "region", "--mechanism", "olh", "--force"]
    done(*perturb, *more, capsys=capsys)
    assert (work / "r.csv").read_text().startswith('"seed","report","carded"\n')
    assert document("file", "estimate", "r.csv", capsys=capsys)["question"] == "region"
    assert sorted(contents(work)) == ["r.csv", "r.csv.json", "survey.csv"]


# Real processes -------------------------------------------------------------------------------


def jrr_process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jrr.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        check=False,
    )


@pytest.mark.heavy
@pytest.mark.slow
def test_a_survey_in_processes_of_their_own(work: Path) -> None:
    for arguments in (
        ["file", "deal", "-n", "400", "-e", "1", "--closed-deck", "-o", "c.parquet"],
        ["file", "perturb", "survey.csv", "--column", "smokes", "--cards", "c.parquet"],
        ["file", "shuffle", "survey.reports.parquet", "-o", "s.parquet"],
        ["file", "estimate", "s.parquet", "--json"],
    ):
        result = jrr_process(*arguments, cwd=work)
        assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["reports"] == N
    low, high = found["estimate"]["interval"][1]
    assert low < high
    assert pq.ParquetFile(work / "s.parquet").schema_arrow.names == ["report", "carded"]


@pytest.mark.heavy
@pytest.mark.slow
def test_two_runs_at_once_do_not_meet(work: Path) -> None:
    """Both write the same output: one of the two is there, whole."""
    shutil.copy(work / "survey.csv", work / "copy.csv")
    arguments = ["--column", "smokes", "-e", "1", "--force", "-o", "r.csv"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "jrr.cli", "file", "perturb", name, *arguments],
            cwd=work,
            stdout=subprocess.DEVNULL,
        )
        for name in ("survey.csv", "copy.csv")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    assert tables.tally(work / "r.csv")[1].n == N
    assert sorted(contents(work)) == ["copy.csv", "r.csv", "r.csv.json", "survey.csv"]


def test_reports_that_are_there_twice_are_refused(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deck has so many cards; a copy of a file, or a second use of cards, is more than that."""
    done("file", "deal", "-n", str(N), "-e", "1", "--closed-deck", "-o", "c.arrow", capsys=capsys)
    start = ("file", "perturb", "survey.csv", "--column", "smokes", "--labels", "no,yes", "-e", "1")
    done(*start, "--cards", "c.arrow", "-o", "r.arrow", capsys=capsys)
    shutil.copy("r.arrow", "copy.arrow")
    assert run(["file", "estimate", "r.arrow", "copy.arrow"]) == 2
    said = capsys.readouterr().err
    assert "must be at most 400 for one deck, got 800: is one there twice?" in said


def test_a_share_lies_in_its_interval(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Among those who answered, too, and where noise is larger than shares."""
    labels = ("--labels", "often,never,sometimes,daily")
    start = ("file", "perturb", "survey.csv", "--column", "drinks", *labels)
    outside = 0
    for seed in range(6):
        more = ("--missing", "none", "-e", "0.5", "--seed", str(seed), "-o", "r.arrow", "--force")
        done(*start, *more, capsys=capsys)
        found = document("file", "estimate", "r.arrow", capsys=capsys)
        for share in found.get("answered", {}).values():
            low, high = share["interval"]
            assert low <= share["share"] <= high
            outside += share["share"] < 0
    assert outside > 0
    assert "is no mistake" in done("file", "estimate", "r.arrow", capsys=capsys)


def test_what_shuffled_reports_are_worth(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done(
        *("file", "perturb", "survey.csv", "--column", "smokes", "-e", "2", "-o", "r.arrow"),
        capsys=capsys,
    )
    done("file", "shuffle", "r.arrow", "-o", "m.arrow", capsys=capsys)
    assert "behind_shuffler" not in document("file", "estimate", "r.arrow", capsys=capsys)
    behind = document("file", "estimate", "m.arrow", capsys=capsys)["behind_shuffler"]
    assert behind["epsilon"] == shuffled_epsilon(jrr.RR(epsilon=2.0), behind["delta"], N)
    assert "shuffled by somebody honest: ε" in done("file", "estimate", "m.arrow", capsys=capsys)
    # Two files that were shuffled apart hide people among half as many: nothing is claimed.
    done(
        *("file", "perturb", "survey.csv", "--column", "smokes", "-e", "2", "-o", "s.arrow"),
        capsys=capsys,
    )
    done("file", "shuffle", "s.arrow", "-o", "t.arrow", capsys=capsys)
    assert "behind_shuffler" not in document(
        "file", "estimate", "m.arrow", "t.arrow", capsys=capsys
    )
