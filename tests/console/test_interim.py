"""An interim result on the live page is the library's estimate from the same reports."""

import csv
import io
import re
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from jrr.dealing.kinds import Nobody
from jrr.estimation.estimates import Estimate
from jrr.estimation.groups import estimate_groups
from jrr.reporting.numerals import Numerals, share_decimals
from jrr.survey.sensitive import SensitiveQuestion
from jrr.survey.survey import Survey
from tests.console import Reply, Servers, Visitor, answer_at_once

WAYS: dict[str, dict[str, Any]] = {
    "without cards": {"dealing": Nobody(), "mechanism": "rr"},
    "with cards": {"mechanism": "drr", "people": 200},
}


def told(at: int) -> dict[str, Any]:
    """What somebody answers."""
    bribed = "yes" if at % 3 == 0 else "no"
    return {"sector": ("office", "field")[at % 4 == 0], "bribed": bribed, "hours": 1 + at % 3}


class Reports:
    """The reports of one question that the collector has now, from its own database."""

    def __init__(self, servers: Servers, question: SensitiveQuestion) -> None:
        query = (
            "SELECT report, carded, covariates FROM reports JOIN people USING (survey, pseudonym)"
            " WHERE survey = ? AND question = ?"
        )
        survey = question.survey
        number = list(survey.by_name).index(question.name)
        with closing(sqlite3.connect(servers.collector.folder / "collector.db")) as reader:
            rows = reader.execute(query, (survey.hash, number)).fetchall()
        mechanism = self.mechanism = question.mechanism
        packed = np.frombuffer(b"".join(row[0] for row in rows), np.uint8)
        shaped = packed.reshape(len(rows), mechanism.report_format.width)
        self.values = mechanism.report_format.unpack(shaped)
        self.carded = np.array([bool(row[1]) for row in rows])
        self.sectors = np.array([re.findall(r"office|field", row[2])[0] for row in rows])
        # Until its end a survey may have been dealt from every deck that it has.
        self.decks = mechanism.fewest_decks(survey.capacity) if question.deals else 1

    def estimate(self) -> Estimate:
        tally = self.mechanism.tally(self.values, self.carded)
        return self.mechanism.estimate(tally, self.decks)

    def by_sector(self) -> dict[str, Estimate]:
        tallies = {
            name: self.mechanism.tally(self.values[self.sectors == name], self.carded[mine])
            for name in ("office", "field")
            for mine in [self.sectors == name]
        }
        groups = estimate_groups(self.mechanism, tallies, min_cell=3, decks=self.decks)
        return {group.name: group.estimate for group in groups}


def cells_of(part: str) -> list[list[str]]:
    """The rows of the first table in a part of a page."""
    body = part.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body)
    ]


def figures(
    estimate: Estimate, value: int, places: int, level: float = 0.95
) -> tuple[str, str, str]:
    """Share, standard error and interval with so many decimals."""
    numerals = Numerals("en")
    low, high = estimate.interval(level)
    ends = [numerals.percent(float(end[value]), places) for end in (low, high)]
    share = numerals.percent(float(estimate.frequencies[value]), places)
    points = numerals.number(100 * float(estimate.stderr[value]), places)
    return share, points, numerals.interval(*ends)


def expected_rows(estimate: Estimate, labels: tuple[str, ...]) -> list[list[str]]:
    """The table of a question, as the page must have it."""
    places = share_decimals(min(float(one) for one in estimate.stderr if one > 0))
    return [[label, *figures(estimate, at, places)] for at, label in enumerate(labels)]


def fresh_results(visitor: Visitor, survey: Survey) -> Reply:
    """Results of this moment: wishing for dealers' counts makes the page look again."""
    visitor.post(f"/surveys/{survey.hash}/dealers")
    assert visitor.get(f"/surveys/{survey.hash}/results").status == 200
    return visitor.get(f"/surveys/{survey.hash}")  # the live page itself has them now


def article(page: Reply, question: str) -> str:
    """The part of a page that is about one question."""
    return next(part for part in page.body.split("<article>") if f">{question}<" in part)


@pytest.mark.parametrize("way", WAYS)
def test_results_so_far_are_the_librarys_to_the_last_digit(
    servers: Servers, visitor: Visitor, way: str
) -> None:
    survey = servers.survey(**WAYS[way])
    invitations = servers.begin(survey, 40)
    bribed = survey.by_name["bribed"]
    assert bribed.deals == (way == "with cards")
    for start, end in ((0, 13), (13, 29)):
        answer_at_once(survey, {invitations[at]: told(at) for at in range(start, end)})
        now = Reports(servers, bribed)
        assert len(now.values) == end
        page = fresh_results(visitor, survey)
        assert "Results so far" in page.words
        question = article(page, "Have you ever taken a bribe?")
        assert cells_of(question) == expected_rows(now.estimate(), ("no", "yes"))
        groups = now.by_sector()
        least = min(float(one.stderr[1]) for one in groups.values())
        by = visitor.get(f"/surveys/{survey.hash}/groups?by=sector")
        expected = []
        for name in ("office", "field"):
            share, _, interval = figures(groups[name], 1, share_decimals(least))
            expected.append([name, f"{groups[name].n}", share, interval])
        assert cells_of(article(by, "Have you ever taken a bribe?")) == expected
        exported = csv.DictReader(io.StringIO(servers.operator(survey).export("csv").decode()))
        assert sorted(int(row["bribed"]) for row in exported) == sorted(now.values.tolist())


@pytest.mark.parametrize("rule", ["results_every", "min_batch"])
def test_an_interim_result_is_of_the_reports_that_were_there_when_it_was_fixed(
    servers: Servers, visitor: Visitor, rule: str
) -> None:
    """Eight apart: that of the first eight is shown when sixteen are there, and not at nine."""
    more: dict[str, Any] = {rule: 8}
    survey = servers.survey(dealing=Nobody(), mechanism="rr", **more)
    invitations = servers.begin(survey, 40)
    bribed, question = survey.by_name["bribed"], "Have you ever taken a bribe?"

    def arrive(start: int, end: int) -> Reply:
        for at in range(start, end):  # one after another, as they come
            answer_at_once(survey, {invitations[at]: told(at)})
        return fresh_results(visitor, survey)

    assert "8 reports apart" in arrive(0, 8).words
    first = Reports(servers, bribed)
    assert "No result" in arrive(8, 15).words
    page = arrive(15, 16)
    second = Reports(servers, bribed)
    shown = expected_rows(first.estimate(), ("no", "yes"))
    assert cells_of(article(page, question)) == shown
    assert cells_of(article(arrive(16, 23), question)) == shown
    later = arrive(23, 24)
    assert cells_of(article(later, question)) == expected_rows(second.estimate(), ("no", "yes"))
    by = visitor.get(f"/surveys/{survey.hash}/groups?by=sector").words
    assert "results by group are shown when the survey is closed" in by
    visitor.post(f"/surveys/{survey.hash}/close", sure="yes")
    final = visitor.get(f"/surveys/{survey.hash}")
    everything = Reports(servers, bribed).estimate()
    assert cells_of(article(final, question)) == expected_rows(everything, ("no", "yes"))
