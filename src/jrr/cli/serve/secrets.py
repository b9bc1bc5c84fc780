"""`jrr serve certificate` and `token`: what operators need before a server runs."""

from pathlib import Path

import click

from jrr.cli.options import console, json_option, print_json


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@json_option
def certificate(name: Path, as_json: bool) -> None:
    """Make a party's certificate: NAME.pem, for the campaign, and NAME.key (secret)."""
    from jrr.servers.common.certificates import make_certificate

    public, secret = make_certificate(name)
    if as_json:
        print_json({"certificate": str(public), "key": str(secret)})
        return
    console().print(f"{public}: goes into the campaign. {secret}: keep it secret.")


@click.command()
@json_option
def token(as_json: bool) -> None:
    """Make an admin token: the server is given its hash, the operator keeps it."""
    from jrr.servers.common.tokens import new_token, token_digest

    secret = new_token()
    digest = token_digest(secret)
    if as_json:
        print_json({"token": secret, "admin_token_sha256": digest})
        return
    print(f"token (secret):     {secret}")
    print(f"admin_token_sha256: {digest}")
