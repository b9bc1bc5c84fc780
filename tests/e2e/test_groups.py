"""Contributors who deal among themselves and answer a campaign with the cards they dealt."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, OUE, RR, Mechanism
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError
from jrr.survey.campaign import Campaign
from jrr.survey.committee.cards import card_of, deck_of
from jrr.survey.committee.group import GroupCard, deal_among
from jrr.survey.creation import CampaignRequest
from jrr.survey.dealer_kinds import ContributorGroups, read_dealer
from jrr.survey.group_file import GroupMembers
from jrr.survey.group_place import GroupPlace, read_place
from tests.e2e import Pair
from tests.e2e.test_commands import jrr
from tests.dealing.committee.parties import identity, peers

COUNT = 4
TEXTS: dict[str, Any] = {"question": "Do you?", "labels": ("no", "yes")}


def grouped(mechanism: Mechanism, **more: Any) -> Campaign:
    settings = TEXTS | {"dealer": ContributorGroups(), "collector": "https://c.example"} | more
    return Campaign(mechanism=mechanism, **settings)


def deal_in_group(campaign: Campaign, folder: Path, name: str) -> list[Path]:
    """A group of four processes that talk to each other over TLS; the card of each."""
    members = [
        {"link": f"{peer.host}:{peer.port}", "certificate": peer.certificate}
        for peer in peers(COUNT)
    ]
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"name": name, "campaign": campaign.link, "members": members}))
    cards = [folder / f"{name}-{me}.card" for me in range(COUNT)]
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "jrr.cli", "mpc", "group", str(file), "--index", str(me)),
                *("--certificate", identity(me).certificate, "--key", identity(me).key),
                *("-o", str(cards[me]), "--json"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in range(COUNT)
    ]
    for process, card in zip(started, cards, strict=True):
        out, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
        assert json.loads(out) == {"card": str(card), "campaign": campaign.hash}
    return cards


def deal_in_process(campaign: Campaign, folder: Path, name: str) -> list[Path]:
    """The same without processes of their own."""
    where = peers(COUNT)
    members = GroupMembers(name=name, peers=where, threshold=None, campaign=campaign.hash)

    async def together() -> list[GroupCard]:
        agreed = members.agreed_name
        return await asyncio.gather(
            *(deal_among(me, where, identity(me), agreed) for me in range(COUNT))
        )

    cards = [folder / f"{name}-{me}.card" for me in range(COUNT)]
    for file, own in zip(cards, asyncio.run(together()), strict=True):
        GroupPlace(
            campaign=campaign.hash,
            group=name,
            members=COUNT,
            threshold=members.effective_threshold,
            shuffled_id=own.shuffled_id,
        ).write(file)
    return cards


@pytest.mark.slow
def test_a_campaign_whose_contributors_deal_among_themselves(
    sqlite_pair: Pair, tmp_path: Path
) -> None:
    """Two groups of four and one person without a card, over HTTP and the group's own links."""
    collector = sqlite_pair.collector
    token = {"JRR_COLLECTOR_TOKEN": collector.token}
    made = jrr(
        *("campaign", "create", "-n", str(COUNT), "-e", "0.5", "-M", "1", "--groups"),
        *("--question", "Do you?", "--capacity", "9", "--min-cell", "1"),
        *("--collector", collector.url, "--json"),
        cwd=tmp_path,
    )
    file = tmp_path / "campaign.json"
    campaign = Campaign.from_bytes(file.read_bytes())
    assert campaign.by_groups
    assert campaign.dealers == ()
    assert "your group, whose members deal the cards" in campaign.consent
    assert made["mechanism"]["mechanism"] == "DRR"
    jrr("campaign", "open", str(file), "--json", cwd=tmp_path, env=token)
    tokens = Tokens(collector=collector.token)
    invitations = new_invitations(9)
    Operator.by_tokens(campaign, tokens).invite(invitations)

    limit = campaign.cost

    def contribute(at: int, *more: str) -> list[str]:
        who = ("--invitation", invitations[at], "--state", str(tmp_path / f"state{at}"))
        given = ("--limit", str(limit), "--answer-from", "-", "--json")
        return ["contribute", campaign.link, *who, *given, *more]

    cards = [
        *deal_in_group(campaign, tmp_path, "first"),
        *deal_in_process(campaign, tmp_path, "second"),
    ]
    for group in (cards[:COUNT], cards[COUNT:]):
        places = [read_place(card) for card in group]
        assert {card.stat().st_mode & 0o777 for card in group} == {0o600}
        assert sorted(place.shuffled_id for place in places) == [1, 2, 3, 4]
        held = Counter(place.card_in(campaign) for place in places)
        assert held == {0: 2, 1: 2}  # the whole deck of the campaign's mechanism
    facts = {"campaign": campaign.hash, "earlier": False}
    # Nobody forgets a card by accident, and no two people answer with one.
    assert run(contribute(0)) == ArgumentError.exit_code
    found = jrr(*contribute(0, "--card", str(cards[0])), cwd=tmp_path, said="yes\n")
    assert found == facts | {"carded": True}
    for at, card in enumerate(cards[1:], 1):
        person = Contributor(
            campaign.link, invitations[at], limit=limit, state=tmp_path / f"state{at}"
        )
        person.take_card(card)
        assert person.answer("yes").carded
    assert not any(card.exists() for card in cards)
    assert run(contribute(8, "--card", str(cards[0]))) == ArgumentError.exit_code
    found = jrr(*contribute(8, "--cardless"), cwd=tmp_path, said="no\n")
    assert found == facts | {"carded": False}

    jrr("campaign", "close", str(file), "--decks", "2", "--json", cwd=tmp_path, env=token)
    shown = jrr("campaign", "show", str(file), "--json", cwd=tmp_path, env=token)["estimate"]
    assert (shown["carded"], shown["cardless"], shown["decks"]) == (8, 1, 2)
    assert shown["final"]
    assert shown["estimate"]["n"] == 9


