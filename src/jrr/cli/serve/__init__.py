"""`jrr serve`: the servers, and what their operators need."""

import click

from jrr.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "dealer": LazyCommand("jrr.cli.serve.server", "dealer", "Deal cards; never sees an answer."),
    "collector": LazyCommand(
        "jrr.cli.serve.server",
        "collector",
        "Collect perturbed reports and estimate; never sees a card.",
    ),
    "party": LazyCommand(
        "jrr.cli.serve.server",
        "party",
        "Deal cards together with other parties; never sees a card or an answer.",
    ),
    "page": LazyCommand(
        "jrr.cli.serve.page", "page", "Serve the page on which people answer in a browser."
    ),
    "all": LazyCommand(
        "jrr.cli.serve.all",
        "all_servers",
        "Run a dealer and a collector on this machine, to try things out.",
    ),
    "certificate": LazyCommand(
        "jrr.cli.serve.secrets",
        "certificate",
        "Make a party's certificate: NAME.pem, for the campaign, and NAME.key (secret).",
    ),
    "token": LazyCommand(
        "jrr.cli.serve.secrets",
        "token",
        "Make an admin token: the server is given its hash, the operator keeps it.",
    ),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def serve() -> None:
    """Run a dealer, a collector, a party of a committee, or the answer page.

    Settings come from a TOML file (--config), then from the environment (JRR_DEALER_DATABASE,
    JRR_COLLECTOR_ADMIN_TOKEN_SHA256, …), then from options. The two servers belong to two
    parties: whoever runs both can put cards and reports together.
    """
