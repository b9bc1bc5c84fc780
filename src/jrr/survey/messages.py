"""What travels: requests and replies in JSON, each checked when it is read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import JrrError
from jrr.mechanisms import Mechanism, wire
from jrr.survey.campaign import Campaign
from jrr.survey.identity import collector_role, hashed


@dataclass(frozen=True)
class StoredReport:
    """A report as the collector keeps it: no time, no address, no order."""

    name: bytes  # hash of the pseudonym
    round: int
    carded: bool
    report: bytes
    covariates: str  # canonical JSON


def parse(body: bytes, *fields: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON object of exactly these fields, and perhaps the optional ones."""
    try:
        document = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once
        )
    except RecursionError:
        raise JrrError("body must be JSON, got too many brackets") from None
    except ValueError:  # says nothing of the body: it may be a report
        raise JrrError("body must be JSON in UTF-8") from None
    if not isinstance(document, dict) or set(document) - set(optional) != set(fields):
        raise JrrError(f"body must be an object of exactly {sorted(fields)}")
    return document


def named(document: Mapping[str, Any]) -> bytes:
    """The hash of the pseudonym in a request."""
    return hashed(_bytes(document, "pseudonym"))


def _bytes(document: Mapping[str, Any], name: str) -> bytes:
    value = document[name]
    if isinstance(value, str) and len(value) == 64:
        try:
            found = bytes.fromhex(value)
        except ValueError:
            found = b""
        if found.hex() == value:
            return found
    raise JrrError(f"{name} must be 64 hexadecimal digits")


def card_request(pseudonym: bytes, key: bytes | None = None, device: bytes | None = None) -> bytes:
    """Ask for one's cards, or for a place in the next deal.

    key: what a committee seals to. device: a secret of the device that asks; the dealer then
    gives the cards to nobody else.
    """
    document = {"pseudonym": pseudonym, "key": key, "device": device}
    return _json({name: value.hex() for name, value in document.items() if value is not None})


def key_of(document: Mapping[str, Any]) -> bytes:
    """The public key in a request to a committee."""
    return _bytes(document, "key")


def device_of(document: Mapping[str, Any]) -> bytes | None:
    """The hash of the device's secret in a request to a dealer, if there is one."""
    return hashed(_bytes(document, "device")) if "device" in document else None


def report_request(
    pseudonym: bytes,
    round_number: int,
    carded: bool,
    mechanism: Mechanism,
    report: Any,
    covariates: Mapping[str, str],
) -> bytes:
    """One perturbed answer, exactly as it is stored and sent, again and again until received."""
    return _json(
        {
            "pseudonym": pseudonym.hex(),
            "round": round_number,
            "carded": carded,
            "report": wire.to_json(mechanism, report),
            "covariates": dict(covariates),
        }
    )


def read_report(campaign: Campaign, mechanism: Mechanism, body: bytes) -> StoredReport:
    """A report that fits the campaign, or a refusal."""
    document = parse(body, "pseudonym", "round", "carded", "report", "covariates")
    carded = document["carded"]
    if not isinstance(carded, bool) or (carded and not campaign.deals):
        raise JrrError("carded must be true or false, and false where no cards are dealt")
    try:
        report = wire.bytes_from_json(mechanism, document["report"])
        number = checks.integer("round", document["round"], 0, campaign.rounds - 1)
    except JrrError:  # not repeated: it is somebody's report
        raise JrrError("report and round must be of this campaign's mechanism and rounds") from None
    return StoredReport(
        named(document),
        number,
        carded,
        report,
        check_covariates(campaign, document["covariates"]),
    )


def check_covariates(campaign: Campaign, given: object) -> str:
    """Exactly the covariates that the campaign declares, each with a declared value."""
    if not isinstance(given, Mapping) or set(given) != set(campaign.covariates):
        declared = ", ".join(sorted(campaign.covariates)) or "none"
        raise JrrError(f"covariates must be exactly those of the campaign: {declared:.200}")
    for name, value in given.items():
        if value not in campaign.covariates[name]:
            raise JrrError(f"covariate {name} must be one of {known_values(campaign, name)}")
    return _json(dict(given)).decode()


def known_values(campaign: Campaign, name: str) -> str:
    """The values of a covariate, in words."""
    return f"{', '.join(map(repr, campaign.covariates[name])):.200}"


def roles(campaign: Campaign) -> list[str]:
    """The names by which the collector knows people, one per round."""
    return [collector_role(number) for number in range(campaign.rounds)]


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key that occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)
