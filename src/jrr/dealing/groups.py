"""The contributors themselves deal: each group of them one deck (`jrr survey deal-in-group`).

No server takes part. The members of a group bring their cards along when they answer.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from jrr._base import checks
from jrr.dealing.committee.cards import committee_deck
from jrr.dealing.committee.schedule import default_threshold
from jrr.dealing.interface import Dealing, check_one_question

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion

FEWEST, MOST = 3, 16
MOST_COLLUDERS = 5  # as everywhere unless somebody says otherwise


class Groups(Dealing, frozen=True, tag="groups"):
    """Groups of contributors, as large as the deck."""

    word: ClassVar[str] = "member"

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Only cards that everybody knows, which the members shuffle: no masks."""
        return not mechanism.masked

    def colluders_of(self, people: int) -> int | None:
        """Not more members than the protocol withstands: they would know all its cards."""
        return min(MOST_COLLUDERS, default_threshold(people))

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse what a group cannot deal, or cannot keep secret from its colluding members."""
        question = check_one_question(dealt)
        deck = committee_deck(question.mechanism)
        checks.integer("people in a group", deck.size, FEWEST, MOST)
        checks.integer("colluders", question.colluders, 0, (deck.size - 1) // 2)
