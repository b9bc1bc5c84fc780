"""One survey for each wave of a panel: people were promised so much in so many waves, and no more.

Every survey of a panel takes the same invitations, and its ε adds to theirs. So of several that
are the same wave only the first that is opened takes answers; one that was never opened has cost
nobody anything, and does not stand in the way of another.
"""

from sqlalchemy import Connection, select

from jrr.errors import ProtocolError
from jrr.protocol.states import NEW
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.problems import Problem
from jrr.survey.survey import Survey, read_survey


def check_wave(connection: Connection, survey: Survey) -> None:
    """Refuse a wave that another survey of the panel is, or that people were not told of.

    A survey that is open itself, or was, is not refused. Until the transaction ends nobody else
    checks: of two that are opened at the same time, one is refused.
    """
    if survey.panel is None:
        return  # a first wave begins a panel of its own
    panel = _panel(connection, survey.panel)
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


def next_wave_of(connection: Connection, survey: Survey) -> str:
    """The wave after one, which must be closed: only then is it known who answered both.

    Raises:
        Problem: It is not.
    """
    after = closed_wave_after(connection, survey)
    if after is None:
        raise Problem(
            409,
            "wave-missing",
            f"wave {survey.wave + 1} must be closed first: who answered both waves is known then",
        )
    return after


def closed_wave_after(connection: Connection, survey: Survey) -> str | None:
    """The wave after one; None where there is none, or it is not closed."""
    panel = _panel(connection, survey.collector_salt, lock=False)
    after = [one for one, opened in panel if opened and one.wave == survey.wave + 1]
    closed = CollectorStore(connection).closed([one.hash for one in after])
    return closed[0] if closed else None


def _check_listed(earlier: Survey, later: Survey) -> None:
    """Refuse a later wave that does not count an earlier one, which people answer or have."""
    if earlier.hash not in {one.survey for one in later.earlier}:
        raise Problem(
            409,
            "wave-not-counted",
            f"wave {later.wave} does not count what wave {earlier.wave} of these people loses, "
            f"{earlier.hash[:12]}: create it after that one",
        )


def _check_promise(survey: Survey, panel: list[Survey]) -> None:
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


def _panel(connection: Connection, first: str, *, lock: bool = True) -> list[tuple[Survey, bool]]:
    """The surveys here of the people of a first wave, locked in one order.

    With each, whether it takes answers, or has.
    """
    table = CollectorStore.surveys
    query = select(table).order_by(table.c.survey)
    query = query.with_for_update() if lock else query
    # Documents are in canonical form: what stands in somebody's words has its quotes escaped.
    mark = f'"panel":"{first}"'.encode()
    return [
        (read_survey(bytes(row.document)), row.state != NEW.value)
        for row in connection.execute(query)
        if row.survey == first or mark in bytes(row.document)
    ]
