"""`jrr plan survey`: how exact every question of a draft would be, and what it costs."""

from dataclasses import replace
from pathlib import Path

import click

from jrr._base.wording import show_epsilon
from jrr.cli.costs import costs_table, liar_words
from jrr.cli.options import closed_deck_option, lost_option
from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import waiting
from jrr.cli.values import COUNT, OLD_FILE


@click.command()
@click.argument("draft", type=OLD_FILE)
@click.option("--people", type=COUNT, required=True, help="How many are invited.")
@click.option("--response", type=float, default=1.0, help="Share of them who answer.")
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
) -> None:
    """Say how exact every question of a draft would be.

    DRAFT is a TOML file (docs/surveys.md).

    \b
    jrr plan survey draft.toml --people 2000 --response 0.6 -e 2
    """  # noqa: D301 - click reads the \b
    from jrr.estimation.groups import MIN_CELL
    from jrr.planning.liars import most_moved
    from jrr.survey.analyses import analysis_lines, plan_analyses
    from jrr.survey.draft import Draft
    from jrr.survey.plan import PlanOptions, expected_reports, people_for_margins, plan_draft

    read = Draft.read(draft)
    announced = False if closed_deck else read.announced_in()
    fewest = read.settings.get("min_cell", MIN_CELL)
    wish = PlanOptions(dealer_epsilon=dealer_epsilon, lost=lost, announced=announced, fewest=fewest)
    with waiting("planning"):
        made = plan_draft(read, people, response=response, epsilon=epsilon, options=wish)
    with waiting("looking for how many people"):
        quick = replace(wish, mechanism="mrr")  # nearly always chosen, and quick to plan
        needed = people_for_margins(read, response=response, epsilon=epsilon, options=quick)
    rows = [
        (
            one.question.name,
            one.question.kind,
            show_epsilon(one.epsilon),
            one.question.margin_words(one.margin),
            one.question.margin_words(one.question.margin),
            one.plan.mechanism.name,
            str(one.bytes),
        )
        for one in made.questions
    ]
    wide = [at for at, one in enumerate(made.questions) if one.margin > one.question.margin]
    expected = expected_reports(made.people, made.response)
    lines = [
        f"{made.bytes:,} bytes of reports a person.\n"
        f"For the margins wanted of every question: {needed:,} people to invite."
    ]
    branched = ", ".join(one.question.name for one in made.questions if one.question.only_if)
    if branched:
        lines.append(f"Asked of some people only, so that their margins are wider: {branched}.")
    for one in made.together:
        if one.ask < len(one.questions):
            lines.append(
                f"Each person is asked {one.ask} of these {len(one.questions)}, drawn by the "
                f"invitation; margins count that: {', '.join(one.questions)}."
            )
    shares = [one.plan.mechanism for one in made.questions if one.question.kind != "number"]
    moved = most_moved(shares, read.settings.get("verified") is not False)
    lines += [f"{liar_words(moved)}."] if moved else []
    if read.open:
        lines.append(f"Sent as they are (open): {', '.join(one.name for one in read.open)}.")
    analyses = plan_analyses(read, made, fewest)
    lines += analysis_lines(analyses)
    is_apart = read.split == "together" and not made.together
    how = "a coin for each question" if is_apart else f"split by {read.split}"
    headings = ("question", "kind", "ε", "margin", "wanted", "mechanism", "bytes")
    show(
        made.to_dict()
        | {
            "people_for_margins": needed,
            "one_liar": moved,
            "analyses": [one.to_dict() for one in analyses],
        },
        f"{made.people:,} people invited, {expected:,} expected to answer; ε = {made.epsilon:g} in "
        f"all, {how}\n",
        make_table(headings, rows, title="Expected margins (95%)", left=2, bold=wide),
        costs_table(made.costs),
        *lines,
    )
