"""Golden vectors of surveys: the document, and the upload that words and cards make of answers.

    python -m tests.golden.make_survey

writes survey.json beside this file: surveys of every kind of question with one dealer, two of which
one is left out, and none; their hashes and costs, a person's names, and uploads. The JavaScript
client (clients/js) is held to them.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jrr
from jrr.dealing.deck import card_to_json
from jrr.dealing.kinds import Dealers, Nobody
from jrr.protocol.identity import COLLECTOR, check_letters, invitation_secret, pseudonym
from jrr.protocol.steps import Call, Reply, Save
from jrr.survey.contributor import contribute
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked
from tests.golden.make_contributors import INVITATION, Words

PATH = Path(__file__).with_name("survey.json")
ONE = ("https://dealer.example",)
TWO = ("https://one.example", "https://two.example:8443")
ASKER = {"by": {"en": "An institute", "de": "Ein Institut"}, "contact": "ask@institute.example"}
NONCE = "0123456789abcdef0123456789abcdef"
LIMITS = Limits(epsilon=1000.0, dealer=None)
NUMBERS = (0.0, 1.0, -1.5, 20.0, 1e5, 1e6, 123456.0, 1234567.0, 1e-4, 1e-5, 0.1 + 0.2, 2.5e-7, 1e22)
QUESTIONS: list[dict[str, Any]] = [
    {
        "name": "sector",
        "kind": "choice",
        "text": {"en": "Where do you work?", "de": "Wo arbeiten Sie?"},
        "labels": [{"en": "office", "de": "Büro"}, {"en": "workshop", "de": "Werkstatt"}],
        "sensitive": False,
    },
    {
        "name": "age",
        "kind": "number",
        "text": {"en": "Age?", "de": "Alter?"},
        "low": 15,
        "high": 80,
        "sensitive": False,
        "prefer_not": True,
    },
    {
        "name": "shifts",
        "kind": "several",
        "text": {"en": "Which shifts?", "de": "Welche Schichten?"},
        "labels": [{"en": "early", "de": "früh"}, {"en": "late", "de": "spät"}],
        "sensitive": False,
        "only_if": {"sector": "workshop"},
    },
    {
        "name": "drinks",
        "kind": "yes-no",
        "text": {"en": "Do you drink <b>at</b> work?", "de": "Trinken Sie bei der Arbeit?"},
    },
    {
        "name": "mood",
        "kind": "scale",
        "text": {"en": "How are you? 1 to 5", "de": "Wie geht es Ihnen? 1 bis 5"},
        "prefer_not": True,
    },
    {
        "name": "pills",
        "kind": "several",
        "text": {"en": "Which do you take?", "de": "Welche nehmen Sie?"},
        "labels": [{"en": "red", "de": "rote"}, {"en": "blue", "de": "blaue"}],
        "prefer_not": True,
    },
    {
        "name": "wage",
        "kind": "choice",
        "text": {"en": "How are you paid?", "de": "Wie werden Sie bezahlt?"},
        "labels": [
            {"en": "by the hour", "de": "nach Stunden"},
            {"en": "by the month", "de": "monatlich"},
            {"en": "not at all", "de": "gar nicht"},
        ],
    },
    {
        "name": "days",
        "kind": "number",
        "text": {"en": "Days ill?", "de": "Tage krank?"},
        "low": 0,
        "high": 20.5,
        "only_if": {"age": ["20", "61.5"]},
    },
    {
        "name": "welding",
        "kind": "yes-no",
        "text": {"en": "Without a mask?", "de": "Ohne Maske?"},
        "only_if": {"shifts": ["late"]},
    },
]
PEOPLE: list[dict[str, Any]] = [
    {
        "sector": "office",
        "age": 20,
        "drinks": "yes",
        "mood": 3,
        "pills": ["blue"],
        "wage": "not at all",
        "days": 7.25,
    },
    {
        "sector": "workshop",
        "age": 61.5,
        "shifts": ["late", "early"],
        "drinks": "no",
        "mood": None,
        "pills": [],
        "wage": "nach Stunden",
        "days": 20.5,
        "welding": "yes",
    },
    {
        "sector": "workshop",
        "age": None,
        "shifts": [],
        "drinks": "no",
        "mood": 5,
        "pills": None,
        "wage": "by the month",
    },
]


SHARING = [one for one in QUESTIONS if one["name"] not in ("mood", "pills")]  # few combinations


def survey_of(
    dealers: tuple[str, ...], split: str = "even", ask: int | str = "all", **more: Any
) -> Survey:
    """A survey whose nonces stay."""
    asked = Draft.from_dict(
        {
            "title": {"en": "Health at work", "de": "Gesundheit bei der Arbeit"},
            "languages": ["en", "de"],
            "epsilon": 6.0,
            "waves": 2,
            "split": split,
            "ask": ask,
            "questions": QUESTIONS if split == "even" else SHARING,
        }
        | ({} if dealers == ONE else ASKER)
    )
    settings: dict[str, Any] = {"mechanism": "auto" if dealers else "rr", "verified": False} | more
    dealing = Dealers(dealers, leave_out=len(dealers) > 1) if dealers else Nobody()
    survey = SurveyRequest(
        draft=asked,
        people=500,
        collector="https://collector.example:8443/here",
        dealing=dealing,
        **settings,
    ).survey()
    return replace(survey, nonce=NONCE)


def changed(survey: Survey, name: str, mechanism: jrr.Mechanism) -> Survey:
    """The same with another mechanism of one question."""
    return replace(
        survey,
        mechanisms={**survey.mechanisms, name: mechanism},
        colluders=0,
        informed=None,
        promised=None,
        study=None,
    )


def joint(survey: Survey) -> Survey:
    """With cards that lean one answer, of which JavaScript knows a bound only."""
    return changed(survey, "drinks", jrr.JRR(n=500, p=0.6, s=0.25))


def stepped(survey: Survey) -> Survey:
    """With a number that is told in steps and not by its two ends."""
    window = jrr.Window(5, 2)
    return changed(
        survey, "days", jrr.MRR(500, own=3.0, card_rate=0.1, total_rate=0.1, coin=window)
    )


def dealt(survey: Survey, source: jrr.SeededRandom) -> dict[str, Any]:
    """What a dealer replies to somebody who asks for cards."""
    found: dict[str, Any] = {}
    for question in survey.dealt:
        cards = question.mechanism.deal(source)
        assert cards is not None  # it deals
        found[question.name] = {"card": card_to_json(question.mechanism, cards[0])}
        serial = f"{source.word():016x}" * 2
        if question.mechanism.announced:
            found[question.name]["serial"] = serial
    return {"survey": survey.hash, "n": None, "cards": found}


def upload_of(
    survey: Survey, answers: Mapping[str, Any], seed: int, silent: str | None
) -> dict[str, Any]:
    """The upload of one person, with the words and the replies of dealers that it was made of."""
    source = jrr.SeededRandom(seed)
    words = Recorded(source)
    replies = {
        address: dealt(survey, jrr.SeededRandom(seed + 100 + at))
        for at, address in enumerate(survey.dealing.addresses)
        if address != silent
    }
    steps = contribute(
        survey, invitation_secret(INVITATION), answers, LIMITS, rng=words, device=bytes(32)
    )
    reply = None
    while True:
        step = steps.send(reply)
        if isinstance(step, Save):
            upload = json.loads(step.body)
            given = [str(word) for word in words.given]
            return {"answers": answers, "words": given, "dealt": replies, "upload": upload}
        reply = None
        if isinstance(step, Call):
            address = step.address.partition("/v1/")[0]
            body = survey.to_bytes()
            if step.body is not None and address in replies:
                body = json.dumps(replies[address]).encode()
            reply = Reply(200, body) if address in replies else Reply(0)


class Recorded(Words):
    """A source that remembers what it gave."""

    def __init__(self, source: jrr.SeededRandom) -> None:
        super().__init__([])
        self.source = source
        self.given: list[int] = []

    def words(self, count: int) -> Any:
        fresh = self.source.words(count)
        self.given += [int(word) for word in fresh]
        return fresh


def answers_to(survey: Survey, person: dict[str, Any]) -> dict[str, Any]:
    """What somebody answers of what is asked."""
    secret = invitation_secret(INVITATION)
    left_out = not_asked(survey, pseudonym(secret, survey.collector_salt, COLLECTOR))
    names = {question.name for question in survey.questions} - left_out
    return {name: answer for name, answer in person.items() if name in names}


def entry(survey: Survey, silent: str | None = None) -> dict[str, Any]:
    """A survey and what becomes of it."""
    secret = invitation_secret(INVITATION)
    names = {role: pseudonym(secret, survey.hash, role).hex() for role in survey.dealing.roles}
    salt = survey.collector_salt
    return {
        "document": survey.to_bytes().decode(),
        "hash": survey.hash,
        "cost": {"epsilon": survey.cost, "view": survey.cost_view},
        "costs": survey.costs.to_dict(),
        "pseudonyms": names | {COLLECTOR: pseudonym(secret, salt, COLLECTOR).hex()},
        "uploads": [
            upload_of(survey, answers_to(survey, person), seed, silent)
            for seed, person in enumerate(PEOPLE, 1)
        ],
    }


def document() -> dict[str, Any]:
    """Everything, as survey.json holds it."""
    first, two = survey_of(ONE), survey_of(TWO)
    return {
        "invitation": INVITATION + check_letters(INVITATION),
        "conditions": [[number, f"{number:g}"] for number in NUMBERS],
        "one dealer": entry(first),
        "two dealers": entry(two),
        "one of two dealers": entry(two, silent=TWO[0]),
        "closed deck": entry(survey_of(ONE, closed_deck=True)),
        "no cards": entry(survey_of(())),
        "second wave": entry(survey_of(ONE, after=first)),
        "second wave, smaller": entry(survey_of(ONE, after=first, epsilon=2.0)),
        "second wave, no cards": entry(survey_of((), after=first)),
        "joint": entry(joint(first)),
        "number in steps": entry(stepped(first)),
        "one coin": entry(survey_of(ONE, split="together")),
        "one coin, one of two dealers": entry(survey_of(TWO, split="together"), silent=TWO[0]),
        "one coin, closed deck": entry(survey_of(ONE, split="together", closed_deck=True)),
        "one coin, two of them asked": entry(survey_of(ONE, split="together", ask=2)),
        "one coin, one of them asked": entry(survey_of(TWO, split="together", ask=1)),
        "one coin without cards": entry(survey_of((), split="together", ask=2)),
        "one coin, nobody deals": entry(survey_of(ONE, split="together"), silent=ONE[0]),
    }


def text() -> str:
    """The document with one line per entry, so that a change can be read."""
    lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in document().items())
    return "{" + ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
