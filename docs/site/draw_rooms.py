"""Draws how an answer and a plan pass through the rooms: `python docs/site/draw_rooms.py`.

Rows are the layers of pyproject.toml, so that the pictures cannot show rooms that do not exist.
Each picture has its own light background and is readable on light and on dark pages.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
LEFT, WIDTH, HEIGHT, STEP, BOX, TOP = 172, 1230, 48, 132, 114, 52
DEVICE, DEALER, COLLECTOR, PLANNER = "#cfe3f7", "#fbd9bd", "#cfe8c6", "#e6dcf3"
WHO = {
    DEVICE: "runs on a contributor's device",
    DEALER: "runs at the dealer",
    COLLECTOR: "runs at the collector",
    PLANNER: "runs where the survey is planned",
}


@dataclass(frozen=True)
class Step:
    """One stop of a flow: in which room, who runs it, two lines of text."""

    room: str
    who: str
    title: str
    text: str


ANSWER = (
    Step("client", DEVICE, "survey", "fetched, checked"),
    Step("servers", DEALER, "dealer", "next free seat"),
    Step("dealing", DEALER, "decks", "cards from a key"),
    Step("mechanisms", DEVICE, "respond_one", "value + card"),
    Step("survey", DEVICE, "messages", "one upload"),
    Step("servers", COLLECTOR, "collector", "stored once"),
    Step("estimation", COLLECTOR, "tally", "counts that add"),
    Step("estimation", COLLECTOR, "estimate", "with an interval"),
)
PLAN = (
    Step("cli", PLANNER, "jrr plan", "options"),
    Step("planning", PLANNER, "request", "n, ε, colluders"),
    Step("mechanisms", PLANNER, "families", "RR, JRR, DRR, …"),
    Step("estimation", PLANNER, "moments", "variance of each"),
    Step("privacy", PLANNER, "guarantees", "ε for each view"),
    Step("planning", PLANNER, "plan", "the best of all"),
    Step("reporting", PLANNER, "explain, plots", "words, pictures"),
    Step("cli", PLANNER, "output", "table or JSON"),
)


def layers() -> list[str]:
    """The rooms, top to bottom, as import-linter knows them."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return [layer.replace("jrr.", "") for layer in rules["contracts"][0]["layers"]]


def picture(title: str, steps: tuple[Step, ...]) -> str:
    """One flow as SVG."""
    rows = layers()
    used = {step.room for step in steps}
    height = TOP + HEIGHT * len(rows) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="tip" markerWidth="9" markerHeight="7" refX="8" refY="3.5" orient="auto">'
        '<path d="M0,0 L9,3.5 L0,7 z" fill="#444"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="16" y="32" font-size="17" font-weight="bold" fill="#222">{escape(title)}</text>',
    ]
    for number, row in enumerate(rows):
        y = TOP + HEIGHT * number
        lit = used & set(row.split(" | "))
        parts.append(
            f'<rect x="8" y="{y + 2}" width="{WIDTH - 16}" height="{HEIGHT - 4}" rx="5" '
            f'fill="{"#f1f1ec" if lit else "#fafaf8"}"/>'
            f'<text x="18" y="{y + HEIGHT / 2 + 5}" fill="{"#222" if lit else "#999"}" '
            f'font-weight="{"bold" if lit else "normal"}">{escape(row)}</text>'
        )
    parts += [_arrow(steps, number, rows) for number in range(len(steps) - 1)]
    parts += [_box(number, step, rows) for number, step in enumerate(steps)]
    x = 18
    for colour in dict.fromkeys(step.who for step in steps):
        parts.append(
            f'<rect x="{x}" y="{height - 30}" width="16" height="16" rx="3" fill="{colour}" '
            f'stroke="#555"/><text x="{x + 23}" y="{height - 17}" fill="#333">{WHO[colour]}</text>'
        )
        x += 50 + 7 * len(WHO[colour])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _place(number: int, step: Step, rows: list[str]) -> tuple[float, float]:
    """The left upper corner of a box."""
    (row,) = (at for at, names in enumerate(rows) if step.room in names.split(" | "))
    return LEFT + STEP * number, TOP + HEIGHT * row + 4


def _box(number: int, step: Step, rows: list[str]) -> str:
    x, y = _place(number, step, rows)
    middle = x + BOX / 2
    return (
        f'<rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT - 8}" rx="6" fill="{step.who}" '
        'stroke="#555"/>'
        f'<text x="{middle}" y="{y + 16}" text-anchor="middle" font-weight="bold" fill="#222">'
        f"{number + 1} {escape(step.title)}</text>"
        f'<text x="{middle}" y="{y + 32}" text-anchor="middle" font-size="12" fill="#333">'
        f"{escape(step.text)}</text>"
    )


def _arrow(steps: tuple[Step, ...], number: int, rows: list[str]) -> str:
    """From the bottom or top of one box into the next one."""
    x1, y1 = _place(number, steps[number], rows)
    x2, y2 = _place(number + 1, steps[number + 1], rows)
    half = (HEIGHT - 8) / 2
    if y1 == y2:
        path = f"M{x1 + BOX},{y1 + half} L{x2 - 2},{y2 + half}"
    elif y1 < y2:
        path = f"M{x1 + BOX},{y1 + half} L{x2 + 20},{y1 + half} L{x2 + 20},{y2 - 2}"
    else:
        path = f"M{x1 + BOX},{y1 + half} L{x2 + 20},{y1 + half} L{x2 + 20},{y2 + 2 * half + 2}"
    return f'<path d="{path}" fill="none" stroke="#444" stroke-width="1.6" marker-end="url(#tip)"/>'


def pictures() -> dict[Path, str]:
    """Every picture and where it lies."""
    return {
        ROOT / "docs" / "architecture-answer.svg": picture("How one answer passes", ANSWER),
        ROOT / "docs" / "architecture-plan.svg": picture("How one plan is made", PLAN),
    }


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text, "utf-8")
