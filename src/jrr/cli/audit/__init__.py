"""`jrr audit`: dealers checked, claims tried by experiment."""

import click

from jrr.cli.lazy import TABLES, LazyGroup


@click.group(cls=LazyGroup, package=__name__, table=TABLES["audit"], modules={"program": "privacy"})
def audit() -> None:
    """Check what dealers told, or try to refute a privacy claim by experiment.

    Of claims: a part of the trials chooses two values and the reports that tell them apart best;
    the rest measures them. A true claim is refuted with chance 1 in 10,000 at most; that nothing
    is found proves nothing. Exit codes: 0 no violation found, 1 violation found.
    """
