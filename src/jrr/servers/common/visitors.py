"""Who waits for an answer: contributors may leave, and what they wanted is then not done.

Only requests of contributors are marked. An operator's request may be several jobs, of which none
may be left out because a connection broke.
"""

from collections.abc import Callable
from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

CONTRIBUTORS = "/v1/surveys/"
IS_THERE = "jrr.is_there"  # in a scope: asks whether the connection is still open
IsThere = Callable[[], bool]
_visitor: ContextVar[IsThere | None] = ContextVar("visitor", default=None)


def visitor() -> IsThere | None:
    """Of a contributor's request, what tells whether they still wait; None: an operator's."""
    return _visitor.get()


def _always() -> bool:
    return True


class Visitors:
    """Marks requests of contributors, for `Writer`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["path"].startswith(CONTRIBUTORS):
            # Each request runs in a context of its own, which ends with it.
            _visitor.set(scope.get(IS_THERE, _always))
        else:
            _visitor.set(None)
        await self._app(scope, receive, send)
