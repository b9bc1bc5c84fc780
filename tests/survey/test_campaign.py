"""The campaign's document: one canonical form, and no promise that its mechanism does not keep."""

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jrr import DRR, JRR, OLH, OUE, RR, Mechanism
from jrr.errors import JrrError
from jrr.survey.addresses import check_address
from jrr.survey.campaign import MOST, Campaign, hash_of, read_campaign
from jrr.survey.creation import campaign_from, more_people, plan_for, planned_for
from jrr.survey.dealer_kinds import DealerServer, NoDealer, read_dealer
from tests.bare_plans import plan

DEALER, COLLECTOR = "https://dealer.example", "https://collector.example:8443/here"


def campaign(mechanism: Mechanism | None = None, **more: Any) -> Campaign:
    asked = DRR(21, truth=0.5, own=0.1) if mechanism is None else mechanism
    deals = asked.moments.deck is not None
    settings: dict[str, Any] = {
        "question": "Do you?",
        "labels": tuple(f"answer {value}" for value in range(asked.k)),
        "mechanism": asked,
        "dealer": DealerServer(DEALER) if deals else NoDealer(),
        "collector": COLLECTOR,
        "colluders": 2 if deals else 0,
    }
    if isinstance(more.get("dealer"), dict):  # as it stands in a document
        more["dealer"] = read_dealer(more["dealer"])
    return Campaign(**(settings | more))


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
    made = campaign(
        mechanism,
        question='¿Ámbar, 漢字, "ε"\n?',
        covariates={"region": ("north", "süd"), "a": ("1",)},
        consent="I agree.",
        opens="2026-01-31T12:00:00Z",
        closes="2026-02-28T12:00:00Z",
        invitations=False,
    )
    data = made.to_bytes()
    assert Campaign.from_bytes(data) == made
    assert Campaign.from_bytes(data).to_bytes() == data
    assert canonical(json.loads(data)) == data
    assert made.hash == hash_of(data)
    assert read_campaign(data) is read_campaign(bytes(data))
    for view, loss in mechanism.guarantees(made.colluders).items():
        assert made.guarantee(view) == loss


def test_an_unbounded_loss_is_said_in_words() -> None:
    made = campaign(DRR(20, truth=0.5))
    assert made.guarantee("dealer") == math.inf
    assert json.loads(made.to_bytes())["guarantees"]["dealer"] == "unbounded"
    assert b"Infinity" not in made.to_bytes()


def test_two_campaigns_that_ask_the_same_have_different_names() -> None:
    assert campaign().hash != campaign().hash
    assert campaign(nonce="1").hash == campaign(nonce="1").hash
    assert campaign(nonce="1").hash != campaign(nonce="2").hash


