"""What the reports of a campaign are, as the header of a file of them."""

from typing import TYPE_CHECKING

from jrr.mechanisms.numbers import NumberRange
from jrr.tables.header import Header

if TYPE_CHECKING:
    from jrr.estimation.told_sums import ToldOfRound
    from jrr.servers.collector.store import CollectorCampaign


def header_of(held: "CollectorCampaign", told: "ToldOfRound | None", round_number: int) -> Header:
    """What the reports of a round are, and what dealers told of their cards."""
    campaign = held.campaign
    # Every round has decks of its own.
    start = f"{campaign.hash[:12]}." + (f"round{round_number}." if round_number else "")
    names = tuple(f"{start}{number}" for number in range(held.decks))
    return Header(
        "reports",
        held.mechanism,
        decks=names if campaign.deals else (),
        colluders=campaign.colluders,
        question=campaign.question,
        labels=campaign.labels if campaign.number is None else (),
        number=None if campaign.number is None else NumberRange.checked(*campaign.number),
        sums=told,
    )
