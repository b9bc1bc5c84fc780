"""What `jrr campaign close` looks at and says before it closes anything."""

from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr._base.wording import counted
from jrr.cli.options import console, print_json
from jrr.errors import ArgumentError, JrrError
from jrr.survey.grouping import EVERYBODY, MERGE_RULE


def check_files(alone: bool, names: Path | None, sums: tuple[Path, ...]) -> None:
    """Refuse files that what is told once could not be written to.

    alone: Whether a dealer's token is given, and the collector's is not.
    """
    if alone and names is not None and len(sums) != 1:
        raise ArgumentError(
            "sums must say where to write what the dealer announces, for the collector's operator "
            f"(--sums FILE, once), got it {len(sums)} times; nothing was announced"
        )
    written = [*sums] if alone else [names] if names is not None else []
    for file in written:
        if not file.parent.is_dir():
            raise checks.refusal("file", str(file), "in a folder that exists")


def say_next(
    document: Path,
    alone: bool,
    names: Path | None,
    sums: tuple[Path, ...],
    settled: bool,
    dealers: int,
) -> None:
    """After closing: which files were written, for whom, and what is to be run next.

    alone: Whether a dealer's token was given, and the collector's was not. settled: Whether the
    collector has the sums of the cards.
    """
    if settled:
        words = f"Results are ready: jrr campaign show {document}"
    elif alone:
        words = (
            f"Written: {sums[0]}. Give it back to the collector's operator, who runs: jrr campaign "
            f"close {document} --sums {sums[0].name}"
        )
        if dealers > 1:
            words += f" (with --sums for the file of each of the {dealers} dealers)"
    else:
        assert names is not None  # refused before anything was closed
        file, give = str(names), "Give it to the dealer's operator"
        if dealers > 1:
            file = f"{names}.0 to {names}.{dealers - 1}"
            give = "Give each dealer's operator the file with its number"
        words = (
            f"Written: {file}. {give}, who runs: jrr campaign close {document} --names "
            f"{names.name if dealers == 1 else 'FILE'} --sums sums.json"
        )
    console().print(words, soft_wrap=True, markup=False, highlight=False)


def show_preview(operator: Any, wished: dict[str, Any], name: str, as_json: bool) -> None:
    """The groups that closing would make, what would be merged, and why it would be refused."""
    from jrr.client.closing import Ending

    ending = Ending(**wished)
    found = operator.preview_closing(ending)
    parts = {"": found} if "groups" in found else found
    merging = Ending(**wished | {"merge_small": True})
    merged: dict[str, Any] = {}
    if ending.by is not None and any(facts["too_small"] for facts in parts.values()):
        again = operator.preview_closing(merging)
        merged = {"": again} if "groups" in again else again
    refused = None
    try:
        operator.check_closing(ending)
    except JrrError as error:
        refused = str(error)
    if as_json:
        facts = {"closing": found, "refused": refused}
        facts["if_merged"] = merged.get("", merged) or None
        if ending.discard_small:
            deleted = {part: _deleted(one) for part, one in parts.items()}
            facts["would_delete"] = deleted.get("", deleted)
        print_json({name: operator_hash(operator)} | facts)
        return
    screen = console()
    for part, facts in parts.items():
        if part:
            screen.print(f"{part}:")
        _print_groups(facts)
        if ending.discard_small:
            screen.print(f"  {_deleted_words(facts)}")
        if facts["too_small"] and part in merged:
            screen.print(f"With --merge-small ({MERGE_RULE}):")
            _print_groups(merged[part])
    words = f"It would be refused: {refused}." if refused else "Nothing stands against closing."
    screen.print(f"{words} Nothing was closed.", soft_wrap=True)


def operator_hash(operator: Any) -> str:
    """Of the campaign or survey."""
    document = getattr(operator, "survey", None) or operator.campaign
    return str(document.hash)


def _deleted(facts: dict[str, Any]) -> int:
    """Answers that --discard-small deletes: those in sets of cards too small for a sum.

    Of several dealers everybody has a card each, so that one answer is in a set of each of them.
    """
    return sum(
        max((count for count in group["cards"] if count < facts["fewest"]), default=0)
        for group in facts["groups"]
    )


def _deleted_words(facts: dict[str, Any]) -> str:
    """How many answers --discard-small would delete; of several dealers perhaps more."""
    deleted = _deleted(facts)
    several = any(len(group["cards"]) > 1 for group in facts["groups"])
    least = "at least " if several and deleted else ""
    answers = counted(deleted, "answer", "answers")
    return f"--discard-small would delete {least}{answers} of {facts['reports']:,}"


def _print_groups(facts: dict[str, Any]) -> None:
    screen = console()
    if facts["settled"]:
        screen.print("  closed, and the sums of the cards are here")
        return
    for group in facts["groups"]:
        cards = group["cards"]  # of each dealer
        shown = " and ".join(map(str, cards))
        if len(cards) == 1:
            shown = counted(cards[0], "answer with a card", "answers with a card")
        name = "everybody" if group["name"] == EVERYBODY else group["name"]
        small = group["name"] in facts["too_small"]
        note = f": too few for a sum, {facts['fewest']} are needed" if small else ""
        screen.print(f"  {name}: {shown}{note}", markup=False)
