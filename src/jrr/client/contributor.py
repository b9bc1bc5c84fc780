"""A contributor's own client, and the operator's: standard library only, no redirects."""

import contextlib
import http.client
import json
import os
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from jrr._base import checks
from jrr._base.files import write_once, write_whole
from jrr.errors import JrrError
from jrr.mechanisms.base import Rng
from jrr.survey import contributor as protocol
from jrr.survey.campaign import Campaign
from jrr.survey.contributor import Call, Hand, Limits, Receipt, Reply, Save, Step, Wait
from jrr.survey.deck import card_from_json, card_to_json
from jrr.survey.identity import invitation_secret, new_invitation, pseudonym

MOST_READ = 4 << 20  # bytes of a reply that are read
T = TypeVar("T")


class Contributor:
    """One person's part in a campaign, on that person's own device.

    Checks that the campaign is the one that the link names and costs no more than the limits, gets
    a card from a dealer that serves the same campaign (or answers without one when none is to be
    had within the patience), perturbs the answer, keeps the perturbed report in the directory
    `state`, and sends it until the collector has committed it. The true answer is neither stored,
    logged nor sent.
    """

    def __init__(
        self,
        link: str,
        invitation: str | None = None,
        *,
        limit: float,
        dealer_limit: float | None = None,
        patience: float = 30.0,
        state: str | Path | None = None,
        ca: str | Path | None = None,
        rng: Rng = None,
    ) -> None:
        self._collector, self.name = protocol.split_link(link)
        self._link = link.strip()
        self._limits = Limits(
            checks.epsilon("limit", limit),
            None if dealer_limit is None else checks.epsilon("dealer_limit", dealer_limit),
            checks.real("patience", patience, "seconds >= 0", 0.0),
        )
        self._state = Path(state) if state is not None else default_state()
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._invitation = None if invitation is None else invitation_secret(invitation)
        self._http = Http(ca)
        self._rng = rng
        self._campaign: Campaign | None = None

    @property
    def campaign(self) -> Campaign:
        """What is asked and promised; fetched once and checked."""
        if self._campaign is None:
            self._campaign = self._drive(protocol.fetch(self._link, self._limits))
        return self._campaign

    def enrol(self) -> None:
        """Take a place in the next deal, where the campaign enrols first."""
        self._drive(protocol.enrol(self.campaign, self._secret(), self._limits, self._device()))

    def fetch_cards(self) -> bool:
        """Fetch the cards of all rounds now and keep them for later; whether there are any.

        Answering long after, and not at the time the dealer saw one, is what keeps somebody who
        watches both servers from matching people.
        """
        if not self.campaign.deals:
            return False
        patience = self._limits.patience
        steps = protocol.fetch_hand(self.campaign, self._secret(), patience, self._device())
        hand = self._drive(steps)
        if hand.cards is None:
            return False
        cards = [card_to_json(hand.mechanism, card) for card in hand.cards]
        document = {"n": hand.mechanism.moments.deck, "cards": cards}
        write_whole(self._file("cards"), json.dumps(document), private=True)
        return True

    def _hand(self) -> Hand | None:
        path = self._file("cards")
        if not path.exists():
            return None
        document = json.loads(path.read_text("utf-8"))
        mechanism = self.campaign.for_people(document["n"])
        return Hand(tuple(card_from_json(mechanism, card) for card in document["cards"]), mechanism)

    def answer(
        self,
        answer: str | int,
        covariates: Mapping[str, str] | None = None,
        round_number: int = 0,
    ) -> Receipt:
        """Answer once; a report that was made before is sent again instead of a new one."""
        campaign = self.campaign
        waiting = self.resume(round_number)
        if waiting is not None:
            return waiting
        value = answer
        if isinstance(answer, str):
            checks.one_of("answer", answer, campaign.labels)
            value = campaign.labels.index(answer)
        conversation = protocol.contribute(
            campaign,
            self._secret(),
            checks.integer("answer", value, 0, campaign.mechanism.k - 1),
            self._limits,
            covariates,
            round_number,
            self._rng,
            self._device(),
            self._hand(),
        )
        return self._drive(conversation, round_number)

    def check_ready(
        self, covariates: Mapping[str, str] | None = None, round_number: int = 0
    ) -> None:
        """Refuse what could not be sent, before the person is asked for an answer."""
        patience = self._limits.patience
        self._drive(protocol.check_ready(self.campaign, covariates, round_number, patience))

    def resume(self, round_number: int = 0) -> Receipt | None:
        """Send a report that was saved and perhaps not received; None where there is none."""
        path = self._path(round_number)
        if not path.exists():
            return None
        body = path.read_bytes()
        return self._drive(protocol.send(self.campaign, body, self._limits.patience))

    def _path(self, round_number: int) -> Path:
        return self._file(f"{round_number}.report")

    def _file(self, kind: str) -> Path:
        """One's own: several people may share a device."""
        who = pseudonym(self._secret(), self.name, "state")
        return self._state / f"{self.name[:16]}-{who.hex()[:32]}.{kind}"

    def _device(self) -> bytes:
        """A secret of this device, so that whoever made the invitations cannot fetch the card."""
        path = self._file("device")
        with contextlib.suppress(FileExistsError):
            write_once(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text("ascii"))

    def _save(self, body: bytes, round_number: int) -> Reply | None:
        try:
            write_once(self._path(round_number), body.decode())
        except FileExistsError:  # another run of this program was faster
            return Reply(200, self._path(round_number).read_bytes())
        return None

    def _secret(self) -> bytes:
        if self._invitation is not None:
            return self._invitation
        if self.campaign.invitations:
            raise JrrError("invitation must be given: this campaign is by invitation only")
        # Anybody may answer: a name of one's own, kept so that trying again is the same person.
        path = self._state / f"{self.name}.secret"
        with contextlib.suppress(FileExistsError):
            write_once(path, new_invitation())
        return invitation_secret(path.read_text())

    def _drive(self, steps: Generator[Step, Reply | None, T], round_number: int = 0) -> T:
        reply: Reply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, Call):
                    reply = self._http.call(step)
                elif isinstance(step, Wait):
                    time.sleep(step.seconds)
                elif isinstance(step, Save):
                    reply = self._save(step.body, round_number)
        except StopIteration as finished:
            result: T = finished.value
            return result


