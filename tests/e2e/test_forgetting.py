"""After the end the dealer's process has nothing left of keys and cards: its memory is searched."""

import hashlib
import hmac
import re
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from jrr import DRR, MRR
from jrr.client.ending import Ending
from jrr.client.operator import Operator, new_invitations
from jrr.mechanisms.base import Mechanism
from jrr.protocol.identity import invitation_secret, pseudonym
from jrr.research.processes import running
from jrr.servers.dealer.keyfiles import KeyFiles
from tests.e2e import cards_of, read_rows, survey_of
from tests.e2e.test_announced_sums import hands_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is read from /proc"
)
PEOPLE = 60
UNIT = Path(__file__).parents[2] / "deploy" / "jrr-dealer.service"


def places_in_memory(process: int, needles: dict[str, bytes]) -> dict[str, int]:
    """How often each of some bytes occurs in what a process may write to."""
    found = dict.fromkeys(needles, 0)
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    with Path(f"/proc/{process}/mem").open("rb", 0) as memory:
        for line in maps:
            place = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if place is None:
                continue
            start, end = (int(part, 16) for part in place.groups())
            memory.seek(start)
            try:
                data = memory.read(end - start)
            except OSError:  # pages of devices
                continue
            for name, needle in needles.items():
                found[name] += data.count(needle)
    return found


def keys_of(key: bytes, salt: str, size: int) -> dict[str, bytes]:
    """The key of a survey, and what is derived from it for its only question (docs/protocol.md)."""
    question = HKDF(SHA256(), 32, bytes.fromhex(salt), b"jrr deck 1").derive(key)
    order = b"jrr deck permutation 1" + size.to_bytes(8, "little")

    def derived(secret: bytes, tweak: bytes) -> bytes:
        return HKDF(SHA256(), 32, salt=None, info=order + tweak).derive(secret)

    def keyed(label: bytes) -> bytes:
        return hmac.new(question, label, hashlib.sha256).digest()

    return {
        "key": key,
        "question": question,
        "seats": derived(key, b"seats:" + bytes(8)),
        "deck": derived(question, bytes(8)),
        "masks": keyed(b"jrr keyed words 1:masks:" + bytes(8)),
        "serials": keyed(b"jrr serials 1"),
    }


@pytest.mark.slow_variants("drr]")
@pytest.mark.parametrize(
    ("mechanism", "held"),
    [
        (DRR(PEOPLE, truth=0.5, own=0.1), {"key", "question", "seats", "deck", "serials"}),
        (
            MRR(PEOPLE, own=3.0, card_rate=0.8, total_rate=0.3),
            {"key", "question", "seats", "serials"},
        ),
    ],
    ids=["drr", "mrr"],
)
def test_an_idle_dealer_has_no_key_in_memory_after_the_end(
    mechanism: Mechanism, held: set[str], tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/dealer.db"
    with running("dealer", tmp_path, database) as server:
        survey = survey_of(mechanism, server.url)
        operator = Operator(survey, {0: server.admin})
        operator.install()
        invitations = new_invitations(PEOPLE)
        operator.invite(invitations)
        operator.open()
        cards_of(server.url, survey, [invitation_secret(text) for text in invitations])
        keys = KeyFiles(tmp_path / "keys")
        ((wrapped,),) = read_rows(database, "SELECT wrapped_key FROM surveys")
        key = keys.unwrap(survey.hash, bytes(wrapped))
        assert key is not None
        needles = keys_of(key, survey.sensitive[0].salt, PEOPLE) | {
            "wrapping": keys.path(survey.hash).read_bytes()
        }
        before = places_in_memory(server.process.pid, needles)
        assert {name for name, count in before.items() if count} == held, "the search finds them"
        assert operator.close()["dealer"]["state"] == "closed"
        # Nothing else is asked of it: what it freed is not used again by chance.
        after = places_in_memory(server.process.pid, needles)
        assert after == dict.fromkeys(needles, 0)


@pytest.mark.heavy
def test_a_dealer_as_shipped_has_nothing_of_its_replies_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cards and who asked for them are overwritten when they are freed, by the C library."""
    (line,) = re.findall(r"^Environment=(.*)$", UNIT.read_text(), re.MULTILINE)
    for setting in line.split():
        monkeypatch.setenv(*setting.split("=", 1))
    database = f"sqlite:///{tmp_path}/dealer.db"
    with running("dealer", tmp_path, database) as server:
        survey = survey_of(MRR.for_epsilon(1.0, n=PEOPLE, announced=True), server.url)
        operator = Operator(survey, {0: server.admin})
        operator.install()
        invitations = new_invitations(PEOPLE)
        operator.invite(invitations)
        operator.open()
        people = [invitation_secret(text) for text in invitations]
        serials = [hand["serial"] for hand in hands_of(server.url, survey, people)]
        names = [pseudonym(one, survey.hash, survey.dealing.roles[0]).hex() for one in people]
        operator.close(Ending(without_sum=True))
        needles = {text: text.encode() for text in serials[::6] + names[::6]}
        assert places_in_memory(server.process.pid, needles) == dict.fromkeys(needles, 0)
