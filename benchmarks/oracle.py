"""`python -m benchmarks.oracle`: does a reply tell whether the owner of an invitation has answered?

Somebody who holds invitations sends answers that a collector cannot take, with a card that another
report came with, in the names of people who have answered and of people who have not. Bytes of both
replies are compared, and times: `auc` is how often a reply about somebody who has answered takes
longer than one about somebody who has not (1/2: no difference), `noise` its standard error, and
`same_kind` the same between two halves of those who have not, which is what the machine does by
itself. One JSON document; the exit code says whether the bytes are the same and the difference of
the times is less than four standard errors.
"""

import argparse
import http.client
import json
import math
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.research.processes import Running, postgres, running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey

PROBES = 4_000  # of each kind
PEOPLE = 200  # of each kind
MOST = 4.0  # standard errors


def measure(database: str, folder: Path, probes: int) -> dict[str, Any]:
    """Probe one collector."""
    with running("collector", folder, database) as server:
        survey, names = _prepared(server)
        prober, answered, absent = names[0], names[1 : PEOPLE + 1], names[PEOPLE + 1 :]
        asking = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        card = secrets.token_hex(16)

        def send(who: bytes, serial: str) -> tuple[float, int, bytes]:
            body = _body(survey, who, serial)
            begun = time.perf_counter()
            asking.request("POST", f"{survey.path}/reports", body)
            reply = asking.getresponse()
            text = reply.read()
            return time.perf_counter() - begun, reply.status, text

        assert send(prober, card)[1] == 201
        for one in answered:
            assert send(one, secrets.token_hex(16))[1] == 201
        seconds: dict[str, list[float]] = {"answered": [], "absent": []}
        replies: dict[str, set[tuple[int, bytes]]] = {"answered": set(), "absent": set()}
        for _ in range(probes):
            # In a random order each time: the first of two must have no advantage.
            kinds = [("answered", answered), ("absent", absent)]
            for kind, people in kinds if secrets.randbelow(2) else kinds[::-1]:
                took, status, text = send(secrets.choice(people), card)
                seconds[kind].append(took)
                replies[kind].add((status, text))
        asking.close()
    halves = seconds["absent"][::2], seconds["absent"][1::2]
    auc, noise = _auc(seconds["answered"], seconds["absent"])
    same, same_noise = _auc(*halves)
    is_same = replies["answered"] == replies["absent"] and len(replies["absent"]) == 1
    return {
        "probes": 2 * probes,
        "status": sorted({status for status, _ in replies["absent"] | replies["answered"]}),
        "same_bytes": is_same,
        "median_us": {
            kind: round(1e6 * statistics.median(times), 1) for kind, times in seconds.items()
        },
        "auc": round(auc, 4),
        "noise": round(noise, 4),
        "standard_errors": round((auc - 0.5) / noise, 2),
        "same_kind": {"auc": round(same, 4), "noise": round(same_noise, 4)},
        "kept": is_same and abs(auc - 0.5) <= MOST * noise,
    }


def _prepared(server: Running) -> tuple[Survey, list[bytes]]:
    """A survey whose cards have serial numbers, open, and the pseudonyms of all invited."""
    survey = SurveyRequest(
        draft=one_question("Do you?"),
        people=2 * PEOPLE + 1,
        collector=server.url,
        mechanism="mrr",
        colluders=0,
        dealing=Dealers(("https://dealer.example",)),
    ).survey()
    operator = Operator(survey, {}, server.admin)
    operator.install()
    invitations = new_invitations(2 * PEOPLE + 1)
    operator.invite(invitations)
    operator.open()
    salt = survey.collector_salt
    return survey, [pseudonym(invitation_secret(one), salt, COLLECTOR) for one in invitations]


def _body(survey: Survey, who: bytes, serial: str) -> bytes:
    (question,) = survey.sensitive
    report = report_message(question.mechanism, 0, True, [serial])
    return upload(who, {}, {question.name: report})


def _auc(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """How often the first is more than the second, and its standard error if they are alike."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, side="left") / len(second)
    not_above = np.searchsorted(ordered, first, side="right") / len(second)
    auc = float(np.mean(below + not_above) / 2)
    n, m = len(first), len(second)
    return auc, math.sqrt((n + m + 1) / (12 * n * m))


def main() -> int:
    """Print what was measured, on SQLite and PostgreSQL."""
    parser = argparse.ArgumentParser(prog="benchmarks.oracle")
    parser.add_argument("--probes", type=int, default=PROBES)
    probes = parser.parse_args().probes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with postgres(folder / "server", "collector") as addresses:
            places = {
                "sqlite": f"sqlite:///{folder}/collector.db",
                "postgresql": addresses["collector"],
            }
            found = {kind: measure(place, folder / kind, probes) for kind, place in places.items()}
    print(json.dumps(found, indent=2))
    return 0 if all(one["kept"] for one in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
