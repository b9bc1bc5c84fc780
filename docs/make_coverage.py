"""Writes what docs/coverage.md computes: how many verdicts there are, and the numeric claims.

    python docs/make_coverage.py

All other rows of the page are written by hand. A claim, what is measured and the verdict that
follows come from jrr.research.paper.claims, as in `make reproduce`.
"""

import re
from collections import Counter
from pathlib import Path

from jrr.research.paper.claims import FAILS, HOLDS, PARTLY, claims

TARGET = Path(__file__).with_name("coverage.md")
VERDICTS = (HOLDS, PARTLY, FAILS, "not yet")
BY_LENGTH = sorted(VERDICTS, key=len, reverse=True)  # "holds" begins "holds with correction"


def page() -> str:
    """The whole page, with both parts made anew."""
    text = filled(TARGET.read_text(encoding="utf-8"), "claims", numeric())
    return filled(text, "verdicts", counted(text))


def filled(text: str, name: str, made: str) -> str:
    """The text with another content between two comments."""
    begin = f"<!-- {name}: made by docs/make_coverage.py -->\n\n"
    end = f"\n<!-- end of {name} -->\n"
    before, rest = text.split(begin)
    return before + begin + made + end + rest.split(end)[1]


def numeric() -> str:
    """Every numeric claim that needs no simulation."""
    rows = ["| Item | What it says | Measured | Verdict |", "|---|---|---|---|"]
    for claim in claims({}):
        verdict = f"{claim.verdict}: {claim.reason}" if claim.reason else claim.verdict
        rows.append(f"| {claim.where} | {claim.claim} | {claim.measured} | {verdict} |")
    return "\n".join(rows) + "\n"


def counted(text: str) -> str:
    """Verdicts by part of the paper."""
    rows = [f"| Part | {' | '.join(VERDICTS)} |", "|---" * (len(VERDICTS) + 1) + "|"]
    total: Counter[str] = Counter()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        found = Counter(verdict for line in body.splitlines() if (verdict := verdict_of(line)))
        if found:
            total += found
            rows.append(row(title, found))
    return "\n".join([*rows, row("all", total)]) + "\n"


def verdict_of(line: str) -> str | None:
    """The verdict in the last cell of a row; None where there is none."""
    last = line.rstrip().removesuffix("|").rsplit("|", 1)[-1].strip()
    if not line.startswith("|"):
        return None
    return next((one for one in BY_LENGTH if re.match(rf"{one}(:|$)", last)), None)


def row(title: str, found: Counter[str]) -> str:
    """One row of counts."""
    return f"| {title} | {' | '.join(str(found[verdict]) for verdict in VERDICTS)} |"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
