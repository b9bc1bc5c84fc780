"""The second sums of a panel's first wave by the console: told, carried by files, or given up."""

import re
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.reporting.numerals import gains
from jrr.survey.ethics import ethics_document
from jrr.survey.survey import Survey
from tests.console import Servers, Visitor
from tests.console.test_analysing import finished
from tests.console.test_dealers_steps import raw_post
from tests.console.test_waves import ANSWERED, both_waves

BOTH = len(set(ANSWERED[0]) & set(ANSWERED[1]))


def operator(servers: Servers, survey: Survey) -> dict[str, Any]:
    """What both servers say."""
    return servers.operator(survey).show()


def panel(servers: Servers, visitor: Visitor) -> tuple[list[Survey], dict[str, str]]:
    tokens = {"token0": servers.dealer.token}
    # As the page Close fills it in for a wave after another.
    fields = tokens | {"by_answered_wave_before": "yes", "merge": "yes"}
    return both_waves(visitor, fields, dealers=servers.dealer.url), tokens


def test_the_key_is_said_to_be_kept_until_the_second_sums_are_told(
    servers: Servers, visitor: Visitor
) -> None:
    (first, second), tokens = panel(servers, visitor)
    base = f"/surveys/{first.hash}"
    assert (first.announcements, second.announcements) == (2, 1)
    words = visitor.get(f"{base}/close").words
    assert "nothing is left to do" not in words
    assert f"{BOTH} answered both with a card" in words
    assert "nothing is left to do" in visitor.get(f"/surveys/{second.hash}/close").words
    assert operator(servers, first)["dealer"]["burned"] is False
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    told = dealer.get(base).words
    assert "The key is kept for one more sum" in told
    assert "The key is burned" not in told
    refused = visitor.get(f"/surveys/{second.hash}/waves?since={first.hash}&paired=yes").words
    assert "both: the page Close of that wave, once the next wave is closed" in refused
    assert "--again" not in refused
    assert "answered_wave" not in refused
    assert visitor.post(f"{base}/close", more="sums").status == 422  # not sure
    done = visitor.post(f"{base}/close", more="sums", sure="yes", **tokens).words
    assert "The second sums are here" in done
    assert operator(servers, first)["dealer"]["burned"] is True
    assert "nothing is left to do" in visitor.get(f"{base}/close").words
    assert "The key is burned" in dealer.get(base).words
    page = visitor.get(f"/surveys/{second.hash}/waves?since={first.hash}&paired=yes")
    found = servers.operator(second).change(first, paired=True)["changes"]["bribed"]
    assert found["n_both"] == BOTH
    assert f"{100 * found['difference'][-1]:+.2f} points" in page.words
    for words in gains(servers.operator(second).change(first, paired=True)["changes"]):
        assert words.partition(": ")[2] in page.words
    assert page.words.count(f"among the {BOTH} who answered both, ") == 3


def test_the_second_sums_go_through_files(servers: Servers, visitor: Visitor) -> None:
    (first, _), _ = panel(servers, visitor)
    base = f"/surveys/{first.hash}"
    researcher = servers.visitor()  # without the dealer's token
    asked = researcher.post(f"{base}/close", more="sums", sure="yes").words
    assert "still to announce" in asked
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    for burned in (False, True):  # cards are verified: files go twice
        request = researcher.get(f"{base}/request/0").body
        sums = raw_post(dealer, f"{base}/close", request=request, sure="yes").body
        assert ("closed burned" in dealer.get(base).words) is burned
        done = researcher.post(f"{base}/close", more="sums", sure="yes", sums0=sums).words
    assert "The second sums are here" in done
    assert researcher.get(f"{base}/dealers").words.count("(done)") == 4


def test_another_sum_of_one_wave_is_of_groups_that_are_chosen(
    servers: Servers, visitor: Visitor, tmp_path: Path
) -> None:
    """The pages, and the ethics board, were told of a next wave that there is not."""
    survey, loaded = finished(servers, ("sector",), tmp_path, draft={"announcements": 2})
    base = f"/surveys/{survey.hash}"
    told = ethics_document(survey).page()
    for words in (visitor.get(f"{base}/close?by_shift=yes").words, told):
        assert "next wave" not in words
    assert "Up to 2 sums may hold a person&#x27;s card" in told
    page = visitor.get(f"{base}/close?by_shift=yes").words
    assert "16 answers with a card: day." in page
    with pytest.raises(ArgumentError, match="by shift need a sum"):
        loaded.groups("bribed", "shift")
    form = {"more": "sums", "sure": "yes", "by_shift": "yes"}
    done = visitor.post(f"{base}/close", **form, token0=servers.dealer.token).words
    assert "These sums are here" in done
    assert operator(servers, survey)["dealer"]["burned"] is True
    file = tmp_path / "more.parquet"
    file.write_bytes(servers.operator(survey).export("parquet"))
    now = jrr.load_survey(survey, file)
    for name in ("sector", "shift"):
        shown = visitor.get(f"{base}/analysis?what=groups&question=bribed&by_{name}=yes").words
        for group in now.groups("bribed", name):
            assert f"{100 * group.estimate.frequencies[1]:.1f}%" in shown
    third = visitor.post(f"{base}/close", **form, token0=servers.dealer.token)
    assert (third.status, "must plan second sums" in third.words) == (422, True)


def test_second_sums_are_given_up_at_both_consoles(servers: Servers, visitor: Visitor) -> None:
    (first, second), _ = panel(servers, visitor)
    base = f"/surveys/{first.hash}"
    researcher = servers.visitor()
    assert "given up here" in researcher.post(f"{base}/close", more="none", sure="yes").words
    assert operator(servers, first)["dealer"]["burned"] is False
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    assert "Burned." in dealer.post(f"{base}/close", more="none", sure="yes").words
    assert operator(servers, first)["dealer"]["burned"] is True
    # Results of the wave itself stay, and the other wave has no such step.
    assert re.search("95% interval", researcher.get(base).words)
    refused = researcher.post(f"/surveys/{second.hash}/close", more="sums", sure="yes")
    assert refused.status == 422


def test_answers_are_never_given_up_by_the_step_for_second_sums(
    servers: Servers, visitor: Visitor
) -> None:
    survey = servers.survey()
    invitations = servers.begin(survey, 5)
    assert invitations
    for more in ("none", "sums"):
        refused = visitor.post(f"/surveys/{survey.hash}/close", more=more, sure="yes")
        assert (refused.status, "must plan second sums" in refused.words) == (422, True)
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    refused = dealer.post(f"/surveys/{survey.hash}/close", more="none", sure="yes")
    assert (refused.status, "first sums must be told" in refused.words) == (422, True)
    assert {one["state"] for one in operator(servers, survey).values()} == {"open"}
