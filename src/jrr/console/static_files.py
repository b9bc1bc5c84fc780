"""The console's own style sheet, script and picture, from memory."""

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

KINDS = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "cards.svg": "image/svg+xml",
}


def static_routes() -> list[Route]:
    """Their addresses: these names, and no others."""
    folder = files("jrr.console") / "static"
    bodies = {name: (folder / name).read_bytes() for name in KINDS}

    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in bodies:
            return Response("not here\n", 404, media_type="text/plain")
        return Response(bodies[name], media_type=KINDS[name], headers={"cache-control": "no-cache"})

    return [Route("/static/{name}", serve)]
