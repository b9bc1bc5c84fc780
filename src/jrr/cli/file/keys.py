"""`jrr file keys`: keys for reports that a shuffler cannot read."""

from pathlib import Path

import click

from jrr.cli.file.shared import force_option
from jrr.cli.output import json_option, show


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@force_option
@json_option
def keys(name: Path, force: bool) -> None:
    """Make the collector's keys: NAME.key (secret) and NAME.pub, for sealed reports."""
    from jrr.tables import seal

    private, public = seal.make_keys(name, force)
    show(
        {"private": str(private), "public": str(public)},
        f"{public}: give it to contributors. {private}: keep it secret.",
    )
