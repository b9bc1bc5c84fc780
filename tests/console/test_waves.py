"""Two real waves of one survey: what the page says of them is what the library says."""

import csv
import io
import json
import re
from typing import Any

from jrr.client.invitations import COLUMNS, NOTES
from jrr.client.operator import Operator
from jrr.estimation.differences import difference
from jrr.survey.survey import Survey, read_survey
from tests.console import WORK, Reply, Servers, Visitor, answer_at_once

ANSWERED = (range(20), range(6, 30))  # who of 30 people: 14 of them both waves
PAGE = "https://page.example/page/"
NUMBER = {"name": "days", "kind": "number", "text": "How many days?", "low": 0, "high": 10}
DOCUMENT: dict[str, Any] = WORK | {"waves": 2, "questions": [*WORK["questions"], NUMBER]}


def created(visitor: Visitor, **fields: str) -> Survey:
    """A survey of our draft, by the console's pages."""
    page = visitor.post("/drafts/import", text=json.dumps(DOCUMENT))
    draft = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert draft is not None
    after = fields.get("after", "")
    assert ("The same people as in" in visitor.get(f"{draft[1]}/create").words) >= bool(after)
    made = visitor.post(f"{draft[1]}/create", people="30", response="100", min_cell="3", **fields)
    found = re.search(r"/surveys/([0-9a-f]{64})/open", made.body)
    assert found is not None, made.words
    return read_survey(visitor.get(f"/surveys/{found[1]}/files/document.json").raw)


def invited(visitor: Visitor, survey: Survey, **fields: str) -> list[dict[str, str]]:
    """The table that the invite page gives."""
    form = {"csrf": visitor.csrf(), "count": "30", "format": "csv", "page": PAGE} | fields
    reply = visitor.request("POST", f"/console/surveys/{survey.hash}/invite", form)
    assert reply.status == 200, reply.words
    return list(csv.DictReader(io.StringIO(reply.body)))


def both_waves(visitor: Visitor, tokens: dict[str, str], **settings: str) -> list[Survey]:
    """Two waves from their drafts to their ends."""
    waves: list[Survey] = []
    table: list[dict[str, str]] = []
    for number, people in enumerate(ANSWERED):
        after = {"after": waves[-1].hash} if waves else {}
        survey = created(visitor, **settings, **after)
        text = io.StringIO()
        if table:
            rows = csv.DictWriter(text, [*COLUMNS, *NOTES])
            rows.writeheader()
            rows.writerows(table)
        before = {row["invitation"] for row in table}
        if before:  # new ones would be for other people, and leave no room for these
            form = {"csrf": visitor.csrf(), "count": "30", "format": "csv", "page": PAGE}
            path = f"/console/surveys/{survey.hash}/invite"
            assert visitor.request("POST", path, form | tokens).status == 422
        words = visitor.get(f"/surveys/{survey.hash}/invite").words
        assert ("then delete it" in words) == bool(before)  # the next wave needs it
        table = invited(visitor, survey, made_before=text.getvalue(), **tokens)
        assert "&language=" not in table[0]["link"]  # the page begins as the phone says
        if before:
            assert {row["invitation"] for row in table} == before  # the same people, with new links
            assert all(survey.hash in row["link"] for row in table)
        visitor.post(f"/surveys/{survey.hash}/open", **tokens)
        told = {
            table[at]["invitation"]: {
                "sector": "office",
                "hours": 1 + (at + number) % 3,
                "days": at % 11,
                "bribed": "yes" if at % (2 + number) == 0 else "no",
            }
            for at in people
        }
        answer_at_once(survey, told)
        closed = visitor.post(f"/surveys/{survey.hash}/close", sure="yes", **tokens)
        assert "Closed for good." in closed.words
        waves.append(survey)
    return waves


def rows_of(page: Reply) -> list[tuple[str, ...]]:
    """The cells of the page's table."""
    body = page.body.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        tuple(re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row))
        for row in re.findall(r"<tr>(.*?)</tr>", body)
    ]


