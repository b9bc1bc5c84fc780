"""`jrr serve certificate` and `token`: what operators need before a server runs."""

from pathlib import Path

import click

from jrr.cli.output import json_option, show, unwrapped


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@json_option
def certificate(name: Path) -> None:
    """Make a party's certificate: NAME.pem, for the survey, and NAME.key (secret)."""
    from jrr.servers.common.certificates import make_certificate

    public, secret = make_certificate(name)
    show(
        {"certificate": str(public), "key": str(secret)},
        f"{public}: goes into the survey. {secret}: keep it secret.",
    )


@click.command()
@json_option
def token() -> None:
    """Make an admin token: the server is given its hash, the operator keeps it."""
    from jrr.servers.common.tokens import new_token, token_digest

    secret = new_token()
    digest = token_digest(secret)
    show(
        {"token": secret, "admin_token_sha256": digest},
        unwrapped(f"token (secret):     {secret}"),
        unwrapped(f"admin_token_sha256: {digest}"),
    )
