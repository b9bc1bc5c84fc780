"""Writes examples/notebooks/*.ipynb from examples in cells: `python docs/make_notebooks.py`."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ("data_scientist", "survey_researcher", "telemetry_engineer", "analyst_at_scale")
FOLDER = ROOT / "examples" / "notebooks"


def notebook(source: str) -> dict[str, Any]:
    """A notebook (nbformat 4.5) without outputs, from a script whose cells begin with `# %%`.

    Args:
        source: the script.
    """
    cells = []
    for at, part in enumerate(re.split(r"^# %%", source, flags=re.MULTILINE)[1:]):
        kind, _, body = part.partition("\n")
        text = body.strip("\n")
        cell: dict[str, Any] = {"id": f"cell-{at}", "metadata": {}}
        if "[markdown]" in kind:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
            cell |= {"cell_type": "markdown"}
        else:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | {"source": text.splitlines(keepends=True)})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def text_of(name: str) -> str:
    """The notebook of one example, as its file holds it."""
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    return json.dumps(notebook(source), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.ipynb").write_text(text_of(name), encoding="utf-8")
