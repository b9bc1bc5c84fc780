"""Whether those who deal answer: what phones ask them first is asked from here, now and then."""

import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jrr.client.http import Http
from jrr.protocol.states import NEW, OPEN
from jrr.protocol.steps import Call

if TYPE_CHECKING:
    from jrr.console.pages import Console
    from jrr.survey.survey import Survey

EVERY = 30.0  # seconds between two looks at a survey's dealers
PATIENCE = 2.0  # seconds that each has for its reply
PATIENCE_OF_PAGES = 4.0  # the same, where a page waits for it
SILENT, ABSENT = "no answer", "not there yet"
UNOPENED = (SILENT, ABSENT, NEW)  # states in which nobody is dealt a card, as far as we know


class SilentDealers:
    """What was found at the last look, for all pages of a console."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._http = Http(timeout=PATIENCE)
        self._found: dict[str, tuple[float, str]] = {}  # by survey: when it was looked, and words
        self._turn = threading.Lock()

    def last(self, survey: "Survey") -> str:
        """What is known without asking anybody; "": nothing is wrong, or nobody has looked."""
        return self._found.get(survey.hash, (0.0, ""))[1]

    def look(self, survey: "Survey") -> str:
        """Ask them, unless that was done a moment ago: what is wrong, in words."""
        with self._turn:
            now = self._clock()
            if survey.hash not in self._found or now - self._found[survey.hash][0] >= EVERY:
                told = [self._ask(survey, address) for address in survey.dealing.addresses]
                self._found[survey.hash] = now, " ".join(filter(None, told))
            return self.last(survey)

    def _ask(self, survey: "Survey", address: str) -> str:
        who = f"The {survey.dealing.word} at {address}"
        path = f"{address}/v1/surveys/{survey.hash}/status"
        reply = self._http.request("GET", path, most=10_000)
        if reply.status == 0:
            return f"{who} does not answer: {survey.dealing.if_silent}."
        if reply.status == 404:
            return f"{who} does not hold this survey: whoever begins now cannot go on."
        if reply.status != 200:
            return f"{who} answers with an error ({reply.status})."
        try:
            state = json.loads(reply.body)["state"]
        except (ValueError, KeyError, TypeError):
            return f"What answers at {address} is no {survey.dealing.word}."
        if state == OPEN:
            return ""
        return f"{who} gives no cards: there the survey is {state}, and here it is open."


def silent_dealers(console: "Console") -> SilentDealers:
    """Those that all pages of a console share."""
    found: SilentDealers = console.more.setdefault("silent dealers", SilentDealers())
    return found


def state_at(address: str, survey: "Survey") -> str:
    """How far a dealer says that a survey is."""
    return str(told_by(address, survey)["state"])[:20]


def told_by(address: str, survey: "Survey") -> dict[str, Any]:
    """What a dealer says of a survey to anybody; of its state in any case something."""
    reply = Http(timeout=PATIENCE_OF_PAGES).call(Call(f"{address}{survey.path}/status"))
    if reply.status == 404:
        return {"state": ABSENT}
    try:
        told = json.loads(reply.body) if reply.status == 200 else {}
    except (ValueError, RecursionError):
        told = {}
    return {"state": SILENT} | told if isinstance(told, dict) else {"state": SILENT}
