"""Reading and refusing messages: msgspec beside pydantic and the standard library.

    python -m benchmarks.structs

prints microseconds for one upload of six answers, taken apart and checked, and for one that is
refused because of a wrong field; every way does the same in one run.
"""

import json
import timeit
from collections.abc import Callable
from typing import Any

import msgspec
import pydantic

UPLOAD = json.dumps(
    {
        "pseudonym": "0f" * 32,
        "open": {"sector": "office"},
        "reports": {
            f"question{at}": {"carded": True, "report": at, "serials": ["ab" * 16]}
            for at in range(6)
        },
    }
).encode()
WRONG = UPLOAD.replace(b'"carded": true', b'"carded": 1', 1)


class StructReport(msgspec.Struct, forbid_unknown_fields=True):
    """One report."""

    carded: bool
    report: Any
    serials: list[str | None] | None = None


class StructUpload(msgspec.Struct, forbid_unknown_fields=True):
    """All answers."""

    pseudonym: str
    open: dict[str, Any]
    reports: dict[str, StructReport]


class ModelReport(pydantic.BaseModel):
    """One report."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)
    carded: bool
    report: Any
    serials: list[str | None] | None = None


class ModelUpload(pydantic.BaseModel):
    """All answers."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)
    pseudonym: str
    open: dict[str, Any]
    reports: dict[str, ModelReport]


def by_hand(body: bytes) -> Any:
    """The standard library, each field checked in Python."""
    document = json.loads(body)
    if set(document) != {"pseudonym", "open", "reports"}:
        raise ValueError("fields")
    for report in document["reports"].values():
        if not isinstance(report, dict) or not {"carded", "report"} <= set(report):
            raise ValueError("report")
        if not isinstance(report["carded"], bool):
            raise ValueError("carded")
    return document


def refused(read: Callable[[bytes], Any]) -> Callable[[], None]:
    """Reading what is wrong."""

    def run() -> None:
        try:
            read(WRONG)
        except (ValueError, msgspec.ValidationError):
            return
        raise AssertionError("it was taken")

    return run


def microseconds(act: Callable[[], Any]) -> float:
    """Of the fastest of five series."""
    return round(min(timeit.repeat(act, number=2_000, repeat=5)) / 2_000 * 1e6, 2)


def measure() -> dict[str, dict[str, float]]:
    """Microseconds for reading and refusing, by library."""
    ways: dict[str, Callable[[bytes], Any]] = {
        "msgspec": msgspec.json.Decoder(StructUpload).decode,
        "pydantic": ModelUpload.model_validate_json,
        "by hand": by_hand,
    }
    return {
        name: {
            "read": microseconds(lambda read=read: read(UPLOAD)),  # type: ignore[misc]
            "refuse": microseconds(refused(read)),
        }
        for name, read in ways.items()
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
