"""The public record of verified cards: what dealers promised, signed and told.

It names cards by serial numbers and says nothing of reports or people. The collector checks it
before it takes any sum, and `jrr audit cards` checks it again, offline.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jrr.dealing.serials import NONCE
from jrr.errors import DamagedError, IntegrityError, JrrError
from jrr.protocol.documents import canonical_json
from jrr.survey.closing import ClosingRequest, ClosingSums

if TYPE_CHECKING:
    from jrr.dealing.verified.keys import Promise
    from jrr.dealing.verified.sums import NamedCards
    from jrr.survey.survey import Survey

PARTS = ("request", "nonce", "committed", "slots", "cards", "sums", "openings")


def named_cards(survey: "Survey", request: ClosingRequest, nonce: str) -> "NamedCards":
    """What fixes the noise of one dealer's sums."""
    from jrr.dealing.verified.group import digest
    from jrr.dealing.verified.keys import hex_bytes
    from jrr.dealing.verified.sums import NamedCards

    hashed = digest("named", canonical_json(request.to_document()))
    questions = {
        question: {group: sorted(names) for group, names in groups.items()}
        for question, groups in request.questions.items()
    }
    drawn = hex_bytes("nonce", nonce, NONCE)
    return NamedCards(survey, questions, hashed, drawn, request.announcement)


def check_record(survey: "Survey", record: Mapping[str, Any]) -> list[int]:
    """How many cards of each dealer are in its sums, once everything is as it must be.

    Args:
        survey: Whose record it is.
        record: `survey` (its hash), `promises`, and `dealers`: of each what is in `PARTS`, or null
            of one whose cards nobody had; of a second announcement the same once more.

    Raises:
        IntegrityError: A dealer, which is named, has told a sum that is not of the cards that it
            signed, or noise that it did not promise.
        DamagedError: It is no such record.
    """
    from jrr.dealing.verified.keys import read_promises

    if set(record) != {"survey", "promises", "dealers"}:
        raise DamagedError("a record of cards must be of survey, promises and dealers")
    if record["survey"] != survey.hash:
        raise DamagedError("the record of cards must be of this survey, got another's")
    addresses = survey.dealing.addresses
    promises = read_promises(record["promises"], len(addresses))
    parts = record["dealers"]
    dealers = len(addresses)
    lengths = [dealers * made for made in range(1, survey.announcements + 1)]
    if not isinstance(parts, list) or len(parts) not in lengths:
        raise DamagedError(f"the record must be of {dealers} dealers, in each announcement")
    for at in range(0, len(parts), dealers):
        gave = [part is not None for part in parts[at : at + dealers]]
        if any(gave) and not survey.dealing.are_enough(gave):
            name = survey.dealing.server_name(gave.index(False))
            raise IntegrityError(f"{name}: its sums are missing, though every answer has its card")
    return [
        0 if part is None else check_part(survey, at, promises[at % dealers], part)
        for at, part in enumerate(parts)
    ]


def check_part(survey: "Survey", at: int, promise: "Promise", part: Any) -> int:
    """The same of one dealer; at: where its part is in the record."""
    from jrr.dealing.verified.proving import SignedCommitments
    from jrr.dealing.verified.sums import check_sums

    announcements, number = divmod(at, len(survey.dealing.addresses))
    name = survey.dealing.server_name(number)
    try:
        if set(part) != set(PARTS):
            raise DamagedError(f"must be of {', '.join(PARTS)}")
        request = ClosingRequest.from_document(survey, part["request"])
        sums = ClosingSums.from_document(survey, part["sums"])
        if request.announcement != announcements + 1 or sums.announcement != announcements + 1:
            raise IntegrityError("the sums are of another announcement")
        if sums.grouping != request.grouping or _without_none(sums.sizes) != _without_none(
            request.sizes
        ):
            raise IntegrityError("the sums are of other cards than were named")
        named = named_cards(survey, request, part["nonce"])
        cards = {
            question: {
                group: [
                    SignedCommitments.from_bytes(_stored(part["cards"][question][serial.hex()]))
                    for serial in names
                ]
                for group, names in groups.items()
            }
            for question, groups in named.serials.items()
        }
        told = {
            question: {group: _listed(one.sum) for group, one in groups.items() if one.cards}
            for question, groups in sums.questions.items()
        }
        check_sums(named, promise, part["committed"], part["slots"], cards, told, part["openings"])
    except JrrError as error:
        raise IntegrityError(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise IntegrityError(f"{name}: its part of the record is incomplete or damaged") from None
    lists = [names for groups in named.serials.values() for names in groups.values()]
    return len({one for some in lists for one in some})


def cards_part(signed: Iterable[tuple[str, bytes, bytes]]) -> dict[str, dict[str, str]]:
    """What a dealer signed, as a record has it: question, serial number and signed commitments."""
    found: dict[str, dict[str, str]] = {}
    for question, serial, stored in signed:
        found.setdefault(question, {})[serial.hex()] = stored.hex()
    return found


def _stored(text: object) -> bytes:
    if not isinstance(text, str):
        raise DamagedError("cards must be hexadecimal digits")
    return bytes.fromhex(text)


def _listed(total: Any) -> list[int]:
    return total if isinstance(total, list) else [total]


def _without_none(sizes: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {
        question: {group: cards for group, cards in groups.items() if cards}
        for question, groups in sizes.items()
    }