@pytest.mark.parametrize(
    "mechanism",
    [DRR(4, truth=0.2, own=0.1), DRR(5, 0.3, own=0.1, k=3), JRR(6, 0.6, s=0.3), JRR(7, 0.6, s=0.3)],
    ids=str,
)
def test_the_places_of_a_group_are_the_deck_of_its_mechanism(mechanism: Mechanism) -> None:
    labels = tuple(f"answer {value}" for value in range(mechanism.k))
    campaign = grouped(mechanism, labels=labels)
    n = mechanism.moments.deck
    assert n is not None
    places = [
        GroupPlace(
            campaign=campaign.hash, group="g", members=n, threshold=1, shuffled_id=number + 1
        )
        for number in range(n)
    ]
    dealt = mechanism.deal(None)
    assert dealt is not None
    assert sorted(place.card_in(campaign) for place in places) == sorted(dealt.tolist())
    assert [card_of(mechanism, element) for element in deck_of(mechanism)] == [
        place.card_in(campaign) for place in places
    ]
    assert Campaign.from_bytes(campaign.to_bytes()) == campaign
    assert read_dealer({"kind": "groups"}) == campaign.dealer


def test_what_a_group_cannot_deal_is_refused() -> None:
    drr = DRR(6, truth=0.2, own=0.1)
    assert grouped(drr, colluders=2).by_groups
    refused: list[tuple[Mechanism, dict[str, Any], str]] = [
        (drr, {"colluders": 3}, "colluders"),  # a majority would know every card
        (drr, {"dealing": "enrol"}, "dealing"),
        (DRR(17, truth=0.2, own=0.1), {}, "n must"),
        (DRR(2, truth=0.2, own=0.1), {}, "n must"),
        (RR(2, 1.0), {}, "dealer kind"),
        (OUE(2, q=0.2, s=0.1, coupling="joint", n=6), {}, "mechanism"),
    ]
    for mechanism, more, named in refused:
        with pytest.raises(ArgumentError, match=named):
            grouped(mechanism, **more)
    request: dict[str, Any] = {"question": "Q?", "n": 6, "epsilon": 0.5, "collector": "https://c.x"}
    assert CampaignRequest(**request, groups=True).campaign().colluders == 2  # of six
    with pytest.raises(ArgumentError, match="together"):
        CampaignRequest(**request, groups=True, dealer="https://d.example")


def test_a_card_serves_the_campaign_it_was_dealt_for(tmp_path: Path) -> None:
    campaign = grouped(DRR(6, truth=0.2, own=0.1), colluders=2)
    place = GroupPlace(campaign=campaign.hash, group="g", members=6, threshold=2, shuffled_id=6)
    place.write(tmp_path / "card")
    with pytest.raises(ArgumentError, match="does not exist yet"):
        place.write(tmp_path / "card")
    assert read_place(tmp_path / "card") == place
    wrong: list[dict[str, Any]] = [{"campaign": "0" * 64}, {"members": 7}, {"threshold": 1}]
    for change in wrong:
        with pytest.raises(ProtocolError, match="card was dealt"):
            replace(place, **change).card_in(campaign)
    for text in ("", "[]", "{}", '{"jrr_group_place": 1}', place_with(place, 7), "\xff"):
        (tmp_path / "damaged").write_text(text)
        with pytest.raises(DamagedError):
            read_place(tmp_path / "damaged")
    with pytest.raises(ArgumentError):
        read_place(tmp_path / "none")


def place_with(place: GroupPlace, shuffled_id: int) -> str:
    return json.dumps({"jrr_group_place": 1} | vars(place) | {"shuffled_id": shuffled_id})


def test_a_card_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = grouped(DRR(4, truth=0.2, own=0.1))
    (invitation,) = new_invitations(1)
    person = Contributor(campaign.link, invitation, limit=9.0, state=tmp_path / "state")
    monkeypatch.setattr(person, "_campaign", campaign)
    assert not person.has_cards
    for number in (1, 4):
        place = GroupPlace(
            campaign=campaign.hash, group="g", members=4, threshold=1, shuffled_id=number
        )
        place.write(tmp_path / f"card{number}")
    person.take_card(tmp_path / "card1")
    assert person.has_cards
    assert not (tmp_path / "card1").exists()
    with pytest.raises(JrrError, match="kept already"):
        person.take_card(tmp_path / "card4")
    assert (tmp_path / "card4").exists()  # still somebody's
    hand = person._hand()
    assert hand is not None
    assert hand.card == card_of(campaign.mechanism, 1)
