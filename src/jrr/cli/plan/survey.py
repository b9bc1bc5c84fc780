"""`jrr plan survey`: how exact every question of a draft would be, and what it costs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.costs import print_costs
from jrr.cli.counts import COUNT
from jrr.cli.options import closed_deck_option, console, json_option, lost_option, print_json
from jrr.cli.progress import waiting

if TYPE_CHECKING:
    from jrr.survey.plan import DraftPlan, QuestionPlan


@click.command()
@click.argument("draft", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--people", type=COUNT, required=True, help="How many are invited.")
@click.option(
    "--response", type=float, default=1.0, show_default=True, help="Share of them who answer."
)
@click.option(
    "-e", "--epsilon", type=float, help="ε of all answers of a person.  [default: in the file]"
)
@click.option(
    "--dealer-epsilon",
    type=float,
    help="The same against dealer and collector together.  [default: epsilon + 2]",
)
@lost_option
@closed_deck_option
@json_option
def survey(
    draft: Path,
    people: int,
    response: float,
    epsilon: float | None,
    dealer_epsilon: float | None,
    lost: float,
    closed_deck: bool,
    as_json: bool,
) -> None:
    """Say how exact every question of a draft would be.

    DRAFT is a TOML file (docs/surveys.md).

    \b
    jrr plan survey draft.toml --people 2000 --response 0.6 -e 2
    """  # noqa: D301 - click reads the \b
    from jrr.survey.draft import Draft
    from jrr.survey.plan import PlanOptions, people_for_margins, plan_draft

    read = Draft.read(draft)
    wish = PlanOptions(dealer_epsilon=dealer_epsilon, lost=lost, announced=not closed_deck)
    with waiting("planning"):
        made = plan_draft(read, people, response=response, epsilon=epsilon, options=wish)
    with waiting("looking for how many people"):
        # What is nearly always chosen, and quick to plan.
        quick = PlanOptions(
            dealer_epsilon=dealer_epsilon, lost=lost, announced=not closed_deck, mechanism="mrr"
        )
        needed = people_for_margins(read, response=response, epsilon=epsilon, options=quick)
    if as_json:
        print_json(made.to_dict() | {"people_for_margins": needed})
    else:
        _say(made, needed)


def _say(made: "DraftPlan", needed: int) -> None:
    from jrr.survey.plan import expected_reports

    screen = console()
    expected = expected_reports(made.people, made.response)
    screen.print(
        f"{made.people:,} people invited, {expected:,} expected to answer; ε = {made.epsilon:g} in "
        f"all, split by {made.draft.split}\n"
    )
    screen.print(_table(made))
    print_costs(screen, made.costs)
    screen.print(
        f"{made.bytes:,} bytes of reports a person.\n"
        f"For the margins wanted of every question: {needed:,} people to invite."
    )
    branched = [one.question.name for one in made.questions if one.question.only_if]
    if branched:
        screen.print(
            f"Asked of some people only, so that their margins are wider: {', '.join(branched)}."
        )
    if made.draft.open:
        names = ", ".join(question.name for question in made.draft.open)
        screen.print(f"Sent as they are (open): {names}.")


def _table(made: "DraftPlan") -> Table:
    table = Table(title="Expected margins (95%)", title_justify="left", title_style="")
    for heading in ("question", "kind", "ε", "margin", "wanted", "mechanism", "bytes"):
        table.add_column(heading, justify="left" if heading in ("question", "kind") else "right")
    for one in made.questions:
        table.add_row(
            one.question.name,
            one.question.kind,
            show_epsilon(one.epsilon),
            _margin(one, one.margin),
            _margin(one, one.question.margin),
            one.plan.mechanism.name,
            str(one.bytes),
            style=None if one.margin <= one.question.margin else "bold",
        )
    return table


def _margin(one: "QuestionPlan", margin: float) -> str:
    return f"±{margin:.3g}" if one.question.kind == "number" else f"±{100 * margin:.2g} points"
