"""`jrr survey close --dry-run`: what closing would do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jrr._base.wording import counted
from jrr.cli.output import Line, show, unwrapped
from jrr.errors import JrrError
from jrr.survey.grouping import EVERYBODY, MERGE_RULE

if TYPE_CHECKING:
    from jrr.client.operator import Operator
    from jrr.survey.survey import Survey

_WITH_CARD = " answers with a card"


def show_preview(operator: "Operator", wished: dict[str, Any]) -> None:
    """The groups that closing would make, what would be merged, and why it would be refused."""
    from jrr.client.ending import Ending

    ending = Ending(**wished)
    found = operator.closing.preview(ending)
    merged = None
    if ending.cells and found["too_small"]:
        merged = operator.closing.preview(Ending(**wished | {"merge_small": True}))
    refused = None
    try:
        operator.closing.check(ending)
    except JrrError as error:
        refused = str(error)
    facts: dict[str, Any] = {"closing": found, "refused": refused, "if_merged": merged}
    survey = operator.survey
    lines: list[Line] = list(_group_lines(survey, found))
    if ending.discard_small:
        facts["would_delete"] = _deleted(found)
        lines.append(f"  {_deleted_words(found)}")
    if merged is not None:
        lines += [f"With --merge-small ({MERGE_RULE}):", *_group_lines(survey, merged)]
    words = f"It would be refused: {refused}." if refused else "Nothing stands against closing."
    lines.append(unwrapped(f"{words} Nothing was closed."))
    show({"survey": survey.hash} | facts, *lines)


def _counts(group: dict[str, Any]) -> list[int]:
    """Cards of a group, of every question and dealer."""
    return [count for counts in group["cards"].values() for count in counts]


def _deleted(facts: dict[str, Any]) -> int:
    """Answers that --discard-small deletes at least: those in sets of cards too small for a sum.

    One person's answers may be in one such set of each question and dealer.
    """
    return sum(
        max((count for count in _counts(group) if count < facts["fewest"]), default=0)
        for group in facts["groups"]
    )


def _deleted_words(facts: dict[str, Any]) -> str:
    """How many people's answers --discard-small would delete."""
    deleted = _deleted(facts)
    several = any(len(_counts(group)) > 1 for group in facts["groups"])
    least = "at least " if several and deleted else ""
    whose = counted(deleted, "person", "people")
    return f"--discard-small would delete the answers of {least}{whose} of {facts['reports']:,}"


def _group_lines(survey: "Survey", facts: dict[str, Any]) -> Iterator[str]:
    if facts["settled"]:
        yield "  closed, and the sums of the cards are here"
        return
    for group in facts["groups"]:
        name = "everybody" if group["name"] == EVERYBODY else group["name"]
        small = group["name"] in facts["too_small"]
        note = f": too few for a sum, {facts['fewest']} are needed" if small else ""
        margins = ", ".join(
            f"{question} {survey.by_name[question].margin_words(max(cards))}"
            for question, cards in group["cards"].items()
            if any(cards)
        )
        yield f"  {name}: {_cards(group)}{note or (f' ({margins})' if margins else '')}"


def _cards(group: dict[str, Any]) -> str:
    """Cards of all questions, or of each; and of each dealer where there are several."""
    shown = {question: " and ".join(map(str, each)) for question, each in group["cards"].items()}
    if len(set(shown.values())) > 1:
        return ", ".join(f"{question} {cards}" for question, cards in shown.items()) + _WITH_CARD
    counts = next(iter(group["cards"].values()), [0])
    if len(counts) == 1:
        return counted(counts[0], "answer with a card", "answers with a card")
    return " and ".join(map(str, counts)) + _WITH_CARD