def shown(changes: dict[str, Any], survey: Survey) -> list[tuple[str, ...]]:
    """The same cells from what the library says; numbers with as many digits as the page has."""
    rows: list[tuple[str, ...]] = []
    for question, facts in changes.items():
        name = survey.by_name[question].text
        if "refused" in facts:
            rows.append((name, "", "", facts["refused"]))
        elif "mean" in facts:
            low, high = facts["mean"]["interval"]
            moved = f"{facts['mean']['change']:+.4g}"
            rows.append((name, "mean", moved, f"{low:+.4g} to {high:+.4g}"))
        else:
            entries = zip(facts["labels"], facts["difference"], facts["interval"], strict=True)
            for label, moved, (low, high) in entries:
                change, interval = f"{100 * moved:+.2f} points", f"{100 * low:+.2f} to "
                rows.append((name, label, change, f"{interval}{100 * high:+.2f}"))
    return rows


def from_exports(operators: list[Operator], question: str) -> tuple[float, float, float]:
    """The change of yes, from downloaded answers and the mechanism alone; with its interval."""
    estimates = []
    for operator in operators:
        mechanism = operator.survey.mechanisms[question]
        rows = csv.DictReader(io.StringIO(operator.export("csv").decode()))
        estimates.append(mechanism.estimate([int(row[question]) for row in rows]))
    moved = difference(estimates[1], estimates[0], same_deck=False)
    low, high = moved.interval()
    return float(moved.frequencies[1]), float(low[1]), float(high[1])


def test_the_page_of_waves_shows_what_the_library_says(servers: Servers, visitor: Visitor) -> None:
    first, second = both_waves(visitor, {})  # no dealer: plain randomized response
    base = f"/surveys/{second.hash}/waves"
    assert f'value="{first.hash}"' in visitor.get(base).body
    for paired in ("", "yes"):
        told = servers.operator(second).change(first, paired=bool(paired))["changes"]
        page = visitor.get(f"{base}?since={first.hash}&paired={paired}")
        assert rows_of(page) == shown(told, second)
        assert len(rows_of(page)) == 2 + 3 + 1
        assert (told["bribed"]["n_before"], told["bribed"]["n_now"]) == (
            (14, 14) if paired else (20, 24)
        )
        if not paired:
            operators = [servers.operator(one) for one in (first, second)]
            moved, low, high = (100 * one for one in from_exports(operators, "bribed"))
            assert rows_of(page)[1][2:] == (f"{moved:+.2f} points", f"{low:+.2f} to {high:+.2f}")
    assert visitor.get(f"{base}?since={'0' * 64}").status == 422
    there = visitor.get(f"{base}?since={first.hash}")  # and from the first wave's page the same
    assert "Change from wave 1 to wave 2, among those who answered each" in there.words
    from_first = visitor.get(f"/surveys/{first.hash}/waves?since={second.hash}")
    assert rows_of(from_first) == rows_of(there)
    assert "Change from wave 1 to wave 2" in from_first.words
    assert "No other wave" not in visitor.get(base).words
    assert "Begin wave 2" in visitor.get(f"/surveys/{first.hash}/waves").words
    assert "Begin wave" not in visitor.get(base).words
    page = visitor.post(f"/surveys/{first.hash}/next-wave")  # a second wave once more
    assert "A draft of wave 2, with the people" in page.words
    draft = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert draft is not None
    assert "ε = 4 in each of 2 waves, 8 in all" in visitor.get(f"{draft[1]}/create").words
    refused = visitor.post(f"{draft[1]}/create", people="30", response="150")
    assert "Response rate, % must be above 0 and at most 100, got 150" in refused.words
    refused = visitor.post(f"{draft[1]}/create", people="30", after=first.hash)
    assert refused.status == 422
    assert "Wave 2 of these people is another survey already" in refused.words
    assert "Create the survey" in refused.words  # the form, to choose another


def test_waves_with_masks_are_compared_and_not_paired(servers: Servers, visitor: Visitor) -> None:
    tokens = {"token0": servers.dealer.token}
    first, second = both_waves(visitor, tokens, dealers=servers.dealer.url)
    changes = servers.operator(second).change(first)["changes"]
    assert "refused" not in changes["bribed"]
    base = f"/surveys/{second.hash}/waves?since={first.hash}"
    assert rows_of(visitor.get(base)) == shown(changes, second)
    assert "second sums" in visitor.get(f"{base}&paired=yes").words
