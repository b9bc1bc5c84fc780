"""What the reports to a question are, as the header of a file of them."""

from typing import TYPE_CHECKING

from jrr.mechanisms.numbers import NumberRange
from jrr.tables.header import Header

if TYPE_CHECKING:
    from jrr.servers.collector.store import CollectorSurvey


def header_of(held: "CollectorSurvey", name: str) -> Header:
    """What the reports to a question are, and what dealers told of their cards."""
    question = held.survey.by_name[name]
    decks = tuple(f"{question.salt[:12]}.{number}" for number in range(held.decks(name)))
    return Header(
        "reports",
        held.mechanism(name),
        decks=decks if question.deals else (),
        colluders=question.colluders,
        question=question.text,
        labels=question.labels if question.number is None else (),
        number=None if question.number is None else NumberRange.checked(*question.number),
        share_asked=held.survey.share_asked(name),
        sums=held.told_of(name) if question.mechanism.masked and held.sums is not None else None,
        later_sums=tuple(
            held.told.of(name, number)
            for number in range(2, len(held.told.announced) + 1)
            if question.mechanism.announced
        ),
    )
