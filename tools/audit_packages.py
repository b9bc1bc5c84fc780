"""Look for known weaknesses of what servers are made of: `python tools/audit_packages.py COMMAND`.

COMMAND is how pip-audit is run. Exit code 0: none is known; 1: there are some, or pip-audit failed
in another way. Where the database of weaknesses cannot be reached nothing was looked up, which
pip-audit itself takes for a pass: it is said as "SKIPPED", with exit code 0.
"""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements-serve.lock"
OPTIONS = ("-r", str(LOCK), "--disable-pip", "--require-hashes", "--format", "json")


def verdict(found: str, failed: str) -> tuple[int, list[str]]:
    """Exit code and lines for what pip-audit wrote to standard output and error."""
    if "ConnectionError" in failed:
        return 0, ["SKIPPED: the database of weaknesses cannot be reached"]
    try:
        packages = json.loads(found)["dependencies"]
    except (ValueError, KeyError):
        return 1, ["pip-audit failed:", *failed.splitlines()[-5:]]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    weak = [
        f"{one['name']} {one['version']}: {weakness['id']}"
        for one in packages
        for weakness in one.get("vulns", ())
    ]
    looked_up = f"{len(packages) - len(unknown)} of {len(packages)} packages were looked up"
    if len(unknown) == len(packages):
        return 0, ["SKIPPED: the database of weaknesses cannot be reached"]
    lines = [looked_up, *(f"not found: {name}" for name in unknown), *weak]
    return (1 if weak else 0), lines


def main(command: list[str]) -> int:
    """Run pip-audit and say what it found."""
    run = subprocess.run([*command, *OPTIONS], capture_output=True, text=True)
    code, lines = verdict(run.stdout, run.stderr)
    print(*lines, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
