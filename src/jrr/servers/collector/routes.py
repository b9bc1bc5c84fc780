"""The collector's server: it takes perturbed reports and never sees a card."""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Connection, Engine, func, insert, select, update

from jrr._base import checks
from jrr.estimation.groups import estimate_groups, fewest_to_show
from jrr.estimation.tally import Tally
from jrr.mechanisms import Mechanism, wire
from jrr.servers.common import holding, tables
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.holding import campaign_of, check_invited, find
from jrr.servers.common.problems import Problem, gone, too_early
from jrr.servers.common.routes import add_campaign_routes
from jrr.servers.common.settings import Settings
from jrr.servers.common.tables import collector_campaigns as campaigns
from jrr.servers.common.tables import collector_invited as invited
from jrr.servers.common.tables import reports
from jrr.servers.common.web import (
    Clock,
    Name,
    admin_only,
    body_schema,
    check_times,
    make_app,
    utc_now,
)
from jrr.survey.campaign import ENROL, Campaign
from jrr.survey.messages import parse, read_report
from jrr.survey.states import CLOSED, NEW, OPEN

ROWS = 20_000  # reports counted at a time
REPORT = body_schema(
    pseudonym={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    round={"type": "integer", "minimum": 0},
    carded={"type": "boolean"},
    report={},
    covariates={"type": "object", "additionalProperties": {"type": "string"}},
)


def collector_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    writer = Writer(engine)
    app = make_app("jrr collector", settings, engine, writer)
    admin = [Depends(admin_only(settings))]
    add_campaign_routes(
        app, writer, campaigns, invited, admin, lambda campaign: {"decks": None}, rounds_each=True
    )

    @app.post("/v1/campaigns/{name}/reports", openapi_extra=REPORT)
    async def receive(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Take a report once; the same again is fine, another one is a conflict."""
        body = await request.body()
        new = await writer.run(lambda connection: _receive(connection, name, body, clock))
        response.status_code = 201 if new else 200
        return {"received": True}

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name, request: Request) -> dict[str, Any]:
        """Begin to take reports; after enrolment, n says how many were dealt cards."""
        n = parse(await request.body(), "n")["n"]
        return {"state": await writer.run(lambda connection: _open(connection, name, n))}

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name, request: Request) -> dict[str, Any]:
        """Take no more; decks says how many the dealer dealt from."""
        decks = parse(await request.body(), "decks")["decks"]
        result = await writer.run(lambda connection: _close(connection, name, decks))
        await writer.run_alone(lambda: scrub(engine, tables.collector))
        return result

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(lambda connection: _show(connection, name))

    @app.get("/v1/admin/campaigns/{name}/estimate", dependencies=admin)
    async def estimate(
        name: Name, by: str | None = None, round: str = "0", level: str = "0.95"
    ) -> dict[str, Any]:
        """The estimate so far, or the final one."""
        number, wanted = _number("round", round), checks.level(_real("level", level))
        return await asyncio.to_thread(_estimate, engine, name, number, by, wanted)

    @app.get("/v1/admin/campaigns/{name}/export", dependencies=admin)
    async def export(name: Name, format: str = "parquet", round: str = "0") -> Response:
        """All reports as a file that `jrr estimate` reads: Parquet, or CSV and its sidecar."""
        kind = checks.one_of("format", format, ("parquet", "csv", "csv.json"))
        data = await asyncio.to_thread(_export, engine, name, _number("round", round), kind)
        return Response(data, media_type="application/octet-stream")

    return app


def _receive(connection: Connection, name: str, body: bytes, clock: Clock) -> bool:
    row = find(connection, campaigns, name, lock=True)
    campaign = campaign_of(row)
    if row.state == NEW:
        raise too_early("the campaign is not open")
    given = read_report(campaign, _mechanism(row, campaign), body)
    check_invited(connection, invited, campaign, name, given.name, given.round)
    known = connection.execute(
        select(reports).where(reports.c.campaign == name, reports.c.pseudonym == given.name)
    ).one_or_none()
    if known is not None:
        kept = (known.round, known.carded, bytes(known.report), known.covariates)
        if kept != (given.round, given.carded, given.report, given.covariates):
            raise Problem(409, "conflict", "another report was received under this pseudonym")
        return False
    # A repeat is answered also after the end: its sender may not have heard the first answer.
    if row.state == CLOSED:
        raise gone("the campaign is closed")
    check_times(campaign, clock())
    if row.arrivals >= campaign.capacity * campaign.rounds:
        raise Problem(409, "full", "the campaign has all the reports it can take")
    connection.execute(
        insert(reports).values(
            campaign=name,
            pseudonym=given.name,
            round=given.round,
            carded=given.carded,
            report=given.report,
            covariates=given.covariates,
        )
    )
    holding.count_arrival(connection, campaigns, row)
    return True


def _mechanism(row: Any, campaign: Campaign) -> Mechanism:
    return campaign.mechanism if row.n is None else campaign.for_people(row.n)


def _decks(row: Any, campaign: Campaign) -> int:
    """How many decks were dealt from; until the dealer has said so, the most there can be."""
    if row.decks is not None:
        return int(row.decks)
    if campaign.dealing == ENROL:
        return 1
    return campaign.mechanism.fewest_decks(campaign.capacity)


def _open(connection: Connection, name: str, n: object) -> str:
    row = find(connection, campaigns, name, lock=True)
    campaign = campaign_of(row)
    if row.state == CLOSED:
        raise gone("the campaign is closed")
    if row.state == OPEN:
        if n != row.n:
            raise Problem(409, "conflict", f"the campaign is open for n={row.n}")
        return OPEN
    enrolled = campaign.deals and campaign.dealing == ENROL
    if enrolled:
        campaign.for_people(checks.integer("n", n, 2))
    elif n is not None:
        raise checks.refusal("n", n, "null: only enrolment fixes a number of people")
    values = {"state": OPEN, "n": n}
    connection.execute(update(campaigns).where(campaigns.c.campaign == name).values(**values))
    return OPEN


def _close(connection: Connection, name: str, decks: object) -> dict[str, Any]:
    row = find(connection, campaigns, name, lock=True)
    if row.state != CLOSED:
        number = None if decks is None else checks.integer("decks", decks, 1, 10**12)
        connection.execute(
            update(campaigns).where(campaigns.c.campaign == name).values(state=CLOSED, decks=number)
        )
    return {"state": CLOSED, "reports": holding.count(connection, reports, name)}


def _show(connection: Connection, name: str) -> dict[str, Any]:
    row = find(connection, campaigns, name)
    return {
        "campaign": name,
        "state": row.state,
        "n": row.n,
        "invited": holding.count(connection, invited, name),
        "reports": holding.count(connection, reports, name),
        "by_round": _by_round(connection, name, campaign_of(row).rounds),
    }


def _by_round(connection: Connection, name: str, rounds: int) -> list[int]:
    """Reports of each round."""
    query = (
        select(reports.c.round, func.count())
        .where(reports.c.campaign == name)
        .group_by(reports.c.round)
    )
    found = [0] * rounds
    for number, count in connection.execute(query):
        found[number] = count
    return found


def _estimate(
    engine: Engine, name: str, round_number: int, by: str | None, level: float
) -> dict[str, Any]:
    """Counts in batches; what is too small to be shown is kept back (jrr.estimation.groups)."""
    with engine.connect() as connection:
        row = find(connection, campaigns, name)
        campaign = campaign_of(row)
        campaign.check_round(round_number)
        if by is not None:
            checks.one_of("by", by, tuple(campaign.covariates))
        mechanism = _mechanism(row, campaign)
        tallies: dict[str, Tally] = {}
        for packed, carded, covariates in _blocks(connection, name, round_number, mechanism):
            members: dict[str, list[int]] = defaultdict(list)
            for at, text in enumerate(covariates):
                members["" if by is None else json.loads(text)[by]].append(at)
            for group, rows in members.items():
                counted = mechanism.tally(packed[rows], carded[rows])
                tallies[group] = tallies[group] + counted if group in tallies else counted
        decks = _decks(row, campaign)
    if not tallies:
        raise Problem(409, "no-reports", "no report has been received yet")
    whole = sum(tallies.values())
    assert isinstance(whole, Tally)  # of at least one
    final = row.state == CLOSED
    fewest = fewest_to_show(campaign.min_cell, final=final)
    if whole.n < fewest:
        raise Problem(409, "too-few", f"fewer than {fewest} reports are not shown before the end")
    used = max(mechanism.fewest_decks(whole.n_carded), decks)
    document: dict[str, Any] = {
        "campaign": name,
        "state": row.state,
        "final": final,
        "question": campaign.question,
        "labels": list(campaign.labels),
        "protected_against_repeats": campaign.invitations,
        "mechanism": mechanism.to_dict(),
        "carded": whole.n_carded,
        "cardless": whole.n_cardless,
        "decks": used,
        "estimate": mechanism.estimate(whole, used).to_dict(level),
    }
    if by is not None:
        groups = estimate_groups(mechanism, tallies, min_cell=campaign.min_cell, decks=used)
        document |= groups.to_dict(level)
    return document


def _blocks(
    connection: Connection, name: str, round_number: int, mechanism: Mechanism
) -> Iterator[tuple[Any, Any, list[str]]]:
    """Reports of a round by the order of their hashes, some at a time."""
    query = (
        select(reports.c.report, reports.c.carded, reports.c.covariates)
        .where(reports.c.campaign == name, reports.c.round == round_number)
        .order_by(reports.c.pseudonym)
    )
    result = connection.execution_options(stream_results=True, yield_per=ROWS).execute(query)
    for part in result.partitions(ROWS):
        joined = b"".join(bytes(report) for report, _, _ in part)
        rows = np.frombuffer(joined, np.uint8).reshape(len(part), wire.width(mechanism))
        carded = np.array([flag for _, flag, _ in part], np.bool_)
        yield wire.unpack(mechanism, rows), carded, [text for _, _, text in part]


def _export(engine: Engine, name: str, round_number: int, kind: str) -> bytes:
    from jrr.servers.collector.export import write_reports

    with engine.connect() as connection, tempfile.TemporaryDirectory() as folder:
        row = find(connection, campaigns, name)
        campaign = campaign_of(row)
        campaign.check_round(round_number)
        mechanism = _mechanism(row, campaign)
        blocks = _blocks(connection, name, round_number, mechanism)
        path = Path(folder) / f"reports.{kind.removesuffix('.json')}"
        write_reports(path, campaign, mechanism, _decks(row, campaign), blocks)
        return (path.with_name(path.name + ".json") if kind == "csv.json" else path).read_bytes()


def _number(argument: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > 6:
        raise checks.refusal(argument, value, "a whole number")
    return int(value)


def _real(argument: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise checks.refusal(argument, value, "a number") from None
