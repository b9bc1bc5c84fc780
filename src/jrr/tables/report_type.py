"""The type of a column of reports in Arrow: how they are stored, and the header of them.

Importing this makes Arrow know the type, so that it no longer joins columns whose headers differ.
"""

from typing import Any

import pyarrow as pa

NAME = "jrr.report"


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
