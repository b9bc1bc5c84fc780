"""Routes that every server has: the campaign itself, its state, installing and inviting."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Table

from jrr.servers.common import holding
from jrr.servers.common.batch import Writer
from jrr.servers.common.web import Name
from jrr.survey.campaign import Campaign


def add_campaign_routes(
    app: FastAPI,
    writer: Writer,
    campaigns: Table,
    invited: Table,
    admin: list[Any],
    more: Callable[[Campaign], dict[str, Any]],
    rounds_each: bool = False,
) -> None:
    """Add them to a role's application.

    admin: what lets only the operator pass. more: what the role stores with a new campaign.
    rounds_each: people have a pseudonym of their own in each round.
    """
    documents: dict[str, bytes] = {}

    @app.get("/v1/campaigns/{name}")
    async def document(name: Name) -> Response:
        """The campaign's bytes."""
        if name not in documents:  # they never change
            row = await writer.run(lambda connection: holding.find(connection, campaigns, name))
            documents[name] = bytes(row.document)
        return Response(documents[name], media_type="application/json")

    @app.get("/v1/campaigns/{name}/status")
    async def status(name: Name) -> dict[str, Any]:
        """State, and how many people were dealt cards."""
        row = await writer.run(lambda connection: holding.find(connection, campaigns, name))
        return {"state": row.state, "n": row.n}

    @app.put("/v1/admin/campaigns/{name}", dependencies=admin)
    async def install(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a campaign."""
        new = await writer.run(holding.install(campaigns, name, await request.body(), more))
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/campaigns/{name}/invitations", dependencies=admin)
    async def invite(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        job = holding.invite(campaigns, invited, name, await request.body(), rounds_each)
        return {"invited": await writer.run(job)}
