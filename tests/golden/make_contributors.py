"""Golden vectors of what a contributor's client computes beside single reports.

    python -m tests.golden.make_contributors

writes contributors.json beside this file: masked reports of more than two values (from several
words), cards of several dealers, numbers rounded to one of two ends, pseudonyms, surveys with
their hashes, losses and what they become for as many as enrolled, and uploads.
The JavaScript client (clients/js) is held to them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr.dealing.deck import card_from_json
from jrr.dealing.interface import Dealing
from jrr.dealing.kinds import Dealers, Nobody
from jrr.mechanisms.base import Mechanism
from jrr.privacy.windows import WindowWords
from jrr.protocol.identity import (
    COLLECTOR,
    check_letters,
    device_name,
    invitation_secret,
    pseudonym,
)
from jrr.survey.draft import one_question
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey
from tests.golden.make_encodings import Recorder

PATH = Path(__file__).with_name("contributors.json")
DEVICE = bytes(range(32))
INVITATION = "abcdefghijklmnopqrstuvwxyz234567"
ONE, SEVERAL = (
    Dealers(("https://dealer.example",)),
    Dealers(("https://one.example", "https://two.example:8443"), leave_out=True),
)
MASKED = [
    jrr.MRR(10, own=3.0, card_rate=0.8, total_rate=0.3, k=3),
    jrr.MRR(10, own=3.0, card_rate=7.0, announced_rate=0.3, k=5),
    jrr.MRR(10, own=3.0, card_rate=0.8, announced_rate=0.3, k=4, coin="oue"),
]
SEVERALLY = [
    *(jrr.MRR(10, own=3.0, card_rate=0.3, announced_rate=0.3, k=k, dealers=3) for k in (2, 4)),
    jrr.MRR(10, own=3.0, card_rate=0.3, announced_rate=0.3, coin=jrr.Window(6, 3), dealers=3),
]
ENCODED: dict[str, tuple[Mechanism, Dealing]] = {
    "ss": (jrr.SS(8, epsilon=1.0), Nobody()),
    "sue": (jrr.SUE(10, epsilon=1.0), Nobody()),
    "oue": (jrr.OUE(9, epsilon=0.7), Nobody()),
    "oue, joint": (jrr.OUE(10, q=0.3, s=0.1, coupling="joint", n=20), ONE),
    "sue, dealt": (jrr.SUE(8, q=0.3, s=0.2, coupling="dealt", n=20), ONE),
    "olh": (jrr.OLH(12, epsilon=1.0), Nobody()),
    "olh, joint": (jrr.OLH(12, g=4, p=0.5, s=0.2, coupling="joint", n=20), ONE),
}
SURVEYS: dict[str, tuple[Mechanism, Dealing]] = {
    "rr": (jrr.RR(epsilon=1.0), Nobody()),
    "rr of seven": (jrr.RR(k=7, epsilon=0.3), Nobody()),
    "jrr": (jrr.JRR(n=20, p=0.6, s=0.25), ONE),
    "drr": (jrr.DRR(n=20, truth=0.3, own=0.2), ONE),
    "mrr": (jrr.MRR(50, own=3.0, card_rate=0.7, announced_rate=0.55, dealers=2), SEVERAL),
    "mrr, closed deck": (jrr.MRR(50, own=2.5, card_rate=0.6, total_rate=0.7), ONE),
    "mrr of three": (jrr.MRR(10, own=3.0, card_rate=0.8, announced_rate=0.3, k=3), ONE),
    "mrr, oue": (MASKED[2], ONE),
    "mrr, three sums": (
        jrr.MRR(50, own=3.0, card_rate=0.4, announced_rate=0.3, k=4, announcements=3),
        ONE,
    ),
    "mrr, tiny": (jrr.MRR(10_000, own=2.0, card_rate=0.03, announced_rate=0.04), ONE),
    **ENCODED,
}
STEPPED: list[Any] = [
    jrr.Piecewise(epsilon=1.0),
    jrr.Piecewise(epsilon=3.0, steps=7, width=2),
    jrr.MRR(50, own=3.0, card_rate=0.03, announced_rate=0.02, coin=jrr.Window(24, 9)),
    jrr.MRR(50, own=2.5, card_rate=0.1, total_rate=0.2, coin=jrr.Window(5, 3)),
]
NUMBER = (-2.5, 10.0)  # ends of a question for a number
# Whose cards are dealt to those who enrolled, and how many they are.
ENROLLED: dict[str, tuple[Mechanism, int]] = {
    "jrr": (jrr.JRR(n=19, p=0.6, s=0.25), 33),
    "drr of three": (jrr.DRR(n=20, truth=0.3, own=0.2, k=3), 31),
    "mrr": (jrr.MRR(50, own=3.0, card_rate=0.7, announced_rate=0.55), 4_000),
    "oue, joint": (jrr.OUE(10, q=0.3, s=0.1, coupling="joint", n=19), 64),
    "olh, joint": (jrr.OLH(12, g=4, p=0.5, s=0.2, coupling="joint", n=19), 64),
}


def masked_reports(mechanism: jrr.MRR, seed: int) -> list[dict[str, Any]]:
    """Reports of every value with and without a card; words at, beside and far from thresholds."""
    source = jrr.SeededRandom(seed)
    reach = mechanism.limit + 1
    rows = [[0] * mechanism.k, [reach] * mechanism.k, [-reach] * mechanism.k]
    rows += [[at - 2 for at in range(mechanism.k)]]
    near = [2 * (mechanism.lie_words + step) for step in (-1, 0, 1)]
    found = []
    for value in range(mechanism.k):
        for row in (None, *rows):
            for word in (None, 0, 2**64 - 1, 2**63 - 1, 2**63, *near):
                count = mechanism.report_format.words
                words = [source.word() if word is None else word for _ in range(count)]
                card = None if row is None else card_from_json(mechanism, row)
                report = mechanism.report_from_words(value, card, words)
                found.append(
                    {
                        "words": [str(one) for one in words],
                        "value": value,
                        "card": row,
                        "report": mechanism.report_format.to_json(report),
                    }
                )
    return found


def reports_of_several(mechanism: jrr.MRR) -> list[dict[str, Any]]:
    """Reports with the cards of one to three dealers, near and far beyond the clamp."""
    source, draws = jrr.SeededRandom(5), np.random.default_rng(5)
    found = []
    for at in range(40):
        reach = (5, mechanism.limit + 2, 32_767)[at % 3]
        shape: tuple[int, ...] = (1 + at % mechanism.dealers,)
        shape += () if mechanism.k == 2 else (mechanism.k,)
        cards = draws.integers(-reach, reach + 1, shape).tolist()
        words = [source.word() for _ in range(mechanism.report_format.words)]
        value = at % (mechanism.k if mechanism.steps == 1 else mechanism.steps + 1)
        held = [card_from_json(mechanism, card) for card in cards]
        report = mechanism.report_from_words(value, held, words)
        found.append(
            {
                "words": [str(one) for one in words],
                "value": value,
                "card": cards,
                "report": mechanism.report_format.to_json(report),
            }
        )
    return found


def stepped(mechanism: Any) -> dict[str, Any]:
    """Reports of numbers in steps: ordinary words, and those beside which a report changes."""
    source, found = jrr.SeededRandom(9), []
    edges = {0, 2**64 - 1}
    for lies in {mechanism.lie_words, getattr(mechanism, "_alone_words", mechanism.lie_words)}:
        words = WindowWords.of(mechanism.steps, mechanism.coin.width, lies)
        others = [words.other * number for number in (1, mechanism.steps - 1, mechanism.steps)]
        inside = [lies + words.told * number for number in range(1, mechanism.coin.width)]
        edges |= {2 * edge + near for edge in (*others, *inside) for near in (-1, 0)}
    words_drawn = [*sorted(edges), *(source.word() for _ in range(40))]
    for at, word in enumerate(words_drawn):
        recorder = Recorder(iter([word]))
        card = (None, 0, 5, -40, 32_767)[at % 5] if mechanism.deals else None
        value = at % (mechanism.steps + 1)
        report = mechanism.respond_one_step(value, card, recorder)
        entry = {"words": recorder.drawn, "value": value, "card": card, "report": report}
        found.append(entry)
    return {"mechanism": mechanism.to_dict(), "vectors": found}


def rounded() -> list[dict[str, Any]]:
    """Numbers between two ends, and the end that a word makes of each: 0 the lower, 1 the upper."""
    low, high = NUMBER
    width = high - low
    answers = [
        low,
        high,
        0.0,
        1.0,
        7.3,
        low + width / 2,
        low + width * 2**-52,
        np.nextafter(high, 0),
    ]
    found = []
    for at, answer in enumerate(map(float, answers)):
        edge = 2 * int((answer - low) / width * 2**63)
        words = [0, 2**64 - 1, edge - 1, edge, edge + 1, jrr.SeededRandom(at).word()]
        for word in sorted({word for word in words if 0 <= word < 2**64}):
            for mechanism in (jrr.RR(p=0.75), jrr.Piecewise(epsilon=1.0)):
                step = jrr.Numbers(low, high, mechanism).steps([answer], Words([word]))
                told = {"number": answer, "word": str(word), "steps": mechanism.steps}
                found.append(told | {"value": int(step[0])})
    return found


class Words:
    """A source of given words."""

    def __init__(self, words: list[int]) -> None:
        self.coming = list(words)

    def words(self, count: int) -> Any:
        taken, self.coming = self.coming[:count], self.coming[count:]
        return np.array(taken, np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


def losses_of(survey: Survey) -> dict[str, float]:
    """What the only perturbed answer loses."""
    (question,) = survey.sensitive
    return {view: question.guarantee(view) for view in ("report", "everything", "dealer")}


def number_entry(mechanism: Mechanism) -> dict[str, Any]:
    """A survey that asks for a number in steps, and what it loses."""
    survey = survey_of(mechanism, ONE if mechanism.deals else Nobody(), number=NUMBER)
    return {"document": survey.to_bytes().decode(), "losses": losses_of(survey)}


def enrolled() -> dict[str, Any]:
    """Surveys where people enrol first, and the mechanism for as many as did."""
    found = {}
    for name, (mechanism, people) in ENROLLED.items():
        dealing = Dealers(("https://dealer.example",), enrol_first=True)
        survey = survey_of(mechanism, dealing, capacity=10_000)
        found[name] = {
            "document": survey.to_bytes().decode(),
            "n": people,
            "mechanism": survey.sensitive[0].for_people(people).to_dict(),
        }
    return found


def survey_of(
    mechanism: Mechanism,
    dealing: Dealing,
    capacity: int = 500,
    number: tuple[float, float] | None = None,
) -> Survey:
    """One whose texts need care: quotation marks, accents, beyond 16 bits, line breaks."""
    asked = one_question(
        '¿Ámbar, 漢字, "ε" 𝛆\n</script>?',
        labels=tuple(f"answer {value} ü\\" for value in range(mechanism.k)),
        number=number,
        groups={"region": ("north", "süd"), "ämne": ("a", "\U0001f600")},
    )
    return Survey(
        title=asked.title,
        languages=asked.languages,
        questions=asked.questions,
        mechanisms={"answer": mechanism},
        dealing=dealing,
        collector="https://collector.example:8443/here",
        capacity=capacity,
        consent={"en": "{cost}"},
        nonce="0123456789abcdef0123456789abcdef",
    )


def report_of(mechanism: Mechanism) -> Any:
    """Some report, as `respond_one` would make it."""
    if mechanism.masked:
        return 1 if mechanism.k == 2 else bytes(2 * mechanism.k)
    if isinstance(mechanism, jrr.OLH):
        return 2**64 - 1, 1
    if isinstance(mechanism, jrr.SS | jrr.SUE | jrr.OUE):
        return bytes([3]).ljust(mechanism.width, b"\0")
    return 1


def survey_entry(mechanism: Mechanism, dealing: Dealing) -> dict[str, Any]:
    """A survey, what it loses, and the names and an upload of a contributor."""
    survey = survey_of(mechanism, dealing)
    secret = invitation_secret(INVITATION)
    serials = ["0f" * 16, None] if dealing is SEVERAL else ["0f" * 16]
    report = report_message(
        mechanism,
        report_of(mechanism),
        survey.deals,
        serials if survey.announces else None,
    )
    body = upload(
        pseudonym(secret, survey.hash, COLLECTOR),
        {"region": "süd", "ämne": "\U0001f600"},
        {"answer": report},
    )
    roles = (*dealing.roles, COLLECTOR)
    return {
        "document": survey.to_bytes().decode(),
        "hash": survey.hash,
        "losses": losses_of(survey),
        "pseudonyms": {role: pseudonym(secret, survey.hash, role).hex() for role in roles},
        "devices": {role: device_name(DEVICE, survey.hash, role).hex() for role in dealing.roles},
        "upload": body.decode(),
    }


def document() -> dict[str, Any]:
    """Everything, as contributors.json holds it."""
    return {
        "invitation": INVITATION + check_letters(INVITATION),
        "secret": invitation_secret(INVITATION).hex(),
        "masked": [
            {"mechanism": mechanism.to_dict(), "vectors": masked_reports(mechanism, at)}
            for at, mechanism in enumerate(MASKED)
        ],
        "device": DEVICE.hex(),
        "several": [
            {"mechanism": mechanism.to_dict(), "vectors": reports_of_several(mechanism)}
            for mechanism in SEVERALLY
        ],
        "stepped": [stepped(mechanism) for mechanism in STEPPED],
        "rounded": rounded(),
        "surveys": {name: survey_entry(*given) for name, given in SURVEYS.items()},
        "number": survey_of(jrr.RR(epsilon=1.0), Nobody(), number=NUMBER).to_bytes().decode(),
        "number in steps": {
            mechanism.name: number_entry(mechanism) for mechanism in (STEPPED[0], STEPPED[2])
        },
        "enrolled": enrolled(),
    }


def text() -> str:
    """The document with one line per entry, so that a change can be read."""
    parts = []
    for name, part in document().items():
        if isinstance(part, str):
            written = json.dumps(part)
        elif name in ("masked", "several", "stepped"):
            written = "[\n" + ",\n".join(map(_masked_lines, part)) + "\n]"
        elif isinstance(part, list):
            written = "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
        else:
            lines = (
                f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in part.items()
            )
            written = "{\n" + ",\n".join(lines) + "\n}"
        parts.append(f"{json.dumps(name)}: {written}")
    return "{" + ",\n".join(parts) + "}\n"


def _masked_lines(case: dict[str, Any]) -> str:
    vectors = ",\n".join(map(json.dumps, case["vectors"]))
    return f'{{"mechanism": {json.dumps(case["mechanism"])}, "vectors": [\n{vectors}\n]}}'


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
