"""A program as a subject: one value per line in, one report per line out."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jrr._base import checks
from jrr._base.randomness import RandomSource
from jrr.errors import ArgumentError
from jrr.research.audit.subject import Observations, Subject, checked_values

SEED = "JRR_AUDIT_SEED"  # the environment variable a program may seed itself from


class Command(Subject):
    """A command line that reads one value per line and writes one report per line.

    It is started anew for every chunk. For a reproducible audit it can seed itself from the
    environment variable JRR_AUDIT_SEED; a seed of its own would repeat the same trials.
    """

    chunk: ClassVar[int] = 1 << 17

    def __init__(self, command: str, values: Sequence[str] = ("0", "1")) -> None:
        try:
            self.arguments = shlex.split(command)
        except ValueError:  # a quotation mark without its fellow
            self.arguments = []
        if not self.arguments:
            raise checks.refusal("command", command, "a command line")
        lines = checked_values([str(value) for value in values])
        if any(not line.strip() or line.splitlines() != [line] for line in lines):
            raise checks.refusal("values", values, "values of one line each")
        self.values = lines
        self.name = command

    def observe(self, value: str, trials: int, rng: RandomSource) -> Observations:
        """The lines that the program answers."""
        try:
            run = subprocess.run(
                self.arguments,
                input=f"{value}\n" * trials,
                capture_output=True,
                text=True,
                env=dict(os.environ, **{SEED: str(rng.word() >> 1)}),
                check=False,
            )
        except OSError as error:
            raise ArgumentError(f"command could not be started: {error}") from None
        if run.returncode:
            said: Any = run.stderr.strip().splitlines() or ["no message"]
            raise ArgumentError(f"command failed with code {run.returncode}: {said[-1]}")
        lines = run.stdout.splitlines()
        if len(lines) != trials:
            raise ArgumentError(
                f"command must write one line per line it reads ({trials}), got {len(lines)}"
            )
        return np.array(lines)
