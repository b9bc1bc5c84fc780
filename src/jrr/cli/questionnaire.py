"""`jrr plan survey`: how exact every item of a questionnaire would be, and what it costs."""

from pathlib import Path
from typing import Any

from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.costs import print_costs
from jrr.cli.options import console, print_json
from jrr.cli.progress import waiting
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.questionnaire_plan import (
    ItemPlan,
    QuestionnairePlan,
    expected_reports,
    people_for_margins,
    plan_questionnaire,
)


def show_questionnaire_plan(path: Path, people: int, as_json: bool, **options: Any) -> None:
    """Plan the questionnaire in a file, and say how many people its margins would take."""
    questionnaire = Questionnaire.read(path)
    with waiting("planning"):
        made = plan_questionnaire(questionnaire, people, **options)
    with waiting("looking for how many people"):
        needed = people_for_margins(questionnaire, **options)
    if as_json:
        print_json(made.to_dict() | {"people_for_margins": needed})
        return
    screen = console()
    screen.print(
        f"{people:,} people invited, {expected_reports(people, made.response):,} expected to "
        f"answer; ε = {made.epsilon:g} in all, split by {questionnaire.split}\n"
    )
    screen.print(_table(made))
    print_costs(screen, made.costs)
    screen.print(
        f"{made.bytes:,} bytes of reports a person.\n"
        f"For the margins wanted of every item: {needed:,} people to invite."
    )
    branched = [one.item.name for one in made.items if one.item.only_if]
    if branched:
        screen.print(
            f"Asked of some people only, so that their margins are wider: {', '.join(branched)}."
        )
    open_items = [item.name for item in questionnaire.items if not item.sensitive]
    if open_items:
        screen.print(f"Sent as they are (open): {', '.join(open_items)}.")


def _table(made: QuestionnairePlan) -> Table:
    table = Table(title="Expected margins (95%)", title_justify="left", title_style="")
    for heading in ("item", "kind", "ε", "margin", "wanted", "mechanism", "bytes"):
        table.add_column(heading, justify="left" if heading in ("item", "kind") else "right")
    for one in made.items:
        table.add_row(
            one.item.name,
            one.item.kind,
            show_epsilon(one.epsilon),
            _margin(one, one.margin),
            _margin(one, one.item.margin),
            one.plan.mechanism.name,
            str(one.bytes),
            style=None if one.margin <= one.item.margin else "bold",
        )
    return table


def _margin(one: ItemPlan, margin: float) -> str:
    return f"±{margin:.3g}" if one.item.kind == "number" else f"±{100 * margin:.2g} points"
