"""One survey for each wave of a panel: people were promised so much in so many waves, and no more.

Every survey of a panel takes the same invitations, and its ε adds to theirs. So of several that
are the same wave only the first that is opened takes answers; one that was never opened has cost
nobody anything, and does not stand in the way of another.
"""

from typing import TYPE_CHECKING

from jrr.errors import ProtocolError
from jrr.protocol.states import CLOSED, NEW
from jrr.servers.common.problems import Problem

if TYPE_CHECKING:
    from jrr.servers.collector.store import CollectorStore
    from jrr.survey.survey import Survey


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
