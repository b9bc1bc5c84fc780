"""Routes that every server has: the campaign itself, its state, installing and inviting."""

from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.errors import DamagedError
from jrr.servers.common.batch import Writer
from jrr.servers.common.jobs import CampaignJobs
from jrr.servers.common.memory import CampaignMemory
from jrr.servers.common.settings import Settings
from jrr.servers.common.web import Name, admin_only, make_app
from jrr.survey.campaign import hash_of, read_campaign
from jrr.survey.messages import read_invitation_list


def role_app(
    settings: Settings,
    engine: Engine,
    writer: Writer,
    jobs: CampaignJobs[Any],
    memory: CampaignMemory | None = None,
) -> FastAPI:
    """An application with what every server has; the role adds its own routes."""
    app = make_app(jobs.title, settings, engine, writer, jobs.check_ready)
    admin = admin_dependency(settings)
    remembered = memory or CampaignMemory(writer, jobs)

    @app.get("/v1/campaigns/{name}")
    async def document(name: Name) -> Response:
        """The campaign's bytes."""
        held = await remembered.find(name)
        return Response(held.campaign.to_bytes(), media_type="application/json")

    @app.get("/v1/campaigns/{name}/status")
    async def status(name: Name) -> dict[str, Any]:
        """State, and how many people were dealt cards."""
        held = await remembered.find(name)
        return {"state": jobs.told_state(held), "n": held.n}

    @app.put("/v1/admin/campaigns/{name}", dependencies=admin)
    async def install(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a campaign."""
        body = await request.body()
        if hash_of(body) != name:
            raise DamagedError("campaign must have the hash that its address names")
        new = await writer.run(jobs.install, read_campaign(body))
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/campaigns/{name}/invitations", dependencies=admin)
    async def invite(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        hashes = read_invitation_list(await request.body())
        return {"invited": await writer.run(jobs.invite, name, hashes)}

    return app


def admin_dependency(_: Settings) -> list[Any]:
    """What lets only the operator pass."""
    return [Depends(admin_only)]
