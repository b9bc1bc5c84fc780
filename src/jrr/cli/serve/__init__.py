"""`jrr serve`: the servers, and what their operators need."""

import click

from jrr.cli.lazy import TABLES, LazyGroup

MODULES = dict.fromkeys(("dealer", "collector", "party", "page", "certificate", "token"), "server")


@click.group(cls=LazyGroup, package=__name__, table=TABLES["serve"], modules=MODULES)
def serve() -> None:
    """Run a dealer, a collector, a party of a committee, or the answer page.

    Settings come from a TOML file (--config), then from the environment (JRR_DEALER_DATABASE,
    JRR_COLLECTOR_ADMIN_TOKEN_SHA256, …), then from options. The two servers belong to two
    parties: whoever runs both can put cards and reports together.
    """
