"""`jrr survey close`: the end of a survey."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr._base.wording import counted
from jrr.cli.output import Line, console, json_option, show, unwrapped, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, show_servers, title_of
from jrr.cli.values import FILE
from jrr.errors import ArgumentError, JrrError, UnreachableError
from jrr.survey.grouping import EVERYBODY, MERGE_RULE, CardGrouping

if TYPE_CHECKING:
    from jrr.client.ending import Ending
    from jrr.client.operator import Operator
    from jrr.survey.survey import Survey

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
        for line in ahead_lines(operator, ending):
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
        console().print(files.next_words(options["file"], settled, again), soft_wrap=True)


def _question(operator: "Operator") -> str:
    """The question whether it is meant, with how many have answered as far as that is known."""
    told = ""
    with suppress(UnreachableError):
        held = operator.show().get("collector", {})
        if "reports" in held:
            came = counted(held["reports"], "person has answered", "people have answered")
            told = f" {came}; {held['invited']:,} invited." if held["invited"] else f" {came}."
    return f"Close “{title_of(operator.survey)}” for good?{told} Nothing opens it again."


@dataclass(frozen=True, kw_only=True)
class CarriedFiles:
    """A request, from the collector's operator to a dealer's; sums, the other way.

    Of verified cards both go twice: dealers commit to noise before they know which is used.

    Attributes:
        operator: whoever closes.
        request: written where the collector's token is held alone, read by a dealer's operator.
        sums: written by a dealer's operator, read where the collector's token is held.
    """

    operator: "Operator"
    request: Path | None
    sums: tuple[Path, ...]

    @property
    def _is_dealer(self) -> bool:
        """Whether a dealer's token is given, and the collector's is not."""
        return self.operator.collector is None

    @property
    def _dealers(self) -> int:
        return len(self.operator.survey.dealing.addresses)

    def check(self) -> None:
        """Refuse files that what is told once could not be written to."""
        if self._is_dealer and self.request is not None and len(self.sums) != 1:
            raise ArgumentError(
                "sums must say where to write what the dealer announces, for the collector's "
                f"operator (--sums FILE, once), got it {len(self.sums)} times; nothing was "
                "announced"
            )
        written = self.sums if self._is_dealer else [self.request] if self.request else []
        for file in written:
            if not file.parent.is_dir():
                raise checks.refusal("file", str(file), "in a folder that exists")

    def given(self) -> dict[str, Any]:
        """What was read, as fields of an `Ending`."""
        found: dict[str, Any] = {"carries_requests": self.request is not None}
        if self._is_dealer and self.request is not None:
            found["request"] = _read(self.request)
        if not self._is_dealer and self.sums:
            found["sums"] = [_read(file) for file in self.sums]
        return found

    def write(self, closed: dict[str, Any]) -> dict[str, Any]:
        """Write what another server's operator needs; what each server says without it."""
        from jrr.client.ending import dealer_sums

        shown = {}
        for name, facts in closed.items():
            said = dict(facts)
            requests = said.pop("requests", None)
            if requests is not None and self.request is not None:
                said["requests"] = self._write_requests(self.request, requests)
            if self._is_dealer:
                if len(self.sums) == 1:
                    write_whole(self.sums[0], json.dumps(dealer_sums(facts)), private=True)
                    said["file"] = str(self.sums[0])
                for private in ("sums", "undealt", "openings", "committed", "request"):
                    said.pop(private, None)
            shown[name] = said
        return shown

    def _write_requests(self, file: Path, requests: dict[int, Any]) -> list[str]:
        written = []
        for number, document in sorted(requests.items()):
            one = file.with_name(f"{file.name}.{number}") if self._dealers > 1 else file
            write_whole(one, json.dumps(document), private=True)
            written.append(str(one))
        return written

    def next_words(self, document: Path, settled: bool, again: bool) -> str:
        """After closing: which files were written, for whom, and what is to be run next.

        settled: Whether the collector has the sums of the cards.
        again: Whether they are told once more.
        """
        once_more = f"{document}{' --again' if again else ''}"
        if settled:
            return f"Results are ready: jrr survey show {document}"
        if self._is_dealer:
            more = f" (with --sums for the file of each of the {self._dealers} dealers)"
            twice = " --request FILE (the cards are verified: both files go twice)"
            return (
                f"Written: {self.sums[0]}. Give it back to the collector's operator, who runs: jrr "
                f"survey close {once_more} --sums {self.sums[0].name}"
                f"{more if self._dealers > 1 else ''}"
                f"{twice if self.operator.survey.dealing.is_verified else ''}"
            )
        assert self.request is not None  # refused before anything was closed
        file, give, name = str(self.request), "Give it to the dealer's operator", self.request.name
        if self._dealers > 1:
            file = f"{self.request}.0 to {self.request}.{self._dealers - 1}"
            give, name = "Give each dealer's operator the file with its number", "FILE"
        return (
            f"Written: {file}. {give}, who runs: jrr survey close {once_more} --request {name} "
            "--sums sums.json"
        )


