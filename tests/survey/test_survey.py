"""The survey's document: one canonical form, and no promise that its mechanisms do not keep."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jrr import DRR, JRR, MRR, OLH, OUE, RR, Mechanism
from jrr.dealing.kinds import Committee, Dealers, Groups, Nobody, Party
from jrr.errors import ArgumentError, DamagedError, JrrError, ProtocolError
from jrr.privacy.cost_table import people_of_100
from jrr.protocol.documents import MOST, hash_of
from jrr.protocol.texts import check_address
from jrr.survey.consent import consent_text
from jrr.survey.contributor import read_answers
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, one_question
from jrr.survey.plan import PlanOptions, plan_draft
from jrr.survey.question import NOT_ASKED, PREFER_NOT, as_covariates, check_open_answers, is_asked
from jrr.survey.spending import Limits, check_limits
from jrr.survey.survey import Survey, read_survey
from tests.survey import COLLECTOR, DEALER, asked, survey_by, survey_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.toml"
DECK = DRR(21, truth=0.5, own=0.1)
YES_NO = {"kind": "yes-no", "text": "?"}
OPEN: dict[str, Any] = {
    "name": "sector",
    "kind": "choice",
    "labels": ["office", "workshop"],
    "text": "Where?",
    "sensitive": False,
}
BRANCHED = asked(
    OPEN,
    {"name": "age", "kind": "number", "low": 15, "high": 80, "text": "Age?", "sensitive": False},
    {"name": "a"} | YES_NO,
    {"name": "b", "only_if": {"sector": "workshop"}} | YES_NO,
    split="even",
)


def canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


MECHANISMS = [
    RR(3, 1.0),
    JRR(21, p=0.7, s=0.2),
    JRR(20, p=0.6, s=0.2, k=3),
    DRR(20, truth=0.5, own=0.1, k=4),
    DRR(20, truth=0.5),  # unbounded against the dealer
    OUE(12, q=0.2, s=0.1, coupling="dealt", n=21),
    OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=20),
    OLH(100, 1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_document_is_read_as_it_was_written(mechanism: Mechanism) -> None:
    made = survey_by(
        mechanism,
        question='¿Ámbar, 漢字, "ε"\n?',
        groups={"region": ("north", "süd"), "a": ("1", "2")},
        consent={"en": "I agree. {cost}"},
        opens="2026-01-31T12:00:00Z",
        closes="2026-02-28T12:00:00Z",
        invitations=False,
    )
    data = made.to_bytes()
    assert Survey.from_bytes(data) == made
    assert Survey.from_bytes(data).to_bytes() == data
    assert canonical(json.loads(data)) == data
    assert made.hash == hash_of(data)
    assert read_survey(data) is read_survey(bytes(data))
    (question,) = made.sensitive
    for view, loss in mechanism.guarantees(question.colluders).items():
        assert question.guarantee(view) == loss


def test_an_unbounded_loss_is_said_in_words() -> None:
    made = survey_by(DRR(20, truth=0.5))
    assert made.guarantee("dealer") == math.inf
    assert json.loads(made.to_bytes())["guarantees"]["dealer"] == "unbounded"
    assert b"Infinity" not in made.to_bytes()


def test_two_surveys_that_ask_the_same_have_different_names() -> None:
    assert survey_by(DECK).hash != survey_by(DECK).hash
    assert survey_by(DECK, nonce="1").hash == survey_by(DECK, nonce="1").hash
    assert survey_by(DECK, nonce="1").hash != survey_by(DECK, nonce="2").hash


def test_every_answer_has_a_salt_of_its_own() -> None:
    one, other = survey_of(BRANCHED), survey_of(BRANCHED)
    salts = {question.salt for survey in (one, other) for question in survey.sensitive}
    assert len(salts) == 4
    assert all(len(salt) == 64 for salt in salts)


@pytest.mark.parametrize("view", ["report", "cards", "dealer", "everything"])
def test_less_than_what_holds_cannot_be_promised_and_more_can(view: str) -> None:
    made = survey_by(DECK, nonce="1")
    document = json.loads(made.to_bytes())
    document["study"]["promised"] = {"everything": 100.0, "delta": 0.1, "dealer": 100.0}
    honest = document["guarantees"][view]
    for wrong in (0.0, honest / 2, math.nextafter(honest, 0)):
        document["guarantees"][view] = wrong
        with pytest.raises(JrrError, match=f"not be less than what holds: {view}"):
            Survey.from_bytes(canonical(document))
    for fine in (math.nextafter(honest, math.inf), honest + 1):
        document["guarantees"][view] = fine
        assert Survey.from_bytes(canonical(document)).guarantee(view) == fine
    refused: list[Any] = [-1.0, "much", None, True, [], "inf"]
    for bad in refused:
        document["guarantees"][view] = bad
        with pytest.raises(JrrError):
            Survey.from_bytes(canonical(document))
    del document["guarantees"][view]
    with pytest.raises(JrrError, match="guarantees must be exactly of"):
        Survey.from_bytes(canonical(document))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"collector": "collector.example"}, "collector"),
        ({"collector": "https://collector.example/"}, "collector"),
        ({"dealing": Nobody()}, "dealing must not be 'none'"),
        ({"colluders": -1}, "colluders"),
        ({"colluders": 21}, "colluders"),
        ({"capacity": 0}, "capacity"),
        ({"capacity": True}, "capacity"),
        ({"capacity": 1e3}, "capacity"),
        ({"capacity": 10**13}, "capacity"),
        ({"min_cell": 0}, "min_cell"),
        ({"min_batch": 0}, "min_batch"),
        ({"results_every": 1_001}, "results_every"),
        ({"invitations": 1}, "invitations"),
        ({"opens": "2026-01-31"}, "opens"),
        ({"opens": "2026-02-30T00:00:00Z"}, "opens"),
        ({"opens": "2026-01-31T12:00:00+01:00"}, "opens"),
        ({"opens": 0}, "opens"),
        ({"opens": "2026-01-31T12:00:00Z", "closes": "2026-01-31T12:00:00Z"}, "closes"),
        ({"nonce": ""}, "nonce"),
        ({"consent": {"en": None}}, "consent"),
        ({"consent": {"de": ""}}, "a text for each of en"),
        ({"consent_version": ""}, "consent_version"),
        ({"mechanisms": {}}, "mechanisms"),
        ({"mechanisms": {"answer": DRR(21, truth=0.5, own=0.1, k=3)}}, "one of 2 values"),
        ({"wave": 2}, "wave"),
        ({"panel": "00" * 32}, "panel"),
    ],
    ids=str,
)
def test_what_is_no_survey(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(JrrError, match=words):
        survey_by(DECK, **changes)


def committee(*addresses: str) -> Committee:
    return Committee(
        parties=tuple(
            Party(url=url, link=f"p.example:{7000 + at}", certificate=f"certificate {at}")
            for at, url in enumerate(addresses)
        ),
        threshold=1,
    )


@pytest.mark.parametrize(
    ("collector", "others"),
    [
        ("https://a.example", ["https://a.example"]),
        ("https://a.example", ["https://A.example:443/deal"]),
        ("https://a.example:443/collect", ["https://a.example"]),
        ("http://127.0.0.1:80", ["http://127.0.0.1"]),
        ("https://a.example", ["https://b.example", "https://c.example", "https://a.example"]),
        ("https://a.example", ["https://b.example", "https://c.example", "https://B.example/x"]),
    ],
    ids=str,
)
def test_one_server_is_not_two(collector: str, others: list[str]) -> None:
    """Whoever runs both has the view `dealer`; at one address it surely is one."""
    together = len(others) > 1
    dealing = committee(*others) if together else Dealers(tuple(others))
    words = "party must be at another" if together else "dealer must be at another"
    with pytest.raises(JrrError, match=words):
        survey_by(DECK, collector=collector, dealing=dealing)


def test_ports_of_one_host_are_apart() -> None:
    """Demonstrations and tests are on one machine."""
    at = "http://127.0.0.1:80"
    assert survey_by(DECK, collector=f"{at}01", dealing=Dealers((f"{at}00",))).deals
    parties = committee(f"{at}01", f"{at}02", f"{at}03")
    assert survey_by(DECK, collector=f"{at}00", dealing=parties).deals


def test_mechanisms_without_cards_have_no_dealer() -> None:
    with pytest.raises(JrrError, match="'none' where no question has cards"):
        survey_by(RR(2, 1.0), dealing=Dealers((DEALER,)))


def several(mechanism: Mechanism, dealing: Any, **more: Any) -> Survey:
    """A survey of two questions by one mechanism."""
    draft = asked({"name": "a"} | YES_NO, {"name": "b"} | YES_NO)
    return Survey(
        title=draft.title,
        languages=draft.languages,
        questions=draft.questions,
        mechanisms={"a": mechanism, "b": mechanism},
        dealing=dealing,
        collector=COLLECTOR,
        capacity=100,
        consent={"en": "{cost}"},
        **more,
    )


@pytest.mark.parametrize(
    "dealing",
    [committee("https://a.example", "https://b.example", "https://c.example"), Groups()],
    ids=["committee", "groups"],
)
def test_people_who_meet_deal_one_deck(dealing: Any) -> None:
    """In one place, with the reason."""
    with pytest.raises(ArgumentError, match="one deck to people who meet for it, and here are 2"):
        several(DRR(9, truth=0.5, own=0.1), dealing)


def test_masks_are_not_dealt_by_committees() -> None:
    parties = committee("https://a.example", "https://b.example", "https://c.example")
    mask = MRR.for_epsilon(1.0, n=21, announced=True)
    with pytest.raises(ArgumentError, match="Name several dealers instead"):
        survey_by(mask, dealing=parties)
    with pytest.raises(ArgumentError, match="only whole numbers add up"):
        survey_by(DECK, dealing=Dealers(("https://a.example", "https://b.example")))


def test_all_decks_have_as_many_cards() -> None:
    draft = asked({"name": "a"} | YES_NO, {"name": "b"} | YES_NO)
    with pytest.raises(ArgumentError, match="same number of cards"):
        replace(
            several(DECK, Dealers((DEALER,))),
            mechanisms={"a": DECK, "b": DRR(22, truth=0.5, own=0.1)},
            informed=None,
            promised=None,
            study=None,
        )
    assert draft.sensitive


@pytest.mark.parametrize(
    "address",
    [
        "https://a",
        "https://a.example:1",
        "https://a/b/c",
        "http://localhost:8000",
        "http://[::1]:8000",
        "http://127.0.0.1:8000",
    ],
)
def test_addresses(address: str) -> None:
    assert check_address("collector", address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://collector.example",
        "http://192.0.2.1:8000",
        "a",
        "//a",
        "ftp://a",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "https://a/",
        "https://a?x",
        "https://a#x",
        "https://u:p@a",
        "https://a:99999",
        "https://a:x",
        "https://a b",
        "https://a\n",
        "https://a\r\nX: y",
        "https://ä",
        "https://[",
        "https://" + "a" * 2_000,
        None,
        1,
    ],
    ids=lambda address: str(address)[:20],
)
def test_what_is_no_address(address: object) -> None:
    with pytest.raises(JrrError, match="collector must be an address"):
        check_address("collector", address)


def test_only_canonical_bytes_are_a_document() -> None:
    data = survey_by(DECK, min_cell=30).to_bytes()
    document = json.loads(data)
    for other in (
        json.dumps(document).encode(),
        json.dumps(document, separators=(",", ":"), ensure_ascii=False, indent=0).encode(),
        canonical(dict(reversed(document.items())))[:-1] + b" }",
        data + b" ",
        b" " + data,
        data.replace(b'"min_cell":30', b'"min_cell":30.0'),
        data.replace(b'"min_cell":30', b'"min_cell":030'),
        data.replace(b'"min_cell":30', b'"min_cell":30,"min_cell":30'),
        data.replace(b'"min_cell":30', b'"min_cell":30,"min_batch":1'),  # as it is unless said
        data.replace(b"Do you?", b"Do you\\u003f"),
        canonical(document | {"jrr_survey": 1.0}),
    ):
        assert other != data
        with pytest.raises(JrrError):
            Survey.from_bytes(other)
    assert Survey.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "JSON|truncated"),
        (b"null", "object"),
        (b"[]", "object"),
        (b"\xff", "malformed"),
        (b"[" * 100_000, "survey"),
        (b"{}", "missing required field"),
        (b" " * (MOST + 1), "at most"),
    ],
    ids=lambda data: str(data)[:12],
)
def test_bytes_that_are_no_document(data: bytes, words: str) -> None:
    with pytest.raises(JrrError, match=words):
        Survey.from_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d: d.update(more=1), "unknown field `more`"),
        (lambda d: d.pop("nonce"), "missing required field `nonce`"),
        (lambda d: d.update(capacity="many"), r"Expected `int`, got `str` - at `\$.capacity`"),
        (lambda d: d["consent"].pop("version"), r"missing required field `version`.*consent"),
        (lambda d: d["consent"].update(more=1), r"unknown field `more`.*consent"),
        (lambda d: d["dealing"].update(kind="friend"), r"Invalid value 'friend'.*dealing.kind"),
        (lambda d: d["dealing"].update(more=1), r"unknown field `more`.*dealing"),
        (lambda d: d["dealing"].pop("urls"), r"missing required field `urls`.*dealing"),
        (lambda d: d["dealing"].update(urls=["x"]), "dealer must be an address"),
        (lambda d: d["questions"][0].update(more=1), "no field 'more'"),
        (lambda d: d["questions"][0].pop("kind"), "must have the field 'kind'"),
        (lambda d: d["questions"][0].update(weight=2.0), "no weight and no margin"),
        (lambda d: d["questions"][0].pop("mechanism"), "mechanisms must be"),
        (lambda d: d["study"].update(more=1), "study must be an object of promised and earlier"),
        (lambda d: d.update(jrr_survey=2), "version 1, got 2"),
    ],
    ids=range(15),
)
def test_what_is_refused_is_named(spoil: Any, words: str) -> None:
    document = json.loads(survey_by(DECK).to_bytes())
    spoil(document)
    with pytest.raises(DamagedError, match=words):
        Survey.from_bytes(canonical(document))


@given(st.data())
def test_a_changed_document_is_refused_or_is_another_survey(data: st.DataObject) -> None:
    made = survey_by(DECK, nonce="1")
    document = json.loads(made.to_bytes())
    name = data.draw(st.sampled_from(sorted(document)))
    value = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=5,
        )
    )
    try:
        changed = canonical(document | {name: value})
    except UnicodeEncodeError:
        return
    try:
        read = Survey.from_bytes(changed)
    except JrrError:
        return
    assert read.to_bytes() == changed
    assert (read == made) == (changed == made.to_bytes())


# -- enrol, then deal ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [m for m in MECHANISMS if m.moments.deck is not None], ids=str
)
def test_dealing_on_arrival_always_deals_the_mechanism_itself(mechanism: Mechanism) -> None:
    (question,) = survey_by(mechanism).sensitive
    for n in (2, 20, 21, 1000):
        assert question.for_people(n) is mechanism


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("family", ["jrr", "drr", "oue-dealt", "olh-joint"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7])
def test_whatever_number_enrols_from_the_fewest_on_can_be_dealt_to(family: str, k: int) -> None:
    for people in (21, 22, 40, 45):
        request = SurveyRequest(
            draft=one_question("Q?", labels=tuple(f"answer {value}" for value in range(k))),
            people=people,
            collector=COLLECTOR,
            dealing=Dealers((DEALER,), enrol_first=True),
            epsilon=1.0,
            colluders=2,
            dealer_epsilon=3.0,
            mechanism=family,
        )
        (planned,) = request.plan().questions
        if not planned.plan.mechanism.deals:
            continue  # for so few, cards help nothing: such a survey is refused, see below
        (question,) = request.survey().sensitive
        for n in range(people, people + 25):
            dealt = question.for_people(n)
            assert dealt.moments.deck == n
            for view, loss in dealt.guarantees(question.colluders).items():
                assert loss <= question.guarantee(view)


ENROL = Dealers((DEALER,), enrol_first=True)


def test_fewer_people_than_the_promise_needs_are_refused() -> None:
    (made,) = survey_by(DECK, dealing=ENROL, capacity=30).sensitive
    assert made.for_people(21) == made.mechanism
    assert made.for_people(30).moments.deck == 30
    for n in (20, 2, 0):
        with pytest.raises(JrrError, match=f"{n} have enrolled, at least 21 are needed"):
            made.for_people(n)
    for wrong in (31, -1, 21.0, True, "21", None):
        with pytest.raises(JrrError, match="n must be"):
            made.for_people(wrong)  # type: ignore[arg-type]
    # An honest document about a mechanism that would lose its privacy with more people.
    (uneven,) = survey_by(DRR(20, truth=0.5, own=0.1, deck=(15, 5)), dealing=ENROL).sensitive
    with pytest.raises(JrrError, match="even where n is fixed by enrolment"):
        uneven.for_people(22)


def test_several_questions_are_dealt_to_the_same_people() -> None:
    survey = several(DECK, ENROL)
    assert [one.for_people(30).moments.deck for one in survey.dealt] == [30, 30]


def test_who_deals_is_left_out_where_nothing_has_cards() -> None:
    request = SurveyRequest(
        draft=one_question("Q?"),
        people=9,
        collector=COLLECTOR,
        dealing=Dealers((DEALER,)),
        epsilon=1.0,
        colluders=2,
        dealer_epsilon=3.0,
        mechanism="drr",
    )
    with pytest.raises(ArgumentError, match="with 12 people there would be cards"):
        request.survey()
    assert replace(request, people=12).survey().deals


def test_the_example_has_a_small_document() -> None:
    survey = survey_of(Draft.read(EXAMPLE), 2_000, response=0.6)
    assert len(survey.to_bytes()) <= 6 * 1024
    assert Survey.from_bytes(survey.to_bytes()) == survey


class TestDocument:
    def test_bytes_are_read_again(self) -> None:
        survey = survey_of(BRANCHED)
        again = Survey.from_bytes(survey.to_bytes())
        assert again == survey
        assert again.hash == survey.hash
        assert again.link == f"{COLLECTOR}/v1/surveys/{survey.hash}"

    def test_one_question_costs_what_the_survey_does(self) -> None:
        survey = survey_of(asked({"name": "a"} | YES_NO))
        (question,) = survey.sensitive
        assert survey.cost == question.cost

    @pytest.mark.parametrize("text", ["It costs ε = 0.2.", "{cost} {cost}", "{costs}"])
    def test_consent_texts_have_one_gap_for_the_cost(self, text: str) -> None:
        with pytest.raises(ArgumentError, match=r"consent must be a text with \{cost\} once"):
            replace(survey_of(BRANCHED), consent={"en": text})

    def test_waves_need_invitations(self) -> None:
        with pytest.raises(ArgumentError, match="waves must be 1 without invitations"):
            survey_of(asked({"name": "a"} | YES_NO, waves=2), invitations=False)

    def test_a_document_that_nobody_would_read_is_not_made(self) -> None:
        many = [f"label {'x' * 900} {at}" for at in range(600)]
        long = [OPEN | {"name": name, "labels": many} for name in ("one", "other")]
        with pytest.raises(ArgumentError, match="the survey must be at most"):
            survey_of(asked({"name": "a"} | YES_NO, *long))

    def test_dealers_are_asked_for(self) -> None:
        with pytest.raises(ArgumentError, match="dealing must name who deals"):
            survey_of(BRANCHED, dealers=())

    def test_a_wave_needs_the_one_before_and_a_place_among_those_announced(self) -> None:
        two = asked({"name": "a"} | YES_NO, waves=2)
        first = survey_of(two)
        second = survey_of(two, after=first)
        assert (second.wave, second.panel) == (2, first.hash)
        assert "wave 2 of 2" in consent_text(second, "en")
        with pytest.raises(ArgumentError, match="wave must be at most 2"):
            survey_of(two, after=second)


BY = {"en": "Institute", "de": "Institut"}


class TestWhoAsks:
    def test_it_stands_in_the_document_and_in_the_consent_text(self) -> None:
        item = {"name": "a"} | YES_NO
        document = {"title": "T", "languages": ["en", "de"], "questions": [item]}
        plain = survey_of(Draft.from_dict(document))
        assert b'"by"' not in plain.to_bytes()  # absent: documents made before keep their hash
        more = {"by": BY, "contact": "Street 1\n\n12345 Town"}
        survey = survey_of(Draft.from_dict(document | more))
        assert read_survey(survey.to_bytes()) == survey
        assert survey.by == BY
        assert "Institut\n" in consent_text(survey, "de")
        # Of one line: a blank line would end the details.
        assert consent_text(survey, "en").endswith(": Street 1, 12345 Town")

    def test_control_characters_are_refused_with_the_name_of_the_field(self) -> None:
        document: dict[str, Any] = {"title": "T", "questions": [{"name": "a"} | YES_NO]}
        for field in ("title", "by", "contact"):
            with pytest.raises(ArgumentError, match=f"^{field} must .*BELL|^{field} must .*U.0007"):
                Draft.from_dict(document | {field: "a\x07"})
        document["questions"][0]["text"] = "a\u202eb"
        with pytest.raises(
            ArgumentError, match=r"^text of question 'a' must .*RIGHT-TO-LEFT OVERRIDE"
        ):
            Draft.from_dict(document)


class TestGermanNumbers:
    def test_they_have_commas(self) -> None:
        item = {"name": "a"} | YES_NO
        document = {"title": "T", "languages": ["de"], "questions": [item], "epsilon": 1.2345}
        survey = survey_of(Draft.from_dict(document))
        text = consent_text(survey, "de")
        assert "ε = 1,235" in text
        assert "höchstens 28." in text


class TestCost:
    def test_the_total_is_the_sum_of_the_answers_in_every_view(self) -> None:
        survey = survey_of(BRANCHED, epsilon=2.0)
        for view in ("report", "cards", "everything", "dealer"):
            losses = [one.guarantee(view) for one in survey.sensitive]
            assert sum(losses) <= survey.guarantee(view) <= sum(losses) * (1 + 1e-12)
        assert survey.cost <= 2.0001

    def test_what_people_are_told_holds_for_every_answer_and_wave(self) -> None:
        """Closed decks of DRR have a δ for every answer, "several" one for each label."""
        document = asked(
            {"name": "a"} | YES_NO,
            {"name": "m", "kind": "several", "text": "?", "labels": ["x", "y", "z"]},
            waves=2,
            epsilon=2.0,
        )
        survey = survey_of(document, mechanism="drr", closed_deck=True)
        assert 4e-6 <= survey.total_delta < 4.0001e-6
        words = consent_text(survey, "en")
        assert "“?” ε = 1" in words  # by what is asked, not by the item's name
        assert "at most 1 in 333,333" in words  # of the item m
        assert "at most 1 in 125,000" in words  # of both waves
        planned = plan_draft(document, 200, options=PlanOptions(mechanism="drr", announced=False))
        assert planned.delta == pytest.approx(4e-6)
        assert planned.guarantees["everything"] == pytest.approx(survey.cost, rel=1e-9)
        # The one number is of both waves, and against who knows the cards where there is a δ.
        most = 2 * survey.guarantee("dealer")
        assert people_of_100(survey.cost * 2) < people_of_100(most) == 100
        assert "all may have it. So your answers are hardly hidden." in words

    @pytest.mark.parametrize("own", [1.5, 4.0])
    def test_two_items_at_small_n_attain_the_sum(self, own: float) -> None:
        """By the joint law of two items' reports, for every pair of pairs of answers.

        Everybody else's cards and answers are known: then the sum tells a noisy card, and the
        report is the coin's answer behind it (tests/mechanisms enumerate whole decks).
        """
        one = MRR.for_epsilon(0.6, n=2, dealer_epsilon=own, announced=True)
        two = MRR.for_epsilon(0.3, n=2, dealer_epsilon=own / 2, announced=True)
        laws = [_laws(mechanism) for mechanism in (one, two)]
        worst = 0.0
        for mine, other in itertools.product(itertools.product((0, 1), repeat=2), repeat=2):
            joint = [
                np.multiply.outer(laws[0][answers[0]], laws[1][answers[1]])
                for answers in (mine, other)
            ]
            worst = max(worst, float(np.max(np.log(joint[0] / joint[1]))))
        total = one.epsilon("everything") + two.epsilon("everything")
        assert worst == pytest.approx(total, rel=1e-9)

    def test_a_limit_is_refused_with_what_each_item_costs(self) -> None:
        survey = survey_of(BRANCHED, epsilon=2.0)
        with pytest.raises(ProtocolError, match=r"a ε = 1.*b ε = 1"):
            check_limits(survey.sensitive, Limits(1.5))
        assert check_limits(survey.sensitive, Limits(2.01)).answers == 2
        # Whoever is not asked the second item pays for the first alone.
        shown = survey.asked({"sector": "office", "age": 30.0})
        assert check_limits(shown, Limits(1.5)).epsilon <= 1.01


def _laws(mechanism: MRR) -> dict[int, Any]:
    """The law of one person's report, relative, for either answer; the card is announced noise."""
    places = np.arange(-60, 61)
    card = np.exp(-float(mechanism.step) * np.abs(places))
    truth = math.exp(mechanism.own) / (1 + math.exp(mechanism.own))
    shifted = np.stack([card[1:], card[:-1]])
    return {0: np.array([truth, 1 - truth]) @ shifted, 1: np.array([1 - truth, truth]) @ shifted}