class Admin:
    """The operator's side of one server."""

    def __init__(self, address: str, token: str, ca: str | Path | None = None) -> None:
        self.address = address
        self._http = Http(ca, {"Authorization": f"Bearer {token}"}, timeout=600.0)

    def get(self, path: str) -> Any:
        """A JSON reply."""
        return json.loads(self.get_bytes(path))

    def get_bytes(self, path: str) -> bytes:
        """A reply as it is."""
        return self._checked("GET", path, None)

    def put(self, path: str, body: bytes) -> Any:
        """Store something."""
        return json.loads(self._checked("PUT", path, body))

    def post(self, path: str, document: Any = None, longer: float = 0.0) -> Any:
        """Do something, which may take so many seconds longer than usual."""
        return json.loads(self._checked("POST", path, json.dumps(document).encode(), longer))

    def _checked(self, method: str, path: str, body: bytes | None, longer: float = 0.0) -> bytes:
        reply = self._http.request(method, self.address + path, body, most=-1, longer=longer)
        if reply.status == 0:
            raise JrrError(f"{self.address} must answer, but cannot be reached")
        if reply.status >= 400:
            try:
                detail = json.loads(reply.body).get("detail", "")
            except (ValueError, AttributeError):
                detail = ""
            raise JrrError(
                f"{self.address} refused ({reply.status}): {detail or 'no reason given'}"
            )
        return reply.body


class Http:
    """Requests that follow no redirect, go through no proxy and end in time."""

    def __init__(
        self,
        ca: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> None:
        try:
            self._trust = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except OSError:  # not there, or not what it should be
            raise checks.refusal("ca", str(ca), "a file of certificates in PEM") from None
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._timeout = timeout

    def call(self, call: Call) -> Reply:
        """Make a protocol's call."""
        method = "GET" if call.body is None else "POST"
        return self.request(method, call.address, call.body, MOST_READ)

    def request(
        self, method: str, address: str, body: bytes | None, most: int, longer: float = 0.0
    ) -> Reply:
        """One request; status 0 where nothing came back in time, or not a whole reply."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise checks.refusal("address", address, "an http or https address")
        host, port, timeout = parts.hostname, parts.port, self._timeout + longer
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                host, port, timeout=timeout, context=self._trust
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        # A server that sends a byte now and then would never time out by itself.
        watchdog = threading.Timer(timeout, _hang_up, (connection,))
        watchdog.daemon = True
        watchdog.start()
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, path or "/", body, self._headers)
            with connection.getresponse() as response:
                return Reply(response.status, response.read(None if most < 0 else most))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return Reply(0)  # no connection, no time, no HTTP; AttributeError: hung up meanwhile
        finally:
            watchdog.cancel()
            connection.close()


def _hang_up(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def default_state() -> Path:
    """Where reports wait until they are received."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "jrr"
