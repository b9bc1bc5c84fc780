"""Cards in a private file, between the day they are fetched and the day they are answered with."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr._base.files import write_once, write_whole
from jrr.dealing.deck import card_from_json, card_to_json
from jrr.dealing.interface import Hand, Hands
from jrr.errors import DamagedError, JrrError

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.survey import Survey


def keep_cards(path: Path, survey: "Survey", hands: Hands, *, once: bool = False) -> None:
    """Write cards into a private file.

    Args:
        path: The file.
        survey: Whose cards they are.
        hands: The cards.
        once: Whether the file must not exist yet.

    Raises:
        FileExistsError: It does.
    """
    cards = {
        name: _to_json(survey.by_name[name].for_people(hands.n), hand)
        for name, hand in hands.cards.items()
    }
    text = json.dumps({"n": hands.n, "cards": cards})
    if once:
        write_once(path, text)
    else:
        write_whole(path, text, private=True)


def read_cards(path: Path, survey: "Survey") -> Hands:
    """The cards that `keep_cards` wrote.

    Raises:
        DamagedError: The file holds something else.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
        n = document["n"]
        cards = {
            name: _from_json(survey.by_name[name].for_people(n), entry)
            for name, entry in document["cards"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, JrrError):
        raise DamagedError(f"{path} must be cards that jrr fetched: delete it") from None
    return Hands(cards, n)


def _to_json(mechanism: "Mechanism", hand: Hand) -> dict[str, Any]:
    """One card, or one from each of several dealers."""
    if hand.proving is not None:
        return {"proving": hand.proving.to_document(), "serials": hand.serials}
    several = isinstance(hand.card, tuple)
    cards = hand.card if several else (hand.card,)
    return {
        "cards": [card_to_json(mechanism, card) for card in cards],
        "several": several,
        "serials": hand.serials,
    }


def _from_json(mechanism: "Mechanism", entry: Any) -> Hand:
    if "proving" in entry:
        from jrr.dealing.verified.proving import Proving  # needs rbcl

        return Hand(None, tuple(entry["serials"]), Proving.from_document(entry["proving"]))
    cards = tuple(card_from_json(mechanism, card) for card in entry["cards"])
    serials = None if entry["serials"] is None else tuple(entry["serials"])
    return Hand(cards if entry["several"] else cards[0], serials)