class TestOpenAnswers:
    def test_branches(self) -> None:
        b = BRANCHED.questions[3]
        assert is_asked(b, {"sector": "workshop"})
        assert not is_asked(b, {"sector": "office"})
        assert not is_asked(b, {})

    def test_a_condition_on_an_item_that_was_not_asked_does_not_hold(self) -> None:
        chain = asked(
            OPEN,
            {"name": "tool", "sensitive": False, "only_if": {"sector": "workshop"}} | YES_NO,
            {"name": "c", "only_if": {"tool": "no"}} | YES_NO,
        )
        answers = check_open_answers(chain.open, {"sector": "office"})
        assert not is_asked(chain.questions[2], answers)
        assert as_covariates(chain.open, answers) == {"sector": "office", "tool": NOT_ASKED}
        with pytest.raises(ArgumentError, match="asked of this person, got 'tool'"):
            check_open_answers(chain.open, {"sector": "office", "tool": "no"})

    @pytest.mark.parametrize(
        ("answers", "reason"),
        [
            ({"sector": "office"}, "'age'"),
            ({"sector": "elsewhere", "age": 20}, "office"),
            ({"sector": "office", "age": 14}, "from 15 to 80"),
            ({"sector": "office", "age": "30"}, "from 15 to 80"),
            ({"sector": None, "age": 30}, "'sector'"),
            ([], "an object"),
        ],
        ids=range(6),
    )
    def test_refusals(self, answers: Any, reason: str) -> None:
        with pytest.raises(ArgumentError, match=reason):
            check_open_answers(BRANCHED.open, answers)

    def test_prefer_not_to_say_is_a_value_of_its_own(self) -> None:
        one = asked(OPEN | {"prefer_not": True}, {"name": "a"} | YES_NO)
        assert as_covariates(one.open, check_open_answers(one.open, {"sector": None})) == {
            "sector": PREFER_NOT
        }


