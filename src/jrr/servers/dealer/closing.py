"""The end of a survey at the dealer: what is told of its cards, once, and then they are burned."""

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from jrr.dealing.announced import Numbers, announce, place_numbers, undealt_sum, unknown_serials
from jrr.errors import ArgumentError
from jrr.protocol.documents import Message
from jrr.protocol.states import CLOSED, OPEN, Act
from jrr.servers.common.jobs import check_state
from jrr.servers.common.problems import Problem, gone, wrong_state
from jrr.servers.dealer.store import DealerStore, HeldByDealer
from jrr.survey.closing import ClosingRequest, ClosingSums, closed_decks

if TYPE_CHECKING:
    from jrr.dealing.decks import SurveyDecks
    from jrr.servers.dealer.open_decks import OpenDecks


class ClosingWish(Message):
    """How the operator wants a survey to end."""

    request: dict[str, Any] | None = None  # a ClosingRequest: the cards that came back
    without_sum: bool = False  # reports that were made with an announced card are worth nothing


class DealerClosing:
    """Jobs at the end."""

    def __init__(self, decks: "OpenDecks") -> None:
        self._decks = decks

    def check(self, connection: Connection, name: str, document: object) -> dict[str, Any]:
        """What a closing would find: serial numbers that nobody was given; it changes nothing."""
        store = DealerStore(connection)
        held = store.find(name)
        request = _read_request(held, document)
        if held.state == CLOSED:
            _check_same(held, request)
            return {"unknown": {question: [] for question in request.questions}, "announced": True}
        check_state(Act.FETCH_CARDS, held)
        decks, dealt = self._dealt(store, held)
        unknown = {
            question: unknown_serials(
                decks.questions[question],
                [serial for names in groups.values() for serial in names],
                dealt,
            )
            for question, groups in request.questions.items()
        }
        found = {question: [one.hex() for one in some] for question, some in unknown.items()}
        return {"unknown": found, "announced": False}

    def close(self, connection: Connection, name: str, wish: ClosingWish) -> dict[str, Any]:
        """End a survey; what is told of its cards. The same request again is told the same.

        When this is committed, the key is burned, and only then may anybody be answered: so
        whatever breaks down in between, sums are told once at most, and are never lost with the
        key.
        """
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        request = None if wish.request is None else _read_request(held, wish.request)
        told = held.told
        if held.state != CLOSED:
            told = {
                "request": None if request is None else request.digest,
                "sums": self._sums(store, held, request, wish.without_sum),
                "undealt": self._undealt(store, held),
                "decks": _decks_begun(held),
            }
            store.tell(held, told)
        elif request is not None:
            _check_same(held, request)
        assert told is not None  # of every survey that is closed
        facts = {fact: told[fact] for fact in ("decks", "sums", "undealt")}
        return {"state": CLOSED, "n": held.n, **facts}

    def _sums(
        self,
        store: DealerStore,
        held: HeldByDealer,
        request: ClosingRequest | None,
        without_sum: bool,
    ) -> dict[str, Any] | None:
        """The noisy sums of the cards that came back, question by question; all of them or none."""
        if request is None:
            if held.survey.announces and not without_sum:
                raise Problem(
                    409, "sum-wanted", "the request with the cards that came back must be given"
                )
            return None
        if without_sum:
            raise ArgumentError("without_sum must be false where a request is given")
        check_state(Act.FETCH_CARDS, held)
        if request.is_empty:
            raise ArgumentError(
                "request must name the serials of the cards that came back, got none: a sum is "
                "told once, so nothing was announced; --without-sum ends the survey without one"
            )
        decks, dealt = self._dealt(store, held)
        fewest = held.survey.smallest_group
        sums = ClosingSums(
            survey=held.name,
            grouping=request.grouping,
            questions={
                question: announce(decks.questions[question], groups, dealt, fewest)
                for question, groups in request.questions.items()
            },
        )
        return sums.to_document()

    def _undealt(self, store: DealerStore, held: HeldByDealer) -> dict[str, Any]:
        """Of decks of whole numbers that cancel: the sum of the cards that nobody fetched."""
        cancelling = closed_decks(held.survey)
        if held.state != OPEN or not cancelling:
            return {}
        decks, dealt = self._dealt(store, held)
        blocks = 1 if held.n is not None else -(-held.arrivals // decks.block_size)
        return {
            one.name: undealt_sum(decks.questions[one.name], blocks, dealt).to_document()
            for one in cancelling
        }

    def _dealt(self, store: DealerStore, held: HeldByDealer) -> tuple["SurveyDecks", Numbers]:
        """The decks, and the places of all cards that may have left them."""
        decks = self._decks.of(held)
        return decks, place_numbers(decks.block_size, store.places(held.name))


def _read_request(held: HeldByDealer, document: object) -> ClosingRequest:
    if not held.survey.announces:
        raise wrong_state("the survey's card sums are not announced: it is closed without request")
    return ClosingRequest.from_document(held.survey, document)


def _check_same(held: HeldByDealer, request: ClosingRequest) -> None:
    """Refuse another request than the one whose sums were told."""
    if held.told is None or held.told["sums"] is None:
        raise gone("the cards are burned, and no sum was announced")
    if held.told["request"] != request.digest:
        raise Problem(
            409,
            "announced",
            "sums were announced for another request: a second one could give away a card",
        )


def _decks_begun(held: HeldByDealer) -> int:
    """From how many decks was dealt."""
    return held.survey.dealt[0].mechanism.fewest_decks(0 if held.n is not None else held.arrivals)
