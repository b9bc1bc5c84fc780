"""What is said where an engine's package is not installed."""

from jrr.errors import MissingExtraError


def needs(package: str | None, extra: str) -> MissingExtraError:
    """The refusal that names the extra."""
    return MissingExtraError(f"this engine needs {package}: pip install 'jrr[{extra}]'")
