"""The parent's side of a worker."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]


class ChildFailedError(Exception):
    """A child ended without an answer."""


class Child:
    """A fresh process with one contender and one case, ready to be measured."""

    def __init__(self, python: Path, module: str, contender: str, case: str) -> None:
        self._what = f"{contender}, {case}"
        self._process = subprocess.Popen(
            [str(python), "-m", f"benchmarks.{module}", contender, case],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.about = self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, do: str, n: int, **more: int) -> dict[str, Any]:
        """One request and its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "n": n, **more}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ChildFailedError(f"{self._what}: exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
