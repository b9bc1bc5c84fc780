"""Routes that dealer and collector both have for surveys."""

from typing import Any

from fastapi import FastAPI, Request, Response

from jrr.errors import DamagedError
from jrr.servers.common.batch import Writer
from jrr.servers.common.memory import SurveyMemory
from jrr.servers.common.surveys import SurveyJobs
from jrr.servers.common.web import Name
from jrr.survey.campaign import hash_of
from jrr.survey.messages import read_invitation_list
from jrr.survey.surveys import read_survey


def add_survey_routes(
    app: FastAPI, writer: Writer, jobs: SurveyJobs[Any], admin: list[Any]
) -> SurveyMemory:
    """Add the routes to an application; the role adds its own."""
    memory = SurveyMemory(writer, jobs)

    @app.get("/v1/surveys/{name}")
    async def survey_document(name: Name) -> Response:
        """The survey's bytes."""
        known = await memory.find(name)
        return Response(known.survey.to_bytes(), media_type="application/json")

    @app.get("/v1/surveys/{name}/status")
    async def survey_status(name: Name) -> dict[str, Any]:
        """Whether answers are taken."""
        return await memory.status(name)

    @app.put("/v1/admin/surveys/{name}", dependencies=admin)
    async def install_survey(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a survey and its parts."""
        body = await request.body()
        if hash_of(body) != name:
            raise DamagedError("survey must have the hash that its address names")
        new = await writer.run(jobs.install, read_survey(body))
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/surveys/{name}/invitations", dependencies=admin)
    async def invite_to_survey(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        hashes = read_invitation_list(await request.body())
        return {"invited": await writer.run(jobs.invite, name, hashes)}

    @app.post("/v1/admin/surveys/{name}/open", dependencies=admin)
    async def open_survey(name: Name) -> dict[str, Any]:
        """Open all parts."""
        return {"state": await writer.run(jobs.open, name)}

    @app.get("/v1/admin/surveys/{name}", dependencies=admin)
    async def show_survey(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(jobs.show, name)

    return memory
