"""Self-signed certificates for parties: pinned in the survey, so nobody need vouch for them."""

import datetime
import secrets
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.errors import ArgumentError

DAYS = 3650


def check_pair(names: str, certificate: str | Path, key: str | Path) -> None:
    """Refuse a certificate and a key that are no files in PEM, or do not belong together."""
    for path in (certificate, key):
        if not Path(path).is_file():
            raise ArgumentError(f"{names} must be files that exist, got {str(path)!r}")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError:  # among them all errors of TLS
        raise ArgumentError(
            f"{names} must be a certificate in PEM and its own key, got {str(certificate)!r} and "
            f"{str(key)!r}"
        ) from None


def certificate_end(path: str | Path) -> float:
    """When a certificate ends, in seconds since 1970; 0 where it cannot be read."""
    try:
        certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    except (OSError, ValueError):
        return 0.0
    return certificate.not_valid_after_utc.timestamp()


def make_certificate(
    stem: str | Path, name: str = "jrr party", address: str | None = None
) -> tuple[Path, Path]:
    """Write STEM.pem (public) and STEM.key (secret); for browsers, with the machine's address."""
    if not Path(stem).name or Path(stem).is_dir():
        raise checks.refusal("name", str(stem), "a file's name without its ending, no directory")
    public, private = Path(f"{stem}.pem"), Path(f"{stem}.key")
    for path in (public, private):
        if path.exists():
            raise checks.refusal("name", str(path), "a file that does not exist yet")
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own: among several issuers of one name the wrong one may be tried.
    shown = f"{name} {secrets.token_hex(8)}"
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, shown)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
    )
    if address is not None:
        named = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        builder = builder.add_extension(named, critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_whole(private, pem.decode(), private=True)
    write_whole(public, certificate.public_bytes(Encoding.PEM).decode())
    return public, private
