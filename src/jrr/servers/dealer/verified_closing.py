"""The end of a survey with verified cards at the dealer: it commits, and then tells once."""

from typing import TYPE_CHECKING, Any

from jrr.errors import ArgumentError
from jrr.protocol.documents import canonical_json, hash_of
from jrr.survey.card_record import named_cards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jrr.dealing.serials import SerialNonce
    from jrr.dealing.verified.dealer import VerifiedDecks
    from jrr.survey.closing import ClosingRequest
    from jrr.survey.survey import Survey


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
