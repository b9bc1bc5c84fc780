"""The end of a survey at the dealer: what is told of its cards, and when the key is burned.

Every announcement that was planned is made once. With the last one, or when the others are given
up, the key is burned. Before an announcement is committed its request is noted beside the key, and
its noise follows from key and request: so neither a crash between any two steps nor a database from
an older backup makes one announcement more than were planned.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from jrr.dealing.announced import (
    Numbers,
    announce,
    people_named,
    place_numbers,
    undealt_sum,
    unknown_serials,
)
from jrr.errors import ArgumentError
from jrr.protocol.documents import Message, canonical_json, hash_of
from jrr.protocol.states import CLOSED, OPEN, Act
from jrr.servers.common.jobs import check_state
from jrr.servers.common.problems import Problem, gone, wrong_state
from jrr.servers.dealer.store import DealerStore, HeldByDealer
from jrr.survey.card_record import named_cards
from jrr.survey.closing import ClosingRequest, ClosingSums, closed_decks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jrr.dealing.serials import SerialNonce
    from jrr.dealing.verified.sums import VerifiedDecks
    from jrr.servers.dealer.keyfiles import KeyFiles, OpenDecks
    from jrr.survey.closing import ClosingRequest
    from jrr.survey.survey import Survey


class ClosingWish(Message):
    """How the operator wants a survey to end."""

    request: dict[str, Any] | None = None  # a ClosingRequest: the cards that came back
    without_sum: bool = False  # no sums, or no more of them: the key is burned
    nonce: str | None = None  # of verified cards: the collector's, and the slots that it drew
    slots: dict[str, dict[str, int]] | None = None


class CommitWish(Message):
    """What a dealer commits to the noise of."""

    request: dict[str, Any]
    nonce: str


class DealerClosing:
    """Jobs at the end."""

    def __init__(self, decks: "OpenDecks", keys: "KeyFiles") -> None:
        self._decks = decks
        self._keys = keys

    def check(self, connection: Connection, name: str, document: object) -> dict[str, Any]:
        """What a closing would find: serial numbers that nobody was given; it changes nothing."""
        store = DealerStore(connection)
        held = store.find(name)
        request = _read_request(held, document)
        if request.announcement <= len(held.announced):
            _check_same(held, request)
            return {"unknown": {question: [] for question in request.questions}, "announced": True}
        self._check_next(held, request)
        named = _named(request)
        if held.survey.dealing.is_verified:
            asked = store.all_asked(name)
            unknown = {one: unknown_verified(some, asked) for one, some in named.items()}
        else:
            decks, dealt = self._dealt(store, held)
            unknown = {
                one: unknown_serials(decks.questions[one], some, dealt)
                for one, some in named.items()
            }
        found = {question: [one.hex() for one in some] for question, some in unknown.items()}
        return {"unknown": found, "announced": False}

    def commit(
        self, connection: Connection, name: str, wish: CommitWish
    ) -> Callable[[], dict[str, Any]]:
        """Of verified cards: a hash of the noise in all slots of every sum that is asked for.

        It is work of seconds or minutes, and returned to be done while other jobs go on.

        Nothing is recorded: the same is told again, and it tells nothing. What opens slots is told
        once (`close`), and then the key is burned.
        """
        store = DealerStore(connection)
        held = store.find(name)
        if not held.survey.dealing.is_verified:
            raise wrong_state("nothing is committed to: the survey's cards are not verified")
        request = _read_request(held, wish.request)
        self._check_next(held, request)
        decks: Any = self._decks.of(held)
        asked = store.all_asked(name)
        return commit(held.survey, decks, request, wish.nonce, asked)

    def sums(self, connection: Connection, name: str, wish: ClosingWish) -> Callable[[], Any]:
        """Of verified cards: what finds the sums that `close` tells, if it may, as of `commit`."""
        store = DealerStore(connection)
        held = store.find(name)
        if wish.request is None or not held.survey.dealing.is_verified:
            return lambda: None
        request = _read_request(held, wish.request)
        if request.announcement <= len(held.announced):
            return lambda: None
        self._check_next(held, request, challenge_hash(request.digest, wish.nonce, wish.slots))
        return self._sums(store, held, request, wish)

    def close(
        self, connection: Connection, name: str, wish: ClosingWish, found: Any = None
    ) -> dict[str, Any]:
        """End a survey, or announce once more; the same request again is told the same.

        What is told is committed before anybody is answered, and with the last announcement the
        key is burned. found: By `sums`.
        """
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        if wish.request is None:
            return self._without_request(store, held, wish.without_sum)
        request = _read_request(held, wish.request)
        if wish.without_sum:
            raise ArgumentError("without_sum must be false where a request is given")
        number, digest = request.announcement, request.digest
        if held.survey.dealing.is_verified:  # nobody is told what opens other slots
            digest = challenge_hash(digest, wish.nonce, wish.slots)
        if number <= len(held.announced):
            _check_same(held, request, digest)
            return _reply(held, held.told, number)
        self._check_next(held, request, digest)
        sums, openings = found or self._sums(store, held, request, wish)()
        told = held.told or {"announced": [], **self._left_over(store, held)}
        told["announced"].append(
            {
                **{"request": digest, "sums": sums, "openings": openings},
                "people": self._people(held, request),
            }
        )
        try:
            self._keys.note_announcement(name, number, digest)
        except ArgumentError:
            raise _other_request() from None
        store.tell(held, told, burns=number == held.survey.announcements)
        return _reply(store.find(name), told, number)

    def _without_request(
        self, store: DealerStore, held: HeldByDealer, without_sum: bool
    ) -> dict[str, Any]:
        """End a survey without announcing anything, or anything more."""
        told = held.told
        if held.state != CLOSED:
            if held.survey.announces and not without_sum:
                raise Problem(
                    409, "sum-wanted", "the request with the cards that came back must be given"
                )
            told = {"announced": [], **self._left_over(store, held)}
            store.tell(held, told, burns=True)
        elif without_sum and held.wrapped_key is not None:
            store.tell(held, told or {}, burns=True)
        return _reply(store.find(held.name), told, 1)

    def _check_next(
        self, held: HeldByDealer, request: ClosingRequest, digest: str | None = None
    ) -> None:
        """Refuse a request that is not the next announcement, or comes when the key is burned.

        digest: Of all that is asked; None: only looked at.
        """
        if held.state == CLOSED and held.wrapped_key is None:
            _check_same(held, request)
            raise gone("the cards are burned, and no more sums are announced")
        noted = self._keys.announced(held.name)
        number = request.announcement
        known = digest or (None if held.survey.dealing.is_verified else request.digest)
        if known is not None and noted[number - 1 : number] not in ([], [known]):
            raise _other_request()
        if number != len(held.announced) + 1:
            raise wrong_state(f"announcement {len(held.announced) + 1} must be made first")
        if number == 1:
            check_state(Act.FETCH_CARDS, held)

    def _sums(
        self, store: DealerStore, held: HeldByDealer, request: ClosingRequest, wish: ClosingWish
    ) -> Callable[[], tuple[dict[str, Any], dict[str, Any] | None]]:
        """What finds the noisy sums of the cards that came back, of all questions or none.

        And of verified cards what opens the noise that is not used.
        """
        if request.is_empty:
            raise ArgumentError(
                "request must name the serials of the cards that came back, got none: a sum is "
                "told once, so nothing was announced; --without-sum ends the survey without one"
            )
        if held.survey.dealing.is_verified:
            if wish.nonce is None or wish.slots is None:
                raise ArgumentError("nonce and slots must be given: the cards are verified")
            mine: Any = self._decks.of(held)
            asked = store.all_asked(held.name)
            return partial(tell, held.survey, mine, request, wish.nonce, wish.slots, asked)
        decks, dealt = self._dealt(store, held)
        fewest = held.survey.smallest_group
        sums = ClosingSums(
            survey=held.name,
            announcement=request.announcement,
            grouping=request.grouping,
            questions={
                question: announce(
                    decks.questions[question],
                    groups,
                    dealt,
                    fewest,
                    decks.questions[question].noise(request.announcement, request.digest),
                )
                for question, groups in request.questions.items()
            },
        )
        return lambda: (sums.to_document(), None)

    def _people(self, held: HeldByDealer, request: ClosingRequest) -> int:
        """How many people's cards came back, for the dealer's own count of those that did not."""
        if held.survey.dealing.is_verified:  # one serial number for all questions
            return len(set().union(*_named(request).values()))
        return people_named(_named(request), self._decks.of(held).questions)

    def _left_over(self, store: DealerStore, held: HeldByDealer) -> dict[str, Any]:
        """What is told of cards whose sums are not announced."""
        return {"undealt": self._undealt(store, held), "decks": _decks_begun(held)}

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

    def _dealt(self, store: DealerStore, held: HeldByDealer) -> tuple[Any, Numbers]:
        """The decks, and the places of all cards that may have left them."""
        decks = self._decks.of(held)
        return decks, place_numbers(decks.block_size, store.places(held.name))


def _read_request(held: HeldByDealer, document: object) -> ClosingRequest:
    if not held.survey.announces:
        raise wrong_state("the survey's card sums are not announced: it is closed without request")
    return ClosingRequest.from_document(held.survey, document)


def _named(request: ClosingRequest) -> dict[str, list[bytes]]:
    """Question -> the serial numbers in all its groups."""
    return {
        question: [serial for names in groups.values() for serial in names]
        for question, groups in request.questions.items()
    }


def _check_same(held: HeldByDealer, request: ClosingRequest, digest: str | None = None) -> None:
    """Refuse another request than the one whose sums were told; of verified cards other slots."""
    told = held.announced[request.announcement - 1 : request.announcement]
    if not told:
        raise gone("the cards are burned, and no sum was announced")
    known = digest or (None if held.survey.dealing.is_verified else request.digest)
    if known is not None and told[0]["request"] != known:
        raise _other_request()


def _other_request() -> Problem:
    return Problem(
        409, "announced", "sums were announced for another request: one more could give away a card"
    )


def _reply(held: HeldByDealer, told: dict[str, Any] | None, announcement: int) -> dict[str, Any]:
    """What an operator hears, now or when the same is asked again."""
    assert told is not None  # of every survey that is closed
    mine = told["announced"][announcement - 1 : announcement]
    sums = [one["sums"] for one in mine]
    facts = {fact: told[fact] for fact in ("decks", "undealt")}
    if mine and mine[0].get("openings") is not None:
        facts["openings"] = mine[0]["openings"]
    burned = held.wrapped_key is None
    return {
        "state": CLOSED, "n": held.n, "burned": burned, "sums": sums[0] if sums else None, **facts
    }  # fmt: skip


def _decks_begun(held: HeldByDealer) -> int:
    """From how many decks was dealt."""
    return held.survey.dealt[0].mechanism.fewest_decks(0 if held.n is not None else held.arrivals)


def unknown_verified(named: "Iterable[bytes]", asked: "Mapping[bytes, SerialNonce]") -> list[bytes]:
    """Serial numbers with which nobody asked."""
    return [serial for serial in named if serial not in asked]


def commit(
    survey: "Survey",
    decks: "VerifiedDecks",
    request: "ClosingRequest",
    nonce: str,
    asked: "Mapping[bytes, SerialNonce]",
) -> "Callable[[], dict[str, Any]]":
    """What finds a hash of the noise in all slots of every sum; nothing is recorded or told.

    Raises:
        ArgumentError: As of `tell`: once slots are drawn, no card can be left out any more.
    """
    from jrr.dealing.verified.sums import commit_noise

    _check_named(survey, request, asked)
    named = named_cards(survey, request, nonce)
    return lambda: {"request": request.digest, "committed": commit_noise(decks, named)}


def tell(
    survey: "Survey",
    decks: "VerifiedDecks",
    request: "ClosingRequest",
    nonce: str,
    slots: "Mapping[str, Mapping[str, int]]",
    asked: "Mapping[bytes, SerialNonce]",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sums, as other dealers tell them, and what opens all slots but those that are used.

    Raises:
        ArgumentError: A serial number is unknown, or a sum would be of too few cards.
    """
    from jrr.dealing.verified.sums import tell_sums

    _check_named(survey, request, asked)
    told, opened = tell_sums(decks, named_cards(survey, request, nonce), slots, asked)
    questions = {
        question: {
            group: {"cards": len(names), "sum": _number(told.get(question, {}).get(group))}
            for group, names in groups.items()
        }
        for question, groups in request.questions.items()
    }
    return request.to_document() | {"questions": questions}, opened


def _check_named(
    survey: "Survey", request: "ClosingRequest", asked: "Mapping[bytes, SerialNonce]"
) -> None:
    for groups in request.questions.values():
        for group, names in groups.items():
            unknown = len(unknown_verified(names, asked))
            if unknown:
                raise ArgumentError(
                    f"serials must be of cards that were dealt, got {unknown} that nobody was given"
                )
            if 0 < len(names) < survey.smallest_group:
                where = f" in the group {group!r:.80}" if group else ""
                raise ArgumentError(
                    f"serials must be at least {survey.smallest_group} (the survey's min_cell and "
                    f"min_batch){where}, or none, got {len(names)}; --discard-small deletes such "
                    "reports, --without-sum gives all up"
                )


def challenge_hash(request: str, nonce: str | None, slots: "Mapping[str, Any] | None") -> str:
    """By which a dealer knows the same request and challenge again."""
    return hash_of(canonical_json({"request": request, "nonce": nonce, "slots": slots}))


def _number(numbers: list[int] | None) -> Any:
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers
