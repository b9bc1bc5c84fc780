"""How a survey ends: looked at first, then closed or not at all; then dealers' sums are kept.

The cells are chosen, checked and kept in the transaction that closes the survey: an answer that
comes a moment before cannot make a cell that is too small for a sum. Where more announcements were
planned, cells are chosen again for each, among the reports that are here; serial numbers are kept
until the last one.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from jrr._base import checks
from jrr.dealing.serials import serial_from_hex
from jrr.dealing.verified.laws import MOST_SUMS
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.documents import Message
from jrr.protocol.states import CLOSED, NEW
from jrr.servers.common.problems import Problem, gone, wrong_state
from jrr.survey.closing import ClosingRequest, announced_questions
from jrr.survey.grouping import (
    CardGrouping,
    Sizes,
    checked_by,
    merge_small,
    small_words,
    summed,
    too_small,
)
from jrr.survey.other_waves import AFTER, YES

if TYPE_CHECKING:
    from jrr.servers.collector.store import CollectorStore, CollectorSurvey
    from jrr.survey.survey import Survey


class ClosingChoices(Message):
    """What an operator wants of the end, or of a later announcement."""

    by: list[str] | None = None  # open questions: a sum for each cell; None: as chosen or planned
    merge_small: bool = False  # cells that are too small for a sum are merged
    allow_small: bool = False  # close though no sum can be told of some cells
    announcement: int = 1  # which of those that were planned
    gives_up: bool = False  # no more sums are wanted: serial numbers are forgotten
    # Question -> serials: all answers of those people are deleted.
    discard: dict[str, list[str]] = msgspec.field(default_factory=dict)


def prospect(
    store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices
) -> dict[str, Any]:
    """What closing would do: the cells, their sizes, and which are too small. Changes nothing."""
    survey = held.survey
    facts = {
        "state": held.state,
        "settled": is_done(held, wish.announcement),
        "announcement": wish.announcement,
        "chosen": held.chosen_for >= wish.announcement,  # requests may be with dealers
        "fewest": survey.smallest_group,
        "reports": store.people_count(held),
    }
    if _is_told(held, wish.announcement):
        told = held.told.announced[wish.announcement - 1][0].grouping
        return facts | told.to_document() | {"groups": [], "too_small": []}
    if (held.sums is not None and wish.announcement == 1) or not survey.announces:
        return facts | CardGrouping().to_document() | {"groups": [], "too_small": []}
    _check_announcement(held, wish.announcement)
    grouping, sizes = _chosen(store, held, wish)
    small = too_small(sizes, survey.smallest_group)
    present = {name for one in sizes for name in one}
    # Of several questions most combinations may be nobody's.
    names = [one for one in grouping.names(survey) if len(grouping.by) < 2 or one in present]
    dealers = len(survey.dealing.addresses)
    groups: list[dict[str, Any]] = [
        {
            "name": name,
            "cards": {
                question.name: [one.get(name, 0) for one in sizes[at : at + dealers]]
                for at, question in zip(
                    range(0, len(sizes), dealers), announced_questions(survey), strict=True
                )
            },
        }
        for name in names
    ]
    for group in groups:
        group["margins"] = {
            name: survey.by_name[name].margin_of(max(cards))
            for name, cards in group["cards"].items()
            if any(cards)
        }
    left = [name for name in names if name in small]
    return facts | grouping.to_document() | {"groups": groups, "too_small": left}


def close(store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices) -> int:
    """Take no more answers, and keep in which cells cards are named; how many were discarded.

    Again with other cells, those are kept: for an operator who knows that no dealer has announced
    anything of them yet.

    Raises:
        Problem: A cell is too small for a sum; nothing is changed.
    """
    if wish.gives_up and held.sums is not None:
        store.forget_serials(held.name)
        return 0
    if _is_told(held, wish.announcement) or (held.sums is not None and wish.announcement == 1):
        return 0
    chosen = wish.by is None or tuple(wish.by) == held.grouping.by
    if held.challenge.get("dealers") and (wish.discard or not chosen):
        raise noise_drawn()
    unwanted = read_serials(held.survey, wish.discard)
    discarded = 0
    with store.connection.begin_nested():  # other jobs share this transaction
        if held.survey.announces:
            _check_announcement(held, wish.announcement)
            if wish.announcement == 1:
                discarded = store.discard(held, unwanted)
            grouping, sizes = _chosen(store, held, wish)
            small = too_small(sizes, held.survey.smallest_group)
            if held.challenge.get("dealers") and grouping != held.grouping:
                raise noise_drawn()
            is_chosen = held.chosen_for >= wish.announcement
            if small and not wish.allow_small and not is_chosen:
                raise Problem(409, "too-small", small_words(held.survey, sizes))
            store.keep_grouping(held, grouping, wish.announcement)
        if not held.is_final:
            store.move(held, CLOSED)
    return discarded


def closing_request(
    store: "CollectorStore", held: "CollectorSurvey", dealer: int, ahead: bool
) -> ClosingRequest:
    """The serial numbers of one dealer's cards that are here, for the next announcement.

    ahead: Before the end, in no cells: to ask the dealer whether it knows them.
    """
    if not ahead:
        check_settling(held)
    elif held.next_announcement is None:
        raise _forgotten()
    if not ahead and held.chosen_for != held.next_announcement:
        raise wrong_state(
            f"cells of announcement {held.next_announcement} must be chosen first (close)"
        )
    checks.integer("dealer", dealer, 0, len(held.survey.dealing.addresses) - 1)
    return _request(store, held, dealer, CardGrouping() if ahead else held.grouping)


def keep_sums(
    store: "CollectorStore", held: "CollectorSurvey", document: object, record: bytes | None = None
) -> None:
    """Keep what dealers told of their cards; the same again is fine.

    With the last announcement serial numbers are forgotten.
    """
    try:
        sums = held.told.adding(held.survey, document)
    except ProtocolError as error:
        raise Problem(409, "announced", str(error)) from None
    if held.sums is not None and sums == held.told:
        return
    check_settling(held)
    if record is None and held.survey.dealing.is_verified:
        raise Problem(409, "busy", "the sums were not checked: send them again")
    for dealer, told in enumerate(sums.announced[-1] if sums.announced else ()):
        named = _request(store, held, dealer, told.grouping)
        if named.sizes != {name: _without_empty(groups) for name, groups in told.sizes.items()}:
            raise Problem(409, "conflict", "the sum is of other reports than are here")
    store.keep_sums(held, sums, record)


def check_settling(held: "CollectorSurvey") -> None:
    """Refuse to name cards, or to take sums, but between the end and the last announcement."""
    if not held.is_final:
        raise wrong_state("the survey must be closed first: more answers may come")
    if held.survey.announces and held.next_announcement is None:
        raise _forgotten()
    if not held.survey.announces and held.sums is not None:
        raise _forgotten()


def check_discarding(held: "CollectorSurvey") -> None:
    """Refuse to delete answers but between the end and the first sums, which are of all others."""
    check_settling(held)
    if held.sums is not None:
        raise _forgotten()
    if held.challenge.get("dealers"):
        raise noise_drawn()


def noise_drawn() -> Problem:
    """Of verified cards, once a dealer knows which noise is used."""
    return Problem(
        409, "announced", "noise was drawn for the cards that were named: none can be left out"
    )


def read_serials(survey: "Survey", serials: Mapping[str, Sequence[str]]) -> dict[str, list[bytes]]:
    """Serial numbers by question, as an operator sends them."""
    known = tuple(one.name for one in announced_questions(survey))
    return {
        checks.one_of("question", question, known): [serial_from_hex(one) for one in some]
        for question, some in serials.items()
    }


def is_done(held: "CollectorSurvey", announcement: int) -> bool:
    """Whether nothing more is to come of the end, or of a later announcement."""
    return held.is_settled if announcement == 1 else _is_told(held, announcement)


def _is_told(held: "CollectorSurvey", announcement: int) -> bool:
    return len(held.told.announced) >= announcement


def _check_announcement(held: "CollectorSurvey", announcement: int) -> None:
    """Refuse another announcement than the next."""
    planned = held.survey.announcements
    if not 1 <= announcement <= planned:
        raise ArgumentError(
            f"announcement must be at most {planned}, which the survey's document counts, got "
            f"{announcement}"
        )
    if held.next_announcement is None:
        raise _forgotten()
    if announcement != held.next_announcement:
        raise wrong_state(f"announcement {held.next_announcement} must come first")


def _without_empty(groups: Sizes) -> Sizes:
    return {group: cards for group, cards in groups.items() if cards}


def _forgotten() -> Problem:
    return gone("the sums are here, and the serial numbers are forgotten")


def _request(
    store: "CollectorStore", held: "CollectorSurvey", dealer: int, grouping: CardGrouping
) -> ClosingRequest:
    numbers = {one.name: held.numbers[one.name] for one in announced_questions(held.survey)}
    found: dict[int, dict[str, list[bytes]]] = {at: defaultdict(list) for at in numbers.values()}
    wave = wave_after(store, held, grouping.by)
    for question, serial, covariates in store.named(held.name, dealer, also_in=wave):
        found[question][grouping.cell_of(_answers(covariates))].append(serial)
    return ClosingRequest(
        survey=held.name,
        announcement=held.next_announcement or 1,
        grouping=grouping,
        questions={
            name: {group: tuple(some) for group, some in sorted(found[at].items())}
            for name, at in numbers.items()
        },
    )


def _chosen(
    store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices
) -> tuple[CardGrouping, list[Sizes]]:
    """The cells that are wished for, were chosen before, or are planned; and their cards.

    What was chosen before stays as long as it works, whatever was discarded since: a dealer may
    have announced sums of just these cells. Planned cells that are too small are merged.
    """
    survey, before = held.survey, held.grouping
    fewest, by = survey.smallest_group, None
    if wish.by is not None:
        by = checked_by(survey, wish.by)
        if wish.announcement == 1 and AFTER in by:
            raise checks.refusal("by", AFTER, f"one of {list(survey.covariates)} at the end")
    merges = wish.merge_small
    if held.chosen_for == wish.announcement and by in (None, before.by):
        sizes = summed(before, _sizes(store, held, before.by))
        if not (wish.merge_small and before.by and too_small(sizes, fewest)):
            return before, sizes
        by = before.by
    elif by is None:
        by, merges = survey.planned_cells(wish.announcement), True
    if merges and not by and wish.merge_small:
        raise ArgumentError("merge_small must come with by: without groups there are none to merge")
    cells = _sizes(store, held, by)
    grouping = merge_small(survey, by, cells) if by and merges else CardGrouping(by=by)
    sizes = summed(grouping, cells)
    most = max((sum(size >= fewest for size in one.values()) for one in sizes), default=0)
    if survey.dealing.is_verified and most > MOST_SUMS:
        allowed = f"with at most {MOST_SUMS} cells, for which dealers promise noise, not {most}"
        raise checks.refusal("by", list(by), allowed)
    return grouping, sizes


def _sizes(store: "CollectorStore", held: "CollectorSurvey", by: Sequence[str]) -> Sequence[Sizes]:
    """Of each announced question and each dealer: how many cards of each cell came back."""
    announced = [held.numbers[one.name] for one in announced_questions(held.survey)]
    dealers = range(len(held.survey.dealing.addresses))
    grouping = CardGrouping(by=tuple(by))
    sizes: dict[tuple[int, int], dict[str, int]]
    sizes = {(question, dealer): {} for question in announced for dealer in dealers}
    wave = wave_after(store, held, by)
    for question, dealer, covariates, count in store.card_counts(held.name, also_in=wave):
        one, cell = sizes[question, dealer], grouping.cell_of(_answers(covariates))
        one[cell] = one.get(cell, 0) + count
    return list(sizes.values())


def wave_after(store: "CollectorStore", held: "CollectorSurvey", by: Sequence[str]) -> str | None:
    """The next wave, where only people are meant who answered it too."""
    return next_wave_of(store, held.survey) if AFTER in by else None


@lru_cache(maxsize=4096)
def _answers(covariates: str) -> Mapping[str, str]:
    """Somebody's answers to open questions; whoever is asked about answered the next wave too."""
    found: dict[str, str] = json.loads(covariates)
    return found | {AFTER: YES}