class TestAnswers:
    def test_values_of_every_kind(self) -> None:
        survey = survey_of(
            asked(
                {"name": "a"} | YES_NO,
                {"name": "s", "kind": "scale", "text": "?", "prefer_not": True},
                {"name": "m", "kind": "several", "text": "?", "labels": ["x", "y"]},
                {"name": "n", "kind": "number", "text": "?", "low": 0, "high": 1},
                {
                    "name": "c",
                    "kind": "choice",
                    "text": {"en": "?", "de": "?"},
                    "labels": [{"en": "one", "de": "eins"}, {"en": "two", "de": "zwei"}],
                },
                languages=["en", "de"],
            )
        )
        told = {"a": "yes", "s": 3, "m": ["y"], "n": 1, "c": "zwei"}
        given, values = read_answers(survey, told)
        assert given == {}
        assert values == {"a": 1, "s": 2, "m.1": 0, "m.2": 1, "n": 1, "c": 1}
        assert read_answers(survey, told | {"s": None})[1]["s"] == 5

    def test_numbers_of_numpy_and_labels_of_any_language(self) -> None:
        color = {
            "name": "c",
            "kind": "choice",
            "sensitive": False,
            "text": "?",
            "labels": [{"en": "red", "de": "rot"}, {"en": "blue", "de": "blau"}],
        }
        scale = {"name": "s", "kind": "scale", "text": "?"}
        survey = survey_of(asked(color, scale, languages=["en", "de"]))
        for three in (3, np.int64(3), "3"):
            given, values = read_answers(survey, {"c": "blau", "s": three})
            assert given == {"c": "blue"}
            assert values == {"s": 2}
        for wrong in (3.5, True, None, "six"):
            with pytest.raises(ArgumentError, match="one of '1'"):
                read_answers(survey, {"c": "blau", "s": wrong})

    @pytest.mark.parametrize(
        "answers",
        [
            {"sector": "office", "age": 30, "a": "perhaps secret"},
            {"sector": "my secret place", "age": 30, "a": "no"},
            {"sector": "office", "age": 30},
            {"sector": "office", "age": 30, "a": "no", "b": "no"},
            {"sector": "workshop", "age": 30, "a": "no"},
        ],
        ids=range(5),
    )
    def test_refusals_repeat_no_answer(self, answers: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError) as caught:
            read_answers(survey_of(BRANCHED), answers)
        assert "secret" not in str(caught.value)
