"""What the reports of a campaign are, as the header of a file of them."""

from typing import TYPE_CHECKING

from jrr.mechanisms.numbers import NumberRange
from jrr.tables.header import Header

if TYPE_CHECKING:
    from jrr.estimation.told_sums import CardSums
    from jrr.servers.collector.store import CollectorCampaign


def header_of(held: "CollectorCampaign", told: "CardSums | None") -> Header:
    """What the reports are, and what dealers told of their cards."""
    campaign = held.campaign
    names = tuple(f"{campaign.hash[:12]}.{number}" for number in range(held.decks))
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
