"""The status page of a dealer or a party, for its operator: counts, no names."""

from starlette.routing import Route

from jrr.console.desk import Desk


def routes(desk: Desk) -> list[Route]:
    """Its address."""
    return []
