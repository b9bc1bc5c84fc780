"""Contributors who deal among themselves and answer a survey with the cards they dealt."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, OUE, RR, Mechanism
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.dealing.committee.cards import card_of, deck_of
from jrr.dealing.committee.group import GroupCard, deal_among
from jrr.dealing.group_place import GroupMembers, GroupPlace, read_place
from jrr.dealing.kinds import Groups
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.survey.consent import consent_text
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey
from tests.dealing.committee.parties import identity, peers
from tests.e2e import Pair, survey_of

COUNT = 4


def grouped(mechanism: Mechanism, **more: Any) -> Survey:
    return survey_of(
        mechanism, "https://d.example", "https://c.example", **{"dealing": Groups()} | more
    )


def card_in(survey: Survey, place: GroupPlace) -> Any:
    return place.hands(survey).cards["answer"].card


def jrr(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, said: str = "") -> Any:
    """Run one command; the one line of JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "jrr.cli", *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=said,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return json.loads(done.stdout)


def deal_in_group(survey: Survey, folder: Path, name: str) -> list[Path]:
    """A group of four processes that talk to each other over TLS; the card of each."""
    members = [
        {"link": f"{peer.host}:{peer.port}", "certificate": peer.certificate}
        for peer in peers(COUNT)
    ]
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"name": name, "survey": survey.link, "members": members}))
    cards = [folder / f"{name}-{me}.card" for me in range(COUNT)]
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "jrr.cli", "survey", "deal-in-group", str(file)),
                *("--index", str(me)),
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
        assert json.loads(out) == {"card": str(card), "survey": survey.hash}
    return cards


def deal_in_process(survey: Survey, folder: Path, name: str) -> list[Path]:
    """The same without processes of their own."""
    where = peers(COUNT)
    members = GroupMembers(name=name, peers=where, threshold=None, survey=survey.hash)

    async def together() -> list[GroupCard]:
        agreed = members.agreed_name
        return await asyncio.gather(
            *(deal_among(me, where, identity(me), agreed) for me in range(COUNT))
        )

    cards = [folder / f"{name}-{me}.card" for me in range(COUNT)]
    for file, own in zip(cards, asyncio.run(together()), strict=True):
        GroupPlace(
            survey=survey.hash,
            group=name,
            members=COUNT,
            threshold=members.effective_threshold,
            shuffled_id=own.shuffled_id,
        ).write(file)
    return cards


@pytest.mark.slow
def test_a_survey_whose_contributors_deal_among_themselves(
    sqlite_pair: Pair, tmp_path: Path
) -> None:
    """Two groups of four and one person without a card, over HTTP and the group's own links."""
    collector = sqlite_pair.collector
    token = {"JRR_COLLECTOR_TOKEN": collector.token}
    jrr(
        *("survey", "create", "--people", "9", "-e", "0.5", "--groups", str(COUNT)),
        *("--question", "Do you?", "--set", "colluders=1", "--set", "min_cell=1"),
        *("--collector", collector.url, "--json"),
        cwd=tmp_path,
    )
    file = tmp_path / "survey.json"
    survey = Survey.from_bytes(file.read_bytes())
    assert survey.dealing == Groups()
    assert survey.dealing.addresses == ()
    assert survey.mechanisms["answer"].name == "DRR"
    jrr("survey", "open", str(file), "--json", cwd=tmp_path, env=token)
    tokens = Tokens(collector=collector.token)
    invitations = new_invitations(9)
    Operator.by_tokens(survey, tokens).invite(invitations)

    limit = survey.cost

    def contribute(at: int, *more: str) -> list[str]:
        who = ("--invitation", invitations[at], "--state", str(tmp_path / f"state{at}"))
        given = ("--limit", str(limit), "--answers-from", "-", "--agree", "--json")
        return ["survey", "answer", survey.link, *who, *given, *more]

    cards = [
        *deal_in_group(survey, tmp_path, "first"),
        *deal_in_process(survey, tmp_path, "second"),
    ]
    for group in (cards[:COUNT], cards[COUNT:]):
        places = [read_place(card) for card in group]
        assert {card.stat().st_mode & 0o777 for card in group} == {0o600}
        assert sorted(place.shuffled_id for place in places) == [1, 2, 3, 4]
        held = Counter(card_in(survey, place) for place in places)
        assert held == {0: 2, 1: 2}  # the whole deck of the survey's mechanism
    facts = {"survey": survey.hash, "earlier": False}
    # Nobody forgets a card by accident, and no two people answer with one.
    assert run(contribute(0)) == ArgumentError.exit_code
    found = jrr(*contribute(0, "--card", str(cards[0])), cwd=tmp_path, said="yes\n")
    assert found == facts | {"carded": True}
    for at, card in enumerate(cards[1:], 1):
        person = Contributor(
            survey.link, invitations[at], limit=limit, state=tmp_path / f"state{at}"
        )
        person.take_card(card)
        assert person.answer("yes").carded
    assert not any(card.exists() for card in cards)
    assert run(contribute(8, "--card", str(cards[0]))) == ArgumentError.exit_code
    found = jrr(*contribute(8, "--cardless"), cwd=tmp_path, said="no\n")
    assert found == facts | {"carded": False}

    jrr("survey", "close", str(file), "--yes", "--json", cwd=tmp_path, env=token)
    shown = Operator.by_tokens(survey, tokens).estimate("answer")
    # Nobody tells how many groups dealt: as many decks as there can be.
    assert (shown["carded"], shown["cardless"], shown["decks"]) == (8, 1, 3)
    assert shown["final"]
    assert shown["estimate"]["n"] == 9


