"""What both audits have in common: trials, and the finding."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jrr.cli.counts import COUNT
from jrr.cli.options import all_of, console, json_option, print_json
from jrr.cli.progress import bar

if TYPE_CHECKING:
    from jrr.research.audit import Subject

VIOLATED = 1  # exit code

trial_options = all_of(
    click.option(
        "--trials", type=COUNT, default=1_000_000, show_default=True, help="Reports to make."
    ),
    click.option("--seed", type=int, help="Reproducible run; else seeded by the system."),
    click.option("--workers", type=COUNT, help="Processes.  [default: one per processor]"),
    click.option(
        "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the finding."
    ),
    json_option,
)


def try_claim(
    subject: "Subject",
    claimed: float,
    *,
    delta: float = 0.0,
    trials: int,
    seed: int | None,
    workers: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Audit, print the finding, and end with 1 if the claim is refuted."""
    from jrr.research.audit import audit

    with bar("auditing", as_json) as progress:
        finding = audit(
            subject, claimed, trials, seed, delta=delta, workers=workers, progress=progress
        )
    if plot is not None:
        from jrr.research.audit.draw import draw_audits

        draw_audits([finding], plot)
    if as_json:
        print_json(finding.to_dict())
    else:
        console().print(finding.sentence)
    if finding.violates:
        click.get_current_context().exit(VIOLATED)
