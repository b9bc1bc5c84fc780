"""Opening a survey, and closing it for good."""

import json
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from jrr.client.closing import Ending
from jrr.client.operator import Operator
from jrr.console.counts import counts_of
from jrr.console.dealers_page import UNOPENED, state_at
from jrr.console.desk import Desk, Visit, download, goto, page
from jrr.console.held import (
    KIND,
    HeldDocument,
    held_of,
    operator_of,
    read,
    take_tokens,
)
from jrr.console.looking import looks_of
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.survey.grouping import MERGE_RULE
from jrr.protocol.states import CLOSED


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""
    looks = looks_of(desk)
    base = f"/{KIND}/{{name}}"

    def open_it(visit: Visit) -> Response:
        held = held_of(visit)
        take_tokens(visit, held)
        operator = operator_of(desk, held, visit.session)
        operator.install()
        looks.forget(held)
        operator.open()
        _say_opened(visit, held)
        return goto(held.path)

    def asked(visit: Visit) -> Response:
        held = held_of(visit)
        counts = read(desk, counts_of, held.document)
        is_closed = counts.state == CLOSED
        return visit.page(
            "close.html",
            held=held,
            tab="close",
            counts=counts,
            known=[at in visit.session.dealer_tokens for at in held.dealers],
            announces=held.announces,
            settled=_is_settled(desk, held),
            chosen=_chosen(desk, held) if held.announces and is_closed else None,
            previews=_previews(desk, held) if held.announces and not is_closed else [],
            rule=MERGE_RULE,
        )

    def close(visit: Visit) -> Response:
        held = held_of(visit)
        if visit.form.get("sure") != "yes":
            raise ArgumentError("closing is for good: say that you are sure, by the box above it")
        take_tokens(visit, held)
        by = visit.form.get("by") or None
        merge = by is not None and visit.form.get("merge") == "yes"
        ending = Ending(by=by, merge_small=merge) if held.announces else None
        try:
            _close(operator_of(desk, held, visit.session), ending, _sums(visit, held))
        except ProtocolError as error:
            raise ProtocolError(_in_console_words(str(error))) from None
        looks.forget(held)
        looks.look(held, visit.session)  # closing takes its time; the next page has everything
        if _is_settled(desk, held):
            visit.session.note("Closed for good. These are the final results.")
            return goto(held.path)
        visit.session.note(
            "No more answers are taken. The dealer has still to announce the sum of its cards: "
            "give its operator the file below, or its token here.",
            "warn",
        )
        return goto(f"{held.path}/close")

    def names(visit: Visit) -> Response:
        """For a dealer's operator: which cards came back, by serial numbers."""
        held = held_of(visit)
        number = int(visit.path("number")) if visit.path("number").isdecimal() else -1
        if not 0 <= number < len(held.dealers):
            raise ArgumentError("there is no such dealer")
        body = json.dumps(_named(desk, held)[number])
        return download(body, f"names-{held.name[:8]}-{number}.json", "application/json")

    return [
        page(desk, f"{base}/open", open_it, "POST"),
        page(desk, f"{base}/close", asked),
        page(desk, f"{base}/close", close, "POST"),
        page(desk, f"{base}/names/{{number}}", names),
    ]


