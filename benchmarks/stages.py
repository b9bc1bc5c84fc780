"""What one report costs at each stage: deal, perturb, upload, store, count, estimate.

    python -m benchmarks.stages

Seconds are of the processor, on one core, so that other work on the machine does not count; best
of three. Uploads go to a collector of its own on this machine, with SQLite. Writes
build/stages.json; with build/spark.json beside it, docs/scale.md follows from these two.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import jrr
from benchmarks import by_epsilon
from benchmarks.engines import reports_file
from jrr import tables
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.dealing.messages import card_request
from jrr.dealing.split_deck import RowDecks
from jrr.protocol.identity import invitation_secret, pseudonym
from jrr.protocol.texts import survey_path
from jrr.research.load.measure import gather, processor_of, put_under_load
from jrr.research.load.sender import Job, send_all
from jrr.research.processes import running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question

CARDS = 1 << 21  # dealt from a deck of DECK
DECK = 100_000_000
ONES = 2_000  # single reports
UPLOADS = 6_000
COUNTED = 10_000_000
EPSILON = 1.0


def best(function: Callable[[], object], rounds: int = 3) -> float:
    """Fewest seconds of processor over some rounds."""
    found = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        function()
        found = min(found, time.process_time() - start)
    return found


def local() -> list[dict[str, Any]]:
    """What happens without a network."""
    key, values = bytes(32), np.arange(CARDS) % 2
    mechanisms: dict[str, Any] = {
        "RR": jrr.RR(2, epsilon=EPSILON),
        "DRR": jrr.plan(DECK, EPSILON, mechanism="drr").mechanism,
        "MRR": jrr.MRR.for_epsilon(EPSILON, n=DECK, announced=False),
    }
    rows = []
    for name, m in mechanisms.items():
        cards = None
        if m.deals:
            # Another key every time: the last block is kept.
            keys = iter(range(1, 100))
            seconds = best(
                lambda m=m, keys=keys: RowDecks(m, bytes([next(keys)] * 32)).cards(0, CARDS)
            )
            rows.append({"stage": "deal", "mechanism": name, "seconds": seconds / CARDS})
            cards = RowDecks(m, key).cards(0, CARDS)
        seconds = best(lambda m=m, cards=cards: m.respond(values, cards))
        rows.append(
            {"stage": "perturb, many at once", "mechanism": name, "seconds": seconds / CARDS}
        )
        one = None if cards is None else int(cards[0])

        def single(m: Any = m, one: Any = one) -> None:
            for at in range(ONES):
                m.respond_one(at % 2, one)

        seconds = best(single) / ONES
        rows.append({"stage": "perturb, one on a device", "mechanism": name, "seconds": seconds})
    return rows


def uploads() -> list[dict[str, Any]]:
    """Seconds of the collector's processor, and bytes of its database, for a stored report."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running("collector", Path(folder), None) as server,
    ):
        contributors = gather(server, UPLOADS)
        before = _size(Path(folder))
        load = put_under_load(
            server, contributors, contributors.bodies, 1e6, connections=200, timeout=120.0
        )
        after = _size(Path(folder))
    return [
        {
            "stage": "upload and store",
            "mechanism": "RR",
            "seconds": load.processor / load.acknowledged,
            "seconds_by_the_clock": load.seconds / load.acknowledged,
            "bytes_sent": float(np.mean([len(body) for body in contributors.bodies])),
            "bytes_stored_with_invitation": after / UPLOADS,
            "bytes_that_reports_added": (after - before) / UPLOADS,
            "lost": load.lost,
        }
    ]


def fetches() -> list[dict[str, Any]]:
    """Seconds of the dealer's processor for a card that is fetched, a new one for every request."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            running("dealer", folder / "dealer") as dealer,
            running("collector", folder / "collector") as collector,
        ):
            survey = SurveyRequest(
                draft=one_question("Do you?"),
                people=UPLOADS,
                collector=collector.url,
                dealing=Dealers((dealer.url,)),
                mechanism="drr",
            ).survey()
            operator = Operator(survey, {0: dealer.admin}, collector.admin)
            operator.install()
            invitations = new_invitations(UPLOADS)
            operator.invite(invitations)
            operator.open()
            (role,) = survey.dealing.roles
            bodies = [
                card_request(pseudonym(invitation_secret(text), survey.hash, role))
                for text in invitations
            ]
            target, before = urlsplit(dealer.url), processor_of(dealer.process.pid)
            sent = send_all(
                Job(
                    host=target.hostname or "",
                    port=target.port or 0,
                    path=f"{survey_path(survey.hash)}/cards",
                    bodies=bodies,
                    rate=1e6,
                    begin=time.time(),
                    connections=200,
                    timeout=120.0,
                    obey=False,
                )
            )
            used = processor_of(dealer.process.pid) - before
    return [
        {
            "stage": "fetch a card",
            "mechanism": "DRR",
            "seconds": used / len(sent.acknowledged),
            "fetched": len(sent.acknowledged),
            "asked": UPLOADS,
        }
    ]


def _size(folder: Path) -> int:
    """Bytes of the database and its log."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def counting() -> list[dict[str, Any]]:
    """Seconds of processor for a counted report, and for the estimate of a group."""
    path = reports_file(COUNTED)
    whole = best(lambda: tables.estimate(path, engine="duckdb"))
    groups = best(lambda: tables.estimate(path, by="region", engine="duckdb"))
    m = jrr.DRR(COUNTED, truth=0.4, own=0.05)
    tally = m.tally(m.respond(np.arange(1_000) % 2, m.deal()[:1_000]))

    def estimates() -> None:
        for _ in range(100):
            m.estimate(tally).interval()

    return [
        {"stage": "count", "mechanism": "DRR", "seconds": whole / COUNTED},
        {"stage": "count by 1,000 groups", "mechanism": "DRR", "seconds": groups / COUNTED},
        {"stage": "estimate, once a group", "mechanism": "DRR", "seconds": best(estimates) / 100},
        {
            "stage": "store as Parquet",
            "mechanism": "DRR",
            "bytes_a_row": path.stat().st_size / COUNTED,
        },
    ]


def run() -> dict[str, Any]:
    document = {"deck": DECK, "results": [*local(), *fetches(), *uploads(), *counting()]}
    by_epsilon.keep("stages", document)
    return document


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
