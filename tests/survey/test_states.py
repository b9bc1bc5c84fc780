"""States: what is stored, how one follows another, what each refuses."""

import itertools
import re
from pathlib import Path

import pytest

import jrr
from jrr.errors import DamagedError, ProtocolError
from jrr.protocol.states import (
    ABORTED,
    CLOSED,
    ENROLLING,
    MOVES,
    NEW,
    OPEN,
    REFUSALS,
    SERVING,
    Act,
    Role,
    State,
    When,
    check_move,
    read_state,
    refusal_of,
)


def test_the_words_that_databases_hold() -> None:
    assert [str(state) for state in State] == [
        "new",
        "enrolling",
        "open",
        "serving",
        "closed",
        "aborted",
    ]
    assert [str(role) for role in Role] == ["dealer", "collector", "party"]
    for state in State:
        assert read_state(str(state)) is state
    for wrong in ("", "NEW", "opened", None, 1):
        with pytest.raises(DamagedError, match="state must be one of"):
            read_state(wrong)


@pytest.mark.parametrize("role", Role)
def test_every_state_of_a_role_is_reached_and_ends_closed(role: Role) -> None:
    reached, todo = {NEW}, [NEW]
    while todo:
        for after in MOVES[role][todo.pop()]:
            if after not in reached:
                reached.add(after)
                todo.append(after)
    assert reached == set(MOVES[role])
    assert MOVES[role][CLOSED] <= {CLOSED}
    for before in MOVES[role]:
        assert before == CLOSED or CLOSED in MOVES[role][before]
        assert NEW not in MOVES[role][before]


@pytest.mark.parametrize("role", Role)
def test_other_moves_are_refused(role: Role) -> None:
    for before, after in itertools.product(State, State):
        if after in MOVES[role].get(before, ()):
            assert check_move(role, before, after) is after
        else:
            with pytest.raises(ProtocolError, match="must not go from"):
                check_move(role, before, after)


def test_once_a_share_is_given_nothing_is_dealt_again() -> None:
    assert ENROLLING in MOVES[Role.PARTY][OPEN]
    assert ENROLLING not in MOVES[Role.PARTY][SERVING]
    assert ENROLLING not in MOVES[Role.PARTY][ABORTED]


def test_a_repeat_is_never_refused_where_the_first_time_is_not() -> None:
    for again, first in ((Act.ENROL_AGAIN, Act.ENROL), (Act.REPORT_AGAIN, Act.REPORT)):
        assert REFUSALS[again].items() <= REFUSALS[first].items()


def test_what_is_over_stays_over() -> None:
    for act, refusals in REFUSALS.items():
        for state, refusal in refusals.items():
            if refusal.when is When.LATER:
                assert state in (NEW, ENROLLING), act
    for act in Act:
        assert (refusal_of(act, CLOSED) is None) == (act in (Act.REPORT_AGAIN, Act.DELETE)), act


def test_no_state_is_written_out_elsewhere() -> None:
    """Servers and clients name states by jrr.protocol.states."""
    words = "|".join(State)
    literal = re.compile(
        rf"""(state\W{{1,6}}(==|!=|in|=)\W*["']({words})["']|== ["']({words})["'])"""
    )
    root = Path(jrr.__file__).parent
    for room in ("protocol", "dealing", "survey", "servers", "client", "cli"):
        for file in (root / room).rglob("*.py"):
            if file.name != "states.py":
                assert not literal.search(file.read_text("utf-8")), file
