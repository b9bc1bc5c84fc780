"""How cards and noise of a question are drawn, and how many closing sums there can be."""

from dataclasses import dataclass

MOST_SUMS = 256  # cells of one question in one announcement


@dataclass(frozen=True)
class Law:
    """How the cards of one question are drawn: so many numbers, at this rate."""

    numbers: int
    rate: float


@dataclass(frozen=True)
class Sums:
    """How many sums a survey can have: seeds are promised for all of them."""

    announcements: int
    questions: int
    cells: int

    @property
    def count(self) -> int:
        """In all."""
        return self.announcements * self.questions * self.cells

    def number(self, announcement: int, question: int, cell: int) -> int:
        """Of one sum, counted from 0."""
        return (announcement * self.questions + question) * self.cells + cell
