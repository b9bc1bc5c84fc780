"""What servers log, as text or as JSON: no addresses, no names, nothing that was sent."""

import json
import logging
import traceback
from datetime import UTC, datetime

FORMATS = ("text", "json")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message; of an error its kind and place.

    The text of an error is left out: it may repeat what somebody sent.
    """

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            frames = traceback.extract_tb(trace)[-5:]
            line["error"] = kind.__name__
            line["at"] = " < ".join(f"{one.filename}:{one.lineno}" for one in reversed(frames))
        return json.dumps(line)


def configure(log_format: str) -> None:
    """Log warnings and errors of this process to its standard error."""
    handler = logging.StreamHandler()
    if log_format == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
