"""The type of a column of reports in Arrow: how they are stored, and the header of them.

Importing this makes Arrow know the type, so that it no longer joins columns whose headers differ.
"""

import json
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.errors import DamagedError

NAME = "jrr.report"
KEY = "jrr"  # of pandas' attrs: column -> header
AGAIN = (
    "answers, not reports: a column that is perturbed twice, or later than others, makes the "
    "stated ε wrong; name all columns at once, of the frame of answers"
)
_TOO_EARLY = (
    "read after jrr.tables was imported: until then Arrow joins columns of different mechanisms; "
    "import it first, or give the name of the file"
)


class ReportType(pa.ExtensionType):  # type: ignore[misc] # pyarrow has no types
    """Reports with their header; two are alike where they say the same.

    Args:
        storage: of the reports themselves: texts, numbers or bytes.
        header: as `Header.to_json` writes it.
    """

    def __init__(self, storage: Any, header: str) -> None:
        self.header = header
        super().__init__(storage, NAME)

    def __arrow_ext_serialize__(self) -> bytes:
        return self.header.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> "ReportType":
        return cls(storage, serialized.decode("utf-8", "replace"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportType):
            return NotImplemented
        return (self.header, self.storage_type) == (other.header, other.storage_type)

    def __hash__(self) -> int:
        return hash((self.header, self.storage_type))


pa.register_extension_type(ReportType(pa.string(), ""))


def headers_told(schema: Any) -> dict[str, str]:
    """Column -> the header that it carries: by its type, or by what pandas says of it.

    Raises:
        ArgumentError: for a table that was read before Arrow knew the type.
        DamagedError: where pandas says something else.
    """
    for field in schema:
        if (field.metadata or {}).get(b"ARROW:extension:name") == NAME.encode():
            raise checks.refusal("frame", field.name, _TOO_EARLY)
    types = {field.name: field.type for field in schema}
    found = {name: of.header for name, of in types.items() if isinstance(of, ReportType)}
    try:
        attributes = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        documents = attributes.get("attributes", {}).get(KEY, {})
        in_frame = {name: json.dumps(documents[name]) for name in types if name in documents}
    except (ValueError, TypeError, AttributeError):
        raise DamagedError(f"attrs[{KEY!r}] must be an object of columns and headers") from None
    return in_frame | found
