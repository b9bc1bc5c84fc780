"""Routes that every server has: the survey itself, its state, installing and inviting."""

from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.errors import DamagedError
from jrr.protocol.documents import hash_of
from jrr.servers.common.batch import Writer
from jrr.servers.common.jobs import SurveyJobs
from jrr.servers.common.memory import SurveyMemory
from jrr.servers.common.settings import Settings
from jrr.servers.common.web import Name, admin_only, make_app
from jrr.survey.messages import read_invitations
from jrr.survey.survey import read_survey


def role_app(
    settings: Settings,
    engine: Engine,
    writer: Writer,
    jobs: SurveyJobs[Any],
    memory: SurveyMemory | None = None,
) -> FastAPI:
    """An application with what every server has; the role adds its own routes."""
    app = make_app(jobs.title, settings, engine, writer, jobs.check_ready)
    admin = admin_dependency(settings)
    remembered = memory or SurveyMemory(writer, jobs)

    @app.get("/v1/surveys/{name}")
    async def document(name: Name) -> Response:
        """The survey's bytes."""
        held = await remembered.find(name)
        return Response(held.survey.to_bytes(), media_type="application/json")

    @app.get("/v1/surveys/{name}/status")
    async def status(name: Name) -> dict[str, Any]:
        """State, and how many people were dealt cards."""
        held = await remembered.find(name)
        return {"state": jobs.told_state(held), "n": held.n}

    @app.put("/v1/admin/surveys/{name}", dependencies=admin)
    async def install(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a survey."""
        body = await request.body()
        if hash_of(body) != name:
            raise DamagedError("survey must have the hash that its address names")
        new = await writer.run(jobs.install, read_survey(body))
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/surveys/{name}/invitations", dependencies=admin)
    async def invite(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        hashes = read_invitations(await request.body())
        return {"invited": await writer.run(jobs.invite, name, hashes)}

    return app


def admin_dependency(_: Settings) -> list[Any]:
    """What lets only the operator pass."""
    return [Depends(admin_only)]
