"""What can be audited: anything that makes observations of a value, a program too."""

import os
import shlex
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import RandomSource
from jrr.errors import ArgumentError

Observations = NDArray[Any]  # one number or text per trial, or one row of whole numbers
Observe = Callable[[Any, int, RandomSource], Observations]


class Subject(ABC):
    """A black box: value in, observations out. Trials must be independent of each other."""

    name: str  # for people
    values: tuple[Any, ...]  # the values that are compared, two by two
    chunk: ClassVar[int] = 1 << 18  # trials made at a time

    @abstractmethod
    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """What the adversary sees of `value`, so many times.

        Args:
            value: what the target holds.
            trials: how many times.
            rng: where random words come from.
        """

    def times(self, value: Any, other: Any) -> int:
        """How many times the claimed ε is allowed between two values: once.

        Args:
            value: what the target may hold.
            other: what it may hold instead.
        """
        return 1


class Function(Subject):
    """A function (value, trials, rng) -> observations as a subject."""

    def __init__(self, function: Observe, values: Sequence[Any] = (0, 1)) -> None:
        if not callable(function):
            raise checks.refusal("subject", function, "a Subject or a function")
        self.function = function
        self.values = checked_values(values)
        self.name = getattr(function, "__name__", "function")

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """What the function returns."""
        return self.function(value, trials, rng)


def checked_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """At least two different values."""
    distinct = tuple(values)
    if len(distinct) < 2 or len(set(distinct)) != len(distinct):
        raise checks.refusal("values", values, "at least two different values")
    return distinct


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
