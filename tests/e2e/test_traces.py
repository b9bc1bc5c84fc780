"""What is left on servers and devices: nobody holds what is not theirs, no order links servers."""

import math
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from scipy import stats

from jrr import DRR, OUE
from jrr.client.contributor import Contributor
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.protocol.documents import hashed
from jrr.protocol.identity import COLLECTOR, device_name, invitation_secret, pseudonym
from jrr.research.processes import running
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    Recorder,
    ask,
    card_body,
    holders,
    is_problem,
    path_of,
    proxy,
    read_rows,
    shuffled,
    survey_of,
    upload_body,
)
from tests.statistics_rules import P_VALUE, UNSEEDED

pytestmark = pytest.mark.slow_variants("postgresql")

# -- byte patterns -------------------------------------------------------------------------

PEOPLE = 12
K = 256  # every card and every report is a pattern of 32 bytes that nobody else has
LABELS = tuple(f"label-{value:03d}-{os.urandom(6).hex()}" for value in range(K))


@dataclass(frozen=True)
class Run:
    """A survey that was recorded from beginning to end."""

    survey: Survey
    invitations: list[str]
    traffic: dict[str, bytes]  # without the document, which is public
    files: dict[str, Path]  # what a server leaves
    states: Path
    cards: list[str]
    reports: list[str]
    answers: list[str]
    devices: list[bytes]  # secrets, as they were before they were forgotten


def copy_in_use(source: Path, target: Path, *without: str) -> None:
    """Copy a folder that a server works in; a log that vanished meanwhile means: once more."""
    for _ in range(10):
        try:
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without))
            return
        except shutil.Error:
            shutil.rmtree(target)
    raise AssertionError(f"{source} does not hold still")


