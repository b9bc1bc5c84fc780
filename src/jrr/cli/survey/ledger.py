"""`jrr survey ledger`: what a contributor's answers have cost together."""

from pathlib import Path

import click

from jrr._base.wording import counted, show_guarantee
from jrr.cli.output import json_option, show
from jrr.cli.values import FILE, FOLDER
from jrr.survey.promises import DELTA


@click.command()
@click.option("--state", type=FOLDER, help="Directory of `jrr survey answer`.")
@click.option("--ledger", "file", type=FILE, help="The file.  [default: in --state]")
@click.option("--delta", type=float, default=DELTA, help="δ of all together.")
@json_option
def ledger(state: Path | None, file: Path | None, delta: float) -> None:
    """Show what your answers on this device have cost together.

    \b
    jrr survey ledger
    """  # noqa: D301 - click reads the \b
    from jrr.client.device import LEDGER, Ledger, default_state
    from jrr.survey.spending import total

    path = file or (state or default_state()) / LEDGER
    entries = Ledger(path).expenses() if path.exists() else []
    spent = total(entries, delta)
    surveys = sorted({entry.survey for entry in entries})
    answers = counted(spent.answers, "answer", "answers")
    show(
        {
            "ledger": str(path),
            "answers": spent.answers,
            "everything": {"epsilon": spent.epsilon, "delta": delta},
            "guarantees": dict(spent.pure),
            "surveys": surveys,
        },
        f"{answers} in {counted(len(surveys), 'survey', 'surveys')} ({path})",
        f"Against collectors, who have all reports: {show_guarantee(spent.epsilon, delta)} "
        "(view: everything)",
        f"Against whoever sees the reports: {show_guarantee(spent.pure['report'], 0.0)}",
        f"Against dealers and collectors together: {show_guarantee(spent.pure['dealer'], 0.0)} "
        "(view: dealer)",
    )