def check_wave(store: "CollectorStore", survey: "Survey") -> None:
    """Refuse a wave that another survey of the panel is, or that people were not told of.

    A survey that is open itself, or was, is not refused. Until the transaction ends nobody else
    checks: of two that are opened at the same time, one is refused.
    """
    if survey.panel is None:
        return  # a first wave begins a panel of its own
    panel = [(one, state != NEW) for one, state in store.panel(survey.panel, lock=True)]
    if any(opened and other.hash == survey.hash for other, opened in panel):
        return
    for other, opened in panel:
        is_same = other.wave == survey.wave and other.hash != survey.hash
        if is_same and opened:
            raise Problem(
                409,
                "wave-taken",
                f"wave {survey.wave} of these people is another survey already, "
                f"{other.hash[:12]}: they were promised one survey for each wave",
            )
        if other.hash == survey.panel and survey.wave > other.waves:
            raise Problem(
                409,
                "wave-taken",
                f"these people were told of {other.waves} waves when they were first asked: there "
                f"can be no wave {survey.wave}",
            )
    _check_promise(survey, [other for other, _ in panel])
    for other, opened in panel:
        if other.wave != survey.wave and opened:
            _check_listed(*sorted((survey, other), key=lambda one: one.wave))


def next_wave_of(store: "CollectorStore", survey: "Survey") -> str:
    """The wave after one, when it is settled who answered both.

    It must be closed and have its own sums, or have given them up: until then answers may be
    deleted, and cards that were named would be those of somebody who answered one wave only.

    Raises:
        Problem: It is not.
    """
    after = closed_wave_after(store, survey)
    held = None if after is None else store.find(after)
    if held is None or not (held.is_settled or held.gave_up):
        what = "be closed" if held is None else "have its own sums"
        raise Problem(
            409,
            "wave-missing",
            f"wave {survey.wave + 1} must {what} first: who answered both waves is known then",
        )
    return held.name


def closed_wave_after(store: "CollectorStore", survey: "Survey") -> str | None:
    """The wave after one; None where there is none, or it is not closed."""
    panel, after = store.panel(survey.collector_salt), survey.wave + 1
    closed = [one.hash for one, state in panel if state == CLOSED and one.wave == after]
    return closed[0] if closed else None


def _check_listed(earlier: "Survey", later: "Survey") -> None:
    """Refuse a later wave that does not count an earlier one, which people answer or have."""
    if earlier.hash not in {one.survey for one in later.earlier}:
        raise Problem(
            409,
            "wave-not-counted",
            f"wave {later.wave} does not count what wave {earlier.wave} of these people loses, "
            f"{earlier.hash[:12]}: create it after that one",
        )


def _check_promise(survey: "Survey", panel: "list[Survey]") -> None:
    """Refuse a wave that breaks what the one before it promised."""
    last = survey.earlier[-1].survey
    before = next((other for other in panel if other.hash == last), None)
    if before is None:
        raise Problem(
            409,
            "wave-missing",
            f"the document of the wave before, {last[:12]}, must be installed here first: it says "
            "what people were promised",
        )
    try:
        survey.check_after(before)
    except ProtocolError as error:
        raise Problem(409, "promise-broken", str(error)) from None
