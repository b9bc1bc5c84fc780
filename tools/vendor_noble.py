"""Makes clients/js/vendor/noble.js: what verified surveys need of @noble/curves, in one file.

    python tools/vendor_noble.py           # from the packages that lock.json names (needs npm)
    python tools/vendor_noble.py --check   # exits with 1 where noble.js is not what lock.json says

lock.json holds versions, the integrity of every package as npm publishes it, and the hash of what
comes out. Whoever runs this anywhere gets the same bytes. The licence lies beside the file.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "clients" / "js" / "vendor"
LOCK, BUILT = VENDOR / "lock.json", VENDOR / "noble.js"
ENTRY = """
export {
  ed25519, ristretto255, ristretto255_hasher, ristretto255_oprf,
} from "@noble/curves/ed25519.js";
export { sha512 } from "@noble/hashes/sha2.js";
"""
OPTIONS = ["--bundle", "--format=esm", "--minify", "--target=es2022", "--legal-comments=eof"]


def sha256(path: Path) -> str:
    """Hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unpack(name: str, package: dict[str, str], folder: Path) -> Path:
    """A package from npm, if its bytes are those of the lock."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm must be installed")
    subprocess.run(
        [npm, "pack", "--silent", f"{name}@{package['version']}"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,) = folder.glob("*.tgz")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{found}" != package["integrity"]:
        raise SystemExit(f"{name} {package['version']} is not the package of the lock")
    target = folder / "node_modules" / name
    target.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    shutil.copytree(folder / "unpacked" / "package", target, dirs_exist_ok=True)
    shutil.rmtree(folder / "unpacked")
    archive.unlink()
    return target


def build(lock: dict[str, dict[str, str]]) -> None:
    """Write noble.js and its licence."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "entry.js").write_text(ENTRY, "utf-8")
        found = {name: unpack(name, package, folder) for name, package in lock.items()}
        bundler = found["@esbuild/linux-x64"] / "bin" / "esbuild"
        bundler.chmod(0o755)
        subprocess.run(
            [str(bundler), "entry.js", *OPTIONS, "--log-level=warning", f"--outfile={BUILT}"],
            cwd=folder,
            check=True,
        )
        shutil.copy(found["@noble/curves"] / "LICENSE", VENDOR / "LICENSE")


def main() -> int:
    """Build, or check."""
    lock = json.loads(LOCK.read_text("utf-8"))
    if "--check" not in sys.argv[1:]:
        build(lock["packages"])
    if sha256(BUILT) == lock["sha256"]:
        return 0
    print(f"{BUILT} is not what {LOCK} says: run python tools/vendor_noble.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