def _close(operator: Any, ending: Ending | None, sums: list[Any] | None) -> Any:
    if isinstance(operator, Operator):
        if ending is not None and sums is not None:
            ending = replace(ending, sums=sums)
        return operator.close(ending=ending)
    return operator.close(ending, sums=sums)


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group as it would be summed at the end."""

    name: str
    sizes: str  # answers with a card: the fewest and the most of all questions
    too_small_for: list[str]  # questions


@dataclass(frozen=True, kw_only=True)
class GroupingPreview:
    """What a grouping would come to if the survey were closed now."""

    words: str  # what was asked, or for everybody together
    rows: list[GroupRow]
    merged: list[str]  # groups of several values that merging would make

    @property
    def is_too_small(self) -> bool:
        """Whether closing would be refused."""
        return any(row.too_small_for for row in self.rows)


def _previews(desk: Desk, held: HeldDocument) -> list[GroupingPreview]:
    """Every grouping that can be chosen, with the sizes of its groups now."""
    chosen = {None: "everybody together"} | held.covariates
    return [_preview(desk, held, by, words) for by, words in chosen.items()]


def _preview(desk: Desk, held: HeldDocument, by: str | None, words: str) -> GroupingPreview:
    parts = _looked_at(desk, held, Ending(by=by))
    sizes: dict[str, list[int]] = {}
    small: dict[str, list[str]] = {}
    for part, facts in parts.items():
        for group in facts["groups"]:
            sizes.setdefault(group["name"], []).extend(group["cards"])
            if group["name"] in facts["too_small"]:
                small.setdefault(group["name"], []).append(part)
    merged: dict[str, None] = {}
    if small and by is not None:
        for facts in _looked_at(desk, held, Ending(by=by, merge_small=True)).values():
            if not facts["too_small"]:
                merged |= dict.fromkeys(facts.get("merged", {}))
    rows = [
        GroupRow(
            name=name or "everybody",
            sizes=f"{min(counts):,}"
            if min(counts) == max(counts)
            else f"{min(counts):,} to {max(counts):,}",
            too_small_for=small.get(name, []),
        )
        for name, counts in sizes.items()
    ]
    return GroupingPreview(words=words, rows=rows, merged=list(merged))


def _looked_at(desk: Desk, held: HeldDocument, ending: Ending) -> dict[str, Any]:
    """What the collector says that closing would do, by question."""
    operator = operator_of(desk, held)
    if isinstance(operator, Operator):
        return {operator.campaign.question: operator.preview_closing(ending)}
    asked = {part.name: part.campaign.question for part in operator.survey.parts}
    return {asked[name]: one for name, one in operator.preview_closing(ending).items()}


def _chosen(desk: Desk, held: HeldDocument) -> str:
    """The grouping in which the cards are named to dealers, once the survey is closed."""
    facts = next(iter(_looked_at(desk, held, Ending()).values()))
    if facts["by"] is None:
        return "for everybody together"
    merged = "".join(f", {name} together" for name in facts.get("merged", {}))
    return f"in groups by the answers to “{held.covariates[facts['by']]}”{merged}"


def _in_console_words(words: str) -> str:
    """What the command line offers by options, as this page offers it."""
    for option, here in (
        (
            "--merge-small merges such groups (--dry-run shows how)",
            "tick that groups that are too small are merged",
        ),
        ("than --by ", "than by "),
        (
            "--discard-small deletes those answers, --without-sum gives all up",
            "give answers up by the command line (jrr campaign close)",
        ),
        (
            "--discard-unknown deletes the reports that came with them",
            "the command line deletes the reports that came with them (jrr campaign close)",
        ),
    ):
        words = words.replace(option, here)
    return words


def _is_settled(desk: Desk, held: HeldDocument) -> bool:
    """Whether there is nothing left to do: closed, and sums are here where they are announced."""
    operator = operator_of(desk, held)
    if isinstance(operator, Operator):
        facts = [operator.show()["collector"]]
    else:
        facts = [operator.operator(p).show()["collector"] for p in operator.survey.parts]
    return all(one["state"] == "closed" and one.get("settled", True) for one in facts)


def _named(desk: Desk, held: HeldDocument) -> list[Any]:
    """What each dealer's operator needs: serial numbers, in the groups that were chosen."""
    operator = operator_of(desk, held)
    collector = operator.at_collector()

    def of(path: str, number: int) -> Any:
        return collector.get(f"{path}/serials?dealer={number}")

    numbers = range(len(held.dealers))
    if isinstance(operator, Operator):
        return [of(operator.path, number) for number in numbers]
    parts = [part for part in operator.survey.parts if part.campaign.announces]
    return [
        {part.name: of(operator.operator(part).path, number) for part in parts}
        for number in numbers
    ]


def _sums(visit: Visit, held: HeldDocument) -> list[Any] | None:
    """What dealers' operators brought back, a text each; None: nothing."""
    texts = [visit.form.raw(f"sums{number}").strip() for number in range(len(held.dealers))]
    if not any(texts):
        return None
    try:
        return [json.loads(text) for text in texts]
    except ValueError:
        raise DamagedError("sums must be the files that jrr campaign close wrote") from None


def _say_opened(visit: Visit, held: HeldDocument) -> None:
    """Whether answers are taken, or what is still to do where a dealer's token is not here."""
    missing = [
        at
        for at in held.dealers
        if at not in visit.session.dealer_tokens and state_at(at, held) in UNOPENED
    ]
    if not missing:
        visit.session.note("Open: answers are taken.")
        return
    visit.session.note(
        f"Open here, but not at {', '.join(missing)}, whose token is not here. Still to do: its "
        "operator opens the survey there, too; until then nobody gets a card. The page Dealer has "
        "the file for it, and shows when that is done.",
        "warn",
    )