@pytest.fixture(params=["sqlite", "postgresql"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    folder = tmp_path
    folders = {role: folder / role for role in ("dealer", "collector")}
    databases: dict[str, str | None] = {"dealer": None, "collector": None}
    if request.param == "postgresql":
        make: Callable[[], str] = request.getfixturevalue("new_postgres_database")
        databases = {role: make() for role in databases}
    seen = {role: Recorder() for role in folders}
    answers = [LABELS[17 * at % K] for at in range(PEOPLE)]
    devices: list[bytes] = []
    with ExitStack() as stack:
        servers = {
            role: stack.enter_context(running(role, folders[role], databases[role]))
            for role in folders
        }
        urls = {role: stack.enter_context(proxy(servers[role].url, seen[role])) for role in folders}
        mechanism = OUE(K, q=0.25, s=0.2, coupling="dealt", n=PEOPLE)
        survey = survey_of(mechanism, urls["dealer"], urls["collector"], labels=LABELS)
        operator = Operator(
            survey,
            {0: Admin(urls["dealer"], servers["dealer"].token)},
            Admin(urls["collector"], servers["collector"].token),
        )
        operator.install()
        invitations = new_invitations(PEOPLE)
        operator.invite(invitations)
        operator.open()
        for at, (invitation, answer) in enumerate(zip(invitations, answers, strict=True)):
            state = folder / "states" / str(at)
            person = Contributor(survey.link, invitation, limit=100.0, state=state)
            devices.append(person._device.own_secret())  # forgotten when the answer is received
            assert person.answer({"answer": answer}).carded
        given = re.findall(rb'"card":"([0-9a-f]{64})"', bytes(seen["dealer"].received))
        cards = [card.decode() for card in given]
        assert len(set(cards)) == PEOPLE
        sent = re.findall(rb'"report":"([0-9a-f]{64})"', bytes(seen["collector"].sent))
        reports = [report.decode() for report in sent]
        assert len(reports) == PEOPLE
        files = dict(folders)
        if request.param == "postgresql":
            for role, database in databases.items():
                kept = folders[role] / "tables.txt"
                kept.write_bytes(_dump(str(database)))
        else:  # as they lie there in the middle of the survey, log and all
            for role in folders:
                copy_in_use(folders[role], folder / f"early-{role}")
            files = {role: folder / f"early-{role}" for role in folders}
        # Past the proxies: results name the answers, as the document does.
        own = Operator(survey, {0: servers["dealer"].admin}, servers["collector"].admin)
        own.close()
        own.export("parquet")
    document = survey.to_bytes()
    for path in files.values():
        for file in path.rglob("*.db*"):
            file.write_bytes(_without(file.read_bytes(), document))
    traffic = {role: _without(seen[role].all, document) for role in seen}
    states = folder / "states"
    return Run(survey, invitations, traffic, files, states, cards, reports, answers, devices)


def _without(data: bytes, document: bytes) -> bytes:
    """All but the document; SQLite has it in pieces of a page."""
    step = 64
    for start in range(0, len(document), step):
        data = data.replace(document[start : start + step], b"\0\0")
    return data


def _dump(database: str) -> bytes:
    """Every table of a PostgreSQL database in full, but for the document."""
    found = b""
    for (name,) in read_rows(
        database, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    ):
        for row in read_rows(database, f'SELECT * FROM "{name}"'):
            for cell in row:
                data = bytes(cell) if isinstance(cell, bytes | memoryview) else str(cell).encode()
                if not data.startswith(b'{"capacity"'):
                    found += data + b"\n"
    return found


def patterns(run: Run) -> dict[str, list[bytes]]:
    """What must not be where it does not belong, as bytes and as digits."""
    secrets = [invitation_secret(text) for text in run.invitations]
    name, dealing = run.survey.hash, run.survey.dealing.roles[0]
    dealer = [pseudonym(secret, name, dealing) for secret in secrets]
    collector = [pseudonym(secret, run.survey.collector_salt, COLLECTOR) for secret in secrets]

    def both(items: Sequence[bytes]) -> list[bytes]:
        return [*items, *(item.hex().encode() for item in items)]

    return {
        "cards": both([bytes.fromhex(card) for card in run.cards]),
        "reports": both([bytes.fromhex(report) for report in run.reports]),
        "dealer pseudonyms": both(dealer) + both([hashed(entry) for entry in dealer]),
        "collector pseudonyms": both(collector) + both([hashed(entry) for entry in collector]),
        "device secrets": both(run.devices),
        "devices": both([device_name(secret, name, dealing) for secret in run.devices]),
        "invitations": both(secrets) + [text.encode() for text in run.invitations],
        "answers": [answer.encode() for answer in run.answers],
        "truths": [  # as a report would say them; as bytes any empty page has most of them
            (1 << LABELS.index(answer)).to_bytes(K // 8, "little").hex().encode()
            for answer in run.answers
        ],
    }


def places(run: Run, role: str, needles: Sequence[bytes]) -> set[str]:
    found = {"traffic"} if any(needle in run.traffic[role] for needle in needles) else set()
    for needle in needles:
        found |= set(holders(run.files[role], needle))
    return found


def check_dealer(recorded: Run) -> None:
    """No report, no answer, no name that the collector knows."""
    for what, needles in patterns(recorded).items():
        found = places(recorded, "dealer", needles)
        if what == "cards":
            assert found == {"traffic"}, what  # given, not stored
        elif what == "devices":
            assert found == {"traffic"}, what  # stored as a hash
        elif what == "dealer pseudonyms":
            assert "traffic" in found
            assert len(found) > 1, "the search finds what is there"
        else:
            assert found == set(), what


def check_collector(recorded: Run) -> None:
    """No card, no answer, no name that the dealer knows."""
    for what, needles in patterns(recorded).items():
        found = places(recorded, "collector", needles)
        if what in ("reports", "collector pseudonyms"):
            assert "traffic" in found
            assert len(found) > 1, "the search finds what is there"
        else:
            assert found == set(), what
    sent = recorded.traffic["collector"].replace(b'"reports":{"answer":{', b"")  # the question
    for words in (b'"card"', b'"cards"', b'"value"', b'"answer"', b'"seat"'):
        assert words not in sent
    assert sent.count(b'"carded":true') == PEOPLE


def check_names(recorded: Run) -> None:
    """What is stored of a name is its hash."""
    dealing = recorded.survey.dealing.roles[0]
    for role, own in (("dealer", dealing), ("collector", COLLECTOR)):
        for invitation in recorded.invitations:
            name = pseudonym(invitation_secret(invitation), recorded.survey.hash, own)
            assert name.hex().encode() in recorded.traffic[role]
            for needle in (name, name.hex().encode()):
                assert holders(recorded.files[role], needle) == []


def check_states(recorded: Run) -> None:
    """A contributor keeps that a report was sent and what it cost, and nothing else."""
    found = patterns(recorded)
    for what in ("cards", "reports", "answers", "truths", "invitations", "dealer pseudonyms"):
        for needle in found[what]:
            assert holders(recorded.states, needle) == [], what
    for state in recorded.states.iterdir():
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        for path in state.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert path.suffix == ".sent" or path.name == "ledger.sqlite"


def check_files(recorded: Run) -> None:
    """Nothing is logged, and only the owner may read."""
    for role, folder in recorded.files.items():
        assert (folder / f"{role}.log").read_text() == ""
        for path in [*folder.rglob("*.db*"), *folder.rglob("*.key")]:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert stat.S_IMODE((recorded.files["dealer"] / "keys").stat().st_mode) == 0o700


def test_nobody_has_what_is_not_theirs(recorded: Run) -> None:
    for check in (check_dealer, check_collector, check_names, check_states, check_files):
        check(recorded)


# -- linkage by order ----------------------------------------------------------------------

CROWD = 100


def matches_p_value(matched: int, people: int) -> float:
    """The chance that a random order puts at least so many in the right place, exactly."""
    derangements = [1, 0]
    for size in range(2, people + 1):
        derangements.append((size - 1) * (derangements[-1] + derangements[-2]))
    ways = sum(
        math.comb(people, fixed) * derangements[people - fixed]
        for fixed in range(matched, people + 1)
    )
    return ways / math.factorial(people)


def linkage_p_value(first: Sequence[int], second: Sequence[int]) -> float:
    """How surprising it is that two lists of the same people agree so well, place by place."""
    assert sorted(first) == sorted(second) == list(range(len(first)))
    matched = sum(a == b for a, b in zip(first, second, strict=True))
    rank = {person: place for place, person in enumerate(second)}
    slope = stats.spearmanr(range(len(first)), [rank[person] for person in first])
    return min(matches_p_value(matched, len(first)), float(slope.pvalue))


def test_the_law_of_matches_is_exact() -> None:
    assert matches_p_value(0, 5) == 1.0
    assert matches_p_value(5, 5) == 1 / 120
    assert matches_p_value(2, 3) == matches_p_value(3, 3) == 1 / 6
    assert linkage_p_value(range(CROWD), range(CROWD)) < P_VALUE
    assert linkage_p_value(shuffled(range(CROWD), 1), range(CROWD)) > UNSEEDED


def one_after_another(pair: Pair) -> tuple[Survey, Operator, dict[str, dict[bytes, int]]]:
    """People fetch a card and answer at once, in a known order; who is who at each server."""
    survey = pair.survey(DRR(CROWD, truth=0.5, own=0.1))
    operator, people = pair.begin(survey, CROWD)
    who: dict[str, dict[bytes, int]] = {"dealer": {}, "collector": {}}
    for number, secret in enumerate(people):
        reply = ask(pair.dealer.url, "POST", path_of(survey, "cards"), card_body(survey, secret))
        assert reply.status == 200
        body = upload_body(survey, secret, reply.json["cards"]["answer"]["card"], carded=True)
        assert ask(pair.collector.url, "POST", path_of(survey, "reports"), body).status == 201
        who["dealer"][hashed(pseudonym(secret, survey.hash, survey.dealing.roles[0]))] = number
        who["collector"][hashed(pseudonym(secret, survey.collector_salt, COLLECTOR))] = number
    return survey, operator, who


ORDERS = {
    "sqlite": ["", "ORDER BY survey, pseudonym", "ORDER BY pseudonym"],
    "postgresql": ["", "ORDER BY ctid", "ORDER BY xmin::text::bigint, ctid", "ORDER BY pseudonym"],
}


def stored_orders(
    pair: Pair, survey: Survey, who: dict[str, dict[bytes, int]]
) -> Iterator[tuple[str, list[int], list[int]]]:
    """Both servers' people by every order that their tables have."""
    where = f"WHERE survey = '{survey.hash}'"

    def people(role: str, table: str, order: str) -> list[int]:
        rows = pair.rows(role, f"SELECT pseudonym FROM {table} {where} {order}")
        return [who[role][bytes(name)] for (name,) in rows]

    for order in ORDERS[pair.kind]:
        reports = people("collector", "reports", order)
        yield f"seats, reports {order}", people("dealer", "seats", order), reports
        seated = people("dealer", "seats", "ORDER BY block, number")
        yield f"seats by seat, reports {order}", seated, reports
        for role, table in (("dealer", "invited"), ("collector", "invited")):
            yield f"{role} {table} {order}", people(role, table, order), list(range(CROWD))


@pytest.mark.statistical
def test_no_stored_order_links_the_two_servers(pair: Pair) -> None:
    survey, operator, who = one_after_another(pair)
    arrivals = list(range(CROWD))
    if pair.kind == "sqlite":  # there is no order to begin with, not even a row number
        for role, table in (("dealer", "seats"), ("collector", "reports")):
            with pytest.raises(Exception, match="no such column: rowid"):
                pair.rows(role, f"SELECT rowid FROM {table}")
        for what, first, second in stored_orders(pair, survey, who):
            assert linkage_p_value(first, second) > UNSEEDED, what
            assert linkage_p_value(first, arrivals) > UNSEEDED, what
    else:  # the test finds the order that PostgreSQL keeps while the survey is open
        linked = {
            what: linkage_p_value(first, second)
            for what, first, second in stored_orders(pair, survey, who)
        }
        assert linked["seats, reports ORDER BY ctid"] < P_VALUE
        assert linked["seats, reports ORDER BY xmin::text::bigint, ctid"] < P_VALUE
    operator.close()
    tried = 0
    for what, first, second in stored_orders(pair, survey, who):
        assert linkage_p_value(first, second) > UNSEEDED, what
        assert linkage_p_value(first, arrivals) > UNSEEDED, what
        assert linkage_p_value(second, arrivals) > UNSEEDED or second == arrivals, what
        tried += 1
    assert tried == 4 * len(ORDERS[pair.kind])
    assert linkage_p_value(arrivals, arrivals) < P_VALUE  # joined by who came when
    if pair.kind == "postgresql":
        for role, table in (("dealer", "seats"), ("collector", "reports")):
            writers = pair.rows(
                role, f"SELECT DISTINCT xmin FROM {table} WHERE survey = '{survey.hash}'"
            )
            assert len(writers) == 1


# -- burning -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_after_closing_nothing_that_is_left_opens_a_card(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder, backup = tmp_path / "dealer", tmp_path / "backup"
    database = f"sqlite:///{folder}/dealer.db"
    data = folder
    if kind == "postgresql":
        database = request.getfixturevalue("new_postgres_database")()
        data = request.getfixturevalue("postgres_server")[1]
    wrapped_key = "SELECT survey, wrapped_key FROM surveys"
    with running("dealer", folder, database) as server:
        survey = survey_of(DRR(20, truth=0.5, own=0.1), server.url)
        operator = Operator(survey, {0: server.admin})
        operator.install()
        invitations = new_invitations(20)
        operator.invite(invitations)
        operator.open()
        people = [invitation_secret(text) for text in invitations]
        where = path_of(survey, "cards")
        asked = ask(server.url, "POST", where, card_body(survey, people[0]))
        assert asked.status == 200
        ((name, wrapped),) = read_rows(database, wrapped_key)
        assert name == survey.hash
        keys = KeyFiles(folder / "keys")
        file = keys.path(survey.hash)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        wrapping = file.read_bytes()
        key = keys.unwrap(survey.hash, bytes(wrapped))
        assert key is not None
        needles = {"key": key, "wrapping key": wrapping, "wrapped key": bytes(wrapped)}
        digits = {f"{what} in digits": text.hex().encode() for what, text in needles.items()}
        # A backup of the database, as a careful operator makes it: without the key files.
        copy_in_use(data, backup, "keys", "*.s.PGSQL*")
        assert holders(folder, wrapping) == [f"keys/{survey.hash}.key"]
        assert holders(backup, bytes(wrapped)), "the search finds what is there"
        assert holders(folder, key) == [], "the key itself is nowhere, not even before"

        assert operator.close()["dealer"]["state"] == "closed"

        for secret in people[:2]:
            gone = ask(server.url, "POST", where, card_body(survey, secret))
            assert is_problem(gone, 410) == "closed"
        assert read_rows(database, wrapped_key) == [(survey.hash, None)]
        left = {**needles, **digits}
        for what, needle in left.items():
            assert holders(folder, needle) == [], f"{what} while it runs"
            if kind == "postgresql" and what.startswith("wrapped key"):
                continue  # it stays in the write-ahead log, and is of no use without the file
            assert holders(data, needle) == [], f"{what} while it runs"
    for what, needle in left.items():
        assert holders(folder, needle) == [], f"{what} after it stopped"
    left_in_folder = {path.name for path in (folder / "keys").iterdir()}
    assert left_in_folder == {".lock", f"{survey.hash}.burned"}
    # The backup has the wrapped key: without the file nothing opens it.
    assert keys.unwrap(survey.hash, bytes(wrapped)) is None
    for path in [*backup.rglob("*"), *folder.rglob("*")]:
        if path.is_file():
            assert wrapping not in path.read_bytes()
            assert key not in path.read_bytes()
    assert _opens(wrapping, bytes(wrapped), survey.hash) == key  # which would have done it
    if kind == "sqlite":
        restored = tmp_path / "restored"
        shutil.copytree(backup, restored)
        with running("dealer", restored) as server:
            for secret in people[:2]:
                gone = ask(server.url, "POST", where, card_body(survey, secret))
                assert is_problem(gone, 503) == "no-key"  # this dealer does not know of the end


def _opens(wrapping: bytes, wrapped: bytes, name: str) -> Any:
    return AESGCM(wrapping).decrypt(wrapped[:12], wrapped[12:], name.encode())