@pytest.mark.parametrize("view", ["report", "truths", "cards", "dealer"])
def test_less_than_what_holds_cannot_be_promised_and_more_can(view: str) -> None:
    made = campaign(nonce="1")
    document = json.loads(made.to_bytes())
    honest = document["guarantees"][view]
    for wrong in (0.0, honest / 2, math.nextafter(honest, 0)):
        document["guarantees"][view] = wrong
        with pytest.raises(JrrError, match=f"not be less than what holds: {view}"):
            Campaign.from_bytes(canonical(document))
    for fine in (math.nextafter(honest, math.inf), honest + 1, "unbounded"):
        document["guarantees"][view] = fine
        read = Campaign.from_bytes(canonical(document))
        assert read.guarantee(view) == (math.inf if fine == "unbounded" else fine)
    refused: list[Any] = [-1.0, "much", None, True, [], "inf"]
    for bad in refused:
        document["guarantees"][view] = bad
        with pytest.raises(JrrError):
            Campaign.from_bytes(canonical(document))
    del document["guarantees"][view]
    with pytest.raises(JrrError, match="guarantees must be exactly of"):
        Campaign.from_bytes(canonical(document))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"question": ""}, "question"),
        ({"question": " \n"}, "question"),
        ({"question": "x" * 2_001}, "question"),
        ({"question": 1}, "question"),
        ({"question": "\ud800"}, "question"),
        ({"labels": ("a",)}, "labels"),
        ({"labels": ("a", "a")}, "all different"),
        ({"labels": ("a", "")}, "labels"),
        ({"labels": ["a", "b"]}, "labels"),
        ({"collector": "collector.example"}, "collector"),
        ({"collector": "https://collector.example/"}, "collector"),
        ({"dealer": {"kind": "none"}}, "dealer"),
        ({"dealer": {"kind": "server"}}, "dealer"),
        ({"dealer": {"kind": "server", "url": "x"}}, "dealer"),
        ({"dealer": {"kind": "server", "url": DEALER, "more": 1}}, "dealer"),
        ({"dealer": {"kind": "friend", "url": DEALER}}, "dealer kind"),
        ({"dealer": "https://dealer.example"}, "dealer"),
        ({"colluders": -1}, "colluders"),
        ({"colluders": 21}, "colluders"),
        ({"dealing": "later"}, "dealing"),
        ({"capacity": 0}, "capacity"),
        ({"capacity": True}, "capacity"),
        ({"capacity": 1e3}, "capacity"),
        ({"capacity": 10**13}, "capacity"),
        ({"min_cell": 0}, "min_cell"),
        ({"invitations": 1}, "invitations"),
        ({"covariates": {"": ("a",)}}, "covariates"),
        ({"covariates": {"a": ()}}, "covariates a"),
        ({"covariates": {"a": ("b", "b")}}, "covariates a"),
        ({"covariates": {"a": ("b", 1)}}, "covariates a"),
        ({"opens": "2026-01-31"}, "opens"),
        ({"opens": "2026-02-30T00:00:00Z"}, "opens"),
        ({"opens": "2026-01-31T12:00:00+01:00"}, "opens"),
        ({"opens": 0}, "opens"),
        ({"opens": "2026-01-31T12:00:00Z", "closes": "2026-01-31T12:00:00Z"}, "closes"),
        ({"nonce": ""}, "nonce"),
        ({"consent": None}, "consent"),
        ({"by": ""}, "by"),
        ({"contact": "a\x1b[31m"}, "contact"),
        ({"contact": "x" * 501}, "contact"),
        ({"consent_version": ""}, "consent_version"),
    ],
    ids=str,
)
def test_what_is_no_campaign(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(JrrError, match=words):
        campaign(**changes)


def parties(*addresses: str) -> dict[str, Any]:
    return {
        "kind": "committee",
        "threshold": 1,
        "parties": [
            {"url": url, "link": f"p.example:{7000 + at}", "certificate": f"certificate {at}"}
            for at, url in enumerate(addresses)
        ],
    }


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
    committee = len(others) > 1
    dealer = parties(*others) if committee else {"kind": "server", "url": others[0]}
    dealing = "enrol" if committee else "arrival"
    words = "party must be at another" if committee else "dealer must be at another"
    with pytest.raises(JrrError, match=words):
        campaign(collector=collector, dealer=dealer, dealing=dealing)


def test_ports_of_one_host_are_apart() -> None:
    """Demonstrations and tests are on one machine."""
    at = "http://127.0.0.1:80"
    assert campaign(collector=f"{at}01", dealer={"kind": "server", "url": f"{at}00"}).deals
    assert campaign(
        collector=f"{at}00", dealer=parties(f"{at}01", f"{at}02", f"{at}03"), dealing="enrol"
    ).deals


@pytest.mark.parametrize(
    ("dealer", "words"),
    [
        (parties("https://a", "https://b"), "parties must be 3 to 16, got 2"),
        (parties() | {"parties": [{"url": "https://a"}] * 3}, "of url, link and certificate"),
        ({"kind": "server", "link": "x"}, "dealer must be of kind and url, got kind, link"),
    ],
    ids=str,
)
def test_refusals_are_in_words(dealer: dict[str, Any], words: str) -> None:
    with pytest.raises(JrrError, match=words) as error:
        campaign(dealer=dealer, dealing="enrol")
    assert "{" not in str(error.value)


def test_mechanisms_without_cards_have_no_dealer() -> None:
    with pytest.raises(JrrError, match="exactly where there are cards"):
        campaign(RR(2, 1.0), dealer={"kind": "server", "url": DEALER})


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
    data = campaign().to_bytes()
    document = json.loads(data)
    for other in (
        json.dumps(document).encode(),
        json.dumps(document, separators=(",", ":"), ensure_ascii=False, indent=0).encode(),
        canonical(dict(reversed(document.items())))[:-1] + b" }",
        data + b" ",
        b" " + data,
        data.replace(b'"min_cell":20', b'"min_cell":20.0'),
        data.replace(b'"min_cell":20', b'"min_cell":020'),
        data.replace(b'"min_cell":20', b'"min_cell":20,"min_cell":20'),
        data.replace(b"Do you?", b"Do you\\u003f"),
        canonical(document | {"jrr_campaign": 1.0}),
    ):
        assert other != data
        with pytest.raises(JrrError):
            Campaign.from_bytes(other)
    assert Campaign.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "JSON"),
        (b"null", "object"),
        (b"[]", "object"),
        (b"\xff", "UTF-8"),
        (b"[" * 100_000, "brackets"),
        (b"{}", "jrr_campaign"),
        (b'{"jrr_campaign":2}', "version 1, got 2"),
        (b'{"jrr_campaign":"1"}', "jrr_campaign"),
        (b'{"jrr_campaign":1}', "exactly of"),
        (b" " * (MOST + 1), "at most"),
    ],
    ids=lambda data: str(data)[:12],
)
def test_bytes_that_are_no_document(data: bytes, words: str) -> None:
    with pytest.raises(JrrError, match=words):
        Campaign.from_bytes(data)


