"""Reports encrypted one by one to the collector, so that a shuffler cannot read them.

HPKE (RFC 9180) with X25519, HKDF-SHA256 and ChaCha20-Poly1305. Every sealed report of a file
has the same length, and the flag "carded" is inside, so that the shuffler sees nothing that
tells reports apart. What the reports are (mechanism, decks, labels) is bound to each of them.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.tables.names import SEALED

OVERHEAD = 32 + 16  # the encapsulated key and the tag
Opened = tuple[NDArray[Any], NDArray[np.bool_]]


def make_keys(stem: str | Path, force: bool = False) -> tuple[Path, Path]:
    """Write STEM.key (private, readable by its owner only) and STEM.pub.

    Args:
        stem: the name of both files without its ending.
        force: overwrite existing files.

    Returns:
        The paths of the private and of the public key.

    Raises:
        ArgumentError: where stem is a directory or has no name, or a file exists.
    """
    if not Path(stem).name or Path(stem).is_dir():
        raise checks.refusal("name", str(stem), "a file's name without its ending, no directory")
    private_path, public_path = Path(f"{stem}.key"), Path(f"{stem}.pub")
    for path in (private_path, public_path):
        if path.exists() and not force:
            raise checks.refusal("name", str(path), "a file that does not exist yet (or --force)")
    private = X25519PrivateKey.generate()
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    write_whole(private_path, secret.decode(), private=True)
    write_whole(public_path, public.decode())
    return private_path, public_path


def sealer(
    public_key: str | Path, mechanism: Mechanism, binding: bytes
) -> Callable[[NDArray[Any], NDArray[np.bool_]], Any]:
    """A function from reports and flags to the sealed column.

    Args:
        public_key: the collector's, a file.
        mechanism: the one that made the reports.
        binding: what each report is bound to (`Header.binding`).

    Raises:
        ArgumentError: where the file is no public key.
    """
    key, suite = _public(public_key), _suite()
    length = 1 + mechanism.report_format.width + OVERHEAD

    def seal(reports: NDArray[Any], carded: NDArray[np.bool_]) -> Any:
        rows = np.empty((len(reports), length - OVERHEAD), np.uint8)
        rows[:, 0] = carded
        rows[:, 1:] = mechanism.report_format.pack(reports)
        sealed = [suite.encrypt(row.tobytes(), key, binding) for row in rows]
        return pa.array(sealed, pa.binary(length))

    return seal


def check_fresh(sealed: object, starts: set[bytes]) -> None:
    """Refuse a copy: sealed anew no two are alike, and copies would drown all the others.

    Args:
        sealed: one sealed report.
        starts: the first bytes of those before it; this one's are added.

    Raises:
        DamagedError: where it has been there before.
    """
    start = sealed[:16] if isinstance(sealed, bytes) else b""
    if start in starts:
        raise DamagedError(f"column {SEALED} must hold every report once, got one of them twice")
    starts.add(start)


def opener(
    private_key: str | Path | None, mechanism: Mechanism, binding: bytes, starts: set[bytes]
) -> Callable[[Any, int], Opened]:
    """A function from the sealed column to reports and flags.

    Args:
        private_key: the collector's, a file.
        mechanism: the one that made the reports.
        binding: what each report is bound to (`Header.binding`).
        starts: the first bytes of all sealed reports so far, to notice copies.

    Raises:
        ArgumentError: where there is no key, or the file is none.
    """
    if private_key is None:
        raise ArgumentError("key must be the collector's private key for sealed reports, got none")
    key, suite, length = _private(private_key), _suite(), 1 + mechanism.report_format.width

    def open_rows(column: Any, first: int) -> Opened:
        rows = []
        for at, sealed in enumerate(column.to_pylist()):
            check_fresh(sealed, starts)
            try:
                rows.append(suite.decrypt(sealed, key, binding))
                if len(rows[-1]) != length:
                    raise ValueError("another length")
            except (InvalidTag, ValueError, TypeError):
                raise DamagedError(
                    f"column {SEALED} must hold reports sealed to this key and for this survey, "
                    f"got another at row {first + at}"
                ) from None
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), length)
        return mechanism.report_format.unpack(table[:, 1:]), table[:, 0].astype(np.bool_)

    return open_rows


def sealed_field(mechanism: Mechanism) -> Any:
    """The one column of a file of sealed reports."""
    return pa.field(SEALED, pa.binary(1 + mechanism.report_format.width + OVERHEAD), nullable=False)


def _suite() -> Suite:
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def _public(path: str | Path) -> X25519PublicKey:
    with suppress(ValueError):
        key = load_pem_public_key(Path(path).read_bytes())
        if isinstance(key, X25519PublicKey):
            return key
    raise checks.refusal("seal", str(path), "a public key that jrr file keys wrote")


def _private(path: str | Path) -> X25519PrivateKey:
    with suppress(ValueError, TypeError):
        key = load_pem_private_key(Path(path).read_bytes(), None)
        if isinstance(key, X25519PrivateKey):
            return key
    raise checks.refusal("key", str(path), "a private key that jrr file keys wrote")
