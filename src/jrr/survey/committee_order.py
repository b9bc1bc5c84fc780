"""What a campaign asks its committee to deal, in the committee's own terms."""

from jrr.errors import ArgumentError
from jrr.survey.addresses import check_link
from jrr.survey.campaign import Campaign
from jrr.survey.committee.meeting import Peer
from jrr.survey.committee.party_deal import DealOrder
from jrr.survey.dealer_kinds import Committee


def committee_of(campaign: Campaign) -> Committee:
    """Who deals the campaign's cards together.

    Raises:
        ArgumentError: Somebody else deals them, or nobody.
    """
    if not isinstance(campaign.dealer, Committee):
        raise ArgumentError("the campaign must be dealt by a committee")
    return campaign.dealer


def deal_order(campaign: Campaign) -> DealOrder:
    """What all parties of a campaign must agree on before they deal."""
    committee = committee_of(campaign)
    return DealOrder(
        campaign=campaign.hash,
        capacity=campaign.capacity,
        threshold=committee.threshold,
        peers=tuple(
            Peer(*check_link(party.link), party.certificate) for party in committee.parties
        ),
        mechanism_for=campaign.for_people,
    )
