"""`jrr survey close`: the end of a survey."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.wording import counted
from jrr.cli.output import console, json_option, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.closing import CarriedFiles, lost_afterwards, lost_lines, show_preview
from jrr.cli.survey.shared import operator_of, operator_options, show_servers, title_of
from jrr.cli.values import FILE
from jrr.errors import UnreachableError

if TYPE_CHECKING:
    from jrr.client.operator import Operator

WISHES = ("merge_small", "discard_small", "discard_unknown", "without_sum")


@click.command()
@operator_options
@click.option(
    "--by",
    multiple=True,
    help="Announced sums: one for each answer to this open question, for results by group. "
    "Several: for each combination of answers, from which every coarser grouping follows. "
    "Without it, as the survey was planned (cells).",
)
@click.option("--together", is_flag=True, help="One sum for everybody, whatever was planned.")
@click.option(
    "--merge-small",
    is_flag=True,
    help="With --by: cells too small for a sum become one with those that differ in the last "
    "question only; then also in the one before it.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Announce once more, where two sums of a card were planned (as for a panel): of those who "
    "answered the next wave too, so that changes of pairs can be told; or by --by.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Announced sums: show the groups, what would be merged or refused, and close nothing.",
)
@click.option(
    "--request",
    type=FILE,
    help="Announced sums, servers in different hands: serials of the cards, written for the "
    "collector alone (with several dealers FILE.0, FILE.1, …), read for a dealer alone.",
)
@click.option(
    "--sums",
    type=FILE,
    multiple=True,
    help="The same with what was announced: written for a dealer alone, read for the collector "
    "alone, once for each dealer in their order.",
)
@click.option(
    "--discard-small",
    is_flag=True,
    help="Delete answers of groups with fewer cards than a sum is told of.",
)
@click.option(
    "--discard-unknown",
    is_flag=True,
    help="Announced sums: delete answers whose serials no dealer gave to anybody.",
)
@click.option(
    "--without-sum",
    is_flag=True,
    help="Announced sums: burn the cards without one, and give up the reports made with a card; "
    "afterwards, give up the second sums.",
)
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@json_option
@click.pass_context
def close(
    context: click.Context,
    /,
    by: tuple[str, ...],
    together: bool,
    again: bool,
    dry_run: bool,
    request: Path | None,
    sums: tuple[Path, ...],
    yes: bool,
    **options: Any,
) -> None:
    """Close for good: cards are burned, and no more answers are taken.

    Where card sums are announced, names the cards that came back to the dealers and carries the
    sums to the collector. Everything is looked at first, at all servers: where anything is wrong,
    nothing is closed. What was interrupted goes on when the same command is given again.

    Asks first on a terminal, since nothing opens a survey again.
    """
    from jrr.client.ending import Ending

    wished = {name: options.pop(name) for name in WISHES}
    if wished["merge_small"] and not by:
        raise checks.refusal("merge_small", True, "given together with --by QUESTION")
    if together and by:
        raise checks.refusal("together", True, "left out with --by QUESTION")
    operator = operator_of(**options)
    wished["by"] = () if together else by or None
    wished["announcement"] = operator.next_announcement() if again else 1
    if dry_run:
        show_preview(operator, wished)
        return
    files = CarriedFiles(operator=operator, request=request, sums=sums)
    files.check()
    ending = Ending(**wished, **files.given())
    if not wants_json():
        for line in lost_lines(lost_afterwards(operator.survey, ending)):
            console().print(line, soft_wrap=True)
    # A script is not asked: nobody would answer.
    asks = not yes and not wants_json() and sys.stdin.isatty()
    if asks and not click.confirm(_question(operator), err=True):
        console().print("Nothing was closed.")
        context.exit(1)
    with waiting("closing"):
        closed = operator.close(ending)
    show_servers(operator.survey, files.write(closed))
    if not wants_json() and operator.survey.announces and not wished["without_sum"]:
        settled = closed.get("collector", {}).get("settled", False)
        console().print(files.next_words(options["file"], settled), soft_wrap=True)


def _question(operator: "Operator") -> str:
    """The question whether it is meant, with how many have answered as far as that is known."""
    told = ""
    with suppress(UnreachableError):
        held = operator.show().get("collector", {})
        if "reports" in held:
            came = counted(held["reports"], "person has answered", "people have answered")
            told = f" {came}; {held['invited']:,} invited." if held["invited"] else f" {came}."
    return f"Close “{title_of(operator.survey)}” for good?{told} Nothing opens it again."