@given(st.data())
def test_a_changed_document_is_refused_or_is_another_campaign(data: st.DataObject) -> None:
    made = campaign(nonce="1")
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
        read = Campaign.from_bytes(changed)
    except JrrError:
        return
    assert read.to_bytes() == changed
    assert (read == made) == (changed == made.to_bytes())


# -- enrol, then deal ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [m for m in MECHANISMS if m.moments.deck is not None], ids=str
)
def test_dealing_on_arrival_always_deals_the_mechanism_itself(mechanism: Mechanism) -> None:
    made = campaign(mechanism)
    for n in (2, 20, 21, 1000):
        assert made.for_people(n) is mechanism


@pytest.mark.slow
@pytest.mark.parametrize("family", ["jrr", "drr", "oue-dealt", "olh-joint", "auto"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7])
def test_whatever_number_enrols_from_the_fewest_on_can_be_dealt_to(family: str, k: int) -> None:
    for people in (21, 22, 40, 45):
        made = plan_for(
            people, "enrol", 1.0, colluders=2, k=k, dealer_epsilon=3.0, mechanism=family
        )
        document = campaign_from(
            made,
            question="Q?",
            labels=[f"answer {value}" for value in range(k)],
            collector=COLLECTOR,
            dealer=DealerServer(DEALER),
            dealing="enrol",
        )
        for n in range(people, people + 25):
            dealt = document.for_people(n)
            assert dealt.moments.deck in (None, n)
            for view, loss in dealt.guarantees(document.colluders).items():
                assert loss <= document.guarantee(view)


def test_fewer_people_than_the_promise_needs_are_refused() -> None:
    made = campaign(DRR(21, truth=0.5, own=0.1), dealing="enrol", capacity=30)
    assert made.for_people(21) == made.mechanism
    assert made.for_people(30).moments.deck == 30
    for n in (20, 2, 0):
        with pytest.raises(JrrError, match=f"{n} have enrolled, at least 21 are needed"):
            made.for_people(n)
    for wrong in (31, -1, 21.0, True, "21", None):
        with pytest.raises(JrrError, match="n must be"):
            made.for_people(wrong)  # type: ignore[arg-type]
    # An honest document about a mechanism that would lose its privacy with more people.
    uneven = campaign(DRR(20, truth=0.5, own=0.1, deck=(15, 5)), dealing="enrol")
    with pytest.raises(JrrError, match="even where n is fixed by enrolment"):
        uneven.for_people(22)


def test_planning_for_enrolment_takes_a_number_at_or_below_the_fewest() -> None:
    for people in range(4, 200):
        assert planned_for(people, "arrival") == people
        least = planned_for(people, "enrol")
        assert 3 <= least <= people
    for wrong in (1, 0, -1, 2.0, True):
        with pytest.raises(JrrError):
            planned_for(wrong, "enrol")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("people", "dealing", "more"), [(12, "enrol", 13), (3, "enrol", 13), (9, "arrival", 12)]
)
def test_how_many_people_would_have_cards(people: int, dealing: str, more: int) -> None:
    options: dict[str, Any] = {"colluders": 2, "dealer_epsilon": 3.0, "mechanism": "drr"}
    assert plan_for(people, dealing, 1.0, **options).mechanism.moments.deck is None
    assert more_people(people, dealing, 1.0, **options) == more
    assert plan_for(more, dealing, 1.0, **options).mechanism.moments.deck is not None


def test_what_never_has_cards_has_none_for_more_people() -> None:
    assert more_people(12, "enrol", 1.0, mechanism="rr") is None
    assert more_people(12, "enrol", 1.0, colluders=2, dealer_epsilon=1.0) is None
    assert more_people(10**12, "arrival", 1.0, mechanism="rr") is None


def test_a_campaign_from_a_plan() -> None:
    made = plan(100, 1.0, 5, dealer_epsilon=3.0, mechanism="drr")
    asked: dict[str, Any] = {"question": "Q?", "labels": ["no", "yes"], "collector": COLLECTOR}
    server = DealerServer(DEALER)
    document = campaign_from(made, **asked, dealer=server)
    assert document.mechanism == made.mechanism
    assert dict(document.promised or {}) == dict(made.guarantees) | {
        "everything": made.everything()
    }
    assert (document.capacity, document.colluders) == (100, 5)
    with pytest.raises(JrrError, match="dealer must be an address"):
        campaign_from(made, **asked)
    with pytest.raises(JrrError, match="2 labels"):
        campaign_from(made, **(asked | {"labels": ["no"]}), dealer=server)
    plain = campaign_from(plan(100, 1.0, 5, mechanism="rr"), **asked, dealer=server)
    assert plain.dealer == NoDealer()
    assert plain.colluders == 0


def test_the_bytes_are_those_of_the_fields() -> None:
    made = campaign(nonce="1")
    assert dataclasses.replace(made, question="Or not?").hash != made.hash
