"""Golden vectors of what a contributor's client computes beside single reports.

    python -m tests.golden.make_contributors

writes contributors.json beside this file: masked reports of more than two values (from several
words), cards of several dealers, pseudonyms, campaigns with their hashes and losses, and reports
as they are sent. The JavaScript client (clients/js) is held to them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr.mechanisms.base import Mechanism
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerKind, DealerServer, DealerServers, NoDealer
from jrr.survey.deck import card_from_json
from jrr.survey.identity import check_letters, device_name, invitation_secret, pseudonym
from jrr.survey.messages import report_request

PATH = Path(__file__).with_name("contributors.json")
DEVICE = bytes(range(32))
INVITATION = "abcdefghijklmnopqrstuvwxyz234567"
ONE, SEVERAL = (
    DealerServer("https://dealer.example"),
    DealerServers(("https://one.example", "https://two.example:8443"), True),
)
MASKED = [
    jrr.MRR(10, own=3.0, card_rate=0.8, total_rate=0.3, k=3),
    jrr.MRR(10, own=3.0, card_rate=7.0, announced_rate=0.3, k=5),
    jrr.MRR(10, own=3.0, card_rate=0.8, announced_rate=0.3, k=4, coin="oue"),
]
SEVERALLY = [
    jrr.MRR(10, own=3.0, card_rate=0.3, announced_rate=0.3, k=k, dealers=3) for k in (2, 4)
]
CAMPAIGNS: dict[str, tuple[Mechanism, DealerKind]] = {
    "rr": (jrr.RR(epsilon=1.0), NoDealer()),
    "rr of seven": (jrr.RR(k=7, epsilon=0.3), NoDealer()),
    "jrr": (jrr.JRR(n=20, p=0.6, s=0.25), ONE),
    "drr": (jrr.DRR(n=20, truth=0.3, own=0.2), ONE),
    "mrr": (jrr.MRR(50, own=3.0, card_rate=0.7, announced_rate=0.55, dealers=2), SEVERAL),
    "mrr, closed deck": (jrr.MRR(50, own=2.5, card_rate=0.6, total_rate=0.7), ONE),
    "mrr of three": (jrr.MRR(10, own=3.0, card_rate=0.8, announced_rate=0.3, k=3), ONE),
    "mrr, oue": (MASKED[2], ONE),
    "mrr, tiny": (jrr.MRR(10_000, own=2.0, card_rate=0.03, announced_rate=0.04), ONE),
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
                        "report": mechanism.report_to_json(report),
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
        value = at % mechanism.k
        held = [card_from_json(mechanism, card) for card in cards]
        report = mechanism.report_from_words(value, held, words)
        found.append(
            {
                "words": [str(one) for one in words],
                "value": value,
                "card": cards,
                "report": mechanism.report_to_json(report),
            }
        )
    return found


def campaign_of(mechanism: Mechanism, dealer: DealerKind) -> Campaign:
    """One whose texts need care: quotation marks, accents, beyond 16 bits, line breaks."""
    return Campaign(
        question='¿Ámbar, 漢字, "ε" 𝛆\n</script>?',
        labels=tuple(f"answer {value} ü\\" for value in range(mechanism.k)),
        mechanism=mechanism,
        dealer=dealer,
        collector="https://collector.example:8443/here",
        capacity=500,
        covariates={"region": ("north", "süd"), "\U0001f600": ("a",), "\uff5e": ("b",)},
        nonce="0123456789abcdef0123456789abcdef",
    )


def campaign_entry(mechanism: Mechanism, dealer: DealerKind) -> dict[str, Any]:
    """A campaign, what it loses, and the names and a report of a contributor."""
    campaign = campaign_of(mechanism, dealer)
    secret = invitation_secret(INVITATION)
    roles = (*dealer.roles, "collector:0", "collector:7")
    report = [0] * mechanism.k if mechanism.masked and mechanism.k > 2 else 1
    serials = ["0f" * 16, None] if dealer is SEVERAL else ["0f" * 16]
    body = report_request(
        pseudonym=pseudonym(secret, campaign.hash, "collector:0"),
        round_number=0,
        carded=campaign.deals,
        mechanism=mechanism,
        report=np.array(report, "<i2").tobytes() if isinstance(report, list) else report,
        covariates={"region": "süd", "\U0001f600": "a", "\uff5e": "b"},
        serials=serials if campaign.announces else None,
    )
    views = ("report", "everything", "dealer")
    return {
        "document": campaign.to_bytes().decode(),
        "hash": campaign.hash,
        "losses": {view: campaign.guarantee(view) for view in views},
        "pseudonyms": {role: pseudonym(secret, campaign.hash, role).hex() for role in roles},
        "devices": {role: device_name(DEVICE, campaign.hash, role).hex() for role in dealer.roles},
        "report": body.decode(),
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
        "campaigns": {name: campaign_entry(*given) for name, given in CAMPAIGNS.items()},
    }


def text() -> str:
    """The document with one line per entry, so that a change can be read."""
    parts = []
    for name, part in document().items():
        if isinstance(part, str):
            written = json.dumps(part)
        elif name in ("masked", "several"):
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
