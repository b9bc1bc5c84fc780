"""`jrr serve`: the servers, and what their operators need."""

import click

from jrr.cli.lazy import LazyGroup

COMMANDS = {
    "dealer": "Deal cards; never sees an answer.",
    "collector": "Collect perturbed reports and estimate; never sees a card.",
    "party": "Deal cards together with other parties; never sees a card or an answer.",
    "page": "Serve the page on which people answer in a browser.",
    "all": "Run a dealer and a collector on this machine, to try things out.",
    "certificate": "Make a party's certificate: NAME.pem, for the survey, and NAME.key (secret).",
    "token": "Make an admin token: the server is given its hash, the operator keeps it.",
}
MODULES = dict.fromkeys(("dealer", "collector", "party", "page", "certificate", "token"), "server")


@click.group(cls=LazyGroup, package=__name__, table=COMMANDS, modules=MODULES)
def serve() -> None:
    """Run a dealer, a collector, a party of a committee, or the answer page.

    Settings come from a TOML file (--config), then from the environment (JRR_DEALER_DATABASE,
    JRR_COLLECTOR_ADMIN_TOKEN_SHA256, …), then from options. The two servers belong to two
    parties: whoever runs both can put cards and reports together.
    """
