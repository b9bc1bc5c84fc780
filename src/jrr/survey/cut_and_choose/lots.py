"""Places by lot: who has which card follows from a public value that came after enrolment.

A dealer that gives out places in the order of arrival knows the deck, and can leave out places
whose cards it dislikes. Where everybody has enrolled first and a later public value draws the
places, it cannot: people that it made up, who never report, have cards as random as anybody's.
"""

import hashlib
import hmac
from collections.abc import Iterable

from jrr.survey.documents import canonical_json


def enrolment_hash(promise: bytes, enrolled: Iterable[bytes]) -> bytes:
    """The hash of who has enrolled, to be noted before the lot is drawn.

    Args:
        promise: the hash of what was published before the beacon.
        enrolled: the marks of all contributors.
    """
    document = {"promise": promise.hex(), "enrolled": [mark.hex() for mark in sorted(enrolled)]}
    return hashlib.sha256(b"jrr enrolment 1:" + canonical_json(document)).digest()


def places_by_lot(promise: bytes, enrolled: Iterable[bytes], lot: bytes) -> tuple[bytes, ...]:
    """The marks in the order of their places: that of their hashes with the lot.

    Args:
        promise: the hash of what was published before the beacon.
        enrolled: the marks of all contributors.
        lot: the public random value that came after the enrolment.
    """
    marks = tuple(enrolled)
    key = hmac.new(lot, b"jrr lot 1:" + enrolment_hash(promise, marks), hashlib.sha256).digest()
    return tuple(sorted(marks, key=lambda mark: hmac.new(key, mark, hashlib.sha256).digest()))
