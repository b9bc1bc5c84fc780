"""Opening a survey, and closing it for good."""

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from jrr.client.ending import Ending, read_carried
from jrr.client.operator import COLLECTOR
from jrr.console.numbers import read_number
from jrr.console.operators import known_tokens, operator_of, take_tokens
from jrr.console.pages import (
    Console,
    Form,
    PageRequest,
    check_sure,
    download,
    goto,
    in_words,
    page,
    read,
    read_closes,
)
from jrr.console.silent_dealers import UNOPENED, state_at, told_by
from jrr.console.snapshots import counts_of, snapshots_of
from jrr.console.survey_texts import groupings, path_of
from jrr.console.surveys import PATH, survey_of
from jrr.errors import ArgumentError, JrrError
from jrr.protocol.states import CLOSED
from jrr.survey.analyses import joined_by_merging, lost_by_closing
from jrr.survey.grouping import MERGE_RULE, CardGrouping, split_by
from jrr.survey.other_waves import of_next_wave
from jrr.survey.survey import Survey


@page(f"{PATH}/open", "POST")
def _open(request: PageRequest) -> Response:
    survey = survey_of(request)
    take_tokens(request, survey)
    operator = operator_of(request.console, survey, request.session)
    operator.install()
    snapshots_of(request.console).forget(survey)
    states = operator.open(_people_dealt_to(request))
    _say_opened(request, survey, is_open=COLLECTOR in states)
    return goto(path_of(survey))


@page(f"{PATH}/extend", "POST")
def _extend(request: PageRequest) -> Response:
    survey = survey_of(request)
    closes = read_closes(request)
    take_tokens(request, survey)
    operator_of(request.console, survey, request.session).extend(closes)
    snapshots_of(request.console).forget(survey)
    late = [
        address
        for address in survey.dealing.addresses
        if told_by(address, survey).get("closes") != closes
    ]
    if late:
        kept = f". Days kept after that: {survey.keep_days}; then there can be no result"
        request.session.note(
            f"Extended here, but not at {', '.join(late)}: its operator extends it there, too, on "
            f"its own console or by jrr survey extend document.json {closes}. Until then nobody "
            f"gets a card after {survey.closes}{kept if survey.keep_days else ''}.",
            "warn",
        )
    else:
        request.session.note("Extended. People are shown both times.")
    return goto(path_of(survey))


@page(f"{PATH}/close")
def _asked(request: PageRequest) -> Response:
    console, survey = request.console, survey_of(request)
    counts = read(console, counts_of, survey)
    is_closed = counts.state == CLOSED
    wished = _wished(request.query, survey) or survey.planned_cells()
    previews = _previews(request, survey, wished) if survey.announces and not is_closed else []
    return request.page(
        "close.html",
        survey=survey,
        tab="close",
        counts=counts,
        known=known_tokens(request, survey),
        settled=_is_settled(console, survey),
        chosen=_chosen(console, survey) if survey.announces and is_closed else None,
        again=_again(console, survey, counts.next_sums, wished) if is_closed else None,
        wished=wished,
        lost=lost_by_closing(survey, wished) if previews else {},
        previews=previews,
        rule=MERGE_RULE,
    )


@page(f"{PATH}/close", "POST")
def _close(request: PageRequest) -> Response:
    console, survey = request.console, survey_of(request)
    check_sure(request, "closing is for good")
    take_tokens(request, survey)
    more = request.form.get("more")  # of a survey that is closed: its second sums, or none of them
    counts = read(console, counts_of, survey)
    if more and (counts.next_sums or 1) < 2:
        raise ArgumentError("the survey must plan second sums, and the first ones must be here")
    # Once it is closed its groups are chosen: dealers may have the requests.
    is_first = survey.announces and counts.state != CLOSED
    number = (counts.next_sums or 1) if more == "sums" else 1
    by = _wished(request.form, survey) if is_first else None
    if more == "sums" and not of_next_wave(survey, number):
        by = _wished(request.form, survey) or None
    merge = bool(by) and (request.form.get("merge") == "yes" or bool(more))
    ending = Ending(
        by=by,
        merge_small=merge,
        sums=_sums(request, survey),
        announcement=number,
        without_sum=more == "none",
    )
    operator_of(console, survey, request.session).close(ending)
    snapshots = snapshots_of(console)
    snapshots.forget(survey)
    snapshots.take(survey, request.session)  # closing takes its time; the next page has all
    left = read(console, counts_of, survey).next_sums if more else None
    if more == "none" and left is None:
        request.session.note(
            "The second sums are given up here. Whoever deals burns the key at their own console, "
            "unless you gave their token."
        )
        return goto(path_of(survey))
    if more == "sums" and left != number:
        if of_next_wave(survey, number):
            request.session.note(
                "The second sums are here: changes of those who answered both waves can be shown."
            )
            return goto(f"{path_of(survey)}/waves")
        request.session.note("These sums are here: results by their groups can be shown.")
        return goto(f"{path_of(survey)}/analysis")
    if not more and _is_settled(console, survey):
        request.session.note("Closed for good. These are the final results.")
        return goto(path_of(survey))
    request.session.note(
        "No more answers are taken. The dealer has still to announce the sum of its cards: give "
        "its operator the file below, or its token here."
        + (" Verified cards: files go twice." if survey.dealing.is_verified else ""),
        "warn",
    )
    return goto(f"{path_of(survey)}/close")