def _read(file: Path) -> dict[str, Any]:
    from jrr.client.ending import read_carried

    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise checks.refusal("file", str(file), f"readable ({error.strerror})") from None
    return read_carried(text, f"{file} must be a file that jrr survey close wrote")


_WITH_CARD = " answers with a card"


def show_preview(operator: "Operator", wished: dict[str, Any]) -> None:
    """The groups that closing would make, what would be merged, and why it would be refused."""
    from jrr.client.ending import Ending

    ending, survey = Ending(**wished), operator.survey
    found = operator.closing.preview(ending)
    merged = None
    if ending.cells and found["too_small"]:
        merged = operator.closing.preview(Ending(**wished | {"merge_small": True}))
    refused = None
    try:
        operator.closing.check(ending)
    except JrrError as error:
        refused = str(error)
    lost = lost_afterwards(survey, ending)
    facts: dict[str, Any] = {"closing": found, "refused": refused, "if_merged": merged}
    facts |= {"lost": lost, "joined": _joined(survey, ending, merged or found)}
    lines: list[Line] = list(_group_lines(survey, found))
    if ending.discard_small:
        facts["would_delete"] = _deleted(found)
        lines.append(f"  {_deleted_words(found)}")
    if merged is not None:
        lines += [f"With --merge-small ({MERGE_RULE}):", *_group_lines(survey, merged)]
    lines += [unwrapped(line) for line in lost_lines(lost, facts["joined"])]
    words = f"It would be refused: {refused}." if refused else "Nothing stands against closing."
    lines.append(unwrapped(f"{words} Nothing was closed."))
    show({"survey": survey.hash} | facts, *lines)


def lost_afterwards(survey: "Survey", ending: "Ending") -> dict[str, str]:
    """Planned analyses that the cells which somebody chose make impossible, and why."""
    from jrr.survey.analyses import lost_by_closing

    chosen = survey.announces and ending.cells is not None and ending.announcement == 1
    return lost_by_closing(survey, ending.cells or ()) if chosen else {}


def ahead_lines(operator: "Operator", ending: "Ending") -> list[str]:
    """What closing leaves of planned analyses, as far as it can be known here."""
    survey, joined = operator.survey, {}
    if survey.announces and operator.closing.collector is not None:
        with suppress(JrrError):  # closing itself says what is wrong
            joined = _joined(survey, ending, operator.closing.preview(ending))
    return lost_lines(lost_afterwards(survey, ending), joined)


def _joined(survey: "Survey", ending: "Ending", facts: dict[str, Any]) -> dict[str, str]:
    """Planned analyses, and their groups that have results together only: small cells merge."""
    from jrr.survey.analyses import joined_by_merging

    grouping = CardGrouping.from_document(survey, facts)
    return joined_by_merging(survey, grouping) if ending.announcement == 1 else {}


def lost_lines(lost: Mapping[str, str], joined: Mapping[str, str]) -> list[str]:
    """The same in words."""
    return [
        *(f"Not possible afterwards: {name}: {reason}." for name, reason in lost.items()),
        *(f"Only together afterwards: {name}: {groups}." for name, groups in joined.items()),
    ]


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