@pytest.mark.parametrize(
    "mechanism",
    [DRR(4, truth=0.2, own=0.1), DRR(5, 0.3, own=0.1, k=3), JRR(6, 0.6, s=0.3), JRR(7, 0.6, s=0.3)],
    ids=str,
)
def test_the_places_of_a_group_are_the_deck_of_its_mechanism(mechanism: Mechanism) -> None:
    survey = grouped(mechanism)
    n = mechanism.moments.deck
    assert n is not None
    places = [
        GroupPlace(survey=survey.hash, group="g", members=n, threshold=1, shuffled_id=number + 1)
        for number in range(n)
    ]
    dealt = mechanism.deal(None)
    assert dealt is not None
    assert sorted(card_in(survey, place) for place in places) == sorted(dealt.tolist())
    assert [card_of(mechanism, element) for element in deck_of(mechanism)] == [
        card_in(survey, place) for place in places
    ]
    assert Survey.from_bytes(survey.to_bytes()) == survey
    assert json.loads(survey.to_bytes())["dealing"] == {"kind": "groups"}


def test_what_a_group_cannot_deal_is_refused() -> None:
    drr = DRR(6, truth=0.2, own=0.1)
    assert grouped(drr, colluders=2).dealing == Groups()
    refused: list[tuple[Mechanism, dict[str, Any], str]] = [
        (drr, {"colluders": 3}, "colluders"),  # a majority would know every card
        (DRR(17, truth=0.2, own=0.1), {}, "people in a group must"),
        (DRR(2, truth=0.2, own=0.1), {}, "people in a group must"),
        (RR(2, 1.0), {}, "dealing"),
        (OUE(2, q=0.2, s=0.1, coupling="joint", n=6), {}, "mechanism"),
    ]
    for mechanism, more, named in refused:
        with pytest.raises(ArgumentError, match=named):
            grouped(mechanism, **more)
    assert request_by_groups().survey().colluders == 2  # of six


def request_by_groups() -> SurveyRequest:
    return SurveyRequest(
        draft=one_question("Q?"),
        people=6,
        deck=6,
        epsilon=0.5,
        collector="https://c.x",
        dealing=Groups(),
    )


def test_the_consent_says_that_the_group_deals() -> None:
    consent = consent_text(request_by_groups().survey(), "en")
    assert "your group, whose members deal the cards" in consent


def test_a_card_serves_the_survey_it_was_dealt_for(tmp_path: Path) -> None:
    survey = grouped(DRR(6, truth=0.2, own=0.1), colluders=2)
    place = GroupPlace(survey=survey.hash, group="g", members=6, threshold=2, shuffled_id=6)
    place.write(tmp_path / "card")
    with pytest.raises(ArgumentError, match="does not exist yet"):
        place.write(tmp_path / "card")
    assert read_place(tmp_path / "card") == place
    wrong: list[dict[str, Any]] = [{"survey": "0" * 64}, {"members": 7}, {"threshold": 1}]
    for change in wrong:
        with pytest.raises(ProtocolError, match="card was dealt"):
            replace(place, **change).hands(survey)
    for text in ("", "[]", "{}", '{"jrr_group_place": 1}', place_with(place, 7), "\xff"):
        (tmp_path / "damaged").write_text(text)
        with pytest.raises(DamagedError):
            read_place(tmp_path / "damaged")
    with pytest.raises(ArgumentError):
        read_place(tmp_path / "none")


def place_with(place: GroupPlace, shuffled_id: int) -> str:
    return json.dumps({"jrr_group_place": 1} | vars(place) | {"shuffled_id": shuffled_id})