@page(f"{PATH}/delete", "POST")
def _delete(request: PageRequest) -> Response:
    survey = survey_of(request)
    check_sure(request, "deleting is for good")
    take_tokens(request, survey)
    found = operator_of(request.console, survey, request.session).delete()
    snapshots_of(request.console).forget(survey)
    request.session.note(f"Deleted at {' and '.join(found)}.")
    return goto("/")


@page(f"{PATH}/request/{{number}}")
def _closing_request(request: PageRequest) -> Response:
    """For a dealer's operator: which cards came back, by serial numbers."""
    survey, number = survey_of(request), _number_of_dealer(request)
    operator = operator_of(request.console, survey, request.session, deals=False)
    body = json.dumps(operator.closing.carried(operator.at_collector())[number])
    return download(body, f"request-{survey.hash[:8]}-{number}.json", "application/json")


def _number_of_dealer(request: PageRequest) -> int:
    text, count = request.path("number"), len(survey_of(request).dealing.addresses)
    number = int(text) if text.isdecimal() and len(text) < 4 else -1
    if not 0 <= number < count:
        raise ArgumentError(f"number must be that of a dealer, 0 to {count - 1}, got {text!r:.40}")
    return number


def _people_dealt_to(request: PageRequest) -> int | None:
    """How many, as those who deal said after enrolment; None where nothing was written."""
    text = request.form.get("n")
    if not text:
        return None
    number = read_number("n", text)
    if not number.is_integer() or number < 1:
        raise ArgumentError(f"n must be how many people were dealt cards, got {text!r:.40}")
    return int(number)


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group as it would be summed at the end."""

    name: str
    sizes: str  # answers with a card: the fewest and the most of all questions
    margins: str  # of each question
    too_small_for: list[str]  # questions


@dataclass(frozen=True, kw_only=True)
class GroupingPreview:
    """What a grouping would come to if the survey were closed now."""

    words: str  # what was asked, or for everybody together
    rows: list[GroupRow]
    merged: list[str]  # the groups that merging would make, with sizes and margins
    joined: dict[str, str]  # planned analysis -> its groups that merging leaves together only

    @property
    def is_too_small(self) -> bool:
        """Whether closing would be refused."""
        return any(row.too_small_for for row in self.rows)


def _wished(fields: Form, survey: Survey) -> tuple[str, ...]:
    """The open questions that were ticked, or named; in the order of the survey."""
    named = split_by(fields.get("by"))
    ticked = [name for name in survey.covariates if fields.get(f"by_{name}") == "yes"]
    return named or tuple(sorted(ticked, key=[*survey.planned_cells(), *ticked].index))


def _previews(
    request: PageRequest, survey: Survey, wished: tuple[str, ...]
) -> list[GroupingPreview]:
    """The cells that are wished for, everybody together, and every single question."""
    words = groupings(survey)
    chosen = {wished: " × ".join(words[name] for name in wished)} if wished else {}
    chosen |= {(): "everybody together"} | {(name,): asked for name, asked in words.items()}
    return [_preview(request, survey, by, asked) for by, asked in chosen.items()]


def _preview(
    request: PageRequest, survey: Survey, by: tuple[str, ...], words: str
) -> GroupingPreview:
    operator = operator_of(request.console, survey, request.session, deals=False)
    facts = operator.closing.preview(Ending(by=by))
    merged: list[str] = []
    joined: dict[str, str] = {}
    if facts["too_small"] and by:
        after = operator.closing.preview(Ending(by=by, merge_small=True))
        if not after["too_small"]:
            rows = [_group_row(survey, one) for one in after["groups"]]
            merged = [f"{one.name}: {one.sizes} ({one.margins})" for one in rows]
            joined = joined_by_merging(survey, CardGrouping.from_document(survey, after))
    rows = [_group_row(survey, group) for group in facts["groups"]]
    return GroupingPreview(words=words, rows=rows, merged=merged, joined=joined)


def _group_row(survey: Survey, group: dict[str, Any]) -> GroupRow:
    cards: dict[str, list[int]] = group["cards"]
    counts = [count for some in cards.values() for count in some] or [0]
    low, high = min(counts), max(counts)
    return GroupRow(
        name=group["name"] or "everybody",
        sizes=f"{low:,}" if low == high else f"{low:,} to {high:,}",
        margins=", ".join(
            f"{name} {survey.by_name[name].margin_words(max(some))}"
            for name, some in cards.items()
            if any(some)
        ),
        too_small_for=[
            survey.by_name[name].text
            for name, some in cards.items()
            if any(0 < count < survey.smallest_group for count in some)
        ],
    )


def _again(
    console: Console, survey: Survey, number: int | None, wished: tuple[str, ...]
) -> dict[str, Any] | None:
    """The next sums: how many people they would be of, or why not yet; None: there are none.

    wished: The groups that they would be of, where they are not of those of the next wave.
    """
    if number is None or number < 2:
        return None
    closing, is_panel = operator_of(console, survey).closing, of_next_wave(survey, number)
    found = {"of_next_wave": is_panel, "by": wished, "why": "", "chosen": False, "rows": []}
    try:
        facts = closing.preview(Ending(announcement=number))
        if wished and not is_panel and not facts["chosen"]:
            facts = closing.preview(Ending(announcement=number, by=wished, merge_small=True))
    except JrrError as error:
        return found | {"why": in_words(error)}
    rows = [_group_row(survey, group) for group in facts["groups"]]
    return found | {"by": facts["by"], "chosen": facts["chosen"], "rows": rows}


def _chosen(console: Console, survey: Survey) -> str:
    """The grouping in which dealers are asked for sums, once the survey is closed."""
    facts = operator_of(console, survey).closing.preview(Ending())
    if not facts["by"]:
        return "for everybody together"
    merged = "".join(f", {name} together" for name in facts.get("merged", {}))
    asked = "” × “".join(groupings(survey)[name] for name in facts["by"])
    return f"in groups by the answers to “{asked}”{merged}"


def _is_settled(console: Console, survey: Survey) -> bool:
    """Whether there is nothing left to do: closed, and no result waits for a dealer's sums."""
    facts = operator_of(console, survey).show()[COLLECTOR]
    return bool(facts["state"] == CLOSED and facts["settled"])


def _sums(request: PageRequest, survey: Survey) -> list[Any] | None:
    """What dealers' operators brought back, a text each; None: nothing."""
    numbers = range(len(survey.dealing.addresses))
    texts = [request.form.raw(f"sums{number}").strip() for number in numbers]
    if not any(texts):
        return None
    allowed = "sums must be the files that the dealers' operators gave, one of each"
    return [read_carried(text, allowed) for text in texts]


def _say_opened(request: PageRequest, survey: Survey, *, is_open: bool) -> None:
    """Whether answers are taken, or what is still to do."""
    missing = [
        address
        for address in survey.dealing.addresses
        if address not in request.session.dealer_tokens and state_at(address, survey) in UNOPENED
    ]
    if missing:
        request.session.note(
            f"{'Open here' if is_open else 'Here'}, but not at {', '.join(missing)}, whose token "
            "is not here. Still to do: its operator opens the survey there, too; until then nobody "
            "gets a card. The page Dealer has the file for it, and shows when that is done.",
            "warn",
        )
    elif is_open:
        request.session.note("Open: answers are taken.")
    else:
        request.session.note(
            "People can enrol. Answers are taken when their cards are dealt, and you have opened "
            "the survey here with how many were dealt to.",
            "warn",
        )
