"""Change among those who answered both waves of a masked question, by a second announcement."""

from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection

from jrr.errors import ArgumentError
from jrr.protocol.identity import (
    COLLECTOR,
    accepted,
    invitation_secret,
    new_invitation,
    pseudonym,
)
from jrr.servers.collector.change import ChangeWish
from jrr.survey.other_waves import BEFORE
from jrr.survey.survey import Survey
from tests.servers.collecting import JOBS, asking, refusal
from tests.servers.test_collector_closing import Cards

PEOPLE, BOTH = 400, 250


def waves(**more: Any) -> tuple[Survey, Survey]:
    given: dict[str, Any] = {"invitations": True, "waves": 2, "min_cell": 5, "people": 400}
    given |= {"epsilon": 4.0} | more
    first = asking(1, "mrr", **given)
    return first, asking(1, "mrr", after=first, **given)


def answered(connection: Connection) -> tuple[Cards, Cards]:
    """Wave 1 has the first 300, wave 2 the last 350: 250 are in both, who all change to yes."""
    first, second = waves()
    invited = [new_invitation() for _ in range(PEOPLE)]
    names = [pseudonym(invitation_secret(one), first.collector_salt, COLLECTOR) for one in invited]
    made = []
    for survey, some in ((first, names[:300]), (second, names[50:])):
        cards = Cards(connection, survey)
        hashes = accepted(invited, survey.collector_salt, COLLECTOR)
        JOBS.invite(connection, survey.hash, hashes)
        for who in some:
            pairs = who in names[50:300]
            value = int(survey is second) if pairs else int(survey is first)
            cards.answer(who, "north", value)
        made.append(cards)
    return made[0], made[1]


def test_a_panel_plans_two_announcements_and_one_in_its_last_wave() -> None:
    first, second = waves()
    assert (first.announcements, second.announcements) == (2, 1)
    assert first.guarantee("everything") <= 4.0
    assert first.planned_cells(2) == ("answered_wave_after",)
    assert second.planned_cells() == (BEFORE,)
    assert asking(1, "mrr").announcements == 1


def test_pairs_need_the_second_sums_and_change_among_them_is_right(connection: Connection) -> None:
    before, now = answered(connection)
    wish = ChangeWish(since=before.survey.hash, paired=True)

    def change(asked: ChangeWish = wish) -> Any:
        return JOBS.change(connection, now.survey.hash, asked)["changes"]["q0"]

    before.close()
    JOBS.keep_sums(connection, before.survey.hash, before.sums())
    with refusal("wave-missing"):
        before.prospect(announcement=2)
    seen = now.prospect()
    assert seen["by"] == [BEFORE]
    assert {one["name"]: one["cards"]["q0"] for one in seen["groups"]} == {
        "no": [100],
        "yes": [250],
    }
    now.close()
    with refusal("wave-missing"):  # answers of it may still be deleted, and so people of both
        before.prospect(announcement=2)
    JOBS.keep_sums(connection, now.survey.hash, now.sums())
    assert "jrr survey close WAVE --again" in change()["refused"]
    with refusal("wrong-state"):
        before.request()
    before.close(announcement=2)
    assert before.request().sizes == {"q0": {"yes": BOTH}}
    JOBS.keep_sums(connection, before.survey.hash, before.sums())
    with refusal("closed"):
        before.request()  # serial numbers are forgotten
    found = change()
    assert found["n_before"] == found["n_now"] == found["n_both"] == BOTH
    assert abs(found["difference"][1] - 1) < 5 * found["stderr"][1]
    assert found["stderr"][1] < 0.2
    whole = change(ChangeWish(since=before.survey.hash))
    truth = 250 / 350 - 50 / 300
    assert abs(whole["difference"][1] - truth) < 5 * whole["stderr"][1]
    # Both waves' own results are as they were.
    shares = [one.estimates()["q0"]["estimate"]["frequencies"][1] for one in (before, now)]
    np.testing.assert_allclose(shares[1] - shares[0], whole["difference"][1])


def test_without_a_second_announcement_pairs_are_refused(connection: Connection) -> None:
    before, now = answered(connection)
    for cards in (before, now):
        cards.close(by=[])
        JOBS.keep_sums(connection, cards.survey.hash, cards.sums())
    JOBS.close(connection, before.survey.hash, _giving_up())
    with refusal("closed"):
        before.prospect(announcement=2)
    asked = ChangeWish(since=before.survey.hash, paired=True)
    found = JOBS.change(connection, now.survey.hash, asked)["changes"]["q0"]
    assert "second sums" in found["refused"]
    with pytest.raises(ArgumentError, match="at most 2"):
        before.prospect(announcement=3)


def _giving_up() -> Any:
    from jrr.servers.collector.ending import ClosingChoices

    return ClosingChoices(gives_up=True)
