"""What travels: requests and replies in JSON, each checked when it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError, JrrError
from jrr.mechanisms.base import Mechanism
from jrr.survey.campaign import Campaign
from jrr.survey.documents import bytes_from_hex, canonical_json, read_body
from jrr.survey.identity import hashed
from jrr.survey.serials import serial_from_hex

MOST_NAMES = 100_000  # hashes in one request


@dataclass(frozen=True, kw_only=True)
class StoredReport:
    """A report as the collector keeps it: no time, no address, no order."""

    name: bytes  # hash of the pseudonym
    carded: bool
    report: bytes
    covariates: str  # canonical JSON
    serials: tuple[bytes | None, ...] = ()  # of its cards, one from each dealer; () where none


def name_hash(document: Mapping[str, Any]) -> bytes:
    """The hash of the pseudonym in a request."""
    return hashed(_bytes(document, "pseudonym"))


def _bytes(document: Mapping[str, Any], name: str) -> bytes:
    decoded = bytes_from_hex(document[name])
    if decoded is None:
        raise DamagedError(f"{name} must be 64 hexadecimal digits")
    return decoded


def card_request(pseudonym: bytes, key: bytes | None = None, device: bytes | None = None) -> bytes:
    """Ask for one's cards, or for a place in the next deal.

    key: what a committee seals to. device: a secret of the device that asks; the dealer then
    gives the cards to nobody else.
    """
    given = {"pseudonym": pseudonym, "key": key, "device": device}
    return canonical_json({name: value.hex() for name, value in given.items() if value is not None})


def key_of(document: Mapping[str, Any]) -> bytes:
    """The public key in a request to a committee."""
    return _bytes(document, "key")


def device_of(document: Mapping[str, Any]) -> bytes | None:
    """The hash of the device's secret in a request to a dealer, if there is one."""
    return hashed(_bytes(document, "device")) if "device" in document else None


def report_request(
    *,
    pseudonym: bytes,
    carded: bool,
    mechanism: Mechanism,
    report: Any,
    covariates: Mapping[str, str],
    serials: Sequence[str | None] | None = None,
) -> bytes:
    """One perturbed answer, exactly as it is stored and sent, again and again until received.

    serials: of the cards, where their sum is announced: one from each dealer, None from one that
    was left out.
    """
    document: dict[str, Any] = {
        "pseudonym": pseudonym.hex(),
        "carded": carded,
        "report": mechanism.report_format.to_json(report),
        "covariates": dict(covariates),
    }
    if serials is not None:
        document["serials"] = list(serials)
    return canonical_json(document)


def read_report(campaign: Campaign, mechanism: Mechanism, body: bytes) -> StoredReport:
    """A report that fits the campaign, or a refusal."""
    document = read_body(body, "pseudonym", "carded", "report", "covariates", optional=("serials",))
    return stored_report(campaign, mechanism, document, name_hash(document))


def stored_report(
    campaign: Campaign, mechanism: Mechanism, document: Mapping[str, Any], name: bytes
) -> StoredReport:
    """What is kept of a report, or a refusal.

    Args:
        campaign: Whose question it answers.
        mechanism: By which it was made.
        document: With carded, report, covariates, and serials where there are some.
        name: Hash of the pseudonym.
    """
    carded = document["carded"]
    if not isinstance(carded, bool) or (carded and not campaign.deals):
        raise DamagedError("carded must be true or false, and false where no cards are dealt")
    try:
        report = mechanism.report_bytes(document["report"])
        report = report if carded else mechanism.check_cardless(report)
    except JrrError:  # not repeated: it is somebody's report
        raise DamagedError("report must be of this campaign's mechanism") from None
    return StoredReport(
        name=name,
        carded=carded,
        report=report,
        covariates=check_covariates(campaign, document["covariates"]),
        serials=_read_serials(campaign, carded, document),
    )


def report_limit(campaign: Campaign) -> int:
    """Bytes that no report of the campaign exceeds, however it is spelled in JSON."""
    names = [*campaign.covariates, *(max(v, key=len) for v in campaign.covariates.values())]
    covariates = sum(12 * len(text) + 8 for text in names)  # \uXXXX, twice beyond 16 bits
    serials = 64 * len(campaign.dealers)
    return 4096 + 16 * campaign.mechanism.report_format.width + covariates + serials


def _read_serials(
    campaign: Campaign, carded: bool, document: Mapping[str, Any]
) -> tuple[bytes | None, ...]:
    """The serial numbers in a report: there where there are cards whose sum is announced."""
    if ("serials" in document) != (carded and campaign.announces):
        raise DamagedError(
            "serials must be given exactly with a card of a campaign whose card sums are announced"
        )
    if "serials" not in document:
        return ()
    return check_serials(campaign, document["serials"])


def check_serials(campaign: Campaign, serials: object) -> tuple[bytes | None, ...]:
    """One serial number from each dealer; None from one that the campaign lets be left out."""
    dealers = len(campaign.dealers)
    if not isinstance(serials, list) or len(serials) != dealers:
        raise DamagedError(f"serials must be a list of {dealers}, one from each dealer")
    found = tuple(None if serial is None else serial_from_hex(serial) for serial in serials)
    if None in found and not (campaign.may_leave_out and any(found)):
        raise DamagedError("serials must not leave out a dealer that the campaign needs")
    return found


def check_covariates(campaign: Campaign, covariates: object) -> str:
    """Exactly the covariates that the campaign declares, each with a declared value."""
    if not isinstance(covariates, Mapping) or set(covariates) != set(campaign.covariates):
        declared = ", ".join(sorted(campaign.covariates)) or "none"
        raise ArgumentError(f"covariates must be exactly those of the campaign: {declared:.200}")
    for name, value in covariates.items():
        if value not in campaign.covariates[name]:
            raise ArgumentError(f"covariate {name} must be one of {known_values(campaign, name)}")
    return canonical_json(dict(covariates)).decode()


def known_values(campaign: Campaign, name: str) -> str:
    """The values of a covariate, in words."""
    return f"{', '.join(map(repr, campaign.covariates[name])):.200}"


def read_invitation_list(body: bytes) -> tuple[bytes, ...]:
    """Hashes of pseudonyms that a server should accept, sorted: their order tells nothing."""
    names = read_body(body, "names")["names"]
    if not isinstance(names, list) or len(names) > MOST_NAMES:
        raise DamagedError(f"names must be a list of at most {MOST_NAMES} hashes")
    hashes = set()
    for entry in names:
        decoded = bytes_from_hex(entry)
        if decoded is None:
            raise checks.refusal("names", entry, "hashes of 64 hexadecimal digits")
        hashes.add(decoded)
    return tuple(sorted(hashes))
