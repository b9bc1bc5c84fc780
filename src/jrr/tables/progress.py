"""How long steps tell whoever watches how far they are."""

from collections.abc import Callable

Progress = Callable[[int, int | None], None]  # rows done, rows in all where that is known


def silent(done: int, total: int | None) -> None:
    """Show no progress."""
