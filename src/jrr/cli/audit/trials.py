"""What both audits have in common: trials, and the finding."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.options import all_of
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import COUNT, FILE

if TYPE_CHECKING:
    from jrr.research.audit import Subject

VIOLATED = 1  # exit code

trial_options = all_of(
    click.option(
        "--trials", type=COUNT, default=1_000_000, show_default=True, help="Reports to make."
    ),
    click.option("--seed", type=int, help="Reproducible run; else seeded by the system."),
    click.option("--workers", type=COUNT, help="Processes.  [default: one per processor]"),
    click.option("--plot", type=FILE, help="Draw the finding."),
    json_option,
)


def try_claim(
    subject: "Subject", claimed: float, *, plot: Path | None, delta: float = 0.0, **trials: Any
) -> None:
    """Audit, print the finding, and end with 1 if the claim is refuted."""
    from jrr.research.audit import audit

    with bar("auditing") as progress:
        finding = audit(subject, claimed, delta=delta, progress=progress, **trials)
    if plot is not None:
        from jrr.research.audit.draw import draw_audits

        draw_audits([finding], plot)
    show(finding.to_dict(), finding.sentence)
    if finding.violates:
        click.get_current_context().exit(VIOLATED)
