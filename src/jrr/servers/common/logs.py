"""What servers log, as text or as JSON: no addresses, no names, nothing that was sent."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

FORMATS = ("text", "json")
FRAMES = 5  # of an error's place


class TextFormatter(logging.Formatter):
    """One line per record; of an error its kind and place.

    The text of an error is left out: it may repeat what somebody sent, or a row of the database.
    """

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s %(message)s")

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name in logging
        """Kind of an error, and the last places that it came from."""
        kind, _, trace = ei
        frames = traceback.extract_tb(trace)[-FRAMES:]
        places = " < ".join(f"{one.filename}:{one.lineno}" for one in reversed(frames))
        return f"{kind.__name__} at {places}"


class JsonFormatter(TextFormatter):
    """The same as a JSON object: time, level, logger, message, error."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure(log_format: str) -> None:
    """Log warnings and errors of this process to its standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
